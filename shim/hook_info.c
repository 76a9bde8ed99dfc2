/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tenant is told of its memory: total = memory.max, free = what is left of it, and never
 * more than the device has. Without a quota, or with the arbiter away before it ever answered, the
 * driver's own numbers.
 */
#include "link.h"
#include "shim.h"

#include <stddef.h>

struct memory {
	uint64_t free_bytes;
	uint64_t total_bytes;
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bends the driver's numbers to the quota's. */
static void bend(struct shim_device *device, struct memory *memory)
{
	uint64_t max_bytes, used_bytes;

	if (!device || link_mem_query(device->index, &max_bytes, &used_bytes) ||
	    max_bytes == UINT64_MAX)
		return;
	memory->total_bytes = smaller(memory->total_bytes, max_bytes);
	memory->free_bytes =
		smaller(memory->free_bytes, max_bytes > used_bytes ? max_bytes - used_bytes : 0);
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct memory memory;
	CUresult result;

	if (!shim_enter())
		return real.cuMemGetInfo_v2(free, total);
	result = real.cuMemGetInfo_v2(&memory.free_bytes, &memory.total_bytes);
	if (result == CUDA_SUCCESS) {
		bend(shim_device_current(), &memory);
		if (free)
			*free = memory.free_bytes;
		if (total)
			*total = memory.total_bytes;
	}
	shim_leave();
	return result;
}

/* CUDA before 3.2: what does not fit into 32 bits is their largest. */
CUresult CUDAAPI cuMemGetInfo(unsigned int *free, unsigned int *total)
{
	unsigned int real_free, real_total;
	struct memory memory;
	CUresult result;

	if (!shim_enter())
		return real.cuMemGetInfo(free, total);
	result = real.cuMemGetInfo(&real_free, &real_total);
	if (result == CUDA_SUCCESS) {
		memory = (struct memory){.free_bytes = real_free, .total_bytes = real_total};
		bend(shim_device_current(), &memory);
		if (free)
			*free = (unsigned int)memory.free_bytes;
		if (total)
			*total = (unsigned int)memory.total_bytes;
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct memory memory = {0};
	CUresult result;

	if (!shim_enter())
		return real.cuDeviceTotalMem_v2(bytes, dev);
	result = real.cuDeviceTotalMem_v2(bytes, dev);
	if (result == CUDA_SUCCESS) {
		memory.total_bytes = *bytes;
		bend(shim_device(dev), &memory);
		*bytes = memory.total_bytes;
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	struct memory memory = {0};
	CUresult result;

	if (!shim_enter())
		return real.cuDeviceTotalMem(bytes, dev);
	result = real.cuDeviceTotalMem(bytes, dev);
	if (result == CUDA_SUCCESS) {
		memory.total_bytes = *bytes;
		bend(shim_device(dev), &memory);
		*bytes = (unsigned int)memory.total_bytes;
	}
	shim_leave();
	return result;
}
