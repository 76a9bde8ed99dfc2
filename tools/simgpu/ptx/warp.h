/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_WARP_H
#define SIMGPU_PTX_WARP_H

/*
 * A warp, its frames and groups; part of a run (run.h).
 *
 * A warp's lanes are split into groups, each with its own place in the program; lanes of one group
 * go in step. The deepest frame's lowest instruction runs first, and groups that meet at one place
 * of one frame become one again. A warp's turn ends after a quantum of steps, much sooner where it
 * polls; then another group of it is first, so that lanes, warps and blocks may wait for others.
 */

#include "ptx/insn.h"

enum { POLL_STEPS = 200 };

struct run;
struct block;

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

#endif
