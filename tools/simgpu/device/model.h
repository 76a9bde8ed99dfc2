/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MODEL_H
#define SIMGPU_MODEL_H

/*
 * The model of one GPU: what runs when. Pure: time comes in as an argument (`now_ns`, never going
 * back), nothing is allocated, no clock, thread, descriptor or log. One flat struct without
 * pointers, so that it can lie in memory shared by several processes at different addresses; the
 * caller holds a lock around every call (device/segment.h) or is alone (tests, planner).
 *
 * A process submits operations to its streams, ahead of time, in order; the model starts each
 * when its stream, what it waits for, and the hardware allow, and says when it ended. Times of
 * start and end are the model's own, exact however late anybody looks. An operation whose results
 * are being computed on the host (`functional` = 1) releases the hardware at its scheduled end,
 * but counts as done, and lets its stream go on, only from the later of that and
 * model_functional_done(); if that was later, it is counted late.
 *
 * Without MPS, the kernels of processes with work alternate in slices (slice_ns, switch_ns between,
 * idle hold) and never overlap; a kernel is cut where the slice ends and goes on, with what is
 * left of each block, in the next. With MPS they share SMs. Within what may run: waves of blocks,
 * left-over SMs by stream priority (lower number first) and age (id); a block that runs stays.
 *
 * Copies do not wait for slices: as on hardware, the copy engines serve all processes, beside the
 * kernels of any, each engine's queue first in, first out. With one engine both host directions
 * share it; with more, the first half (rounded up) serves host to device, the others device to
 * host, and copies that run at once in one direction share its bandwidth equally. Copies within
 * the device, and memsets, have an engine of their own besides.
 *
 * A kernel of more than 1024 waves on the whole device is played in up to 1024 coarser ones.
 *
 * Effects of sharing, each off where its field of the description is 0 (model_effect.c has the
 * formulas): bandwidth by class, interference of co-running, first blocks that end staggered,
 * short waves merged, age from arrival at the hardware. The length of a block is fixed when it is
 * given its SM. A kernel alone takes as long as it is said to take, but for the stagger.
 */

#include <stdbool.h>
#include <stdint.h>

#define MODEL_MAX_PROCS 64
#define MODEL_MAX_STREAMS 2048	/* of all processes */
#define MODEL_MAX_OPS 32768	/* of all processes, queued or not yet collected */
#define MODEL_STREAM_DEPTH 1024 /* operations queued in one stream */
#define MODEL_NAME_MAX 64
#define MODEL_NEVER UINT64_MAX
#define MODEL_UNKNOWN UINT64_MAX /* a duration that model_functional_done will give */
#define MODEL_PRIORITY_MAX 7	 /* of processes: -8 to 7 */

/* What limits a kernel's speed. */
enum model_class { MODEL_CLASS_UNKNOWN, MODEL_CLASS_MEMORY, MODEL_CLASS_COMPUTE, MODEL_CLASSES };

struct model_desc {
	char name[MODEL_NAME_MAX];
	uint32_t sms;
	uint32_t cc_major, cc_minor;
	uint32_t blocks_per_sm, threads_per_sm, regs_per_sm;
	uint32_t smem_per_sm_bytes, smem_per_block_bytes;
	uint32_t copy_engines; /* between host and device; at most 8 are modelled */
	uint32_t mps;	       /* 1: processes overlap */
	/* So many SMs with kernels of a class use all of the memory bandwidth; 0: they use none. */
	uint32_t saturation_sms[MODEL_CLASSES];
	uint32_t corun_permille;   /* longer blocks, if all other SMs had other kernels */
	uint32_t stagger_permille; /* first blocks of a kernel of several waves: +- this */
	uint32_t age_from_ready;   /* 1: the oldest kernel is the one that could start first */
	uint64_t memory_bytes;
	uint64_t memory_bytes_per_us;	/* device memory */
	uint64_t pinned_bytes_per_us;	/* host link, pinned memory */
	uint64_t pageable_bytes_per_us; /* host link, pageable memory */
	uint64_t slice_ns, switch_ns, idle_hold_ns;
	uint64_t launch_latency_ns; /* submit to earliest start, on an idle stream */
	uint64_t kernel_gap_ns;	    /* end to start in one stream */
	uint64_t copy_latency_ns;   /* the caller counts it into a copy's duration_ns */
	uint64_t clock_khz;
	uint64_t context_bytes; /* device memory taken by each process's context */
	uint64_t merge_ns;	/* waves shorter than this are played as fewer, longer ones */
	uint64_t coalesce_ns;	/* blocks of a kernel that end within +- half of it end together */
};

enum model_op_kind {
	MODEL_KERNEL = 1,
	MODEL_COPY_H2D,
	MODEL_COPY_D2H,
	MODEL_COPY_D2D, /* and memset: device bandwidth, no SMs of its own */
	MODEL_MARK,	/* event record, write-value: takes no time, keeps order */
	MODEL_WAIT_OP,	/* until another operation is done (event wait, joins) */
	MODEL_HOST,	/* host function, wait-value: until model_functional_done */
};

