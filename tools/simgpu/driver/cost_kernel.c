/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/cost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/queue.h"

#define LANES_PER_SM 128     /* thread instructions a clock */
#define KERNEL_LEAST_NS 1000 /* an empty kernel */
#define TIMING_ONLY_NS 10000 /* a block without PTX that no table knows */
#define CHUNK_NS 100000	     /* host time of a piece: short, so that urgent work gets in */
#define MEMORY_SLOTS 1024
#define RUNS_TO_TRUST 3		   /* before a launching thread computes such a kernel itself */
#define SHARED_RESERVED_BYTES 1024 /* of each block's shared memory, by the hardware */

/* What is known of a kernel with its shape. Direct-mapped: two that meet in a slot forget each
 * other. */
struct remembered {
	const struct sim_function *function;
	const char *name;
	uint32_t grid[3], block[3], shared_bytes;
	bool is_listed; /* in the cost table, as `cost` */
	struct cost cost;
	uint32_t runs;
	uint64_t block_ns, host_ns_per_block, host_max_ns;
};

const char *cost_name(const struct sim_function *function)
{
	return function->info != NULL && function->info->name != NULL ? function->info->name : "";
}

int cost_memory_create(struct exec *exec)
{
	exec->remembered = calloc(MEMORY_SLOTS, sizeof(*exec->remembered));
	return exec->remembered != NULL ? 0 : -ENOMEM;
}

static bool is_same(const struct remembered *slot, const struct work_kernel *kernel)
{
	return slot->function == kernel->function && slot->name == cost_name(kernel->function) &&
	       memcmp(slot->grid, kernel->grid, sizeof(slot->grid)) == 0 &&
	       memcmp(slot->block, kernel->block, sizeof(slot->block)) == 0 &&
	       slot->shared_bytes == kernel->shared_bytes;
}

static struct remembered *remember(const struct op *op)
{
	const struct work_kernel *kernel = &op->work.kernel;
	uint64_t hash = (uintptr_t)kernel->function >> 4;
	struct remembered *slot;

	for (unsigned int i = 0; i < 3; i++)
		hash = (hash ^ kernel->grid[i] ^ ((uint64_t)kernel->block[i] << 32)) *
		       0x9e3779b97f4a7c15ull;
	hash = (hash ^ kernel->shared_bytes) * 0x9e3779b97f4a7c15ull;
	slot = &op->exec->remembered[hash >> 54];
	if (is_same(slot, kernel))
		return slot;
	memset(slot, 0, sizeof(*slot));
	slot->function = kernel->function;
	slot->name = cost_name(kernel->function);
	memcpy(slot->grid, kernel->grid, sizeof(slot->grid));
	memcpy(slot->block, kernel->block, sizeof(slot->block));
	slot->shared_bytes = kernel->shared_bytes;
	slot->is_listed = cost_find(op->exec->costs, slot->name, kernel->grid, &slot->cost);
	return slot;
}

/* ---- shape ---- */

