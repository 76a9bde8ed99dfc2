/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MODEL_RECORDS_H
#define SIMGPU_MODEL_RECORDS_H

/*
 * The model's own records: what lies in the shared memory. Everything is an index into an array of struct model; MODEL_NONE is no index.
 *
 * Only the first operation of a stream (its head) is ever anywhere but in the stream's queue, so
 * timers and run queues hold streams. What model_repair relies on: `used` of a process, `proc` of a
 * stream, `state` and `id` of an operation and `op_id` of a group are written last when a record
 * comes to life (after model_commit) and first when it goes; everything else can be rebuilt.
 */

#include "device/model.h"

#define MODEL_NONE UINT32_MAX
#define MODEL_MAX_SMS 256
#define MODEL_MAX_ENGINES 8
/* A group has at least one SM of one context, so there are never more. */
#define MODEL_MAX_GROUPS (MODEL_MAX_PROCS * MODEL_MAX_SMS)
#define MODEL_MAX_WAVES 1024
#define MODEL_MAX_COST_NS (1ull << 50)
#define MODEL_SLOT_BITS 15

_Static_assert(MODEL_MAX_OPS == 1 << MODEL_SLOT_BITS, "an id's low bits are its slot");
_Static_assert(MODEL_MAX_PROCS == 64, "processes are bits of a 64-bit mask");

enum op_state {
	OP_FREE,
	OP_QUEUED,  /* not the head yet, or about to be looked at (step list) */
	OP_TIMER,   /* head, until ready_ns: launch latency or gap */
	OP_WAITING, /* head, among the waiters of its target */
	OP_READY,   /* head, no hardware yet: in `hungry` or an engine's queue */
	OP_RUNNING, /* head, has had hardware: groups, or a place on an engine */
	OP_HELD,    /* head, hardware released, results not there */
	OP_DONE,    /* in its process's list of done operations */
};

struct op {
	uint64_t id; /* sequence << MODEL_SLOT_BITS | slot; 0: free */
	uint64_t cookie;
	uint64_t target;  /* of MODEL_WAIT_OP */
	uint64_t cost_ns; /* of a block, or of the whole; MODEL_UNKNOWN */
	uint64_t ready_ns;
	uint64_t start_ns; /* MODEL_NEVER: not yet */
	uint64_t end_ns;   /* from OP_HELD on */
	uint64_t served;   /* copies: engine time had, in 1/COPY_UNIT ns */
	uint64_t age;	   /* kernels, with age_from_ready: which one was ready first */
	uint32_t stream, proc;
	uint32_t next;	  /* in the stream, the done list or the free list */
	uint32_t waiters; /* first stream whose head waits for this */
	uint32_t scale;	  /* kernels: blocks launched per block modelled */
	uint32_t blocks, blocks_left, blocks_done;
	uint32_t blocks_per_sm, sms;
	uint32_t max_sms, asked_sms;	 /* may hold now; without model_limit */
	uint32_t group_head, group_tail; /* by end */
	uint8_t state, kind;
	uint8_t pending; /* model_functional_done not called yet */
	uint8_t late;
	uint8_t bw_class;
};

/* Blocks of one kernel that end together. Times are of the run queue's own clock, which stands
 * still while its process has no slice. */
struct group {
	uint64_t op_id;	  /* 0: free */
	uint64_t end_vns; /* while the kernel's cost is unknown: the start */
	uint32_t blocks, sms;
	uint32_t next;
};

enum heap_kind { HEAP_TIMER, HEAP_HUNGRY, HEAP_KINDS };

/* Streams by (key, id of the head). */
struct heap {
	uint32_t count;
	uint16_t item[MODEL_MAX_STREAMS];
};

struct stream {
	uint32_t proc; /* MODEL_NONE: free */
	int32_t priority;
	uint32_t head, tail, depth;
	uint32_t destroyed;
	uint32_t follows;	  /* on the step list: something ended before the head */
	uint32_t next, prev;	  /* streams of the process; next also in the free list */
	uint32_t link, link_back; /* step list, waiters, engine queue or run list */
	uint64_t head_id;
	uint64_t key[HEAP_KINDS];
	uint16_t pos[HEAP_KINDS];
};

#define HEAP_NOT UINT16_MAX

enum { ENGINE_IN, ENGINE_OUT, ENGINE_DEVICE, ENGINES };

struct proc {
	uint32_t used;
	uint32_t pid;
	uint64_t key;
	uint64_t mem_bytes;
	uint32_t streams;
	uint32_t done_head, done_tail;
	int32_t priority;
	uint32_t kernels_running, copies_running;
	uint32_t copies_waiting[ENGINES];
	uint32_t hungry;	 /* its kernels in `hungry` */
	uint64_t hungry_cost_ns; /* at most the least cost of a block among them */
	uint32_t executing;
	uint64_t busy_ns, busy_since_ns;
	struct heap timers;
};

/* What shares SMs: one for all processes with MPS, else one per process. */
struct runq {
	uint32_t free_sms;
	uint32_t class_sms[MODEL_CLASSES]; /* held, by class */
	uint32_t running;		   /* first stream whose kernel holds SMs */
	uint64_t shift_ns;		   /* model time − own clock */
	uint64_t paused_ns;		   /* MODEL_NEVER: its clock runs */
	struct heap hungry;		   /* kernels that could take more SMs */
};

enum slice_phase { SLICE_IDLE, SLICE_ACTIVE, SLICE_SWITCH };

#define SLICE_GONE (MODEL_NONE - 1) /* resident: a process that has left */

struct slice {
	uint32_t phase;
	uint32_t proc;	   /* active, or switched to */
	uint32_t resident; /* whose context is loaded; MODEL_NONE: never any */
	uint32_t last;	   /* had the last turn */
	uint64_t start_ns;
	uint64_t end_ns;  /* MODEL_NEVER: nobody else waits */
	uint64_t idle_ns; /* when its work ran out; MODEL_NEVER: it has some */
	uint64_t switch_ns;
};

#define COPY_UNIT 840ull /* divided by every number of copies that may share an engine */

struct engine {
	uint32_t slots, count;
	uint32_t run[MODEL_MAX_ENGINES]; /* streams */
	uint32_t queue_head, queue_tail;
	uint64_t seen_ns; /* `served` of those that run is up to here */
};

struct model {
	struct model_desc desc;
	struct model_counters counters;
	uint64_t now_ns;
	uint64_t sequence;
	uint64_t ready_sequence;
	uint64_t mem_used;
	uint64_t procs_used, procs_timed, procs_working, procs_touched; /* masks */
	uint64_t procs_done;
	uint32_t executing; /* processes */
	uint64_t busy_since_ns;
	uint32_t step_head, step_tail;
	uint32_t op_free, op_top;
	uint32_t stream_free, stream_top;
	uint32_t group_free, group_top;
	/* Share of the bandwidth that kernels of a class on so many SMs ask for, in permille. */
	uint32_t demand[MODEL_CLASSES][MODEL_MAX_SMS + 1];
	struct slice slice;
	struct engine engine[ENGINES];
	struct proc proc[MODEL_MAX_PROCS];
	struct runq runq[MODEL_MAX_PROCS];
	struct stream stream[MODEL_MAX_STREAMS];
	struct group group[MODEL_MAX_GROUPS];
	struct op op[MODEL_MAX_OPS];
	uint16_t scratch[MODEL_MAX_OPS]; /* model_repair sorts here */
};

#endif
