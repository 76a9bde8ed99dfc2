/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "driver/error.h"
#include "driver/space.h"
#include "driver/vmm.h"

#define FILE_ORDER 44
#define MIN_ORDER 21

static int file = -1;
static struct space offsets; /* of the file */
static struct vmm_handle *all_handles;

int vmm_handle_file(void)
{
	return file;
}

/* Locked. The file is sparse: what nobody wrote takes no memory. */
static int open_file(void)
{
	unsigned int order = FILE_ORDER;
	int fd;

	if (file >= 0)
		return 0;
	fd = memfd_create("simgpu-memory", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (ftruncate(fd, (off_t)1 << order) != 0)
		if (--order < MIN_ORDER) {
			close(fd);
			return -ENOMEM;
		}
	if (space_init(&offsets, 0, MIN_ORDER, order)) {
		close(fd);
		return -ENOMEM;
	}
	file = fd;
	return 0;
}

static CUresult check_prop(const CUmemAllocationProp *prop, struct sim_device **ret_device)
{
	if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return sim_refuse("cuMemCreate", "an allocation in other than device memory");
	if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return sim_refuse("cuMemCreate", "an allocation that other processes can open");
	*ret_device = state_device(prop->location.id);
	return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	struct sim_device *device;
	CUresult result = state_ready();

	if (result == CUDA_SUCCESS)
		result = check_prop(prop, &device);
	if (result != CUDA_SUCCESS)
		return result;
	if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
			     option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = VMM_GRANULARITY;
	return CUDA_SUCCESS;
}

/* The device need not have a context: the first user of its memory joins it. */
static CUresult charge(struct sim_device *device, uint64_t bytes)
{
	CUresult result;

	state_lock();
	result = state_attach(device);
	state_unlock();
	return result == CUDA_SUCCESS ? memory_charge(device, bytes) : result;
}

static CUresult handle_new(const CUmemAllocationProp *prop, struct sim_device *device,
			   uint64_t bytes, struct vmm_handle **ret_handle)
{
	struct vmm_handle *handle = calloc(1, sizeof(*handle));
	int err;

	if (!handle)
		return CUDA_ERROR_OUT_OF_MEMORY;
	handle->bytes = bytes;
	handle->device = device;
	handle->prop = *prop;
	handle->refs = 1;
	handle->block_id = memory_next_id();
	vmm_lock();
	err = open_file();
	if (!err)
		err = space_take(&offsets, bytes, &handle->offset);
	if (!err)
		DL_APPEND(all_handles, handle);
	vmm_unlock();
	if (err) {
		free(handle);
		return error_from_errno(err);
	}
	*ret_handle = handle;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct sim_device *device;
	struct vmm_handle *fresh = NULL;
	CUresult result = state_ready();

	if (result == CUDA_SUCCESS)
		result = check_prop(prop, &device);
	if (result != CUDA_SUCCESS)
		return result;
	if (!handle || size == 0 || !vmm_is_granular(size) || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	result = charge(device, size);
	if (result != CUDA_SUCCESS)
		return result;
	result = handle_new(prop, device, size, &fresh);
	if (result != CUDA_SUCCESS) {
		memory_uncharge(device, size);
		return result;
	}
	*handle = (CUmemGenericAllocationHandle)(uintptr_t)fresh;
	return CUDA_SUCCESS;
}

struct vmm_handle *vmm_handle_get(CUmemGenericAllocationHandle number)
{
	struct vmm_handle *handle;

	DL_FOREACH(all_handles, handle)
		if ((uintptr_t)handle == number && handle->refs > 0)
			return handle;
	return NULL;
}

void vmm_handle_end_maybe(struct vmm_handle *handle)
{
	if (handle->refs > 0 || handle->mappings > 0)
		return;
	DL_DELETE(all_handles, handle);
	(void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)handle->offset,
			(off_t)handle->bytes);
	(void)space_give(&offsets, handle->offset, handle->bytes);
	memory_uncharge(handle->device, handle->bytes);
	free(handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct vmm_handle *found;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	vmm_lock();
	found = vmm_handle_get(handle);
	if (found) {
		found->refs--;
		vmm_handle_end_maybe(found);
	}
	vmm_unlock();
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	struct vmm_handle *found;
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	vmm_lock();
	found = vmm_handle_get(handle);
	if (found && prop)
		*prop = found->prop;
	vmm_unlock();
	return found && prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
