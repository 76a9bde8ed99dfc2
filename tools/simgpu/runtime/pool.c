/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation in stream order, memory pools, and memory of other processes. */
#include "runtime.h"

#define DPTR(p) ((CUdeviceptr)(uintptr_t)(p))

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "same pool properties");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "same location");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "same access");
_Static_assert(sizeof(struct cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData),
	       "same exported pointer");
_Static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(CUipcMemHandle), "same memory handle");
_Static_assert(sizeof(cudaIpcEventHandle_t) == sizeof(CUipcEventHandle), "same event handle");

RT_FORWARD_BOTH(cudaMallocAsync, _ptsz, (void **devPtr, size_t size, cudaStream_t hStream),
		cuMemAllocAsync, (CUdeviceptr *)devPtr, size, hStream)
RT_FORWARD_BOTH(cudaMallocFromPoolAsync, _ptsz,
		(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream),
		cuMemAllocFromPoolAsync, (CUdeviceptr *)ptr, size, memPool, stream)

static cudaError_t free_async(const struct rt_driver *d, void *p, cudaStream_t stream)
{
	return p ? RT_CALL(d, cuMemFreeAsync, DPTR(p), stream) : cudaSuccess;
}

RT_BOTH(cudaFreeAsync, _ptsz, (void *devPtr, cudaStream_t hStream), free_async, devPtr, hStream)

RT_FORWARD(cudaMemPoolCreate, (cudaMemPool_t * memPool, const struct cudaMemPoolProps *poolProps),
	   cuMemPoolCreate, memPool, (const CUmemPoolProps *)poolProps)
RT_FORWARD(cudaMemPoolDestroy, (cudaMemPool_t memPool), cuMemPoolDestroy, memPool)
RT_FORWARD(cudaMemPoolTrimTo, (cudaMemPool_t memPool, size_t minBytesToKeep), cuMemPoolTrimTo,
	   memPool, minBytesToKeep)
RT_FORWARD(cudaMemPoolSetAttribute, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value),
	   cuMemPoolSetAttribute, memPool, (CUmemPool_attribute)attr, value)
RT_FORWARD(cudaMemPoolGetAttribute, (cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value),
	   cuMemPoolGetAttribute, memPool, (CUmemPool_attribute)attr, value)
RT_FORWARD(cudaMemPoolSetAccess,
	   (cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count),
	   cuMemPoolSetAccess, memPool, (const CUmemAccessDesc *)descList, count)
RT_FORWARD(cudaMemPoolGetAccess,
	   (enum cudaMemAccessFlags * flags, cudaMemPool_t memPool,
	    struct cudaMemLocation *location),
	   cuMemPoolGetAccess, (CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location)
RT_FORWARD(cudaMemPoolExportToShareableHandle,
	   (void *shareableHandle, cudaMemPool_t memPool,
	    enum cudaMemAllocationHandleType handleType, unsigned int flags),
	   cuMemPoolExportToShareableHandle, shareableHandle, memPool,
	   (CUmemAllocationHandleType)handleType, flags)
RT_FORWARD(cudaMemPoolImportFromShareableHandle,
	   (cudaMemPool_t * memPool, void *shareableHandle,
	    enum cudaMemAllocationHandleType handleType, unsigned int flags),
	   cuMemPoolImportFromShareableHandle, memPool, shareableHandle,
	   (CUmemAllocationHandleType)handleType, flags)
RT_FORWARD(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * exportData, void *ptr),
	   cuMemPoolExportPointer, (CUmemPoolPtrExportData *)exportData, DPTR(ptr))
RT_FORWARD(cudaMemPoolImportPointer,
	   (void **ptr, cudaMemPool_t memPool, struct cudaMemPoolPtrExportData *exportData),
	   cuMemPoolImportPointer, (CUdeviceptr *)ptr, memPool,
	   (CUmemPoolPtrExportData *)exportData)
RT_FORWARD(cudaMemGetDefaultMemPool,
	   (cudaMemPool_t * memPool, struct cudaMemLocation *location,
	    enum cudaMemAllocationType type),
	   cuMemGetDefaultMemPool, memPool, (CUmemLocation *)location, (CUmemAllocationType)type)
RT_FORWARD(cudaMemGetMemPool,
	   (cudaMemPool_t * memPool, struct cudaMemLocation *location,
	    enum cudaMemAllocationType type),
	   cuMemGetMemPool, memPool, (CUmemLocation *)location, (CUmemAllocationType)type)
RT_FORWARD(cudaMemSetMemPool,
	   (struct cudaMemLocation * location, enum cudaMemAllocationType type,
	    cudaMemPool_t memPool),
	   cuMemSetMemPool, (CUmemLocation *)location, (CUmemAllocationType)type, memPool)

RT_FORWARD(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
	   cuIpcGetEventHandle, (CUipcEventHandle *)handle, event)
RT_FORWARD(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *devPtr), cuIpcGetMemHandle,
	   (CUipcMemHandle *)handle, DPTR(devPtr))
RT_FORWARD(cudaIpcCloseMemHandle, (void *devPtr), cuIpcCloseMemHandle, DPTR(devPtr))

static CUipcEventHandle to_event_handle(const cudaIpcEventHandle_t *handle)
{
	CUipcEventHandle out;

	memcpy(&out, handle, sizeof(out));
	return out;
}

static CUipcMemHandle to_memory_handle(const cudaIpcMemHandle_t *handle)
{
	CUipcMemHandle out;

	memcpy(&out, handle, sizeof(out));
	return out;
}

RT_FORWARD(cudaIpcOpenEventHandle, (cudaEvent_t * event, cudaIpcEventHandle_t handle),
	   cuIpcOpenEventHandle, event, to_event_handle(&handle))
RT_FORWARD(cudaIpcOpenMemHandle, (void **devPtr, cudaIpcMemHandle_t handle, unsigned int flags),
	   cuIpcOpenMemHandle, (CUdeviceptr *)devPtr, to_memory_handle(&handle), flags)
