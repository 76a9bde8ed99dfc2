/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_WARP_H
#define SIMGPU_PTX_WARP_H

/*
 * A run of ptx_run: its blocks, warps, frames and groups. One thread owns all of it; only global
 * memory is shared with other runs. Lives in one arena, which goes back to the module afterwards.
 *
 * A warp's lanes are split into groups, each with its own place in the program; lanes of one group
 * go in step. The deepest frame's lowest instruction runs first, and groups that meet at one place
 * of one frame become one again. A warp's turn ends after a quantum of steps, much sooner where it
 * polls; then another group of it is first, so that lanes, warps and blocks may wait for others.
 */

#include "ptx/insn.h"

#include <stdatomic.h>

enum { BARRIERS = 16, RANGES = 8, WORKSPACE_BYTES = 256, POLL_STEPS = 200 };

struct frame {
	struct frame *parent, *next_free, *next_all;
	const struct ptx_function *fn;
	const struct insn *return_to;
	const struct insn *call; /* where results go */
	uint8_t *regs;
	uint32_t local_offset; /* of the frame's variables in each lane's local memory */
	uint32_t lanes;	       /* that are in it or in what it calls */
	uint32_t depth;
};

enum group_state { GROUP_RUNS, GROUP_AT_BARRIER, GROUP_AT_WARP_SYNC };

struct group {
	const struct insn *pc;
	struct frame *frame;
	uint32_t mask;
	uint32_t wait; /* lanes that GROUP_AT_WARP_SYNC waits for */
	uint32_t barrier;
	enum group_state state;
	uint64_t ran; /* when it last had its turn */
};

struct warp {
	uint8_t *base[2]; /* of registers, and of constants less one: by an operand's bit 0 */
	uint32_t mask;	  /* lanes that the current instruction is for */
	uint32_t blend;	  /* others have values to keep: results go through `scratch` */
	uint32_t active;  /* lanes of the running group */
	uint32_t outside; /* lanes with nothing in this frame */
	const struct insn *segment; /* since here instructions are not counted yet */
	uint64_t steps;		    /* of the running group, since it was picked */
	int64_t patience;	    /* steps left of the warp's turn */
	uint32_t turn_lanes;	    /* active when it was picked: what steps are counted for */
	uint8_t *local;		    /* lane 0's local memory, of this frame */
	uint64_t local_stride;
	struct run *run;
	struct block *block;
	struct frame *frame;
	const struct insn *pc; /* where the group goes on, after LEAVE */
	struct group *current;
	uint32_t live; /* lanes that have not exited */
	uint32_t index;
	uint32_t groups;
	uint32_t polls;	    /* of this turn: accesses by which it may wait for somebody */
	uint32_t exhausted; /* turns that ended for want of patience */
	bool is_fair;	    /* next, the group that has waited longest runs */
	uint64_t turns;
	uint8_t *local_start;
	struct frame base_frame;
	struct group group[LANES];
	_Alignas(64) uint64_t scratch[LANES];
};

/* aux.bits of plain loads and stores in shared memory. */
enum shared_bits { SHARED_WIDE = 1, SHARED_POLL = 2 };

