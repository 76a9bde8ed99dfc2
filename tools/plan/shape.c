/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a workload as the device takes them, and as a gate expects them. */

#include "plan/world_impl.h"

static const uint8_t class_of[] = {
	[WORKLOAD_UNKNOWN] = MODEL_CLASS_UNKNOWN,
	[WORKLOAD_MEMORY] = MODEL_CLASS_MEMORY,
	[WORKLOAD_COMPUTE] = MODEL_CLASS_COMPUTE,
};

static uint32_t divide_up(uint32_t a, uint32_t b)
{
	return a / b + (a % b != 0);
}

/*
 * A kernel that needs so many SMs is as many blocks of one SM each. On the reference device they
 * run in waves, which take all of the kernel's time; a block lasts as long on any other device.
 */
static void shape_kernel(const struct world *world, const struct host *host,
			 const struct workload_op *op, uint64_t work_ns,
			 const struct plan_launch *launch, struct model_op_desc *ret_desc)
{
	uint32_t reference = host->tenant.workload->device_sms;
	uint32_t sms = op->sms ? op->sms : 1, piece = launch->piece, pieces = launch->pieces;
	uint64_t block_ns = work_ns / divide_up(sms, reference);
	uint32_t blocks, waves;

	blocks = (uint32_t)((uint64_t)sms * (piece + 1) / pieces - (uint64_t)sms * piece / pieces);
	block_ns = block_ns * launch->stretch_permille / 1000;
	waves = divide_up(blocks, world->config.device.sms);
	block_ns += launch->gpu_extra_ns / (waves ? waves : 1);
	*ret_desc = (struct model_op_desc){.kind = MODEL_KERNEL,
					   .blocks = blocks,
					   .blocks_per_sm = 1,
					   .max_sms = launch->max_sms,
					   .bw_class = class_of[op->bw_class],
					   .block_ns = block_ns ? block_ns : 1};
}

void shape_op(const struct world *world, const struct host *host, const struct workload_op *op,
	      uint64_t work_ns, const struct plan_launch *launch, struct model_op_desc *ret_desc)
{
	static const uint32_t copy_kind[] = {
		[WORKLOAD_COPY_H2D] = MODEL_COPY_H2D,
		[WORKLOAD_COPY_D2H] = MODEL_COPY_D2H,
		[WORKLOAD_COPY_D2D] = MODEL_COPY_D2D,
	};

	if (op->kind == WORKLOAD_KERNEL)
		shape_kernel(world, host, op, work_ns, launch, ret_desc);
	else
		*ret_desc = (struct model_op_desc){.kind = copy_kind[op->kind],
						   .duration_ns = work_ns / launch->pieces};
}

uint32_t plan_waves(const struct world *world, const struct workload_op *op, uint32_t sms)
{
	uint32_t most = world->config.device.sms;

	if (op->kind != WORKLOAD_KERNEL)
		return 1;
	return divide_up(op->sms ? op->sms : 1, sms && sms < most ? sms : most);
}

static uint64_t scale(uint64_t ns, uint32_t permille)
{
	return ns / 1000 * permille + ns % 1000 * permille / 1000;
}

/* ns +- permille, uniform. */
static uint64_t vary(struct random *random, uint64_t ns, uint32_t permille)
{
	uint64_t width = scale(ns, permille);

	return width ? ns - width + random_below(random, 2 * width + 1) : ns;
}

/* What an estimator that is off by up to noise_permille says: always the same of the same kernel. */
uint64_t shape_predict(const struct world *world, const struct host *host,
		       const struct workload_op *op)
{
	struct random random, of_kernel;

	if (!world->config.noise_permille)
		return op->ns;
	random_seed(&random, world->config.seed);
	random_fork(&random, ((uint64_t)host->proc.index << 32 | op->key) + 1, &of_kernel);
	return vary(&of_kernel, op->ns, world->config.noise_permille);
}

uint64_t shape_work(struct host *host, const struct workload_op *op)
{
	uint64_t ns = op->spread_permille ? vary(&host->work, op->ns, op->spread_permille) : op->ns;

	return host->work_permille == 1000 ? ns : scale(ns, host->work_permille);
}
