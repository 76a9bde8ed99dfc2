/* SPDX-License-Identifier: Apache-2.0 */

/* Allocation and freeing in stream order. */

#include <utlist.h>

#include "driver/pool.h"

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + MEMORY_UNIT - 1) / MEMORY_UNIT * MEMORY_UNIT;
}

/* What a stream freed it may use at once: its own order keeps the uses apart. The range stays
 * what it was, since kernels queued before the free may still run in it. */
static struct pool_block *reuse_pending(struct sim_pool *pool, struct stream *stream,
					uint64_t rounded)
{
	struct pool_block *block;

	DL_FOREACH(pool->spare, block)
		if (block->state == POOL_PENDING && block->stream == stream &&
		    block->bytes == rounded) {
			pool_block_set_live(block);
			return block;
		}
	return NULL;
}

/* The smallest idle block that wastes at most an eighth. */
static struct pool_block *reuse_idle(struct sim_pool *pool, uint64_t rounded,
				     struct sim_context *context)
{
	struct pool_block *block, *best = NULL;

	DL_FOREACH(pool->spare, block)
		if (block->state == POOL_IDLE && block->bytes >= rounded &&
		    block->bytes - rounded <= rounded / 8 && (!best || block->bytes < best->bytes))
			best = block;
	if (!best || memory_show(best->node, best->bytes, context) != CUDA_SUCCESS)
		return NULL;
	pool_block_set_live(best);
	return best;
}

static CUresult take_fresh(struct sim_pool *pool, struct sim_context *context, uint64_t rounded,
			   struct pool_block **ret_block)
{
	struct memory_want want = {.bytes = rounded, .kind = SIM_DEVICE, .context = context};
	CUresult result;

	if (pool->max_bytes && rounded > pool->max_bytes - pool->reserved)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_block = pool_block_new(pool);
	if (!*ret_block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	want.owner = *ret_block;
	(*ret_block)->bytes = rounded;
	(*ret_block)->state = POOL_LIVE;
	result = memory_take_node(&want, &(*ret_block)->node);
	if (result != CUDA_SUCCESS) {
		pool_block_put(*ret_block);
		return result;
	}
	DL_PREPEND(pool->live, *ret_block);
	pool->reserved += rounded;
	if (pool->reserved > pool->reserved_high)
		pool->reserved_high = pool->reserved;
	return CUDA_SUCCESS;
}

/* The pool's lock held. */
static CUresult take_block(struct sim_pool *pool, struct sim_context *context,
			   struct stream *stream, uint64_t rounded, struct pool_block **ret_block)
{
	CUresult result = CUDA_SUCCESS;

	*ret_block = reuse_pending(pool, stream, rounded);
	if (!*ret_block)
		*ret_block = reuse_idle(pool, rounded, context);
	if (!*ret_block)
		result = take_fresh(pool, context, rounded, ret_block);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && pool->reserved > 0) {
		pool_trim(pool, 0);
		result = take_fresh(pool, context, rounded, ret_block);
	}
	if (result != CUDA_SUCCESS)
		return result;
	(*ret_block)->context = context;
	pool_count_used(pool, (*ret_block)->bytes);
	return CUDA_SUCCESS;
}

static bool has_pending(struct sim_pool *pool)
{
	struct pool_block *block;

	DL_FOREACH(pool->spare, block)
		if (block->state == POOL_PENDING)
			return true;
	return false;
}

static CUresult take(struct sim_pool *pool, struct sim_context *context, struct stream *stream,
		     uint64_t bytes, CUdeviceptr *ret_address)
{
	struct pool_block *block;
	CUresult result;
	bool wait;

	if (bytes > UINT64_MAX / 2)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&pool->lock);
	result = take_block(pool, context, stream, round_up(bytes), &block);
	wait = result == CUDA_ERROR_OUT_OF_MEMORY && has_pending(pool);
	pthread_mutex_unlock(&pool->lock);
	if (wait) {
		/* What is freed but not yet reached may be enough. */
		result = exec_synchronize(context);
		if (result != CUDA_SUCCESS)
			return result;
		pthread_mutex_lock(&pool->lock);
		result = take_block(pool, context, stream, round_up(bytes), &block);
		pthread_mutex_unlock(&pool->lock);
	}
	if (result == CUDA_SUCCESS)
		*ret_address = atomic_load(&block->node->base);
	return result;
}

