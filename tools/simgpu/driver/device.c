/* SPDX-License-Identifier: Apache-2.0 */

/* Devices: count, names, identity, size, peers. Attributes are in device_attribute.c. */

#include <limits.h>
#include <strings.h>

#include "driver/state.h"

/* ready, and `dev` exists */
static CUresult device_get(CUdevice dev, struct sim_device **ret_device)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*ret_device = state_device(dev);
	return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int *count)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = state_devices();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	struct sim_device *found;
	CUresult result = device_get(ordinal, &found);

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	snprintf(name, (size_t)len, "%s", device->desc.name);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(uuid->bytes, device->uuid, sizeof(uuid->bytes));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

/* LUIDs belong to Windows. */
CUresult cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	*bytes = device->desc.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
	size_t whole;
	CUresult result = bytes ? cuDeviceTotalMem_v2(&whole, dev) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		*bytes = whole > UINT_MAX ? UINT_MAX : (unsigned int)whole;
	return result;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	*major = (int)device->desc.cc_major;
	*minor = (int)device->desc.cc_minor;
	return CUDA_SUCCESS;
}

/* Device n stands alone on bus n + 1 of domain 0. */
CUresult cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pciBusId || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", device->physical + 1) >= len)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* [domain:]bus:device[.function], in hexadecimal. */
static bool parse_bus_id(const char *text, unsigned long ret_part[4])
{
	unsigned long value[3] = {0, 0, 0}, function = 0;
	int parts = 0;
	char *end;

	for (; parts < 3; text = end + 1) {
		value[parts++] = strtoul(text, &end, 16);
		if (end == text || *end != ':')
			break;
	}
	if (parts < 2 || end == text)
		return false;
	if (*end == '.')
		function = strtoul(end + 1, &end, 16);
	ret_part[0] = parts == 3 ? value[0] : 0;
	ret_part[1] = value[parts - 2];
	ret_part[2] = value[parts - 1];
	ret_part[3] = function;
	return *end == '\0';
}

CUresult cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	unsigned long part[4];
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	if (!dev || !pciBusId || !parse_bus_id(pciBusId, part))
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < state_devices(); i++) {
		if (part[0] || part[2] || part[3] ||
		    part[1] != (unsigned long)state_device(i)->physical + 1)
			continue;
		*dev = i;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

/* ---- peers: simulated devices have no link to one another ---- */

static CUresult device_pair(CUdevice one, CUdevice other)
{
	struct sim_device *device;
	CUresult result = device_get(one, &device);

	return result == CUDA_SUCCESS ? device_get(other, &device) : result;
}

CUresult cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	CUresult result = device_pair(dev, peerDev);

	if (result != CUDA_SUCCESS)
		return result;
	if (!canAccessPeer)
		return CUDA_ERROR_INVALID_VALUE;
	*canAccessPeer = 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
				 CUdevice dstDevice)
{
	CUresult result = device_pair(srcDevice, dstDevice);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value || attrib < CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)
		return CUDA_ERROR_INVALID_VALUE;
	if (srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = 0;
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return peerContext == (CUcontext)context ? CUDA_ERROR_INVALID_CONTEXT
						 : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	return result == CUDA_SUCCESS ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : result;
}

CUresult cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	*pi = 0;
	return CUDA_SUCCESS;
}
