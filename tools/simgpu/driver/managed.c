/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Managed memory. Host and device use the same bytes, so that advice and prefetches move nothing.
 * Where the device has no room for an allocation, it lives on the host alone and is not charged,
 * as the real driver's, which moves pages on demand.
 */

#include "driver/memory.h"

CUresult cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	struct memory_want want = {.bytes = bytesize, .kind = SIM_MANAGED, .flags = flags};
	CUresult result = sim_current(&want.context);
	uint64_t address;

	if (result == CUDA_SUCCESS)
		result = exec_capture_forbids(want.context);
	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || bytesize == 0 ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	result = memory_take(&want, &address);
	if (result == CUDA_ERROR_OUT_OF_MEMORY) {
		want.uncharged = true;
		result = memory_take(&want, &address);
	}
	if (result == CUDA_SUCCESS)
		*dptr = address;
	return result;
}

static CUresult check_managed(CUdeviceptr pointer, size_t count)
{
	struct sim_context *context;
	struct sim_range range;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (count == 0 || !sim_memory_find(pointer, &range) || range.kind != SIM_MANAGED ||
	    count > range.size - (pointer - range.base))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult check_location(CUmemLocation location)
{
	if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		return state_device(location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	if (location.type == CU_MEM_LOCATION_TYPE_HOST ||
	    location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
	    location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
		return CUDA_SUCCESS;
	return CUDA_ERROR_INVALID_VALUE;
}

/* Of the old calls: CU_DEVICE_CPU or an ordinal. */
static CUmemLocation location_of(CUdevice device)
{
	return (CUmemLocation){.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST
							       : CU_MEM_LOCATION_TYPE_DEVICE,
			       .id = device == CU_DEVICE_CPU ? 0 : device};
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
			CUmemLocation location)
{
	CUresult result = check_managed(devPtr, count);

	if (result != CUDA_SUCCESS)
		return result;
	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: return CUDA_SUCCESS;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY: return check_location(location);
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	return cuMemAdvise_v2(devPtr, count, advice, location_of(device));
}

static CUresult prefetch(CUdeviceptr pointer, size_t count, CUmemLocation location, CUstream handle,
			 bool per_thread)
{
	struct stream *stream;
	CUresult result = check_managed(pointer, count);

	if (result == CUDA_SUCCESS)
		result = check_location(location);
	if (result == CUDA_SUCCESS)
		result = exec_stream_get(sim_current_or_null(), handle, per_thread, &stream);
	if (result == CUDA_SUCCESS && exec_stream_is_capturing(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return result;
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
			       unsigned int flags, CUstream hStream)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : prefetch(devPtr, count, location, hStream, false);
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr devPtr, size_t count, CUmemLocation location,
				    unsigned int flags, CUstream hStream)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : prefetch(devPtr, count, location, hStream, true);
}

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	return prefetch(devPtr, count, location_of(dstDevice), hStream, false);
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
				 CUstream hStream)
{
	return prefetch(devPtr, count, location_of(dstDevice), hStream, true);
}

/* Host and device may use managed memory at the same time, so that attaching it changes nothing. */
static CUresult attach(CUstream handle, CUdeviceptr pointer, size_t length, unsigned int flags,
		       bool per_thread)
{
	struct stream *stream;
	struct sim_range range;
	CUresult result = check_managed(pointer, 1);

	if (result != CUDA_SUCCESS)
		return result;
	if (!sim_memory_find(pointer, &range) || (length != 0 && length != range.size) ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
	     flags != CU_MEM_ATTACH_SINGLE))
		return CUDA_ERROR_INVALID_VALUE;
	result = exec_stream_get(sim_current_or_null(), handle, per_thread, &stream);
	if (result == CUDA_SUCCESS && exec_stream_is_capturing(stream))
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return result;
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length,
				unsigned int flags)
{
	return attach(hStream, dptr, length, flags, false);
}

CUresult cuStreamAttachMemAsync_ptsz(CUstream hStream, CUdeviceptr dptr, size_t length,
				     unsigned int flags)
{
	return attach(hStream, dptr, length, flags, true);
}
