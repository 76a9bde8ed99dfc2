/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the model whole after a lock holder died anywhere in a call: throws away every list, heap,
 * sum and mask, and builds them again from what each record says of itself (model_impl.h). The
 * price is at most a wave of blocks run twice or left out, or a gap between two operations
 * begun anew: no operation, byte or SM is lost. May itself be cut short and begun again.
 */

#include <string.h>

#include "device/model_impl.h"

/* ---- sorting slots, without memory of its own ---- */

typedef uint64_t (*repair_key)(const struct model *model, uint32_t slot);

struct repair_order {
	repair_key major, minor;
};

static bool is_above(const struct model *model, const struct repair_order *order, uint16_t a,
		     uint16_t b)
{
	uint64_t left = order->major(model, a), right = order->major(model, b);

	if (left != right)
		return left > right;
	return order->minor(model, a) > order->minor(model, b);
}

static void sift_down(struct model *model, const struct repair_order *order, uint32_t at,
		      uint32_t count)
{
	uint16_t *item = model->scratch;

	for (;;) {
		uint32_t child = 2 * at + 1;
		uint16_t swap = item[at];

		if (child >= count)
			return;
		if (child + 1 < count && is_above(model, order, item[child + 1], item[child]))
			child++;
		if (!is_above(model, order, item[child], item[at]))
			return;
		item[at] = item[child];
		item[child] = swap;
		at = child;
	}
}

/* Heap sort of scratch[0..count): smallest first. */
static void repair_sort(struct model *model, const struct repair_order *order, uint32_t count)
{
	for (uint32_t i = count / 2; i-- > 0;)
		sift_down(model, order, i, count);
	for (uint32_t last = count; last-- > 1;) {
		uint16_t swap = model->scratch[0];

		model->scratch[0] = model->scratch[last];
		model->scratch[last] = swap;
		sift_down(model, order, 0, last);
	}
}

static uint64_t key_id(const struct model *model, uint32_t slot)
{
	return model->op[slot].id;
}

static uint64_t key_end(const struct model *model, uint32_t slot)
{
	return model->op[slot].end_ns;
}

static uint64_t key_place(const struct model *model, uint32_t slot)
{
	const struct op *op = &model->op[slot];

	return op->state == OP_RUNNING ? op->ready_ns : op->ready_ns | 1ull << 63;
}

static uint64_t key_group_end(const struct model *model, uint32_t group)
{
	return model->group[group].end_vns;
}

static uint64_t key_same(const struct model *model, uint32_t index)
{
	return index;
}

/* ---- records ---- */

static void repair_procs(struct model *model)
{
	model->procs_used = model->procs_timed = model->procs_working = model->procs_touched = 0;
	model->procs_done = 0;
	model->mem_used = 0;
	if (model->desc.mps)
		runq_clear(model, 0);
	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++) {
		struct proc *proc = &model->proc[p];

		if (!proc->used) {
			proc->mem_bytes = 0;
			slice_forget(model, p);
			continue;
		}
		model->procs_used |= proc_bit(p);
		model->mem_used += proc->mem_bytes;
		proc->streams = proc->done_head = proc->done_tail = MODEL_NONE;
		proc->kernels_running = proc->hungry = 0;
		proc->copies_running = 0;
		memset(proc->copies_waiting, 0, sizeof(proc->copies_waiting));
		proc->timers.count = 0;
		if (!model->desc.mps)
			runq_clear(model, p);
	}
}

static void repair_streams(struct model *model)
{
	model->stream_free = MODEL_NONE;
	for (uint32_t s = model->stream_top; s-- > 0;) {
		struct stream *stream = &model->stream[s];
		struct proc *proc;

		if (stream->proc == MODEL_NONE || !model->proc[stream->proc].used) {
			stream->proc = MODEL_NONE;
			stream->next = model->stream_free;
			model->stream_free = s;
			continue;
		}
		proc = &model->proc[stream->proc];
		stream->head = stream->tail = MODEL_NONE;
		stream->depth = 0;
		stream->link = stream->link_back = MODEL_NONE;
		stream->pos[HEAP_TIMER] = stream->pos[HEAP_HUNGRY] = HEAP_NOT;
		stream->prev = MODEL_NONE;
		stream->next = proc->streams;
		if (stream->next != MODEL_NONE)
			model->stream[stream->next].prev = s;
		proc->streams = s;
	}
}

static bool op_is_alive(const struct model *model, const struct op *op)
{
	if (op->state == OP_FREE || !op->id || !model->proc[op->proc].used)
		return false;
	return op->state == OP_DONE || model->stream[op->stream].proc == op->proc;
}

/* Puts the slots of the operations that are done, or that are not, into scratch. */
static uint32_t repair_gather(struct model *model, bool done)
{
	uint32_t count = 0;

	for (uint32_t slot = 0; slot < model->op_top; slot++)
		if (model->op[slot].state != OP_FREE && (model->op[slot].state == OP_DONE) == done)
			model->scratch[count++] = (uint16_t)slot;
	return count;
}

static void repair_ops(struct model *model)
{
	static const struct repair_order by_id = {key_id, key_same};
	static const struct repair_order by_end = {key_end, key_id};
	uint32_t count;

	model->op_free = MODEL_NONE;
	for (uint32_t slot = model->op_top; slot-- > 0;) {
		struct op *op = &model->op[slot];

		op->waiters = op->group_head = op->group_tail = MODEL_NONE;
		op->sms = 0;
		if (op->id >> MODEL_SLOT_BITS > model->sequence)
			model->sequence = op->id >> MODEL_SLOT_BITS;
		if (!op_is_alive(model, op))
			op_free(model, op);
	}
	count = repair_gather(model, false);
	repair_sort(model, &by_id, count);
	for (uint32_t i = 0; i < count; i++) {
		struct op *op = &model->op[model->scratch[i]];

		stream_append(model, op->stream, op);
	}
	count = repair_gather(model, true);
	repair_sort(model, &by_end, count);
	for (uint32_t i = 0; i < count; i++)
		done_append(model, &model->op[model->scratch[i]]);
}

