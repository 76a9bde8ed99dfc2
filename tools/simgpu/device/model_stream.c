/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and processes: who is there, with what in which order. */

#include <errno.h>

#include "device/model_impl.h"

/* ---- queues ---- */

static void stream_set_head(struct model *model, struct stream *stream, uint32_t slot)
{
	stream->head = slot;
	if (slot == MODEL_NONE)
		stream->tail = MODEL_NONE;
	else
		stream->head_id = model->op[slot].id;
}

void stream_append(struct model *model, uint32_t index, struct op *op)
{
	struct stream *stream = &model->stream[index];
	uint32_t slot = op_slot(model, op);

	op->next = MODEL_NONE;
	if (stream->head == MODEL_NONE)
		stream_set_head(model, stream, slot);
	else
		model->op[stream->tail].next = slot;
	stream->tail = slot;
	stream->depth++;
}

void stream_pop(struct model *model, uint32_t index)
{
	struct stream *stream = &model->stream[index];

	stream_set_head(model, stream, model->op[stream->head].next);
	stream->depth--;
}

void done_append(struct model *model, struct op *op)
{
	struct proc *proc = &model->proc[op->proc];
	uint32_t slot = op_slot(model, op);

	op->next = MODEL_NONE;
	if (proc->done_tail != MODEL_NONE)
		model->op[proc->done_tail].next = slot;
	else
		proc->done_head = slot;
	proc->done_tail = slot;
	model->procs_done |= proc_bit(op->proc);
}

/* ---- streams ---- */

int model_stream_create(struct model *model, uint32_t proc, int32_t priority, uint32_t *ret_stream)
{
	uint32_t index = model->stream_free;
	struct stream *stream;

	if (proc >= MODEL_MAX_PROCS || !model->proc[proc].used)
		return -EINVAL;
	if (index != MODEL_NONE) {
		model->stream_free = model->stream[index].next;
	} else if (model->stream_top < MODEL_MAX_STREAMS) {
		index = model->stream_top;
		model->stream[index].proc = MODEL_NONE;
		model_commit();
		model->stream_top++;
	} else {
		return -EAGAIN;
	}
	stream = &model->stream[index];
	stream->priority = priority;
	stream->head = stream->tail = MODEL_NONE;
	stream->depth = stream->destroyed = 0;
	stream->link = stream->link_back = MODEL_NONE;
	stream->pos[HEAP_TIMER] = stream->pos[HEAP_HUNGRY] = HEAP_NOT;
	stream->prev = MODEL_NONE;
	stream->next = model->proc[proc].streams;
	model_commit();
	stream->proc = proc;
	if (stream->next != MODEL_NONE)
		model->stream[stream->next].prev = index;
	model->proc[proc].streams = index;
	*ret_stream = index;
	return 0;
}

void stream_release(struct model *model, uint32_t index)
{
	struct stream *stream = &model->stream[index];
	struct proc *proc = &model->proc[stream->proc];

	stream->proc = MODEL_NONE;
	model_commit();
	if (stream->prev != MODEL_NONE)
		model->stream[stream->prev].next = stream->next;
	else
		proc->streams = stream->next;
	if (stream->next != MODEL_NONE)
		model->stream[stream->next].prev = stream->prev;
	stream->next = model->stream_free;
	model->stream_free = index;
}

void model_stream_destroy(struct model *model, uint64_t now_ns, uint32_t index)
{
	model_advance(model, now_ns);
	if (index >= model->stream_top || model->stream[index].proc == MODEL_NONE ||
	    model->stream[index].destroyed)
		return;
	model->stream[index].destroyed = 1;
	if (model->stream[index].head == MODEL_NONE)
		stream_release(model, index);
}

/* ---- processes ---- */

