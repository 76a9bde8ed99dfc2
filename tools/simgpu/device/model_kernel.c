/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels: waves of blocks on SMs. The blocks of a kernel that run are groups which end together,
 * so that an event costs the same however many blocks there are. An SM serves one kernel at a time
 * (no co-residency of different kernels).
 */

#include "device/model_impl.h"

static uint32_t divide_up(uint64_t value, uint64_t by)
{
	return (uint32_t)((value + by - 1) / by);
}

void kernel_set_cost(struct op *op, uint64_t block_ns)
{
	uint64_t cost = block_ns ? block_ns : 1;

	if (cost != MODEL_UNKNOWN &&
	    (__builtin_mul_overflow(cost, op->scale, &cost) || cost > MODEL_MAX_COST_NS))
		cost = MODEL_MAX_COST_NS;
	op->cost_ns = cost;
}

void kernel_set_shape(struct model *model, struct op *op, const struct model_op_desc *desc)
{
	uint64_t per_wave, block_ns = desc->block_ns;
	uint32_t blocks = desc->blocks;

	op->asked_sms =
		desc->max_sms && desc->max_sms < model->desc.sms ? desc->max_sms : model->desc.sms;
	op->max_sms = op->asked_sms;
	op->bw_class = (uint8_t)desc->bw_class;
	op->blocks_per_sm = desc->blocks_per_sm ? desc->blocks_per_sm : 1;
	per_wave = (uint64_t)op->max_sms * op->blocks_per_sm;
	effect_merge(model, per_wave, &blocks, &block_ns);
	op->scale = divide_up(blocks, per_wave * MODEL_MAX_WAVES);
	op->blocks = divide_up(blocks, op->scale);
	op->blocks_left = op->blocks;
	op->blocks_done = 0;
	op->sms = 0;
	op->group_head = op->group_tail = MODEL_NONE;
	kernel_set_cost(op, block_ns);
}

/* ---- groups ---- */

static struct group *group_create(struct model *model)
{
	uint32_t index = model->group_free;

	if (index != MODEL_NONE) {
		model->group_free = model->group[index].next;
		return &model->group[index];
	}
	assert(model->group_top < MODEL_MAX_GROUPS);
	index = model->group_top++;
	model_commit();
	return &model->group[index];
}

/* The last of its groups that ends by then. Most that begin now end last. */
static uint32_t group_before(const struct model *model, const struct op *op, uint64_t end_vns)
{
	uint32_t before = MODEL_NONE;

	if (op->group_tail != MODEL_NONE && model->group[op->group_tail].end_vns <= end_vns)
		return op->group_tail;
	for (uint32_t g = op->group_head; model->group[g].end_vns <= end_vns;
	     g = model->group[g].next)
		before = g;
	return before;
}

/* One that ends as good as then: the last before, or the first after. */
static uint32_t group_near(const struct model *model, const struct op *op, uint32_t before,
			   uint64_t end_vns)
{
	uint64_t apart = op->cost_ns == MODEL_UNKNOWN ? 0 : model->desc.coalesce_ns / 2;
	uint32_t after = before != MODEL_NONE ? model->group[before].next : op->group_head;

	if (before != MODEL_NONE && end_vns - model->group[before].end_vns <= apart)
		return before;
	if (after != MODEL_NONE && model->group[after].end_vns - end_vns <= apart)
		return after;
	return MODEL_NONE;
}

static void group_add(struct model *model, struct op *op, uint64_t end_vns, uint32_t blocks,
		      uint32_t sms)
{
	uint32_t before =
		op->group_head != MODEL_NONE ? group_before(model, op, end_vns) : MODEL_NONE;
	uint32_t index = group_near(model, op, before, end_vns);
	struct group *group;

	if (index != MODEL_NONE) {
		model->group[index].blocks += blocks;
		model->group[index].sms += sms;
		return;
	}
	group = group_create(model);
	index = (uint32_t)(group - model->group);
	group->end_vns = end_vns;
	group->blocks = blocks;
	group->sms = sms;
	group->next = before != MODEL_NONE ? model->group[before].next : op->group_head;
	model_commit();
	group->op_id = op->id;
	if (before != MODEL_NONE)
		model->group[before].next = index;
	else
		op->group_head = index;
	if (group->next == MODEL_NONE)
		op->group_tail = index;
}

