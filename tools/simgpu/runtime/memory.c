/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation of device, managed and host memory; what is known of a pointer. */
#include "runtime.h"

#define DPTR(p) ((CUdeviceptr)(uintptr_t)(p))
#define ELEMENT_BYTES 4 /* the least that cuMemAllocPitch takes */

static cudaError_t allocate(void **ret, size_t bytes)
{
	if (!ret)
		return cudaErrorInvalidValue;
	*ret = NULL;
	return bytes ? RT_CALL(RT_PLAIN, cuMemAlloc, (CUdeviceptr *)ret, bytes) : cudaSuccess;
}

static cudaError_t allocate_pitch(void **ret, size_t *ret_pitch, size_t width, size_t height)
{
	if (!ret || !ret_pitch)
		return cudaErrorInvalidValue;
	*ret = NULL;
	*ret_pitch = 0;
	if (width == 0 || height == 0)
		return cudaSuccess;
	return RT_CALL(RT_PLAIN, cuMemAllocPitch, (CUdeviceptr *)ret, ret_pitch, width, height,
		       ELEMENT_BYTES);
}

static cudaError_t allocate_3d(struct cudaPitchedPtr *ret, struct cudaExtent extent)
{
	size_t rows;
	cudaError_t error;

	if (!ret || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return cudaErrorInvalidValue;
	error = allocate_pitch(&ret->ptr, &ret->pitch, extent.width, rows);
	ret->xsize = extent.width;
	ret->ysize = extent.height;
	return error;
}

static cudaError_t allocate_managed(void **ret, size_t bytes, unsigned int flags)
{
	if (!ret || bytes == 0)
		return cudaErrorInvalidValue;
	return RT_CALL(RT_PLAIN, cuMemAllocManaged, (CUdeviceptr *)ret, bytes, flags);
}

static cudaError_t allocate_host(void **ret, size_t bytes, unsigned int flags)
{
	if (!ret)
		return cudaErrorInvalidValue;
	*ret = NULL;
	return bytes ? RT_CALL(RT_PLAIN, cuMemHostAlloc, ret, bytes, flags) : cudaSuccess;
}

RT_ENTRY(cudaMalloc, (void **devPtr, size_t size), allocate(devPtr, size))
RT_ENTRY(cudaMallocPitch, (void **devPtr, size_t *pitch, size_t width, size_t height),
	 allocate_pitch(devPtr, pitch, width, height))
RT_ENTRY(cudaMalloc3D, (struct cudaPitchedPtr * pitchedDevPtr, struct cudaExtent extent),
	 allocate_3d(pitchedDevPtr, extent))
RT_ENTRY(cudaMallocManaged, (void **devPtr, size_t size, unsigned int flags),
	 allocate_managed(devPtr, size, flags))
RT_ENTRY(cudaMallocHost, (void **ptr, size_t size), allocate_host(ptr, size, 0))
RT_ENTRY(cudaHostAlloc, (void **pHost, size_t size, unsigned int flags),
	 allocate_host(pHost, size, flags))

static cudaError_t release(void *p)
{
	cudaError_t error = p ? RT_CALL(RT_PLAIN, cuMemFree, DPTR(p)) : cudaSuccess;

	return error == cudaErrorInvalidDevicePointer ? cudaErrorInvalidValue : error;
}

RT_ENTRY(cudaFree, (void *devPtr), release(devPtr))
RT_ENTRY(cudaFreeHost, (void *ptr), ptr ? RT_CALL(RT_PLAIN, cuMemFreeHost, ptr) : cudaSuccess)

RT_FORWARD(cudaHostGetDevicePointer, (void **pDevice, void *pHost, unsigned int flags),
	   cuMemHostGetDevicePointer, (CUdeviceptr *)pDevice, pHost, flags)
RT_FORWARD(cudaHostGetFlags, (unsigned int *pFlags, void *pHost), cuMemHostGetFlags, pFlags, pHost)
RT_FORWARD(cudaHostRegister, (void *ptr, size_t size, unsigned int flags), cuMemHostRegister, ptr,
	   size, flags)
RT_FORWARD(cudaHostUnregister, (void *ptr), cuMemHostUnregister, ptr)
RT_FORWARD(cudaMemGetInfo, (size_t * free, size_t *total), cuMemGetInfo, free, total)

/* ---- pointers ---- */

/* The driver writes each attribute in its own width, so each has its own variable; plain host
 * memory leaves zeroes. */
static cudaError_t pointer_attributes(struct cudaPointerAttributes *ret, const void *p)
{
	unsigned int type = 0, managed = 0;
	int ordinal = cudaInvalidDeviceId;
	void *device = NULL, *host = NULL;
	CUpointer_attribute attribute[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	void *value[] = {&type, &managed, &ordinal, &device, &host};
	cudaError_t error;

	if (!ret)
		return cudaErrorInvalidValue;
	error = RT_CALL(RT_PLAIN, cuPointerGetAttributes, sizeof(value) / sizeof(value[0]),
			attribute, value, DPTR(p));
	if (error != cudaSuccess)
		return error;
	memset(ret, 0, sizeof(*ret));
	ret->type = managed			   ? cudaMemoryTypeManaged
		    : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
		    : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
						   : cudaMemoryTypeUnregistered;
	ret->device = ordinal;
	ret->devicePointer = device;
	ret->hostPointer = host;
	if (ret->type == cudaMemoryTypeUnregistered)
		ret->hostPointer = (void *)(uintptr_t)p;
	return cudaSuccess;
}

RT_ENTRY(cudaPointerGetAttributes, (struct cudaPointerAttributes * attributes, const void *ptr),
	 pointer_attributes(attributes, ptr))

/* ---- managed memory ---- */

static CUmemLocation to_location(struct cudaMemLocation location)
{
	return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

RT_FORWARD(cudaMemAdvise,
	   (const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
	    struct cudaMemLocation location),
	   cuMemAdvise, DPTR(devPtr), count, (CUmem_advise)advice, to_location(location))
RT_FORWARD_BOTH(cudaMemPrefetchAsync, _ptsz,
		(const void *devPtr, size_t count, struct cudaMemLocation location,
		 unsigned int flags, cudaStream_t stream),
		cuMemPrefetchAsync, DPTR(devPtr), count, to_location(location), flags, stream)
RT_FORWARD_BOTH(cudaMemPrefetchBatchAsync, _ptsz,
		(void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
		 size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
		 cudaStream_t stream),
		cuMemPrefetchBatchAsync, (CUdeviceptr *)dptrs, sizes, count,
		(CUmemLocation *)prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream)
RT_FORWARD_BOTH(cudaMemDiscardBatchAsync, _ptsz,
		(void **dptrs, size_t *sizes, size_t count, unsigned long long flags,
		 cudaStream_t stream),
		cuMemDiscardBatchAsync, (CUdeviceptr *)dptrs, sizes, count, flags, stream)
RT_FORWARD_BOTH(cudaMemDiscardAndPrefetchBatchAsync, _ptsz,
		(void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
		 size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
		 cudaStream_t stream),
		cuMemDiscardAndPrefetchBatchAsync, (CUdeviceptr *)dptrs, sizes, count,
		(CUmemLocation *)prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream)
RT_FORWARD(cudaMemRangeGetAttribute,
	   (void *data, size_t dataSize, enum cudaMemRangeAttribute attribute, const void *devPtr,
	    size_t count),
	   cuMemRangeGetAttribute, data, dataSize, (CUmem_range_attribute)attribute, DPTR(devPtr),
	   count)
RT_FORWARD(cudaMemRangeGetAttributes,
	   (void **data, size_t *dataSizes, enum cudaMemRangeAttribute *attributes,
	    size_t numAttributes, const void *devPtr, size_t count),
	   cuMemRangeGetAttributes, data, dataSizes, (CUmem_range_attribute *)attributes,
	   numAttributes, DPTR(devPtr), count)
