/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: from submission to collection, and what waits for what. */

#include <errno.h>

#include "device/model_impl.h"

/* ---- records ---- */

static struct op *op_create(struct model *model)
{
	uint32_t slot = model->op_free;

	if (slot != MODEL_NONE) {
		model->op_free = model->op[slot].next;
		return &model->op[slot];
	}
	if (model->op_top >= MODEL_MAX_OPS)
		return NULL;
	slot = model->op_top++;
	model_commit();
	return &model->op[slot];
}

void op_free(struct model *model, struct op *op)
{
	op_set_state(op, OP_FREE);
	op->id = 0;
	op->next = model->op_free;
	model->op_free = op_slot(model, op);
}

struct op *op_find(struct model *model, uint64_t id)
{
	struct op *op = &model->op[id & (MODEL_MAX_OPS - 1)];

	return id && op->id == id && op->state != OP_DONE ? op : NULL;
}

bool model_is_done(const struct model *model, uint64_t id)
{
	const struct op *op = &model->op[id & (MODEL_MAX_OPS - 1)];

	return !id || op->id != id || op->state == OP_DONE;
}

/* ---- streams that have something to begin ---- */

void step_push(struct model *model, uint32_t index, bool follows)
{
	struct stream *stream = &model->stream[index];

	stream->follows = follows;
	stream->link = MODEL_NONE;
	if (model->step_tail != MODEL_NONE)
		model->stream[model->step_tail].link = index;
	else
		model->step_head = index;
	model->step_tail = index;
}

static void op_wait(struct model *model, struct op *op, struct op *target)
{
	struct stream *stream = &model->stream[op->stream];

	stream->link_back = MODEL_NONE;
	stream->link = target->waiters;
	if (stream->link != MODEL_NONE)
		model->stream[stream->link].link_back = op->stream;
	target->waiters = op->stream;
	op_set_state(op, OP_WAITING);
}

/* Takes a stream's head off the waiters of its target. */
void op_unwait(struct model *model, uint32_t index)
{
	struct stream *stream = &model->stream[index];
	struct op *target = op_find(model, model->op[stream->head].target);

	if (stream->link_back != MODEL_NONE)
		model->stream[stream->link_back].link = stream->link;
	else if (target)
		target->waiters = stream->link;
	if (stream->link != MODEL_NONE)
		model->stream[stream->link].link_back = stream->link_back;
	stream->link = stream->link_back = MODEL_NONE;
}

void op_wake_waiters(struct model *model, struct op *op, uint32_t except_proc)
{
	while (op->waiters != MODEL_NONE) {
		uint32_t index = op->waiters;
		struct stream *stream = &model->stream[index];

		op->waiters = stream->link;
		stream->link = stream->link_back = MODEL_NONE;
		op_set_state(&model->op[stream->head], OP_QUEUED);
		if (stream->proc != except_proc)
			step_push(model, index, true);
	}
}

static void op_begin_later(struct model *model, struct op *op, bool follows)
{
	uint64_t ready_ns = model->now_ns + (follows ? model->desc.kernel_gap_ns : 0);

	if (ready_ns > op->ready_ns)
		op->ready_ns = ready_ns;
	if (op->ready_ns > model->now_ns) {
		op_set_state(op, OP_TIMER);
		timer_set(model, op->stream, op->ready_ns);
	} else if (op_is_copy(op)) {
		copy_ready(model, op);
	} else {
		kernel_ready(model, op);
	}
}

/* The head has nothing before it any more. */
static void op_begin(struct model *model, struct op *op, bool follows)
{
	struct op *target;

	if (op->kind == MODEL_KERNEL || op_is_copy(op)) {
		op_begin_later(model, op, follows);
		return;
	}
	if (op->start_ns == MODEL_NEVER)
		op->start_ns = model->now_ns;
	target = op->kind == MODEL_WAIT_OP ? op_find(model, op->target) : NULL;
	if (target)
		op_wait(model, op, target);
	else
		op_schedule_over(model, op);
}

void step_all(struct model *model)
{
	while (model->step_head != MODEL_NONE) {
		uint32_t index = model->step_head;
		struct stream *stream = &model->stream[index];

		model->step_head = stream->link;
		if (model->step_head == MODEL_NONE)
			model->step_tail = MODEL_NONE;
		stream->link = MODEL_NONE;
		if (stream->head != MODEL_NONE)
			op_begin(model, &model->op[stream->head], stream->follows);
		else if (stream->destroyed)
			stream_release(model, index);
	}
}

/* ---- the end ---- */

void op_schedule_over(struct model *model, struct op *op)
{
	op->end_ns = model->now_ns;
	if (op->pending)
		op_set_state(op, OP_HELD);
	else
		op_finish(model, op, false);
}

void op_finish(struct model *model, struct op *op, bool late)
{
	uint32_t stream = op->stream;

	op->end_ns = model->now_ns;
	op->late = late;
	op_set_state(op, OP_DONE);
	stream_pop(model, stream);
	done_append(model, op);
	model->counters.ops++;
	model->counters.kernels += op->kind == MODEL_KERNEL;
	model->counters.copies += op_is_copy(op);
	model->counters.late_ops += late;
	op_wake_waiters(model, op, MODEL_NONE);
	step_push(model, stream, true);
}

