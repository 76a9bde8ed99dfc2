/* SPDX-License-Identifier: Apache-2.0 */
#include <utlist.h>

#include "driver/pool.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_pool *all_pools; /* list_lock; pools stay for good */

/* ---- blocks ---- */

struct pool_block *pool_block_new(struct sim_pool *pool)
{
	struct pool_block *block = pool->unused;

	if (block)
		DL_DELETE(pool->unused, block);
	else
		block = calloc(1, sizeof(*block));
	if (block)
		block->pool = pool;
	return block;
}

void pool_block_put(struct pool_block *block)
{
	block->state = POOL_UNUSED;
	block->node = NULL;
	block->stream = NULL;
	block->generation++;
	DL_APPEND(block->pool->unused, block);
}

void pool_block_release(struct pool_block *block)
{
	struct sim_pool *pool = block->pool;

	if (block->state == POOL_LIVE)
		DL_DELETE(pool->live, block);
	else
		DL_DELETE(pool->spare, block);
	pool->reserved -= block->bytes;
	if (block->state == POOL_LIVE || block->state == POOL_PENDING)
		memory_hide(block->node);
	memory_give_hidden(block->node);
	pool_block_put(block);
}

void pool_block_set_live(struct pool_block *block)
{
	struct sim_pool *pool = block->pool;

	DL_DELETE(pool->spare, block);
	DL_PREPEND(pool->live, block);
	block->state = POOL_LIVE;
	block->generation++;
}

void pool_block_set_pending(struct pool_block *block, struct stream *stream)
{
	struct sim_pool *pool = block->pool;

	DL_DELETE(pool->live, block);
	DL_PREPEND(pool->spare, block);
	pool->used -= block->bytes;
	block->state = POOL_PENDING;
	block->stream = stream;
	block->generation++;
}

void pool_block_retire(struct pool_block *block)
{
	struct sim_pool *pool = block->pool;

	if (block->state == POOL_LIVE)
		pool_block_set_pending(block, NULL);
	memory_hide(block->node);
	block->state = POOL_IDLE;
	block->generation++;
	if (pool->destroyed || pool->reserved > pool->threshold)
		pool_block_release(block);
}

void pool_count_used(struct sim_pool *pool, uint64_t more)
{
	pool->used += more;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
}

void pool_trim(struct sim_pool *pool, uint64_t keep_bytes)
{
	struct pool_block *block, *next;

	DL_FOREACH_SAFE(pool->spare, block, next)
	{
		if (pool->reserved <= keep_bytes)
			return;
		if (block->state == POOL_IDLE)
			pool_block_release(block);
	}
}

/* ---- pools ---- */

static struct sim_pool *pool_new(struct sim_device *device)
{
	struct sim_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->magic = SIM_MAGIC_POOL;
	pool->device = device;
	pthread_mutex_init(&pool->lock, NULL);
	for (int i = 0; i < 3; i++)
		pool->reuse[i] = 1;
	return pool;
}

static void pool_enlist(struct sim_pool *pool)
{
	pool->next = all_pools;
	all_pools = pool;
}

CUresult pool_get(CUmemoryPool handle, struct sim_pool **ret_pool)
{
	struct sim_pool *pool;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&list_lock);
	for (pool = all_pools; pool; pool = pool->next)
		if ((CUmemoryPool)pool == handle)
			break;
	pthread_mutex_unlock(&list_lock);
	if (!pool || pool->destroyed)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = pool;
	return CUDA_SUCCESS;
}

struct sim_pool *pool_default(struct sim_device *device)
{
	pthread_mutex_lock(&list_lock);
	if (!device->default_pool) {
		device->default_pool = pool_new(device);
		if (device->default_pool)
			pool_enlist(device->default_pool);
	}
	pthread_mutex_unlock(&list_lock);
	return device->default_pool;
}

struct sim_pool *pool_current(struct sim_device *device)
{
	return device->pool ? device->pool : pool_default(device);
}

CUmemoryPool pool_of(const struct memory_node *node)
{
	const struct pool_block *block = node->owner;

	return block ? (CUmemoryPool)block->pool : NULL;
}

bool pool_free_now(uint64_t address, CUresult *ret_result)
{
	struct memory_node *node;
	struct pool_block *block = NULL;

	memory_lock();
	node = memory_table_at(address);
	if (node && atomic_load(&node->kind) == SIM_DEVICE)
		block = node->owner;
	memory_unlock();
	if (!block)
		return false;
	pthread_mutex_lock(&block->pool->lock);
	*ret_result = block->state == POOL_LIVE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	if (*ret_result == CUDA_SUCCESS)
		pool_block_retire(block);
	pthread_mutex_unlock(&block->pool->lock);
	return true;
}

static void drop_blocks(struct sim_pool *pool, struct sim_context *context)
{
	struct pool_block *block, *next;

	DL_FOREACH_SAFE(pool->live, block, next)
	if (block->context == context) {
		pool->used -= block->bytes;
		pool_block_release(block);
	}
	DL_FOREACH_SAFE(pool->spare, block, next)
	if (block->context == context)
		pool_block_release(block);
}

void pool_drop_context(struct sim_context *context)
{
	struct sim_pool *pool;

	pthread_mutex_lock(&list_lock);
	pool = all_pools;
	pthread_mutex_unlock(&list_lock);
	/* New pools come at the head, and have none of a context that is going. */
	for (; pool; pool = pool->next) {
		pthread_mutex_lock(&pool->lock);
		drop_blocks(pool, context);
		pthread_mutex_unlock(&pool->lock);
	}
}

/* ---- entries ---- */

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	struct sim_device *device;
	struct sim_pool *fresh;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!pool || !poolProps)
		return CUDA_ERROR_INVALID_VALUE;
	if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return sim_refuse("cuMemPoolCreate", "a pool of other than device memory");
	if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return sim_refuse("cuMemPoolCreate", "a pool that other processes can open");
	device = state_device(poolProps->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	fresh = pool_new(device);
	if (!fresh)
		return CUDA_ERROR_OUT_OF_MEMORY;
	fresh->max_bytes = poolProps->maxSize;
	pthread_mutex_lock(&list_lock);
	pool_enlist(fresh);
	pthread_mutex_unlock(&list_lock);
	*pool = (CUmemoryPool)fresh;
	return CUDA_SUCCESS;
}

/* Blocks still in use stay good; they go back to the device as they are freed. */
CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct sim_pool *old;
	CUresult result = pool_get(pool, &old);

	if (result != CUDA_SUCCESS)
		return result;
	if (old == old->device->default_pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (old->device->pool == old)
		old->device->pool = NULL;
	pthread_mutex_lock(&old->lock);
	old->destroyed = true;
	pool_trim(old, 0);
	pthread_mutex_unlock(&old->lock);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	struct sim_pool *found;
	CUresult result = pool_get(pool, &found);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&found->lock);
	pool_trim(found, minBytesToKeep);
	pthread_mutex_unlock(&found->lock);
	return CUDA_SUCCESS;
}
