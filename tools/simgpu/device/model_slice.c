/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time slices without MPS. One process's context is on the SMs at a time. While it has work it
 * keeps them to the end of its slice (slices follow one another seamlessly while nobody else
 * waits); when its work runs out it keeps them idle_hold_ns more. Changing to another process
 * takes switch_ns, also from one that is idle or gone; the first ever costs nothing. Turns go
 * round by process number.
 */

#include "device/model_impl.h"

static uint32_t slice_next_in_turn(const struct model *model)
{
	uint64_t working = model->procs_working;
	uint32_t after = model->slice.last + 1; /* last is MODEL_NONE at first: 0 */
	uint64_t later = after < MODEL_MAX_PROCS ? working & ~(proc_bit(after) - 1) : 0;

	return (uint32_t)__builtin_ctzll(later ? later : working);
}

static void slice_activate(struct model *model, uint32_t proc)
{
	struct slice *slice = &model->slice;

	slice->proc = slice->resident = slice->last = proc;
	slice->start_ns = model->now_ns;
	slice->end_ns = slice->idle_ns = MODEL_NEVER;
	slice->phase = SLICE_ACTIVE;
	runq_resume(model, proc);
}

static void slice_switch(struct model *model, uint32_t proc)
{
	struct slice *slice = &model->slice;

	if (slice->phase == SLICE_ACTIVE)
		runq_pause(model, slice->proc);
	slice->phase = SLICE_SWITCH;
	slice->proc = proc;
	slice->switch_ns = model->now_ns + model->desc.switch_ns;
	model->counters.switches++;
}

/* The first end of a slice, of those that follow from start_ns, that is not over yet. */
static uint64_t slice_boundary(const struct model *model)
{
	uint64_t ran = model->now_ns - model->slice.start_ns, length = model->desc.slice_ns;
	uint64_t slices = ran ? (ran + length - 1) / length : 1;

	return model->slice.start_ns + slices * length;
}

static uint64_t slice_due_ns(const struct model *model)
{
	const struct slice *slice = &model->slice;

	if (slice->idle_ns != MODEL_NEVER &&
	    slice->idle_ns + model->desc.idle_hold_ns < slice->end_ns)
		return slice->idle_ns + model->desc.idle_hold_ns;
	return slice->end_ns;
}

/* Returns true when another process gets its turn. */
static bool slice_is_over(struct model *model)
{
	struct slice *slice = &model->slice;
	bool busy = model->procs_working & proc_bit(slice->proc);

	if (!busy && slice->idle_ns == MODEL_NEVER)
		slice->idle_ns = model->now_ns;
	if (busy && slice->idle_ns != MODEL_NEVER) {
		if (model->now_ns - slice->idle_ns > model->desc.idle_hold_ns)
			slice->start_ns = model->now_ns;
		slice->idle_ns = MODEL_NEVER;
	}
	if (!(model->procs_working & ~proc_bit(slice->proc))) {
		slice->end_ns = MODEL_NEVER;
		return false;
	}
	if (slice->end_ns == MODEL_NEVER)
		slice->end_ns = slice_boundary(model);
	return model->now_ns >= slice_due_ns(model);
}

static void slice_begin(struct model *model)
{
	uint32_t next = slice_next_in_turn(model);

	if (model->slice.resident == MODEL_NONE || model->slice.resident == next)
		slice_activate(model, next);
	else
		slice_switch(model, next);
}

/* After all that happens at this instant, before SMs are given out. */
void slice_update(struct model *model)
{
	struct slice *slice = &model->slice;

	for (;;) {
		if (slice->phase == SLICE_ACTIVE) {
			if (!slice_is_over(model))
				return;
			slice_switch(model, slice_next_in_turn(model));
		} else if (slice->phase == SLICE_SWITCH) {
			if (model->now_ns < slice->switch_ns)
				return;
			slice_activate(model, slice->proc);
		} else {
			if (!model->procs_working)
				return;
			slice_begin(model);
		}
	}
}

uint64_t slice_event_ns(const struct model *model)
{
	const struct slice *slice = &model->slice;

	if (model->desc.mps || slice->phase == SLICE_IDLE)
		return MODEL_NEVER;
	if (slice->phase == SLICE_SWITCH)
		return slice->switch_ns;
	return slice->end_ns == MODEL_NEVER ? MODEL_NEVER : slice_due_ns(model);
}

bool slice_is_running(const struct model *model, uint32_t proc)
{
	return model->desc.mps || (model->slice.phase == SLICE_ACTIVE && model->slice.proc == proc);
}

/* A process has left. */
void slice_forget(struct model *model, uint32_t proc)
{
	struct slice *slice = &model->slice;

	if (slice->resident == proc)
		slice->resident = SLICE_GONE;
	if (slice->phase != SLICE_IDLE && slice->proc == proc)
		slice->phase = SLICE_IDLE;
}
