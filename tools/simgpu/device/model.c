/* SPDX-License-Identifier: Apache-2.0 */
/* The model's clock: what happens next, and everything that happens up to a given time. */

#include "device/model_impl.h"

uint64_t model_size(void)
{
	return sizeof(struct model);
}

void model_init(struct model *model, const struct model_desc *desc, uint64_t now_ns)
{
	assert(desc->sms >= 1 && desc->sms <= MODEL_MAX_SMS && desc->slice_ns);
	model->desc = *desc;
	model->now_ns = now_ns;
	model->step_head = model->step_tail = MODEL_NONE;
	model->op_free = model->stream_free = model->group_free = MODEL_NONE;
	model->slice = (struct slice){.phase = SLICE_IDLE,
				      .resident = MODEL_NONE,
				      .last = MODEL_NONE,
				      .end_ns = MODEL_NEVER,
				      .idle_ns = MODEL_NEVER};
	if (desc->mps)
		runq_reset(model, 0, false);
	copy_reset(model);
	effect_init(model);
}

const struct model_desc *model_get_desc(const struct model *model)
{
	return &model->desc;
}

static uint64_t model_event_ns(const struct model *model)
{
	uint64_t first = slice_event_ns(model);

	for (uint64_t left = model->procs_timed; left; left &= left - 1) {
		uint64_t at = timer_first(model, (uint32_t)__builtin_ctzll(left));

		if (at < first)
			first = at;
	}
	return first;
}

static void timer_fire(struct model *model, uint32_t index)
{
	struct op *op = &model->op[model->stream[index].head];

	timer_clear(model, index);
	if (op->kind == MODEL_KERNEL) {
		if (op->state == OP_TIMER)
			kernel_ready(model, op);
		else
			kernel_fire(model, op);
	} else if (op->state == OP_TIMER) {
		copy_ready(model, op);
	} else {
		copy_fire(model, op);
	}
}

static void model_fire(struct model *model)
{
	for (uint64_t left = model->procs_timed; left; left &= left - 1) {
		uint32_t proc = (uint32_t)__builtin_ctzll(left);

		while (timer_first(model, proc) <= model->now_ns)
			timer_fire(model, model->proc[proc].timers.item[0]);
	}
}

static bool proc_is_executing(const struct model *model, uint32_t index)
{
	const struct proc *proc = &model->proc[index];

	return proc->copies_running || (proc->kernels_running && slice_is_running(model, index));
}

void proc_update_busy(struct model *model, uint32_t index)
{
	struct proc *proc = &model->proc[index];
	bool executing = proc_is_executing(model, index);

	if (executing == proc->executing)
		return;
	proc->executing = executing;
	if (executing) {
		proc->busy_since_ns = model->now_ns;
		if (!model->executing++)
			model->busy_since_ns = model->now_ns;
	} else {
		proc->busy_ns += model->now_ns - proc->busy_since_ns;
		if (!--model->executing)
			model->counters.busy_ns += model->now_ns - model->busy_since_ns;
	}
}

/* Everything that takes no time. */
void model_settle(struct model *model)
{
	step_all(model);
	if (!model->desc.mps)
		slice_update(model);
	kernel_dispatch(model);
	for (; model->procs_touched; model->procs_touched &= model->procs_touched - 1)
		proc_update_busy(model, (uint32_t)__builtin_ctzll(model->procs_touched));
}

static void model_play(struct model *model, uint64_t event_ns)
{
	if (event_ns > model->now_ns)
		model->now_ns = event_ns;
	model_fire(model);
	model_settle(model);
}

void model_advance(struct model *model, uint64_t now_ns)
{
	uint64_t event;

	while ((event = model_event_ns(model)) <= now_ns)
		model_play(model, event);
	if (now_ns > model->now_ns)
		model->now_ns = now_ns;
}

uint64_t model_run(struct model *model, uint64_t until_ns)
{
	uint64_t event;

	while (!model->procs_done && (event = model_event_ns(model)) <= until_ns)
		model_play(model, event);
	if (!model->procs_done && until_ns > model->now_ns)
		model->now_ns = until_ns;
	return model->now_ns;
}

/* ---- the next event of one process ---- */

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t later_by(uint64_t at, uint64_t by)
{
	return at > MODEL_NEVER - by ? MODEL_NEVER : at + by;
}

/*
 * Without a turn, a process's kernels move at the next change of slice: the one that is due, or
 * earlier if the active process runs out of work, which is not before its next event.
 */
static uint64_t next_turn_ns(const struct model *model)
{
	const struct slice *slice = &model->slice;
	uint64_t by = model->desc.idle_hold_ns + model->desc.switch_ns;

	if (slice->phase != SLICE_ACTIVE)
		return slice_event_ns(model);
	return earlier(slice_event_ns(model), later_by(timer_first(model, slice->proc), by));
}

uint64_t model_next_ns(const struct model *model, uint32_t index)
{
	const struct proc *proc;
	uint64_t next;

	if (index == UINT32_MAX)
		return model->procs_done ? model->now_ns : model_event_ns(model);
	if (index >= MODEL_MAX_PROCS || !model->proc[index].used)
		return MODEL_NEVER;
	proc = &model->proc[index];
	if (proc->done_head != MODEL_NONE)
		return model->now_ns;
	next = earlier(timer_first(model, index), copy_next_ns(model, index));
	if (model->desc.mps) {
		/* SMs come free at somebody's event; then its shortest wave must still run. */
		if (proc->hungry)
			next = earlier(next, later_by(model_event_ns(model), proc->hungry_cost_ns));
	} else if (model->procs_working & proc_bit(index)) {
		next = earlier(next, slice_is_running(model, index) ? slice_event_ns(model)
								    : next_turn_ns(model));
	}
	return next;
}

/* ---- counters ---- */

void model_get_counters(const struct model *model, struct model_counters *ret)
{
	*ret = model->counters;
	if (model->executing)
		ret->busy_ns += model->now_ns - model->busy_since_ns;
}

uint64_t model_proc_busy_ns(const struct model *model, uint32_t index)
{
	const struct proc *proc;

	if (index >= MODEL_MAX_PROCS || !model->proc[index].used)
		return 0;
	proc = &model->proc[index];
	return proc->busy_ns + (proc->executing ? model->now_ns - proc->busy_since_ns : 0);
}
