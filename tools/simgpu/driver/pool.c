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

	DL_DELETE(pool->blocks, block);
	pool->reserved -= block->bytes;
	if (block->state == POOL_LIVE || block->state == POOL_PENDING)
		memory_hide(block->node);
	memory_give_hidden(block->node);
	pool_block_put(block);
}

void pool_block_retire(struct pool_block *block)
{
	struct sim_pool *pool = block->pool;

	if (block->state == POOL_LIVE)
		pool->used -= block->bytes;
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

	DL_FOREACH_SAFE(pool->blocks, block, next)
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

struct sim_pool *pool_get(CUmemoryPool handle)
{
	struct sim_pool *pool;

	pthread_mutex_lock(&list_lock);
	for (pool = all_pools; pool; pool = pool->next)
		if ((CUmemoryPool)pool == handle)
			break;
	pthread_mutex_unlock(&list_lock);
	return pool && !pool->destroyed ? pool : NULL;
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

void pool_drop_context(struct sim_context *context)
{
	struct sim_pool *pool;
	struct pool_block *block, *next;

	pthread_mutex_lock(&list_lock);
	pool = all_pools;
	pthread_mutex_unlock(&list_lock);
	/* New pools come at the head, and have none of a context that is going. */
	for (; pool; pool = pool->next) {
		pthread_mutex_lock(&pool->lock);
		DL_FOREACH_SAFE(pool->blocks, block, next)
		{
			if (block->context != context)
				continue;
			if (block->state == POOL_LIVE)
				pool->used -= block->bytes;
			pool_block_release(block);
		}
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
	struct sim_pool *old = pool_get(pool);

	if (!old || old == old->device->default_pool)
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
	struct sim_pool *found = pool_get(pool);

	if (!found)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&found->lock);
	pool_trim(found, minBytesToKeep);
	pthread_mutex_unlock(&found->lock);
	return CUDA_SUCCESS;
}

/* Watermarks can only be set back to zero. */
static CUresult reset_mark(uint64_t *mark, uint64_t current, uint64_t value)
{
	if (value != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*mark = current;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct sim_pool *found = pool_get(pool);
	CUresult result = CUDA_SUCCESS;
	uint64_t wide;

	if (!found || !value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&found->lock);
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		memcpy(&found->reuse[attr - 1], value, sizeof(int));
		break;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		memcpy(&found->threshold, value, sizeof(found->threshold));
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		memcpy(&wide, value, sizeof(wide));
		result = reset_mark(&found->reserved_high, found->reserved, wide);
		break;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		memcpy(&wide, value, sizeof(wide));
		result = reset_mark(&found->used_high, found->used, wide);
		break;
	default: result = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&found->lock);
	return result;
}

static const uint64_t *attribute_at(const struct sim_pool *pool, CUmemPool_attribute attribute)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return &pool->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return &pool->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return &pool->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return &pool->used;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return &pool->used_high;
	default: return NULL;
	}
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct sim_pool *found = pool_get(pool);
	const uint64_t *wide;
	CUresult result = CUDA_SUCCESS;

	if (!found || !value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&found->lock);
	wide = attribute_at(found, attr);
	if (wide)
		memcpy(value, wide, sizeof(*wide));
	else if ((int)attr >= 1 && (int)attr <= 3)
		memcpy(value, &found->reuse[attr - 1], sizeof(int));
	else
		result = CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&found->lock);
	return result;
}

/* A pool's own device may always read and write it, and no other can. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	struct sim_pool *found = pool_get(pool);

	if (!found || (count > 0 && !map))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
		    !state_device(map[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (map[i].location.id == found->device->ordinal &&
		    map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
			return CUDA_ERROR_INVALID_VALUE;
		if (map[i].location.id != found->device->ordinal &&
		    map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
	struct sim_pool *found = pool_get(memPool);

	if (!flags || !found || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !state_device(location->id))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = location->id == found->device->ordinal ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
							: CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}