/* What insn.n says in instructions that are one handler. */
enum shfl_kind { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum vote_kind { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum match_kind { MATCH_ANY, MATCH_ALL };
enum redux_kind {
	REDUX_ADD,
	REDUX_MIN_U,
	REDUX_MAX_U,
	REDUX_MIN_S,
	REDUX_MAX_S,
	REDUX_AND,
	REDUX_OR,
	REDUX_XOR,
};
enum spacep_kind { SPACEP_GLOBAL, SPACEP_SHARED, SPACEP_LOCAL, SPACEP_PARAM };
enum bar_kind { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR };

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
	uint8_t *local_low, *local_high;
	struct frame **free_frames; /* by function index */
	struct frame *all_frames;
	_Atomic uint32_t fence; /* a locked operation on it orders everything */
	uint8_t fp_mode;
	enum ptx_fault fault;
};

/* ---- registers ---- */

static inline void *reg(const struct warp *w, uint32_t operand)
{
	return __builtin_assume_aligned(w->base[operand & 1] + operand, 64);
}

static inline uint32_t *pred_reg(const struct warp *w, uint32_t operand)
{
	return (uint32_t *)(void *)(w->base[0] + operand);
}

static inline void pred_write(const struct warp *w, uint32_t operand, uint32_t bits)
{
	uint32_t *pred = pred_reg(w, operand);

	*pred = (*pred & ~w->mask) | (bits & w->mask);
}

static inline void warp_set_mask(struct warp *w, uint32_t mask)
{
	w->mask = mask;
	w->blend = ~(mask | w->outside);
}

#define FOR_LANES(lane, lanes) \
	for (uint32_t left_##lane = (lanes), lane; \
	     left_##lane && ((lane = (uint32_t)__builtin_ctz(left_##lane)), true); \
	     left_##lane &= left_##lane - 1)

static inline uint32_t lane_count(uint32_t lanes)
{
	return (uint32_t)__builtin_popcount(lanes);
}

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

/* ---- groups and turns (group.c) ---- */

void warp_start(struct warp *w, uint32_t lanes);
/* The current group is to be exactly w->mask; its other lanes go on at the next instruction. */
void group_narrow(struct warp *w, const struct insn *in);
/* `lanes` of the current group go on at pc, as a group of their own. */
void group_split(struct warp *w, uint32_t lanes, const struct insn *pc);
/* Counts what ran since w->segment, the instruction `in` too. For handlers that LEAVE. */
static inline void warp_count(struct warp *w, const struct insn *in)
{
	w->steps += (uint64_t)(in - w->segment) + 1;
	w->segment = in + 1;
}
/* Adds the group's steps to the run's counters, and takes them off the turn. */
void warp_settle(struct warp *w);
/* An atomic or volatile access: perhaps one of many, until somebody else has done something. */
static inline void warp_poll(struct warp *w)
{
	w->patience -= POLL_STEPS;
	w->polls++;
}
/* Lanes of w->mask are gone from the warp; the current group keeps the rest. */
void warp_exit_lanes(struct warp *w, const struct insn *in);
/* Picks the group to run next and sets the warp up for it. False: none can run. */
bool warp_pick(struct warp *w, const struct insn **ret_limit);
bool warp_is_stuck(const struct warp *w);
/* Lanes that wait for one another at different bar.warp.sync go on. False: they do not. */
bool warp_release_stuck(struct warp *w);
uint64_t warp_clock(const struct warp *w, const struct insn *in); /* instructions so far */

/* ---- frames (frame.c) ---- */

struct frame *frame_push(struct warp *w, const struct insn *in, const struct ptx_function *fn);
void frame_drop(struct warp *w, struct frame *frame, uint32_t lanes);
void frame_fill_specials(struct warp *w, struct frame *frame, bool block_only);
uint8_t *frame_local(const struct warp *w, const struct frame *frame);

/* ---- blocks (block.c) ---- */

size_t block_bytes(const struct run *r); /* of the arena, for one resident block */
uint8_t *block_place(struct run *r, struct block *block, uint8_t *memory); /* returns its end */
void block_start(struct run *r, struct block *block, uint64_t index);
bool block_turn(struct run *r, struct block *block);  /* false: nothing could run */
void barrier_check(struct block *block, uint32_t id); /* opens it if all have arrived */
void barrier_check_all(struct block *block);	      /* after threads have exited */

/* ---- handlers that are no rows: emitted by name ---- */
#define HANDLER(name) const struct insn *name(struct warp *w, const struct insn *in)
HANDLER(flow_bra);
HANDLER(flow_brx);
HANDLER(flow_call);
HANDLER(flow_call_register);
HANDLER(flow_call_vprintf);
HANDLER(flow_call_assertfail);
HANDLER(flow_ret);
HANDLER(flow_exit);
HANDLER(flow_trap);
HANDLER(sync_bar);
HANDLER(sync_fence);
HANDLER(sync_warp);
HANDLER(sync_shfl);
HANDLER(sync_vote);
HANDLER(sync_match);
HANDLER(sync_redux);
HANDLER(sync_activemask);
HANDLER(sync_nanosleep);
HANDLER(mem_atom);
HANDLER(mem_atom_shared);
HANDLER(mem_load_strong);
HANDLER(mem_store_strong);
HANDLER(special_read);
HANDLER(special_isspacep);
HANDLER(special_local_address);
HANDLER(special_param_address);
HANDLER(special_shared_to_generic);
HANDLER(special_generic_to_shared);
HANDLER(special_load_param);

#endif
