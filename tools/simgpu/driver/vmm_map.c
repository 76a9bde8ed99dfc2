/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <utlist.h>

#include "driver/vmm.h"

static struct vmm_mapping *all_mappings;

struct vmm_mapping *vmm_mapping_in(uint64_t base, uint64_t bytes)
{
	struct vmm_mapping *mapping;

	DL_FOREACH(all_mappings, mapping)
		if (mapping->base < base + bytes && base < mapping->base + mapping->bytes)
			return mapping;
	return NULL;
}

static CUresult map(struct vmm_handle *handle, uint64_t base, uint64_t bytes)
{
	struct vmm_mapping *mapping = calloc(1, sizeof(*mapping));
	void *at = (void *)(uintptr_t)base;

	if (!mapping)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
		 vmm_handle_file(), (off_t)handle->offset) == MAP_FAILED) {
		free(mapping);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	(void)madvise(at, bytes, MADV_DONTFORK);
	mapping->base = base;
	mapping->bytes = bytes;
	mapping->handle = handle;
	handle->mappings++;
	DL_APPEND(all_mappings, mapping);
	return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	struct vmm_handle *found;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	vmm_lock();
	found = vmm_handle_get(handle);
	/* As the real driver: an allocation is mapped as a whole. */
	if (!found || flags != 0 || offset != 0 || size != found->bytes || !vmm_is_granular(ptr) ||
	    !vmm_is_reserved(ptr, size) || vmm_mapping_in(ptr, size))
		result = CUDA_ERROR_INVALID_VALUE;
	else
		result = map(found, ptr, size);
	vmm_unlock();
	return result;
}

static void unmap(struct vmm_mapping *mapping)
{
	struct vmm_handle *handle = mapping->handle;
	uint64_t size;

	if (mapping->access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
		(void)memory_drop(mapping->base, 1u << SIM_VMM, &size);
	(void)vmm_reserve_at((void *)(uintptr_t)mapping->base, mapping->bytes, MAP_FIXED);
	DL_DELETE(all_mappings, mapping);
	free(mapping);
	handle->mappings--;
	vmm_handle_end_maybe(handle);
}

bool vmm_is_covered(uint64_t base, uint64_t bytes)
{
	uint64_t at = base;

	while (at < base + bytes) {
		struct vmm_mapping *mapping = vmm_mapping_in(at, 1);

		if (!mapping || mapping->base != at || mapping->bytes > base + bytes - at)
			return false;
		at += mapping->bytes;
	}
	return bytes > 0;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct vmm_mapping *mapping;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	vmm_lock();
	if (ptr + size < ptr || !vmm_is_covered(ptr, size))
		result = CUDA_ERROR_INVALID_VALUE;
	while (result == CUDA_SUCCESS && (mapping = vmm_mapping_in(ptr, size)))
		unmap(mapping);
	vmm_unlock();
	return result;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
	struct vmm_mapping *mapping;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	vmm_lock();
	mapping = handle ? vmm_mapping_in((uint64_t)(uintptr_t)addr, 1) : NULL;
	if (mapping) {
		mapping->handle->refs++;
		*handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->handle;
	}
	vmm_unlock();
	return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
