/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory is an address that was never given before, and is never touched. A single allocation
 * larger than the device is out of memory; freeing accepts anything but 0.
 */
#include "nulldriver.h"

#include <stdatomic.h>
#include <stddef.h>

#define ALIGN 512u

static _Atomic uint64_t next_address = 0x7f0000000000;
static _Atomic uint64_t next_handle = 1;

static CUresult take(CUdeviceptr *dptr, uint64_t bytes)
{
	if (!nulldriver.initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!dptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > nulldriver.memory_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*dptr = atomic_fetch_add_explicit(&next_address, (bytes + ALIGN - 1) / ALIGN * ALIGN,
					  memory_order_relaxed);
	return CUDA_SUCCESS;
}

static void *handle(void)
{
	return (void *)(uintptr_t)(atomic_fetch_add(&next_handle, 1) * 64);
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	return take(dptr, bytesize);
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	return take(dptr, bytesize);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return take(dptr, bytesize);
}

CUresult CUDAAPI cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	return take(dptr, bytesize);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
					 CUstream hStream)
{
	return take(dptr, bytesize);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
				    size_t Height, unsigned int ElementSizeBytes)
{
	*pPitch = (WidthInBytes + ALIGN - 1) / ALIGN * ALIGN;
	return take(dptr, *pPitch * Height);
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr dptr)
{
	return dptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
	if (!nulldriver.initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	*free = *total = nulldriver.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *created, size_t size,
			     const CUmemAllocationProp *prop, unsigned long long flags)
{
	if (size > nulldriver.memory_bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*created = (uintptr_t)handle();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
				     CUdeviceptr addr, unsigned long long flags)
{
	return take(ptr, size);
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags option)
{
	*granularity = 2u << 20;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArrayCreate_v2(CUarray *pHandle, const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
	*pHandle = handle();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray *pHandle, const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
	*pHandle = handle();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
					const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
					unsigned int numMipmapLevels)
{
	*pHandle = handle();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	*pool = handle();
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	*pool_out = (CUmemoryPool)(uintptr_t)(dev + 1);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	*pp = malloc(bytesize);
	return *pp ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult CUDAAPI cuMemHostAlloc(void **pp, size_t bytesize, unsigned int flags)
{
	return cuMemAllocHost_v2(pp, bytesize);
}

CUresult CUDAAPI cuMemFreeHost(void *p)
{
	free(p);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int flags)
{
	*pdptr = (uintptr_t)p;
	return CUDA_SUCCESS;
}
