/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual memory management: a thread needs no context for it, and what is current says nothing
 * about where the memory lives.
 */
#include <stddef.h>

#include "mem_vmm.h"

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
			     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct mem_place place = {0};
	struct mem_charge charge;
	CUresult result;

	if (!shim_enter())
		return real.cuMemCreate(handle, size, prop, flags);
	if (prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		place.device = shim_device(prop->location.id);
	result = mem_charge(&charge, MEM_CONTEXT, place, size);
	if (result == CUDA_SUCCESS) {
		result = real.cuMemCreate(handle, size, prop, flags);
		if (result == CUDA_SUCCESS)
			mem_vmm_created(&charge, *handle);
		else
			mem_refund(&charge);
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult result;
	uint64_t number;

	if (!shim_enter())
		return real.cuMemRelease(handle);
	number = mem_vmm_releasing(handle);
	result = real.cuMemRelease(handle);
	if (result == CUDA_SUCCESS)
		mem_vmm_released(number);
	else
		mem_vmm_not_released(handle, number);
	shim_leave();
	return result;
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	CUresult result;

	if (!shim_enter())
		return real.cuMemRetainAllocationHandle(handle, addr);
	result = real.cuMemRetainAllocationHandle(handle, addr);
	if (result == CUDA_SUCCESS)
		mem_vmm_again(*handle, (uintptr_t)addr);
	shim_leave();
	return result;
}

/* An import of our own export may answer with the handle that we know; the exporter is charged. */
CUresult CUDAAPI cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
						void *osHandle,
						CUmemAllocationHandleType shHandleType)
{
	CUresult result;

	if (!shim_enter())
		return real.cuMemImportFromShareableHandle(handle, osHandle, shHandleType);
	result = real.cuMemImportFromShareableHandle(handle, osHandle, shHandleType);
	if (result == CUDA_SUCCESS)
		mem_vmm_again(*handle, 0);
	shim_leave();
	return result;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
			  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	CUresult result;

	if (!shim_enter())
		return real.cuMemMap(ptr, size, offset, handle, flags);
	result = real.cuMemMap(ptr, size, offset, handle, flags);
	if (result == CUDA_SUCCESS)
		mem_vmm_mapped(ptr, size, handle);
	shim_leave();
	return result;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	CUresult result;

	if (!shim_enter())
		return real.cuMemUnmap(ptr, size);
	result = real.cuMemUnmap(ptr, size);
	if (result == CUDA_SUCCESS)
		mem_vmm_unmapped(ptr, size);
	shim_leave();
	return result;
}
