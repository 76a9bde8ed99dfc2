/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/describe.h"

#include <string.h>

#include "driver/cost.h"
#include "driver/exec.h"

static uint64_t transfer_ns(uint64_t bytes, uint64_t bytes_per_us)
{
	return bytes_per_us ? (uint64_t)((unsigned __int128)bytes * 1000 / bytes_per_us) : 0;
}

static bool is_on_device(enum sim_memory_kind kind)
{
	return kind != SIM_PINNED && kind != SIM_REGISTERED && kind != SIM_PAGEABLE;
}

static void describe_copy(const struct model_desc *device, const struct work_copy *copy,
			  struct model_op_desc *desc)
{
	uint64_t bytes = work_copy_bytes(copy);
	bool from = is_on_device(copy->src.kind), to = is_on_device(copy->dst.kind);
	bool pageable = copy->src.kind == SIM_PAGEABLE || copy->dst.kind == SIM_PAGEABLE;

	desc->functional = 1;
	if (from && to) {
		desc->kind = MODEL_COPY_D2D;
		/* Each byte is read and written. */
		desc->duration_ns = transfer_ns(2 * bytes, device->memory_bytes_per_us);
	} else if (!from && !to) {
		desc->kind = MODEL_HOST; /* the host copies; the device has no part in it */
		return;
	} else {
		desc->kind = to ? MODEL_COPY_H2D : MODEL_COPY_D2H;
		desc->duration_ns = transfer_ns(bytes, pageable ? device->pageable_bytes_per_us
								: device->pinned_bytes_per_us);
	}
	desc->duration_ns += device->copy_latency_ns;
}

void describe_op(const struct op *op, struct model_op_desc *desc)
{
	const struct model_desc *device = &op->exec->desc;

	memset(desc, 0, sizeof(*desc));
	desc->cookie = (uintptr_t)op;
	switch (op->work.kind) {
	case WORK_KERNEL:
		desc->kind = MODEL_KERNEL;
		desc->functional = 1;
		cost_describe(op, desc);
		break;
	case WORK_COPY: describe_copy(device, &op->work.copy, desc); break;
	case WORK_SET:
		desc->kind = MODEL_COPY_D2D;
		desc->functional = 1;
		desc->duration_ns =
			transfer_ns(op->work.set.width * op->work.set.height * op->work.set.element,
				    device->memory_bytes_per_us) +
			device->copy_latency_ns;
		break;
	case WORK_HOST:
	case WORK_POLL:
		desc->kind = MODEL_HOST;
		desc->functional = 1;
		break;
	case WORK_WAIT:
		desc->kind = MODEL_WAIT_OP;
		desc->wait_op = op->work.wait.op->model;
		break;
	default: desc->kind = MODEL_MARK; break;
	}
	if (op->is_early && desc->kind != MODEL_HOST)
		desc->functional = 0;
}

uint64_t describe_least_ns(const struct model_desc *device, const struct model_op_desc *desc)
{
	uint64_t at_once, ns;

	if (desc->kind != MODEL_KERNEL)
		return desc->duration_ns == MODEL_UNKNOWN ? 0 : desc->duration_ns;
	if (desc->block_ns == MODEL_UNKNOWN)
		return 0;
	at_once = (uint64_t)desc->blocks_per_sm * desc->max_sms;
	ns = (desc->blocks + at_once - 1) / at_once * desc->block_ns;
	/* The last blocks may begin earlier than full waves would, and end with earlier ones. */
	ns -= ns / 1000 * device->stagger_permille;
	return ns > device->coalesce_ns ? ns - device->coalesce_ns : 0;
}
