/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_RUN_H
#define SIMGPU_PTX_RUN_H

/*
 * A run of ptx_run and its blocks. One thread owns all of it; only global memory is shared with
 * other runs. Lives in one arena, which goes back to the module afterwards.
 */

#include "ptx/warp.h"

#include <stdatomic.h>

enum { BARRIERS = 16, RANGES = 8, WORKSPACE_BYTES = 256 };

struct barrier {
	uint32_t arrived, expected; /* threads; expected 0: all that live */
	uint32_t reduced;	    /* predicates so far that are true */
	bool is_some_false;
};

struct block {
	uint64_t index;
	uint32_t id[3];
	uint32_t warps, live; /* threads */
	uint8_t *shared;
	uint64_t shared_bytes;
	struct warp *warp;
	bool is_started, is_done;
	struct barrier barrier[BARRIERS];
};

/* Memory known to be accessible. */
struct range {
	uint64_t low, high;
	bool is_writable;
};

struct run {
	const struct ptx_launch *launch;
	const struct ptx_function *fn;
	struct ptx_module *module;
	struct ptx_result *result;
	struct range range[RANGES];
	uint32_t ranges, next_range;
	struct block *block;
	uint32_t blocks;	 /* resident */
	uint32_t threads, warps; /* of a block */
	uint32_t shared_static, dynamic_base;
	int64_t quantum;
	uint64_t clock_ahead; /* ns, by nanosleep */
	uint64_t warp_instructions, thread_instructions, global_bytes;
	uint8_t *params;
	uint64_t *workspace; /* of a cooperative grid */
	uint64_t local_stride;
	struct frame **free_frames; /* by function index */
	struct frame *all_frames;
	_Atomic uint32_t fence; /* a locked operation on it orders everything */
	uint8_t fp_mode;
	enum ptx_fault fault;
};

/* ---- faults (fault.c) ---- */

/* Ends the run; the first one stays. Returns LEAVE. */
const struct insn *fault_at(struct warp *w, const struct insn *in, uint32_t lane,
			    enum ptx_fault fault, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* Of the whole run, before or between instructions. */
void fault_run(struct run *r, enum ptx_fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- memory (memory.c) ---- */

enum access { ACCESS_READ = 0, ACCESS_WRITE = 1 };

/* One lane's access in global memory; the range is kept. */
bool memory_check(struct run *r, uint64_t address, uint32_t bytes, enum access access);
/* All lanes of w->mask, one by one, in global or (generic) any memory; addresses of other lanes
 * are not looked at. False: it faulted. Counts global bytes. */
bool memory_check_lanes(struct warp *w, const struct insn *in, const uint64_t *address,
			uint32_t bytes, enum access access, bool generic);
/* The same in one lane's own local memory; in the block's shared memory. */
bool memory_check_local(struct warp *w, const struct insn *in, const uint64_t *address,
			uint32_t bytes);
bool memory_check_shared(struct warp *w, const struct insn *in, const uint64_t *offset,
			 uint32_t bytes);
/* Reads that the interpreter does for builtins: a NUL-terminated string of the kernel's. */
bool memory_read(struct warp *w, const struct insn *in, uint32_t lane, uint64_t address,
		 void *ret_bytes, uint32_t bytes);
bool memory_read_string(struct warp *w, const struct insn *in, uint32_t lane, uint64_t address,
			char *ret_text, uint32_t room);

/* ---- blocks (block.c) ---- */

size_t block_bytes(const struct run *r); /* of the arena, for one resident block */
uint8_t *block_place(struct run *r, struct block *block, uint8_t *memory); /* returns its end */
void block_start(struct run *r, struct block *block, uint64_t index);
bool block_turn(struct run *r, struct block *block);  /* false: nothing could run */
void barrier_check(struct block *block, uint32_t id); /* opens it if all have arrived */
void barrier_check_all(struct block *block);	      /* after threads have exited */

#endif
