/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Occupancy: the smallest of what slots for blocks, threads, registers and shared memory allow.
 * Registers are given to warps in units of 256, shared memory to blocks in units of 128 bytes, as
 * on devices of compute capability 7.0 to 9.0 (CUDA's occupancy tables).
 */

#include "driver/device_attribute.h"
#include "driver/occupancy.h"

#define WARP 32
#define WARP_REGS_UNIT 256
#define SHARED_UNIT 128
#define MAX_BLOCK 1024

static uint32_t round_up(uint32_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

uint32_t occupancy_blocks(const struct model_desc *desc, const struct occupancy *block)
{
	uint32_t warps = round_up(block->threads, WARP) / WARP;
	uint32_t warp_regs = round_up(block->regs * WARP, WARP_REGS_UNIT);
	uint32_t reserved = (uint32_t)device_attribute_shared_reserved(desc);
	uint64_t shared = (uint64_t)block->shared_bytes + reserved;
	uint32_t blocks = desc->blocks_per_sm;

	if (warps == 0 || block->shared_bytes > desc->smem_per_block_bytes ||
	    block->threads > MAX_BLOCK)
		return 0;
	blocks = smaller(blocks, desc->threads_per_sm / WARP / warps);
	if (warp_regs > 0)
		blocks = smaller(blocks, desc->regs_per_sm / warp_regs / warps);
	shared = (shared + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
	if (shared > 0)
		blocks = smaller(blocks, (uint32_t)(desc->smem_per_sm_bytes / shared));
	return blocks;
}

static CUresult enter(CUfunction handle, struct sim_function **ret_function,
		      const struct model_desc **ret_desc)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	*ret_function = sim_function_get(handle);
	*ret_desc = &context->device->desc;
	return *ret_function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static uint32_t blocks_of(const struct sim_function *function, const struct model_desc *desc,
			  uint32_t threads, uint64_t dynamic_bytes)
{
	struct occupancy block = {.regs = function->info->regs, .threads = threads};
	uint64_t shared = dynamic_bytes + function->info->shared_bytes;

	if (threads > function->info->max_threads || shared > UINT32_MAX)
		return 0;
	block.shared_bytes = (uint32_t)shared;
	return occupancy_blocks(desc, &block);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
							      int blockSize, size_t dynamicSMemSize,
							      unsigned int flags)
{
	struct sim_function *function;
	const struct model_desc *desc;
	CUresult result = enter(func, &function, &desc);

	if (result != CUDA_SUCCESS)
		return result;
	if (!numBlocks || blockSize <= 0 ||
	    (flags & ~(unsigned int)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	*numBlocks = (int)blocks_of(function, desc, (uint32_t)blockSize, dynamicSMemSize);
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
						     size_t dynamicSMemSize)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
								    dynamicSMemSize, 0);
}

/* The largest block among those with which an SM holds most threads. */
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize,
						   CUfunction func,
						   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
						   size_t dynamicSMemSize, int blockSizeLimit,
						   unsigned int flags)
{
	struct sim_function *function;
	const struct model_desc *desc;
	uint32_t limit, best = 0, best_blocks = 0;
	CUresult result = enter(func, &function, &desc);

	if (result != CUDA_SUCCESS)
		return result;
	if (!minGridSize || !blockSize || blockSizeLimit < 0 ||
	    (flags & ~(unsigned int)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE))
		return CUDA_ERROR_INVALID_VALUE;
	limit = smaller(function->info->max_threads, MAX_BLOCK);
	if (blockSizeLimit > 0)
		limit = smaller(limit, (uint32_t)blockSizeLimit);
	for (uint32_t threads = round_up(limit, WARP); threads > 0; threads -= WARP) {
		uint32_t size = smaller(threads, limit);
		size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize((int)size)
							   : dynamicSMemSize;
		uint32_t blocks = blocks_of(function, desc, size, shared);

		if (blocks * size > best * best_blocks) {
			best = size;
			best_blocks = blocks;
		}
	}
	*blockSize = (int)best;
	*minGridSize = (int)(best_blocks * desc->sms);
	return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
					  CUoccupancyB2DSize blockSizeToDynamicSMemSize,
					  size_t dynamicSMemSize, int blockSizeLimit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func,
							 blockSizeToDynamicSMemSize,
							 dynamicSMemSize, blockSizeLimit, 0);
}

/* The most with which that many blocks still fit. */
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
						 int numBlocks, int blockSize)
{
	struct sim_function *function;
	const struct model_desc *desc;
	uint64_t each;
	CUresult result = enter(func, &function, &desc);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0 ||
	    blocks_of(function, desc, (uint32_t)blockSize, 0) < (uint32_t)numBlocks)
		return CUDA_ERROR_INVALID_VALUE;
	each = desc->smem_per_sm_bytes / (uint32_t)numBlocks / SHARED_UNIT * SHARED_UNIT;
	each -= (uint64_t)device_attribute_shared_reserved(desc) + function->info->shared_bytes;
	if (each + function->info->shared_bytes > desc->smem_per_block_bytes)
		each = desc->smem_per_block_bytes - function->info->shared_bytes;
	*dynamicSmemSize = each;
	return CUDA_SUCCESS;
}

/* The device has no clusters (attribute CLUSTER_LAUNCH is 0). */
CUresult cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func,
					    const CUlaunchConfig *config)
{
	return sim_refuse("cuOccupancyMaxPotentialClusterSize", "clusters of blocks");
}

CUresult cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func,
				      const CUlaunchConfig *config)
{
	return sim_refuse("cuOccupancyMaxActiveClusters", "clusters of blocks");
}
