/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory in stream order, charged by allocation. The charge goes back at the call of
 * cuMemFreeAsync and not when the stream passes it: that a later allocation of the same stream
 * takes the freed bytes over at once, without anybody waiting, is what this interface is for, and
 * a charge held until the stream has passed would refuse it. What is freed and not yet passed
 * therefore counts for nobody; nor does what a pool keeps, which its owner gives back by
 * cuMemPoolTrimTo or the release threshold.
 *
 * In a capture an allocation becomes a node and its memory the graph's: not charged.
 */
#include "mem.h"

#include <stddef.h>

#include "addrtable.h"
#include "mem_pool.h"

/* Pools that cuMemPoolCreate made -> ordinal + 1; 0: not on a device. */
static struct addrtable pools;

void mem_pool_forked(void)
{
	addrtable_forget(&pools);
}

static struct mem_place place_of_stream(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (shim_flags() & SHIM_CAPTURES)
		(void)real.cuStreamIsCapturing(stream, &status);
	return (struct mem_place){.device = status == CU_STREAM_CAPTURE_STATUS_NONE
						    ? shim_device_of_stream(stream)
						    : NULL};
}

static struct mem_place place_of_stream_ptsz(CUstream stream)
{
	return place_of_stream(stream ? stream : CU_STREAM_PER_THREAD);
}

static struct mem_place place_of_pool(CUmemoryPool pool, CUstream stream)
{
	struct mem_place place = place_of_stream(stream);
	CUmemoryPool default_pool;
	uint64_t created;

	if (!place.device)
		return place;
	if (addrtable_find(&pools, (uintptr_t)pool, &created)) {
		place.device = created ? shim_device((CUdevice)created - 1) : NULL;
		return place;
	}
	for (uint32_t i = 0; shim.device_count > 1 && i < shim.device_count; i++)
		if (real.cuDeviceGetDefaultMemPool(&default_pool, (CUdevice)i) == CUDA_SUCCESS &&
		    default_pool == pool)
			place.device = shim_device((CUdevice)i);
	return place;
}

static struct mem_place place_of_pool_ptsz(CUmemoryPool pool, CUstream stream)
{
	return place_of_pool(pool, stream ? stream : CU_STREAM_PER_THREAD);
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	MEM_ALLOC_HOOK(MEM_POOL, place_of_stream(hStream), bytesize,
		       real.cuMemAllocAsync(dptr, bytesize, hStream), *dptr);
}

CUresult CUDAAPI cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	MEM_ALLOC_HOOK(MEM_POOL, place_of_stream_ptsz(hStream), bytesize,
		       real.cuMemAllocAsync_ptsz(dptr, bytesize, hStream), *dptr);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
					 CUstream hStream)
{
	MEM_ALLOC_HOOK(MEM_POOL, place_of_pool(pool, hStream), bytesize,
		       real.cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream), *dptr);
}

CUresult CUDAAPI cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
					      CUstream hStream)
{
	MEM_ALLOC_HOOK(MEM_POOL, place_of_pool_ptsz(pool, hStream), bytesize,
		       real.cuMemAllocFromPoolAsync_ptsz(dptr, bytesize, pool, hStream), *dptr);
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	MEM_FREE_HOOK(MEM_POOL, dptr, real.cuMemFreeAsync(dptr, hStream));
}

CUresult CUDAAPI cuMemFreeAsync_ptsz(CUdeviceptr dptr, CUstream hStream)
{
	MEM_FREE_HOOK(MEM_POOL, dptr, real.cuMemFreeAsync_ptsz(dptr, hStream));
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	CUresult result;

	if (!shim_enter())
		return real.cuMemPoolCreate(pool, poolProps);
	result = real.cuMemPoolCreate(pool, poolProps);
	if (result == CUDA_SUCCESS)
		(void)addrtable_put(&pools, (uintptr_t)*pool,
				    poolProps->location.type == CU_MEM_LOCATION_TYPE_DEVICE
					    ? (uint64_t)poolProps->location.id + 1
					    : 0);
	shim_leave();
	return result;
}

/* What was allocated from it stays until it is freed. */
CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult result;
	uint64_t created;
	bool known;

	if (!shim_enter())
		return real.cuMemPoolDestroy(pool);
	known = addrtable_take(&pools, (uintptr_t)pool, &created);
	result = real.cuMemPoolDestroy(pool);
	if (known && result != CUDA_SUCCESS)
		(void)addrtable_put(&pools, (uintptr_t)pool, created);
	shim_leave();
	return result;
}
