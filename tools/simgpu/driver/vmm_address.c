/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <utlist.h>

#include "driver/vmm.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vmm_reserved *all_reserved;

void vmm_lock(void)
{
	pthread_mutex_lock(&lock);
}

void vmm_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

bool vmm_is_granular(uint64_t value)
{
	return value % VMM_GRANULARITY == 0;
}

void *vmm_reserve_at(void *hint, size_t bytes, int extra)
{
	void *base = mmap(hint, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra, -1, 0);

	if (base != MAP_FAILED)
		(void)madvise(base, bytes, MADV_DONTFORK);
	return base;
}

/* Aligned, by cutting what is too much off a larger one. 0: no room. */
static uint64_t reserve(uint64_t bytes, uint64_t alignment, uint64_t hint)
{
	uint64_t base, aligned;
	void *memory;

	if (hint && hint % alignment == 0) {
		memory = vmm_reserve_at((void *)(uintptr_t)hint, bytes, 0);
		if (memory != MAP_FAILED && (uintptr_t)memory % alignment == 0)
			return (uintptr_t)memory;
		if (memory != MAP_FAILED)
			munmap(memory, bytes);
	}
	if (bytes > UINT64_MAX / 2 - alignment)
		return 0;
	memory = vmm_reserve_at(NULL, bytes + alignment, 0);
	if (memory == MAP_FAILED)
		return 0;
	base = (uintptr_t)memory;
	aligned = (base + alignment - 1) / alignment * alignment;
	if (aligned > base)
		munmap(memory, aligned - base);
	if (base + alignment > aligned)
		munmap((void *)(uintptr_t)(aligned + bytes), base + alignment - aligned);
	return aligned;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr,
			     unsigned long long flags)
{
	struct vmm_reserved *reserved;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (alignment == 0)
		alignment = VMM_GRANULARITY;
	if (!ptr || size == 0 || !vmm_is_granular(size) || flags != 0 ||
	    (alignment & (alignment - 1)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment < VMM_GRANULARITY)
		alignment = VMM_GRANULARITY;
	reserved = calloc(1, sizeof(*reserved));
	if (!reserved)
		return CUDA_ERROR_OUT_OF_MEMORY;
	reserved->bytes = size;
	reserved->base = reserve(size, alignment, addr);
	if (!reserved->base) {
		free(reserved);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	vmm_lock();
	DL_APPEND(all_reserved, reserved);
	vmm_unlock();
	*ptr = reserved->base;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct vmm_reserved *reserved;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	vmm_lock();
	DL_FOREACH(all_reserved, reserved)
		if (reserved->base == ptr && reserved->bytes == size)
			break;
	if (!reserved || vmm_mapping_in(ptr, size)) {
		result = CUDA_ERROR_INVALID_VALUE;
	} else {
		DL_DELETE(all_reserved, reserved);
		munmap((void *)(uintptr_t)ptr, size);
		free(reserved);
	}
	vmm_unlock();
	return result;
}

bool vmm_is_reserved(uint64_t base, uint64_t bytes)
{
	struct vmm_reserved *reserved;

	DL_FOREACH(all_reserved, reserved)
		if (base >= reserved->base && bytes <= reserved->bytes &&
		    base - reserved->base <= reserved->bytes - bytes)
			return true;
	return false;
}
