/* SPDX-License-Identifier: Apache-2.0 */
/* Which lanes of a warp run together, and which of these groups runs now. */
#include "ptx/handlers.h"
#include "ptx/run.h"

void warp_start(struct warp *w, uint32_t lanes)
{
	w->live = lanes;
	w->groups = 1;
	w->is_fair = false;
	w->turns = 0;
	w->base_frame.lanes = lanes;
	w->group[0] = (struct group){
		.pc = w->base_frame.fn->code,
		.frame = &w->base_frame,
		.mask = lanes,
	};
}

void group_split(struct warp *w, uint32_t lanes, const struct insn *pc)
{
	struct group *from = w->current;
	struct group *group = &w->group[w->groups++];

	*group = *from;
	group->mask = lanes;
	group->pc = pc;
	group->state = GROUP_RUNS;
	from->mask &= ~lanes;
	w->active = from->mask;
}

void group_narrow(struct warp *w, const struct insn *in)
{
	uint32_t rest = w->active & ~w->mask;

	if (rest)
		group_split(w, rest, in + 1);
}

void warp_exit_lanes(struct warp *w, const struct insn *in)
{
	struct group *group = w->current;
	uint32_t gone = w->mask;

	for (struct frame *frame = group->frame; frame;) {
		struct frame *parent = frame->parent;

		frame_drop(w, frame, gone);
		frame = parent;
	}
	w->live &= ~gone;
	w->block->live -= lane_count(gone);
	group->mask &= ~gone;
	w->active = group->mask;
	w->pc = in + 1;
	if (!group->mask) {
		*group = w->group[--w->groups];
		w->current = NULL;
	}
	barrier_check_all(w->block);
}

void warp_settle(struct warp *w)
{
	w->run->warp_instructions += w->steps;
	w->run->thread_instructions += w->steps * w->turn_lanes;
	w->patience -= (int64_t)w->steps + 1;
	w->steps = 0;
}

static bool group_can_run(const struct warp *w, const struct group *group)
{
	if (group->state == GROUP_AT_BARRIER)
		return false;
	return group->state == GROUP_RUNS || !(group->wait & w->live & ~group->mask);
}

static void merge_groups(struct warp *w)
{
	for (uint32_t i = 0; i < w->groups; i++) {
		struct group *a = &w->group[i];

		if (a->state == GROUP_AT_BARRIER)
			continue;
		for (uint32_t j = i + 1; j < w->groups;) {
			struct group *b = &w->group[j];

			if (b->pc != a->pc || b->frame != a->frame ||
			    b->state == GROUP_AT_BARRIER) {
				j++;
				continue;
			}
			a->mask |= b->mask;
			a->state = GROUP_RUNS;
			a->ran = a->ran < b->ran ? a->ran : b->ran;
			*b = w->group[--w->groups];
		}
	}
}

static bool runs_before(const struct group *a, const struct group *b, bool fair)
{
	if (fair && a->ran != b->ran)
		return a->ran < b->ran;
	if (a->frame->depth != b->frame->depth)
		return a->frame->depth > b->frame->depth;
	return a->pc < b->pc;
}

static struct group *choose(struct warp *w)
{
	struct group *best = NULL;

	for (uint32_t i = 0; i < w->groups; i++) {
		struct group *group = &w->group[i];

		if (group_can_run(w, group) && (!best || runs_before(group, best, w->is_fair)))
			best = group;
	}
	return best;
}

/* Where the chosen group must stop because another one may join it there. */
static const struct insn *meeting_point(const struct warp *w, const struct group *chosen)
{
	const struct insn *limit = LEAVE;

	for (uint32_t i = 0; i < w->groups; i++) {
		const struct group *group = &w->group[i];

		if (group->state != GROUP_AT_BARRIER && group->frame == chosen->frame &&
		    group->pc > chosen->pc && group->pc < limit)
			limit = group->pc;
	}
	return limit;
}

bool warp_pick(struct warp *w, const struct insn **ret_limit)
{
	struct group *group;

	if (w->groups > 1)
		merge_groups(w);
	group = choose(w);
	if (!group)
		return false;
	w->is_fair = false;
	group->state = GROUP_RUNS;
	group->ran = ++w->turns;
	w->current = group;
	w->frame = group->frame;
	w->active = group->mask;
	w->turn_lanes = lane_count(w->active);
	w->outside = ~group->frame->lanes;
	w->base[0] = group->frame->regs;
	w->base[1] = group->frame->fn->consts - 1;
	w->local = frame_local(w, group->frame);
	w->segment = group->pc;
	w->pc = group->pc;
	w->steps = 0;
	*ret_limit = w->groups > 1 ? meeting_point(w, group) : LEAVE;
	warp_set_mask(w, w->active);
	return true;
}

/* Groups are left, none can run, and none waits at a barrier of the block. */
bool warp_is_stuck(const struct warp *w)
{
	for (uint32_t i = 0; i < w->groups; i++) {
		if (w->group[i].state == GROUP_AT_BARRIER || group_can_run(w, &w->group[i]))
			return false;
	}
	return w->groups > 0;
}

bool warp_release_stuck(struct warp *w)
{
	uint32_t waiting = 0;
	uint32_t wanted = 0;

	for (uint32_t i = 0; i < w->groups; i++) {
		if (w->group[i].pc->fn != sync_warp)
			return false;
		waiting |= w->group[i].mask;
		wanted |= w->group[i].wait;
	}
	if (wanted & w->live & ~waiting)
		return false;
	for (uint32_t i = 0; i < w->groups; i++) {
		w->group[i].state = GROUP_RUNS;
		w->group[i].pc++;
	}
	return true;
}

uint64_t warp_clock(const struct warp *w, const struct insn *in)
{
	return w->run->warp_instructions + w->steps + (uint64_t)(in - w->segment);
}
