/* SPDX-License-Identifier: Apache-2.0 */
/* What changes kernels that were submitted before, and what tells how far they are. */

#include <errno.h>

#include "device/model_impl.h"

#define RANK_AGE_BITS 48
#define RANK_STREAM_BITS 12 /* priorities beyond count as the nearest that there is */

/* The order in which kernels get SMs, smallest first; equals go by id. */
uint64_t kernel_rank(const struct model *model, const struct op *op)
{
	const int32_t half = 1 << (RANK_STREAM_BITS - 1);
	int32_t stream = model->stream[op->stream].priority;
	int32_t proc = model->proc[op->proc].priority + MODEL_PRIORITY_MAX + 1;

	if (stream < -half)
		stream = -half;
	if (stream >= half)
		stream = half - 1;
	return ((uint64_t)proc << RANK_STREAM_BITS | (uint64_t)(stream + half)) << RANK_AGE_BITS |
	       op->age;
}

int model_set_priority(struct model *model, uint64_t now_ns, uint32_t index, int32_t priority)
{
	struct runq *runq;

	model_advance(model, now_ns);
	if (index >= MODEL_MAX_PROCS || !model->proc[index].used ||
	    priority < -MODEL_PRIORITY_MAX - 1 || priority > MODEL_PRIORITY_MAX)
		return -EINVAL;
	model->proc[index].priority = priority;
	runq = runq_of(model, index);
	for (uint32_t s = model->proc[index].streams; s != MODEL_NONE; s = model->stream[s].next)
		if (model->stream[s].pos[HEAP_HUNGRY] != HEAP_NOT)
			heap_set(model, &runq->hungry, HEAP_HUNGRY, s,
				 kernel_rank(model, &model->op[model->stream[s].head]));
	return 0;
}

void model_limit(struct model *model, uint64_t now_ns, uint64_t id, uint32_t max_sms)
{
	struct op *op;

	model_advance(model, now_ns);
	op = op_find(model, id);
	if (!op || op->kind != MODEL_KERNEL)
		return;
	op->max_sms = max_sms < op->asked_sms ? max_sms : op->asked_sms;
	if (op->state != OP_READY && op->state != OP_RUNNING)
		return;
	kernel_set_hungry(model, op, op->blocks_left && op->sms < op->max_sms);
	model_settle(model);
}

bool model_get_progress(const struct model *model, uint64_t id, struct model_progress *ret)
{
	const struct op *op = &model->op[id & (MODEL_MAX_OPS - 1)];

	if (model_is_done(model, id) || op->kind != MODEL_KERNEL)
		return false;
	*ret = (struct model_progress){.start_ns = op->start_ns,
				       .blocks = op->blocks,
				       .blocks_left = op->blocks_left,
				       .blocks_done = op->blocks_done,
				       .sms = op->sms};
	return true;
}

uint64_t model_procs_done(const struct model *model)
{
	return model->procs_done;
}