/* Takes the first group off; its SMs are free. */
static void group_pop(struct model *model, struct op *op, struct runq *runq)
{
	uint32_t index = op->group_head;
	struct group *group = &model->group[index];

	group->op_id = 0;
	model_commit();
	op->blocks_done += group->blocks;
	op->sms -= group->sms;
	runq->free_sms += group->sms;
	runq->class_sms[op->bw_class] -= group->sms;
	op->group_head = group->next;
	if (op->group_head == MODEL_NONE)
		op->group_tail = MODEL_NONE;
	group->next = model->group_free;
	model->group_free = index;
}

/* ---- a kernel's life ---- */

void kernel_retime(struct model *model, struct op *op)
{
	struct runq *runq = runq_of(model, op->proc);

	if (op->group_head == MODEL_NONE || op->cost_ns == MODEL_UNKNOWN ||
	    runq->paused_ns != MODEL_NEVER)
		timer_clear(model, op->stream);
	else
		timer_set(model, op->stream, model->group[op->group_head].end_vns + runq->shift_ns);
}

void kernel_ready(struct model *model, struct op *op)
{
	op->age = model->desc.age_from_ready ? ++model->ready_sequence : 0;
	op_set_state(op, OP_READY);
	kernel_set_hungry(model, op, op->max_sms > 0);
}

static void kernel_after_groups(struct model *model, struct op *op)
{
	bool over = !op->blocks_left && op->group_head == MODEL_NONE;

	kernel_set_hungry(model, op, op->blocks_left && op->sms < op->max_sms);
	if (op->group_head == MODEL_NONE)
		kernel_leave(model, op);
	kernel_retime(model, op);
	if (over)
		op_schedule_over(model, op);
}

void kernel_fire(struct model *model, struct op *op)
{
	struct runq *runq = runq_of(model, op->proc);
	uint64_t now_vns = runq_now(model, runq);

	while (op->group_head != MODEL_NONE && model->group[op->group_head].end_vns <= now_vns)
		group_pop(model, op, runq);
	kernel_after_groups(model, op);
}

void kernel_stop(struct model *model, struct op *op)
{
	struct runq *runq = runq_of(model, op->proc);

	kernel_set_hungry(model, op, false);
	if (op->group_head != MODEL_NONE)
		kernel_leave(model, op);
	while (op->group_head != MODEL_NONE)
		group_pop(model, op, runq);
	timer_clear(model, op->stream);
}

/* Blocks for `sms` SMs that are free. */
static void kernel_place(struct model *model, struct runq *runq, struct op *op, uint32_t sms)
{
	uint64_t now_vns = runq_now(model, runq), block_ns = effect_block_ns(model, runq, op, sms);
	uint32_t parts = effect_parts(model, op, sms);

	for (uint32_t part = 0; part < parts; part++) {
		uint32_t share = sms * (part + 1) / parts - sms * part / parts;
		uint64_t room = (uint64_t)share * op->blocks_per_sm, end_vns = now_vns;
		uint32_t blocks = room < op->blocks_left ? (uint32_t)room : op->blocks_left;

		if (block_ns != MODEL_UNKNOWN)
			end_vns += effect_stagger(model, block_ns, part, parts);
		group_add(model, op, end_vns, blocks, share);
		op->blocks_left -= blocks;
	}
	op->sms += sms;
	runq->free_sms -= sms;
	runq->class_sms[op->bw_class] += sms;
}

static void kernel_feed(struct model *model, struct runq *runq, struct op *op)
{
	uint32_t sms = divide_up(op->blocks_left, op->blocks_per_sm);
	bool enters = !op->sms;

	if (sms > op->max_sms - op->sms)
		sms = op->max_sms - op->sms;
	if (sms > runq->free_sms)
		sms = runq->free_sms;
	if (op->start_ns == MODEL_NEVER)
		op->start_ns = model->now_ns;
	if (op->state != OP_RUNNING)
		op_set_state(op, OP_RUNNING);
	kernel_place(model, runq, op, sms);
	if (enters)
		kernel_enter(model, op);
	kernel_retime(model, op);
	if (!op->blocks_left || op->sms >= op->max_sms)
		kernel_set_hungry(model, op, false);
}