int model_attach(struct model *model, uint64_t now_ns, uint32_t pid, uint64_t key,
		 uint32_t *ret_proc)
{
	uint32_t index = 0;
	struct proc *proc;

	model_advance(model, now_ns);
	while (index < MODEL_MAX_PROCS && model->proc[index].used)
		index++;
	if (index == MODEL_MAX_PROCS)
		return -EAGAIN;
	if (model->desc.context_bytes > model->desc.memory_bytes - model->mem_used)
		return -ENOMEM;
	proc = &model->proc[index];
	*proc = (struct proc){.pid = pid,
			      .key = key,
			      .mem_bytes = model->desc.context_bytes,
			      .streams = MODEL_NONE,
			      .done_head = MODEL_NONE,
			      .done_tail = MODEL_NONE};
	if (!model->desc.mps)
		runq_reset(model, index, true);
	model_commit();
	proc->used = 1;
	model->procs_used |= proc_bit(index);
	model->mem_used += proc->mem_bytes;
	*ret_proc = index;
	return 0;
}

/* Takes the head off whatever holds it. */
static void op_stop(struct model *model, struct op *op)
{
	switch (op->state) {
	case OP_TIMER: timer_clear(model, op->stream); break;
	case OP_WAITING: op_unwait(model, op->stream); break;
	case OP_READY:
	case OP_RUNNING:
		if (op->kind == MODEL_KERNEL)
			kernel_stop(model, op);
		else
			copy_stop(model, op);
		break;
	default: break;
	}
}

static void stream_drop(struct model *model, uint32_t index)
{
	struct stream *stream = &model->stream[index];
	uint32_t slot = stream->head;

	if (slot != MODEL_NONE)
		op_stop(model, &model->op[slot]);
	while (slot != MODEL_NONE) {
		struct op *op = &model->op[slot];

		slot = op->next;
		op_wake_waiters(model, op, stream->proc);
		op_free(model, op);
	}
	stream_set_head(model, stream, MODEL_NONE);
	stream_release(model, index);
}

void model_detach(struct model *model, uint64_t now_ns, uint32_t index)
{
	struct proc *proc;

	model_advance(model, now_ns);
	if (index >= MODEL_MAX_PROCS || !model->proc[index].used)
		return;
	proc = &model->proc[index];
	proc->used = 0; /* from here model_repair would drop the rest */
	model_commit();
	while (proc->streams != MODEL_NONE)
		stream_drop(model, proc->streams);
	while (proc->done_head != MODEL_NONE) {
		struct op *op = &model->op[proc->done_head];

		proc->done_head = op->next;
		op_free(model, op);
	}
	proc_update_busy(model, index);
	slice_forget(model, index);
	model->procs_used &= ~proc_bit(index);
	model->procs_touched &= ~proc_bit(index);
	model->procs_done &= ~proc_bit(index);
	model->mem_used -= proc->mem_bytes;
	proc->mem_bytes = 0;
	model_settle(model);
}

bool model_get_proc(const struct model *model, uint32_t index, uint32_t *ret_pid, uint64_t *ret_key)
{
	if (index >= MODEL_MAX_PROCS || !model->proc[index].used)
		return false;
	*ret_pid = model->proc[index].pid;
	*ret_key = model->proc[index].key;
	return true;
}

/* ---- memory ---- */

int model_mem_take(struct model *model, uint32_t index, uint64_t bytes)
{
	if (index >= MODEL_MAX_PROCS || !model->proc[index].used)
		return -EINVAL;
	if (bytes > model->desc.memory_bytes - model->mem_used)
		return -ENOMEM;
	model->proc[index].mem_bytes += bytes;
	model->mem_used += bytes;
	return 0;
}

void model_mem_give(struct model *model, uint32_t index, uint64_t bytes)
{
	if (index >= MODEL_MAX_PROCS || !model->proc[index].used)
		return;
	assert(bytes <= model->proc[index].mem_bytes);
	model->proc[index].mem_bytes -= bytes;
	model->mem_used -= bytes;
}

uint64_t model_mem_used(const struct model *model, uint32_t index)
{
	if (index == UINT32_MAX)
		return model->mem_used;
	return index < MODEL_MAX_PROCS ? model->proc[index].mem_bytes : 0;
}
