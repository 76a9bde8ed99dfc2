/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/vmm.h"

static CUresult enter(const struct vmm_mapping *mapping, bool writable)
{
	struct memory_want want = {.bytes = mapping->bytes, .kind = SIM_VMM};
	CUresult result = memory_enter(&want, mapping->base, writable);

	if (result != CUDA_SUCCESS)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory_lock();
	memory_table_at(mapping->base)->device = mapping->handle->device;
	memory_unlock();
	return CUDA_SUCCESS;
}

static CUresult set_access(struct vmm_mapping *mapping, CUmemAccess_flags access)
{
	bool writable = access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CUresult result = CUDA_SUCCESS;
	uint64_t size;

	if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
		if (mapping->access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
			(void)memory_drop(mapping->base, 1u << SIM_VMM, &size);
	} else if (mapping->access == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
		result = enter(mapping, writable);
	} else {
		memory_lock();
		memory_table_set_access(memory_table_at(mapping->base), writable);
		memory_unlock();
	}
	if (result == CUDA_SUCCESS)
		mapping->access = access;
	return result;
}

static bool access_valid(CUmemAccess_flags access)
{
	return access == CU_MEM_ACCESS_FLAGS_PROT_NONE || access == CU_MEM_ACCESS_FLAGS_PROT_READ ||
	       access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

/* Locked. A mapping is accessible to the device that its memory is on, and to no other. */
static CUresult check_access(uint64_t base, uint64_t bytes, const CUmemAccessDesc *desc)
{
	if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || !state_device(desc->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if (!access_valid(desc->flags))
		return CUDA_ERROR_INVALID_VALUE;
	for (uint64_t at = base; at < base + bytes;) {
		struct vmm_mapping *mapping = vmm_mapping_in(at, 1);

		if (mapping->handle->device->ordinal != desc->location.id &&
		    desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
			return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
		at += mapping->bytes;
	}
	return CUDA_SUCCESS;
}

static CUresult apply_access(uint64_t base, uint64_t bytes, const CUmemAccessDesc *desc)
{
	CUresult result = CUDA_SUCCESS;

	for (uint64_t at = base; result == CUDA_SUCCESS && at < base + bytes;) {
		struct vmm_mapping *mapping = vmm_mapping_in(at, 1);

		if (mapping->handle->device->ordinal == desc->location.id)
			result = set_access(mapping, desc->flags);
		at += mapping->bytes;
	}
	return result;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!desc || count == 0 || ptr + size < ptr)
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	if (!vmm_is_covered(ptr, size))
		result = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
		result = check_access(ptr, size, &desc[i]);
	for (size_t i = 0; result == CUDA_SUCCESS && i < count; i++)
		result = apply_access(ptr, size, &desc[i]);
	vmm_unlock();
	return result;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
	struct vmm_mapping *mapping;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    !state_device(location->id))
		return CUDA_ERROR_INVALID_VALUE;
	vmm_lock();
	mapping = vmm_mapping_in(ptr, 1);
	if (mapping)
		*flags = mapping->handle->device->ordinal == location->id
				 ? (unsigned long long)mapping->access
				 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	vmm_unlock();
	return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
