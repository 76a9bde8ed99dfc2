/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_EXEC_H
#define SIMGPU_EXEC_H

/*
 * The executor of the simulated driver, one per process and device. An operation (struct op) has
 * two lives: its time, which the shared model decides from the moment it is submitted, and its
 * results, which host threads compute as soon as what they depend on is computed, ahead of the
 * simulated time if they can. For the program it is over when the model says so.
 *
 * Locks: exec->lock guards everything here, streams, events and captures included; the segment's
 * lock is taken inside it. Functions named *_locked want exec->lock held. Host functions, calls
 * of exec_stream_call and kernels run without it.
 *
 * Lifetime: ops, streams and homes are counted; memory of ops, streams and events is reused for
 * the same kind only, so that the magic of a stale handle can be looked at.
 */

#include "driver/sim.h"
#include "driver/work.h"
#include "device/segment.h"

struct cost_table;
struct event;
struct stream;

/* What the executor keeps of a context; outlives it while operations are queued. */
struct home {
	struct sim_context *context; /* NULL once finished */
	struct exec *exec;
	uint64_t id;
	unsigned int refs;
	unsigned int running; /* functional parts that threads are in */
	_Atomic bool stop;    /* a fault, or the end: nothing more is computed */
	bool closing;	      /* waits for values end now */
	_Atomic int sticky;
	struct stream *streams; /* all: own, legacy, per thread, of graphs */
	struct stream *leaving; /* their handle is gone, their work is not */
	struct event *events;
	struct home *next;
};

struct op_list {
	struct op **item;
	uint32_t count, room;
	struct op *first[2];
};

struct op {
	struct work work;
	struct exec *exec;
	struct home *home;
	struct stream *stream;
	struct op *next;   /* in its stream, while it is not complete */
	struct op *link;   /* in the list of ready, polled or host operations */
	struct op *behind; /* counted: the write-value its functional part ran past; NULL: none */
	struct op_list waiters;	  /* wait for the results */
	struct op_list followers; /* wait for the completion */
	uint64_t model;		  /* its id there */
	uint64_t seq;
	uint64_t start_ns, end_ns;
	uint32_t refs;
	uint32_t waiting; /* functional parts it waits for */
	bool ready, computed, awaited, at_head, is_timely, uses_module, is_early;
	bool is_poisoned;  /* it faulted, or comes after what did */
	uint64_t least_ns; /* of time that its stream takes up to its end, from the first op on */
	_Atomic bool complete;
	/* the functional part, in chunks */
	uint64_t blocks, next_block, chunk;
	uint32_t chunks_running;
	uint64_t host_ns;
	struct ptx_result result;
};

struct exec_counters {
	uint64_t kernels, ops, late_ops, timing_only;
};

struct exec {
	struct sim_device *device;
	struct segment *segment;
	struct model *model;
	uint32_t proc;
	struct model_desc desc;
	struct cost_table *costs;
	struct remembered *remembered; /* cost_kernel.c */
	pthread_mutex_t lock;
	struct home *homes;
	uint64_t seq;
	struct op *free_ops;
	/* workers */
	pthread_cond_t work;
	struct op *ready, *ready_last;
	unsigned int threads, workers, idle, active;
	uint64_t chunks_done, watched_chunks, watched_since_ns;
	/* the host function thread */
	pthread_cond_t host_work;
	struct op *host;
	bool host_started;
	/* time */
	pthread_t keeper;
	pthread_cond_t done; /* an awaited operation is complete, or nobody leads */
	unsigned int done_waiters;
	bool leading;		       /* a waiting thread sleeps to the next event */
	bool keeper_lazy, leader_lazy; /* sleep past ends that nobody could have seen */
	bool collecting;	       /* a thread hands out results, perhaps without the lock */
	bool dirty;		       /* the model changed since next_ns was asked */
	uint64_t next_ns, oversleep_ns, poll_since_ns, keeper_until_ns;
	uint64_t timely;  /* operations queued whose end somebody sees at once: writes, host work */
	struct op *polls; /* wait-values that have begun */
	_Atomic bool stop;
	struct exec_counters counters;
	struct exec *next;
};

struct exec *exec_first(void); /* of the process, by next */

#endif
