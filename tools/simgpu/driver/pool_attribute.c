/* SPDX-License-Identifier: Apache-2.0 */

/* What may be asked of a pool and set in it. */

#include "driver/pool.h"

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
	struct sim_pool *found;
	uint64_t wide;
	CUresult result = pool_get(pool, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value)
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
	struct sim_pool *found;
	const uint64_t *wide;
	CUresult result = pool_get(pool, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value)
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
	struct sim_pool *found;
	CUresult result = pool_get(pool, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (count > 0 && !map)
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
	struct sim_pool *found;
	CUresult result = pool_get(memPool, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !state_device(location->id))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = location->id == found->device->ordinal ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
							: CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return CUDA_SUCCESS;
}