static CUresult alloc_async(CUdeviceptr *ret_address, size_t bytes, struct sim_pool *pool,
			    CUstream handle, bool per_thread)
{
	struct sim_context *context;
	struct stream *stream;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_address || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = exec_stream_get(context, handle, per_thread, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (exec_stream_is_capturing(stream))
		return exec_capture_alloc(stream, bytes, ret_address);
	if (!pool)
		pool = pool_current(context->device);
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (pool->device != context->device)
		return CUDA_ERROR_INVALID_VALUE;
	return take(pool, context, stream, bytes, ret_address);
}

CUresult cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return alloc_async(dptr, bytesize, NULL, hStream, false);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return alloc_async(dptr, bytesize, NULL, hStream, true);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
				 CUstream hStream)
{
	struct sim_pool *found;
	CUresult result = pool_get(pool, &found);

	return result == CUDA_SUCCESS ? alloc_async(dptr, bytesize, found, hStream, false) : result;
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
				      CUstream hStream)
{
	struct sim_pool *found;
	CUresult result = pool_get(pool, &found);

	return result == CUDA_SUCCESS ? alloc_async(dptr, bytesize, found, hStream, true) : result;
}

/* ---- freeing ---- */

struct reached {
	struct pool_block *block; /* NULL: memory of no pool */
	uint64_t generation;
	uint64_t address;
};

/* On a host thread, when the stream has come to the free. */
static void free_reached(void *arg)
{
	struct reached *reached = arg;
	struct pool_block *block = reached->block;
	uint64_t size;

	if (block) {
		pthread_mutex_lock(&block->pool->lock);
		if (block->state == POOL_PENDING && block->generation == reached->generation)
			pool_block_retire(block);
		pthread_mutex_unlock(&block->pool->lock);
	} else {
		(void)memory_drop(reached->address, 1u << SIM_DEVICE | 1u << SIM_MANAGED, &size);
	}
	free(reached);
}

/* LIVE to PENDING. */
static CUresult mark_freed(struct pool_block *block, struct stream *stream, struct reached *reached)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&block->pool->lock);
	if (block->state == POOL_LIVE) {
		pool_block_set_pending(block, stream);
		reached->generation = block->generation;
		result = CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&block->pool->lock);
	return result;
}

/* The stream did not take the free. Nobody may have used the block again meanwhile. */
static void mark_live_again(struct pool_block *block, uint64_t generation)
{
	pthread_mutex_lock(&block->pool->lock);
	if (block->state == POOL_PENDING && block->generation == generation) {
		pool_block_set_live(block);
		pool_count_used(block->pool, block->bytes);
	}
	pthread_mutex_unlock(&block->pool->lock);
}

/* *ret_block: NULL for memory of cuMemAlloc, which may be freed in stream order too. */
static CUresult find_block(CUdeviceptr address, struct pool_block **ret_block)
{
	struct memory_node *node;
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	unsigned int kind;

	memory_lock();
	node = memory_table_at(address);
	if (node && atomic_load(&node->base) == address) {
		kind = atomic_load(&node->kind);
		*ret_block = kind == SIM_DEVICE ? node->owner : NULL;
		if (kind == SIM_DEVICE || kind == SIM_MANAGED)
			result = CUDA_SUCCESS;
	}
	memory_unlock();
	return result;
}

static CUresult free_in_order(CUdeviceptr address, struct stream *stream)
{
	struct reached *reached;
	struct pool_block *block;
	CUresult result = find_block(address, &block);

	if (result != CUDA_SUCCESS)
		return result;
	reached = calloc(1, sizeof(*reached));
	if (!reached)
		return CUDA_ERROR_OUT_OF_MEMORY;
	reached->block = block;
	reached->address = address;
	result = block ? mark_freed(block, stream, reached) : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS) {
		result = exec_stream_call(stream, free_reached, reached);
		if (result == CUDA_SUCCESS)
			return CUDA_SUCCESS;
		if (block)
			mark_live_again(block, reached->generation);
	}
	free(reached);
	return result;
}

static CUresult free_async(CUdeviceptr address, CUstream handle, bool per_thread)
{
	struct sim_context *context;
	struct stream *stream;
	CUresult result = sim_current(&context);

	if (result == CUDA_SUCCESS)
		result = exec_stream_get(context, handle, per_thread, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (exec_stream_is_capturing(stream))
		return exec_capture_free(stream, address);
	return address ? free_in_order(address, stream) : CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	return free_async(dptr, hStream, false);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	return free_async(dptr, hStream, true);
}
