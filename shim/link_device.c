/* SPDX-License-Identifier: Apache-2.0 */
#include "link_device.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "real.h"

/* The simulated libraries are never installed elsewhere than in a folder of this name. */
static const char simulated_path[] = "/simgpu/libcuda.so.1";

struct owner {
	uintptr_t address;
	int simulated;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *closure)
{
	struct owner *owner = closure;
	size_t length = strlen(info->dlpi_name), tail = sizeof(simulated_path) - 1;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || owner->address < start ||
		    owner->address - start >= segment->p_memsz)
			continue;
		owner->simulated =
			length >= tail && !strcmp(info->dlpi_name + length - tail, simulated_path);
		return 1;
	}
	return 0;
}

static uint32_t is_simulated(void)
{
	struct owner owner = {.address = (uintptr_t)real.cuDeviceGetCount};

	dl_iterate_phdr(look_at_object, &owner);
	return (uint32_t)owner.simulated;
}

static uint32_t attribute(CUdevice_attribute name, CUdevice device)
{
	int value = 0;

	return real.cuDeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? (uint32_t)value
									       : 0;
}

void link_describe(uint32_t ordinal, struct sluice_msg_device *ret_about)
{
	CUdevice device = (CUdevice)ordinal;
	CUuuid uuid = {{0}};
	size_t bytes = 0;

	*ret_about = (struct sluice_msg_device){0};
	if (real.cuDeviceGetUuid_v2(&uuid, device) != CUDA_SUCCESS)
		(void)real.cuDeviceGetUuid(&uuid, device);
	memcpy(ret_about->uuid, uuid.bytes, sizeof(ret_about->uuid));
	(void)real.cuDeviceTotalMem_v2(&bytes, device);
	ret_about->memory_bytes = bytes;
	ret_about->sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	ret_about->compute_capability =
		attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) * 10 +
		attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	ret_about->mps = attribute(CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device);
	ret_about->simulated = is_simulated();
	(void)real.cuDeviceGetName(ret_about->name, sizeof(ret_about->name) - 1, device);
}
