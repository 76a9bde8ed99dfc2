/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_WORK_H
#define SIMGPU_WORK_H

/*
 * A piece of work as the program asked for it: what an operation in a stream runs and what a
 * graph node holds. Plain values; the parameter block of a kernel, staged bytes and lists are
 * owned (work_dup, work_finish). No threads, no locks.
 */

#include "driver/sim.h"

struct event;
struct graph;
struct op;

enum work_kind {
	WORK_NONE, /* keeps order only: empty node, join's end */
	WORK_KERNEL,
	WORK_COPY,
	WORK_SET,
	WORK_HOST,   /* a host function or callback */
	WORK_RECORD, /* of an event */
	WORK_WAIT,   /* for another operation */
	WORK_WRITE,  /* a value to memory, at its simulated time */
	WORK_POLL,   /* until memory has a value */
	WORK_CALL,   /* exec_stream_call: at its simulated time */
	WORK_MEMOPS, /* several writes and polls: graph nodes only */
	WORK_EVENT,  /* wait for an event as it stands when the graph is launched: graphs only */
	WORK_CHILD,  /* graphs only */
	WORK_ALLOC,  /* graphs only: memory that the graph owns */
	WORK_FREE,   /* graphs only */
};

struct work_kernel {
	struct sim_function *function;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; /* dynamic */
	bool cooperative;
	void *params;
	uint32_t param_bytes;
};

struct work_side {
	uint64_t address;
	uint64_t pitch, slice; /* bytes from row to row and from plane to plane */
	enum sim_memory_kind kind;
};

struct work_copy {
	struct work_side src, dst;
	uint64_t width, height, depth; /* bytes, rows, planes */
	void *staged; /* the source's bytes, taken at the call; rows without gaps */
};

struct work_set {
	struct work_side dst;
	uint32_t value, element; /* bytes of an element: 1, 2, 4 */
	uint64_t width, height;	 /* elements, rows */
};

struct work_host {
	CUhostFn fn;
	CUstreamCallback callback; /* or this, with the stream's handle */
	CUstream handle;
	void *arg;
};

struct work_memop {
	uint64_t address, value;
	uint32_t size;	/* 4, 8 */
	uint32_t flags; /* CUstreamWaitValue_flags without FLUSH */
	bool is_wait;
};

/* Device memory of an allocation node, shared by all copies of its graph. */
struct work_memory {
	_Atomic uint32_t refs;
	uint64_t address, buffer_id;
};

struct work {
	enum work_kind kind;
	int priority; /* of the stream it was captured from */
	union {
		struct work_kernel kernel;
		struct work_copy copy;
		struct work_set set;
		struct work_host host;
		struct work_memop memop;
		struct {
			struct work_memop *op;
			uint32_t count;
		} memops;
		struct {
			void (*fn)(void *arg);
			void *arg;
		} call;
		struct {
			struct op *op; /* counted by the operation */
		} wait;
		struct event *event;
		struct graph *child; /* owned */
		struct {
			uint64_t address, bytes;
			struct work_memory *owned; /* counted; allocation nodes */
		} memory;
	};
};

/* Copies what `from` owns too. -ENOMEM leaves *ret_work without anything owned. */
int work_dup(const struct work *from, struct work *ret_work);
void work_finish(struct work *work);
/* Takes device memory for an allocation node. */
CUresult work_take_memory(struct sim_context *context, uint64_t bytes, struct work *ret_work);

uint64_t work_copy_bytes(const struct work_copy *copy);
/* Runs part `block` of a copy or memset: work_blocks() of them may run at once. */
uint64_t work_blocks(const struct work *work);
void work_run_block(const struct work *work, uint64_t block);

#endif
