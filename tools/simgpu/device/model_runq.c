/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run queues: the kernels that share one set of SMs, those of one process or, with MPS, of all:
 * which hold some, which want more, and a clock that stands still between slices.
 */

#include <string.h>

#include "device/model_impl.h"

/* All SMs are free, its clock stays. */
void runq_clear(struct model *model, uint32_t index)
{
	struct runq *runq = &model->runq[index];

	runq->free_sms = model->desc.sms;
	memset(runq->class_sms, 0, sizeof(runq->class_sms));
	runq->running = MODEL_NONE;
	runq->hungry.count = 0;
}

void runq_reset(struct model *model, uint32_t index, bool paused)
{
	runq_clear(model, index);
	model->runq[index].shift_ns = 0;
	model->runq[index].paused_ns = paused ? model->now_ns : MODEL_NEVER;
}

static void runq_note_work(struct model *model, uint32_t proc)
{
	if (model->proc[proc].kernels_running || model->proc[proc].hungry)
		model->procs_working |= proc_bit(proc);
	else
		model->procs_working &= ~proc_bit(proc);
	model->procs_touched |= proc_bit(proc);
}

void kernel_set_hungry(struct model *model, struct op *op, bool hungry)
{
	struct proc *proc = &model->proc[op->proc];
	struct stream *stream = &model->stream[op->stream];
	struct runq *runq = runq_of(model, op->proc);
	bool was = stream->pos[HEAP_HUNGRY] != HEAP_NOT;

	if (hungry && !was) {
		if (!proc->hungry++)
			proc->hungry_cost_ns = MODEL_NEVER;
		if (effect_least_ns(model, op) < proc->hungry_cost_ns)
			proc->hungry_cost_ns = effect_least_ns(model, op);
		heap_set(model, &runq->hungry, HEAP_HUNGRY, op->stream, kernel_rank(model, op));
	} else if (!hungry && was) {
		proc->hungry--;
		heap_remove(model, &runq->hungry, HEAP_HUNGRY, op->stream);
	}
	runq_note_work(model, op->proc);
}

void kernel_enter(struct model *model, struct op *op)
{
	struct runq *runq = runq_of(model, op->proc);
	struct stream *stream = &model->stream[op->stream];

	stream->link_back = MODEL_NONE;
	stream->link = runq->running;
	if (runq->running != MODEL_NONE)
		model->stream[runq->running].link_back = op->stream;
	runq->running = op->stream;
	model->proc[op->proc].kernels_running++;
	runq_note_work(model, op->proc);
}

void kernel_leave(struct model *model, struct op *op)
{
	struct runq *runq = runq_of(model, op->proc);
	struct stream *stream = &model->stream[op->stream];

	if (stream->link_back != MODEL_NONE)
		model->stream[stream->link_back].link = stream->link;
	else
		runq->running = stream->link;
	if (stream->link != MODEL_NONE)
		model->stream[stream->link].link_back = stream->link_back;
	stream->link = stream->link_back = MODEL_NONE;
	model->proc[op->proc].kernels_running--;
	runq_note_work(model, op->proc);
}

static void runq_retime(struct model *model, struct runq *runq)
{
	for (uint32_t s = runq->running; s != MODEL_NONE; s = model->stream[s].link)
		kernel_retime(model, &model->op[model->stream[s].head]);
}

void runq_pause(struct model *model, uint32_t index)
{
	model->runq[index].paused_ns = model->now_ns;
	runq_retime(model, &model->runq[index]);
	model->procs_touched |= proc_bit(index);
}

void runq_resume(struct model *model, uint32_t index)
{
	struct runq *runq = &model->runq[index];

	runq->shift_ns += model->now_ns - runq->paused_ns;
	runq->paused_ns = MODEL_NEVER;
	runq_retime(model, runq);
	model->procs_touched |= proc_bit(index);
}