/* Free SMs go to the highest priority, then to the oldest. */
void kernel_dispatch(struct model *model)
{
	struct runq *runq = &model->runq[0];

	if (!model->desc.mps) {
		if (model->slice.phase != SLICE_ACTIVE)
			return;
		runq = &model->runq[model->slice.proc];
	}
	while (runq->free_sms && runq->hungry.count)
		kernel_feed(model, runq, &model->op[model->stream[runq->hungry.item[0]].head]);
}

/* ---- a cost that came late ---- */

/* The SMs that a kernel of unknown cost holds have worked through `elapsed / cost` waves. */
static bool kernel_would_be_over(const struct model *model, const struct op *op, uint64_t now_vns)
{
	uint64_t more = 0;

	for (uint32_t g = op->group_head; g != MODEL_NONE; g = model->group[g].next) {
		const struct group *group = &model->group[g];
		uint64_t waves =
			now_vns > group->end_vns ? (now_vns - group->end_vns) / op->cost_ns : 0;

		if (!waves)
			return false;
		more += (waves - 1) * group->sms * op->blocks_per_sm;
	}
	return op->group_head != MODEL_NONE && more >= op->blocks_left;
}

/* Orders a kernel's groups by end; there are few. */
static void kernel_sort_groups(struct model *model, struct op *op)
{
	uint32_t from = op->group_head;

	op->group_head = op->group_tail = MODEL_NONE;
	while (from != MODEL_NONE) {
		uint32_t index = from, *at = &op->group_head;

		from = model->group[index].next;
		while (*at != MODEL_NONE &&
		       model->group[*at].end_vns <= model->group[index].end_vns)
			at = &model->group[*at].next;
		model->group[index].next = *at;
		*at = index;
		if (model->group[index].next == MODEL_NONE)
			op->group_tail = index;
	}
}

/* Gives each group the wave that it is in now. */
static void kernel_replay(struct model *model, struct op *op, uint64_t now_vns)
{
	uint64_t more = 0;

	for (uint32_t g = op->group_head; g != MODEL_NONE; g = model->group[g].next) {
		struct group *group = &model->group[g];
		uint64_t waves = (now_vns - group->end_vns) / op->cost_ns;

		if (waves)
			more += (waves - 1) * group->sms * op->blocks_per_sm;
	}
	if (more > op->blocks_left)
		more = op->blocks_left;
	op->blocks_left -= (uint32_t)more;
	op->blocks_done += (uint32_t)more;
	for (uint32_t g = op->group_head; g != MODEL_NONE; g = model->group[g].next) {
		struct group *group = &model->group[g];
		uint64_t waves = (now_vns - group->end_vns) / op->cost_ns;
		uint64_t room = (uint64_t)group->sms * op->blocks_per_sm;

		group->end_vns += (waves + 1) * op->cost_ns;
		if (!waves)
			continue;
		op->blocks_done += group->blocks;
		group->blocks = room < op->blocks_left ? (uint32_t)room : op->blocks_left;
		op->blocks_left -= group->blocks;
		if (!group->blocks) /* its SMs were done by now: first in line to be freed */
			group->end_vns = 0;
	}
	kernel_sort_groups(model, op);
}

void kernel_resolve(struct model *model, struct op *op)
{
	struct runq *runq = runq_of(model, op->proc);
	uint64_t now_vns = runq_now(model, runq);
	struct proc *proc = &model->proc[op->proc];
	bool late;

	if (effect_least_ns(model, op) < proc->hungry_cost_ns)
		proc->hungry_cost_ns = effect_least_ns(model, op);
	if (op->group_head == MODEL_NONE)
		return;
	if (kernel_would_be_over(model, op, now_vns)) {
		late = kernel_would_be_over(model, op, now_vns - 1);
		kernel_stop(model, op);
		op->blocks_left = 0;
		op->blocks_done = op->blocks;
		op_finish(model, op, late);
		return;
	}
	kernel_replay(model, op, now_vns);
	while (op->group_head != MODEL_NONE && model->group[op->group_head].end_vns <= now_vns)
		group_pop(model, op, runq);
	kernel_after_groups(model, op);
}