struct model_op_desc {
	uint32_t kind;	     /* enum model_op_kind */
	uint32_t functional; /* 1: done only after model_functional_done() */
	uint64_t wait_op;    /* MODEL_WAIT_OP: its id; done at once if unknown or over */
	uint64_t cookie;     /* the caller's; handed back by model_collect */
	/* Kernels: `blocks` of block_ns each, `blocks_per_sm` fit one SM, at most max_sms at once.
	 * duration = waves of blocks. block_ns may be MODEL_UNKNOWN. Others: duration_ns. */
	uint32_t blocks, blocks_per_sm, max_sms;
	uint32_t bw_class; /* enum model_class */
	uint64_t block_ns;
	uint64_t duration_ns; /* not kernels; MODEL_UNKNOWN allowed with functional */
};

struct model_done {
	uint64_t op;
	uint64_t cookie;
	uint64_t start_ns, end_ns;
	uint32_t stream;
	uint32_t late;
};

/* Of a kernel: how far it is. */
struct model_progress {
	uint64_t start_ns;			   /* MODEL_NEVER: not yet */
	uint32_t blocks, blocks_left, blocks_done; /* as modelled; what is in neither runs */
	uint32_t sms;				   /* that it holds */
};

struct model_counters {
	uint64_t kernels, copies, ops;
	uint64_t late_ops; /* kernels and copies whose results took longer than scheduled */
	uint64_t switches; /* changes of slice */
	uint64_t busy_ns;  /* time in which a kernel or copy ran */
};

struct model; /* opaque outside device/, size model_size() */

uint64_t model_size(void);
/* `model` is model_size() bytes of zeroes, 64-byte aligned. */
void model_init(struct model *model, const struct model_desc *desc, uint64_t now_ns);
const struct model_desc *model_get_desc(const struct model *model);

/* Processes. Errors: -EAGAIN (too many processes or streams), -ENOMEM (context_bytes). `key`
 * tells an incarnation of a pid (start time). */
int model_attach(struct model *model, uint64_t now_ns, uint32_t pid, uint64_t key,
		 uint32_t *ret_proc);
/* Its queued work is dropped, what runs is stopped now, its memory is free. Also for a process
 * that died, by whoever notices: reap. */
void model_detach(struct model *model, uint64_t now_ns, uint32_t proc);
/* Walks attached processes; fills pid and key. Returns false where slot `proc` is unused. */
bool model_get_proc(const struct model *model, uint32_t proc, uint32_t *ret_pid, uint64_t *ret_key);

/* As of an MPS client: free SMs go to the process with the lowest number first, whatever the
 * priorities of streams. 0 at first; -EINVAL: no such process, or beyond MODEL_PRIORITY_MAX. */
int model_set_priority(struct model *model, uint64_t now_ns, uint32_t proc, int32_t priority);

int model_stream_create(struct model *model, uint32_t proc, int32_t priority, uint32_t *ret_stream);
/* The stream disappears when its last operation is done. */
void model_stream_destroy(struct model *model, uint64_t now_ns, uint32_t stream);

/* -EAGAIN: the stream's queue (MODEL_STREAM_DEPTH) or the pool is full: advance, collect and try
 * again. -EINVAL: no such stream, kind or shape, or a duration over 2^50 ns. Ids rise, are never 0
 * and never used again. */
int model_submit(struct model *model, uint64_t now_ns, uint32_t stream,
		 const struct model_op_desc *desc, uint64_t *ret_op);
/* duration_ns: block_ns or duration_ns for an operation that was submitted MODEL_UNKNOWN (then it
 * started at the time the model gave it, and may end in the past: now_ns at the earliest);
 * ignored otherwise. Unknown or finished ids are ignored. */
void model_functional_done(struct model *model, uint64_t now_ns, uint64_t op, uint64_t duration_ns);

/* From now on the kernel may hold at most max_sms SMs: 0 stops it where its running blocks end,
 * UINT32_MAX is what it was submitted with. Others than kernels, and what is over, are ignored. */
void model_limit(struct model *model, uint64_t now_ns, uint64_t op, uint32_t max_sms);
/* False: no such kernel, or it is done. As of the last call that had a time. */
bool model_get_progress(const struct model *model, uint64_t op, struct model_progress *ret);

/* Plays everything up to now_ns. All other calls do this themselves. */
void model_advance(struct model *model, uint64_t now_ns);
/* Plays until something is done, of any process, or until_ns; returns how far it came. */
uint64_t model_run(struct model *model, uint64_t until_ns);
/* The processes for which model_collect has something, as bits by number. */
uint64_t model_procs_done(const struct model *model);
/* When something of `proc` will be done at the earliest if nothing else is submitted;
 * MODEL_NEVER: nothing scheduled. UINT32_MAX: of any process. Also returns the times at which the
 * model must be advanced for that to be known (slice ends). */
uint64_t model_next_ns(const struct model *model, uint32_t proc);
/* Takes operations of `proc` that are done, oldest end first; frees their records. */
uint32_t model_collect(struct model *model, uint32_t proc, uint32_t max, struct model_done *ret);
bool model_is_done(const struct model *model, uint64_t op); /* also when collected or unknown */

/* Memory, in bytes, of the device. -ENOMEM where it does not fit. */
int model_mem_take(struct model *model, uint32_t proc, uint64_t bytes);
void model_mem_give(struct model *model, uint32_t proc, uint64_t bytes);
uint64_t model_mem_used(const struct model *model, uint32_t proc); /* UINT32_MAX: all */

void model_get_counters(const struct model *model, struct model_counters *ret);
uint64_t model_proc_busy_ns(const struct model *model, uint32_t proc);

/* After a lock holder died in the middle of a call: makes all lists whole again. */
void model_repair(struct model *model, uint64_t now_ns);

#endif
