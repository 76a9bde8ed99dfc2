/* SPDX-License-Identifier: Apache-2.0 */

/* cuMemAlloc and its like, and what may be asked of the device's memory. */

#include <limits.h>

#include "device/segment.h"
#include "driver/memory.h"
#include "driver/pool.h"

#define PITCH_UNIT 512

CUresult cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	struct sim_context *context;
	uint64_t address;
	CUresult result = sim_current(&context);

	if (result == CUDA_SUCCESS)
		result = exec_capture_forbids(context);
	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = sim_memory_take(context, bytesize, SIM_DEVICE, &address);
	if (result == CUDA_SUCCESS)
		*dptr = address;
	return result;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
			    unsigned int ElementSizeBytes)
{
	size_t pitch, bytes;
	CUresult result;

	if (!dptr || !pPitch || WidthInBytes == 0 || Height == 0 ||
	    (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	if (WidthInBytes > SIZE_MAX - PITCH_UNIT)
		return CUDA_ERROR_INVALID_VALUE;
	pitch = (WidthInBytes + PITCH_UNIT - 1) / PITCH_UNIT * PITCH_UNIT;
	if (__builtin_mul_overflow(pitch, Height, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	result = cuMemAlloc_v2(dptr, bytes);
	if (result == CUDA_SUCCESS)
		*pPitch = pitch;
	return result;
}

/* Waits for all work of the context that owns the memory: some of it may use it. */
CUresult cuMemFree_v2(CUdeviceptr dptr)
{
	struct sim_context *context;
	struct sim_range range;
	uint64_t size;
	CUresult result = sim_current(&context);

	if (result == CUDA_SUCCESS)
		result = exec_capture_forbids(context);
	if (result != CUDA_SUCCESS || dptr == 0)
		return result;
	if (!sim_memory_find(dptr, &range) || range.base != dptr ||
	    (range.kind != SIM_DEVICE && range.kind != SIM_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	result = exec_synchronize(range.context);
	if (result != CUDA_SUCCESS)
		return result;
	if (pool_free_now(dptr, &result))
		return result;
	return memory_drop(dptr, 1u << SIM_DEVICE | 1u << SIM_MANAGED, &size);
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct sim_context *context;
	struct segment *segment;
	uint64_t used, whole;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	whole = context->device->desc.memory_bytes;
	segment = context->device->segment;
	(void)segment_reap(segment, sim_now_ns(), false);
	segment_lock(segment);
	used = model_mem_used(segment_model(segment), UINT32_MAX);
	segment_unlock(segment);
	if (free)
		*free = used < whole ? whole - used : 0;
	if (total)
		*total = whole;
	return CUDA_SUCCESS;
}

static unsigned int clamp(size_t value)
{
	return value > UINT_MAX ? UINT_MAX : (unsigned int)value;
}

CUresult cuMemGetInfo(unsigned int *free, unsigned int *total)
{
	size_t wide_free, wide_total;
	CUresult result = cuMemGetInfo_v2(&wide_free, &wide_total);

	if (result != CUDA_SUCCESS)
		return result;
	if (free)
		*free = clamp(wide_free);
	if (total)
		*total = clamp(wide_total);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct sim_context *context;
	struct sim_range range;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!sim_memory_find(dptr, &range) || range.kind == SIM_REGISTERED)
		return CUDA_ERROR_NOT_FOUND;
	if (pbase)
		*pbase = range.base;
	if (psize)
		*psize = range.size;
	return CUDA_SUCCESS;
}
