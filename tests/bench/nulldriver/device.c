/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices and contexts: NULLDRIVER_DEVICES of them (default 1), each with NULLDRIVER_MEMORY bytes
 * (default 80 GiB). Enough for a program to set itself up; a child of fork is told that it is not
 * initialised.
 */
#include "nulldriver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define MAX_DEVICES 8
#define MAX_DEPTH 64

struct nulldriver nulldriver = {.devices = 1, .memory_bytes = 80ull << 30};

static struct CUctx_st {
	CUdevice device;
	_Atomic int references; /* of a primary context; 1 of a created one */
} primary[MAX_DEVICES];

static _Thread_local CUcontext stack[MAX_DEPTH];
static _Thread_local unsigned int depth;

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *value = secure_getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void forked(void)
{
	nulldriver.initialised = false;
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
	static bool watched;

	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	nulldriver.devices = (int)setting("NULLDRIVER_DEVICES", 1) % (MAX_DEVICES + 1);
	nulldriver.memory_bytes = setting("NULLDRIVER_MEMORY", 80ull << 30);
	for (int i = 0; i < MAX_DEVICES; i++)
		primary[i].device = i;
	if (!watched)
		watched = !pthread_atfork(NULL, NULL, forked);
	nulldriver.initialised = true;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDriverGetVersion(int *driverVersion)
{
	*driverVersion = CUDA_VERSION;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetCount(int *count)
{
	*count = nulldriver.devices;
	return nulldriver.initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!nulldriver.initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (ordinal < 0 || ordinal >= nulldriver.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetName(char *name, int len, CUdevice dev)
{
	snprintf(name, (size_t)len, "null device %d", dev);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	memset(uuid, 0, sizeof(*uuid));
	snprintf(uuid->bytes, sizeof(uuid->bytes), "nulldevice %d", dev);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return cuDeviceGetUuid_v2(uuid, dev);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	*bytes = nulldriver.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	switch (attrib) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *pi = 132; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *pi = 9; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *pi = 1024; break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *pi = 32; break;
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
	case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *pi = 1; break;
	default: *pi = 0; break;
	}
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext context)
{
	if (depth == MAX_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *pctx)
{
	if (!nulldriver.initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	*pctx = depth ? stack[depth - 1] : NULL;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
	if (!depth)
		return ctx ? push(ctx) : CUDA_SUCCESS;
	if (ctx)
		stack[depth - 1] = ctx;
	else
		depth--;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
	return push(ctx);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (pctx)
		*pctx = stack[depth];
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *device)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = stack[depth - 1]->device;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	if (!ctx)
		return cuCtxGetDevice(device);
	*device = ctx->device;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct CUctx_st *context;

	if (dev < 0 || dev >= nulldriver.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	context = calloc(1, sizeof(*context));
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context->device = dev;
	context->references = 1;
	*pctx = context;
	return push(context);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
				unsigned int flags, CUdevice dev)
{
	return cuCtxCreate_v2(pctx, flags, dev);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth && stack[depth - 1] == ctx)
		depth--;
	free(ctx);
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	if (dev < 0 || dev >= nulldriver.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	primary[dev].references++;
	*pctx = &primary[dev];
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	if (dev < 0 || dev >= nulldriver.devices || primary[dev].references == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	primary[dev].references--;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	if (dev < 0 || dev >= nulldriver.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	primary[dev].references = 0;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	if (dev < 0 || dev >= nulldriver.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = primary[dev].references > 0;
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **pStr)
{
	*pStr = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR";
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **pStr)
{
	*pStr = error == CUDA_SUCCESS ? "no error" : "an error of the driver that does nothing";
	return CUDA_SUCCESS;
}

CUresult CUDAAPI cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	*ppExportTable = NULL;
	return CUDA_ERROR_NOT_FOUND;
}