/* The results are there. Only what has a schedule can be late for it. */
void op_finish_held(struct model *model, struct op *op)
{
	bool timed = op->kind == MODEL_KERNEL || op_is_copy(op);

	op_finish(model, op, timed && op->end_ns < model->now_ns);
}

uint32_t model_collect(struct model *model, uint32_t proc_index, uint32_t max,
		       struct model_done *ret)
{
	struct proc *proc;
	uint32_t count = 0;

	if (proc_index >= MODEL_MAX_PROCS || !model->proc[proc_index].used)
		return 0;
	proc = &model->proc[proc_index];
	while (count < max && proc->done_head != MODEL_NONE) {
		struct op *op = &model->op[proc->done_head];

		proc->done_head = op->next;
		if (proc->done_head == MODEL_NONE)
			proc->done_tail = MODEL_NONE;
		ret[count++] = (struct model_done){.op = op->id,
						   .cookie = op->cookie,
						   .start_ns = op->start_ns,
						   .end_ns = op->end_ns,
						   .stream = op->stream,
						   .late = op->late};
		op_free(model, op);
	}
	if (proc->done_head == MODEL_NONE)
		model->procs_done &= ~proc_bit(proc_index);
	return count;
}

/* ---- submission and results ---- */

static bool is_cost(uint64_t cost_ns, uint32_t functional)
{
	return cost_ns <= MODEL_MAX_COST_NS || (cost_ns == MODEL_UNKNOWN && functional);
}

static bool is_possible(const struct model_op_desc *desc)
{
	switch (desc->kind) {
	case MODEL_KERNEL:
		return desc->blocks && desc->bw_class < MODEL_CLASSES &&
		       is_cost(desc->block_ns, desc->functional);
	case MODEL_COPY_H2D:
	case MODEL_COPY_D2H:
	case MODEL_COPY_D2D: return is_cost(desc->duration_ns, desc->functional);
	case MODEL_MARK:
	case MODEL_WAIT_OP:
	case MODEL_HOST: return true;
	default: return false;
	}
}

static void op_fill(struct model *model, struct op *op, const struct model_op_desc *desc,
		    uint32_t stream)
{
	bool idle = model->stream[stream].head == MODEL_NONE;

	op->cookie = desc->cookie;
	op->target = desc->wait_op;
	op->ready_ns = idle ? model->now_ns + model->desc.launch_latency_ns : 0;
	op->start_ns = MODEL_NEVER;
	op->end_ns = 0;
	op->served = 0;
	op->stream = stream;
	op->proc = model->stream[stream].proc;
	op->next = op->waiters = MODEL_NONE;
	op->group_head = op->group_tail = MODEL_NONE;
	op->kind = (uint8_t)desc->kind;
	op->pending = desc->functional || desc->kind == MODEL_HOST;
	op->late = 0;
	op->bw_class = 0;
	op->cost_ns = desc->duration_ns;
	op->blocks = op->blocks_left = op->blocks_done = op->sms = 0;
	if (desc->kind == MODEL_KERNEL)
		kernel_set_shape(model, op, desc);
	op->id = ++model->sequence << MODEL_SLOT_BITS | op_slot(model, op);
}

int model_submit(struct model *model, uint64_t now_ns, uint32_t index,
		 const struct model_op_desc *desc, uint64_t *ret_op)
{
	struct stream *stream;
	struct op *op;
	bool idle;

	if (index >= model->stream_top || !is_possible(desc))
		return -EINVAL;
	stream = &model->stream[index];
	if (stream->proc == MODEL_NONE || stream->destroyed)
		return -EINVAL;
	model_advance(model, now_ns);
	if (stream->depth >= MODEL_STREAM_DEPTH)
		return -EAGAIN;
	op = op_create(model);
	if (!op)
		return -EAGAIN;
	idle = stream->head == MODEL_NONE;
	op_fill(model, op, desc, index);
	op_set_state(op, OP_QUEUED);
	stream_append(model, index, op);
	if (idle) {
		step_push(model, index, false);
		model_settle(model);
	}
	*ret_op = op->id;
	return 0;
}

static void op_set_cost(struct op *op, uint64_t cost_ns)
{
	if (op->kind == MODEL_KERNEL)
		kernel_set_cost(op, cost_ns == MODEL_UNKNOWN ? 0 : cost_ns);
	else if (cost_ns == MODEL_UNKNOWN)
		op->cost_ns = 0;
	else
		op->cost_ns = cost_ns < MODEL_MAX_COST_NS ? cost_ns : MODEL_MAX_COST_NS;
}

void model_functional_done(struct model *model, uint64_t now_ns, uint64_t id, uint64_t duration_ns)
{
	struct op *op;

	model_advance(model, now_ns);
	op = op_find(model, id);
	if (!op || !op->pending)
		return;
	op->pending = 0;
	if (op->state == OP_HELD) {
		op_finish_held(model, op);
	} else if (op->cost_ns == MODEL_UNKNOWN) {
		op_set_cost(op, duration_ns);
		if (op->kind == MODEL_KERNEL)
			kernel_resolve(model, op);
		else if (op_is_copy(op))
			copy_resolve(model, op);
	}
	model_settle(model);
}