static uint64_t blocks_of(const struct work_kernel *kernel)
{
	return (uint64_t)kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint32_t blocks_per_sm(const struct model_desc *device, const struct work_kernel *kernel)
{
	const struct ptx_function_info *info = kernel->function->info;
	uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
	uint64_t fit = device->blocks_per_sm, regs, shared;

	threads = (threads + 31u) & ~31ull;
	fit = least(fit, device->threads_per_sm / threads);
	if (info != NULL) {
		regs = ((info->regs ? info->regs : 16) + 7u) & ~7u;
		shared =
			(uint64_t)info->shared_bytes + kernel->shared_bytes + SHARED_RESERVED_BYTES;
		fit = least(fit, device->regs_per_sm / (regs * threads));
		fit = least(fit, device->smem_per_sm_bytes / shared);
	}
	return fit ? (uint32_t)fit : 1;
}

bool cost_fits_at_once(const struct exec *exec, const struct work_kernel *kernel)
{
	return blocks_of(kernel) <= (uint64_t)exec->desc.sms * blocks_per_sm(&exec->desc, kernel);
}

static void describe_whole(const struct cost *cost, const struct model_desc *device,
			   struct model_op_desc *desc)
{
	uint32_t sms = cost->sms ? cost->sms : device->sms;

	if (sms > device->sms)
		sms = device->sms;
	desc->blocks = sms;
	desc->blocks_per_sm = 1;
	desc->max_sms = sms;
	desc->block_ns = cost->duration_ns;
}

void cost_describe(const struct op *op, struct model_op_desc *desc)
{
	const struct work_kernel *kernel = &op->work.kernel;
	const struct model_desc *device = &op->exec->desc;
	const struct remembered *slot = remember(op);

	if (slot->is_listed && slot->cost.whole) {
		describe_whole(&slot->cost, device, desc);
		return;
	}
	desc->blocks = (uint32_t)least(blocks_of(kernel), UINT32_MAX);
	desc->blocks_per_sm = blocks_per_sm(device, kernel);
	desc->max_sms = device->sms;
	if (slot->is_listed) {
		desc->block_ns = slot->cost.duration_ns;
		if (slot->cost.blocks_per_sm)
			desc->blocks_per_sm = slot->cost.blocks_per_sm;
	} else if (kernel->function->ptx == NULL) {
		desc->block_ns = TIMING_ONLY_NS;
	} else {
		desc->block_ns = slot->runs > 0 ? slot->block_ns : MODEL_UNKNOWN;
	}
}

/* ---- the host's side ---- */

void cost_chunks(struct op *op)
{
	const struct work_kernel *kernel = &op->work.kernel;
	const struct remembered *slot = remember(op);
	const struct ptx_function_info *info = kernel->function->info;
	uint64_t share;

	op->blocks = blocks_of(kernel);
	share = (op->blocks + op->exec->threads - 1) / op->exec->threads;
	if (kernel->function->ptx == NULL || kernel->cooperative || info->uses_grid_sync)
		op->chunk = op->blocks;
	else if (slot->runs == 0)
		op->chunk = (share + 3) / 4;
	else if (slot->host_ns_per_block * op->blocks <= CHUNK_NS / 2)
		op->chunk = op->blocks;
	else
		op->chunk = least(share, CHUNK_NS / (slot->host_ns_per_block + 1) + 1);
}

uint64_t cost_host_ns(const struct op *op)
{
	const struct remembered *slot = remember(op);

	return slot->runs < RUNS_TO_TRUST ? UINT64_MAX : slot->host_max_ns;
}

/* From the counts of this very run, so the same on every host: issue rate or bandwidth, whichever
 * takes longer, spread over the waves. */
static uint64_t block_ns(const struct op *op)
{
	const struct model_desc *device = &op->exec->desc;
	uint64_t at_once = (uint64_t)device->sms * blocks_per_sm(device, &op->work.kernel);
	uint64_t waves = (op->blocks + at_once - 1) / at_once;
	uint64_t sms = least(device->sms, op->blocks);
	unsigned __int128 issue_ns = (unsigned __int128)op->result.thread_instructions * 1000000 /
				     ((unsigned __int128)sms * LANES_PER_SM * device->clock_khz);
	uint64_t memory_ns = op->result.global_bytes * 1000 / device->memory_bytes_per_us;
	uint64_t total_ns = issue_ns > memory_ns ? (uint64_t)issue_ns : memory_ns;

	if (total_ns < KERNEL_LEAST_NS)
		total_ns = KERNEL_LEAST_NS;
	return (total_ns + waves - 1) / waves;
}

uint64_t cost_learn(struct op *op)
{
	struct remembered *slot = remember(op);

	if (op->work.kernel.function->ptx == NULL) {
		op->exec->counters.timing_only++;
		return TIMING_ONLY_NS;
	}
	op->exec->counters.kernels++;
	slot->runs += slot->runs < RUNS_TO_TRUST;
	slot->block_ns = block_ns(op);
	slot->host_ns_per_block = op->host_ns / op->blocks;
	/* A slow run is forgotten over the next ones: the first is slow for every kernel. */
	slot->host_max_ns -= slot->host_max_ns / 4;
	if (slot->host_max_ns < op->host_ns)
		slot->host_max_ns = op->host_ns;
	return slot->block_ns;
}
