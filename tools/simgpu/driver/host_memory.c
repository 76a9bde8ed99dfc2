/* SPDX-License-Identifier: Apache-2.0 */

/* Page-locked host memory: allocated here, or the program's own, registered. */

#include <sys/mman.h>
#include <unistd.h>

#include "driver/memory.h"

#define ALLOC_FLAGS \
	(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS \
	(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | \
	 CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)

static CUresult enter_context(struct sim_context **ret_context)
{
	CUresult result = sim_current(ret_context);

	return result == CUDA_SUCCESS ? exec_capture_forbids(*ret_context) : result;
}

CUresult cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	struct memory_want want = {.bytes = bytesize, .kind = SIM_PINNED, .flags = Flags};
	CUresult result = enter_context(&want.context);
	void *memory;

	if (result != CUDA_SUCCESS)
		return result;
	if (!pp || bytesize == 0 || (Flags & ~(unsigned int)ALLOC_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	memory = mmap(NULL, bytesize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = memory_enter(&want, (uint64_t)(uintptr_t)memory, true);
	if (result != CUDA_SUCCESS) {
		munmap(memory, bytesize);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*pp = memory;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return cuMemHostAlloc(pp, bytesize, 0);
}

CUresult cuMemAllocHost(void **pp, unsigned int bytesize)
{
	return cuMemHostAlloc(pp, bytesize, 0);
}

/* Work that still uses the memory ends first. */
static CUresult drain_owner(const void *p, enum sim_memory_kind kind)
{
	struct sim_range range;

	if (!sim_memory_find((uint64_t)(uintptr_t)p, &range) || range.kind != kind ||
	    range.base != (uint64_t)(uintptr_t)p)
		return CUDA_ERROR_INVALID_VALUE;
	return exec_synchronize(range.context);
}

CUresult cuMemFreeHost(void *p)
{
	struct sim_context *context;
	uint64_t size;
	CUresult result = enter_context(&context);

	if (result != CUDA_SUCCESS || !p)
		return result;
	result = drain_owner(p, SIM_PINNED);
	if (result == CUDA_SUCCESS)
		result = memory_drop((uint64_t)(uintptr_t)p, 1u << SIM_PINNED, &size);
	if (result == CUDA_SUCCESS)
		munmap(p, size);
	return result;
}

/* Whether every page of a range is mapped in this process. */
static bool is_mapped(const void *p, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t low = (uintptr_t)p / page * page;
	unsigned char seen[256];

	if ((uintptr_t)p + bytes < (uintptr_t)p)
		return false;
	while (low < (uintptr_t)p + bytes) {
		size_t rest = (uintptr_t)p + bytes - low;
		size_t part = rest < sizeof(seen) * page ? rest : sizeof(seen) * page;

		if (mincore((void *)low, part, seen) != 0)
			return false;
		low += sizeof(seen) * page;
	}
	return true;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	struct memory_want want = {.bytes = bytesize, .kind = SIM_REGISTERED, .flags = Flags};
	CUresult result = enter_context(&want.context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!p || bytesize == 0 || (Flags & ~(unsigned int)REGISTER_FLAGS))
		return CUDA_ERROR_INVALID_VALUE;
	if (Flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return sim_refuse("cuMemHostRegister", "memory of another device");
	if (!is_mapped(p, bytesize))
		return CUDA_ERROR_INVALID_VALUE;
	return memory_enter(&want, (uint64_t)(uintptr_t)p, !(Flags & CU_MEMHOSTREGISTER_READ_ONLY));
}

CUresult cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	return cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult cuMemHostUnregister(void *p)
{
	struct sim_context *context;
	uint64_t size;
	CUresult result = enter_context(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	result = drain_owner(p, SIM_REGISTERED);
	if (result == CUDA_SUCCESS)
		result = memory_drop((uint64_t)(uintptr_t)p, 1u << SIM_REGISTERED, &size);
	return result == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : result;
}

static CUresult find_host(const void *p, struct sim_range *ret_range)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!sim_memory_find((uint64_t)(uintptr_t)p, ret_range) ||
	    (ret_range->kind != SIM_PINNED && ret_range->kind != SIM_REGISTERED))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* One address space: the device uses the host's address. */
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	struct sim_range range;
	CUresult result = find_host(p, &range);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pdptr || Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*pdptr = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct sim_range range;
	CUresult result = find_host(p, &range);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pFlags || range.kind != SIM_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*pFlags = range.flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return CUDA_SUCCESS;
}