/* ---- what runs ---- */

static void repair_groups(struct model *model)
{
	static const struct repair_order by_end = {key_group_end, key_same};
	uint32_t count = 0;

	model->group_free = MODEL_NONE;
	for (uint32_t g = model->group_top; g-- > 0;) {
		struct group *group = &model->group[g];
		struct op *op = op_find(model, group->op_id);

		if (op && op->state == OP_RUNNING && op->kind == MODEL_KERNEL && group->sms) {
			model->scratch[count++] = (uint16_t)g;
			continue;
		}
		group->op_id = 0;
		group->next = model->group_free;
		model->group_free = g;
	}
	repair_sort(model, &by_end, count);
	for (uint32_t i = 0; i < count; i++) {
		struct group *group = &model->group[model->scratch[i]];
		struct op *op = op_find(model, group->op_id);

		group->next = MODEL_NONE;
		if (op->group_tail != MODEL_NONE)
			model->group[op->group_tail].next = model->scratch[i];
		else
			op->group_head = model->scratch[i];
		op->group_tail = model->scratch[i];
		op->sms += group->sms;
		runq_of(model, op->proc)->free_sms -= group->sms;
		runq_of(model, op->proc)->class_sms[op->bw_class] += group->sms;
	}
}

static void repair_kernel(struct model *model, struct op *op)
{
	uint32_t in_flight = 0;

	for (uint32_t g = op->group_head; g != MODEL_NONE; g = model->group[g].next)
		in_flight += model->group[g].blocks;
	if (in_flight > op->blocks)
		in_flight = op->blocks;
	if (op->blocks_done > op->blocks - in_flight)
		op->blocks_done = op->blocks - in_flight;
	op->blocks_left = op->blocks - in_flight - op->blocks_done;
	if (op->group_head != MODEL_NONE)
		kernel_enter(model, op);
	kernel_set_hungry(model, op, op->blocks_left && op->sms < op->max_sms);
	kernel_retime(model, op);
	if (!op->blocks_left && op->group_head == MODEL_NONE)
		op_schedule_over(model, op);
}

/* Copies that had an engine come first: they must not lose it to one that waits. */
static void repair_copies(struct model *model)
{
	static const struct repair_order by_place = {key_place, key_id};
	uint32_t count = 0;

	for (uint32_t s = 0; s < model->stream_top; s++) {
		uint32_t slot = model->stream[s].head;

		if (model->stream[s].proc != MODEL_NONE && slot != MODEL_NONE &&
		    op_is_copy(&model->op[slot]) &&
		    (model->op[slot].state == OP_RUNNING || model->op[slot].state == OP_READY))
			model->scratch[count++] = (uint16_t)slot;
	}
	repair_sort(model, &by_place, count);
	copy_rebuild(model, model->scratch, count);
}

static void repair_head(struct model *model, uint32_t index, struct op *op)
{
	switch (op->state) {
	case OP_QUEUED: step_push(model, index, true); break;
	case OP_WAITING:
		op_set_state(op, OP_QUEUED);
		step_push(model, index, true);
		break;
	case OP_TIMER: timer_set(model, index, op->ready_ns); break;
	case OP_HELD:
		if (!op->pending)
			op_finish_held(model, op);
		break;
	default:
		if (op->kind == MODEL_KERNEL)
			repair_kernel(model, op);
		break;
	}
}

static void repair_heads(struct model *model)
{
	model->step_head = model->step_tail = MODEL_NONE;
	for (uint32_t s = 0; s < model->stream_top; s++) {
		struct stream *stream = &model->stream[s];

		if (stream->proc == MODEL_NONE)
			continue;
		if (stream->head != MODEL_NONE)
			repair_head(model, s, &model->op[stream->head]);
		else if (stream->destroyed)
			stream_release(model, s);
	}
}

/* ---- turns and sums ---- */

static void repair_slices(struct model *model)
{
	for (uint32_t p = 0; p < MODEL_MAX_PROCS && !model->desc.mps; p++) {
		struct runq *runq = &model->runq[p];
		bool runs = slice_is_running(model, p);

		if (!model->proc[p].used)
			continue;
		if (!runs && runq->paused_ns == MODEL_NEVER)
			runq->paused_ns = model->now_ns;
		if (runs && runq->paused_ns != MODEL_NEVER) {
			runq->shift_ns += model->now_ns - runq->paused_ns;
			runq->paused_ns = MODEL_NEVER;
		}
	}
}

/* Busy time up to now is kept; who executes from here on is found out when all is settled. */
static void repair_busy(struct model *model)
{
	if (model->executing)
		model->counters.busy_ns += model->now_ns - model->busy_since_ns;
	model->executing = 0;
	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++) {
		struct proc *proc = &model->proc[p];

		if (proc->used && proc->executing)
			proc->busy_ns += model->now_ns - proc->busy_since_ns;
		proc->executing = 0;
	}
}

void model_repair(struct model *model, uint64_t now_ns)
{
	repair_busy(model);
	repair_procs(model);
	repair_streams(model);
	repair_ops(model);
	repair_groups(model);
	repair_slices(model);
	repair_copies(model);
	repair_heads(model);
	model->procs_touched = model->procs_used;
	model_settle(model);
	model_advance(model, now_ns);
}
