/* SPDX-License-Identifier: Apache-2.0 */

/* Which pool a device uses. */

#include "driver/pool.h"

static CUresult device_get(CUdevice ordinal, struct sim_device **ret_device)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*ret_device = state_device(ordinal);
	return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

static CUresult answer(CUmemoryPool *ret_pool, struct sim_pool *pool)
{
	if (!pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_pool = (CUmemoryPool)pool;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	return pool_out ? answer(pool_out, pool_default(device)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	return pool ? answer(pool, pool_current(device)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	struct sim_device *device;
	struct sim_pool *found;
	CUresult result = device_get(dev, &device);

	if (result == CUDA_SUCCESS)
		result = pool_get(pool, &found);
	if (result != CUDA_SUCCESS)
		return result;
	if (found->device != device)
		return CUDA_ERROR_INVALID_VALUE;
	device->pool = found;
	return CUDA_SUCCESS;
}

/* The forms of CUDA 13, by location and type: device memory alone is modelled. */
static CUresult device_of(const CUmemLocation *location, CUmemAllocationType type,
			  CUdevice *ret_device)
{
	if (!location)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return sim_refuse("cuMemGetMemPool", "a pool of other than device memory");
	*ret_device = location->id;
	return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location,
				CUmemAllocationType type)
{
	CUdevice device = CU_DEVICE_INVALID;
	CUresult result = device_of(location, type, &device);

	return result == CUDA_SUCCESS ? cuDeviceGetDefaultMemPool(pool_out, device) : result;
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice device = CU_DEVICE_INVALID;
	CUresult result = device_of(location, type, &device);

	return result == CUDA_SUCCESS ? cuDeviceGetMemPool(pool, device) : result;
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUdevice device = CU_DEVICE_INVALID;
	CUresult result = device_of(location, type, &device);

	return result == CUDA_SUCCESS ? cuDeviceSetMemPool(device, pool) : result;
}
