/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Primary contexts: one per device and process, with one handle for good. Inactive until retained;
 * the last release or a reset empties it.
 */

#include "driver/context.h"

/* State lock held. */
static struct sim_context *primary_of(struct sim_device *device)
{
	if (!device->primary)
		device->primary = context_new(device, true);
	return device->primary;
}

static CUresult device_get(CUdevice ordinal, struct sim_device **ret_device)
{
	CUresult result = state_ready();

	if (result != CUDA_SUCCESS)
		return result;
	*ret_device = state_device(ordinal);
	return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct sim_device *device;
	struct sim_context *context;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	state_lock();
	context = primary_of(device);
	if (!context)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	else if (atomic_load(&context->destroyed))
		result = context_activate(context);
	if (result == CUDA_SUCCESS) {
		context->api_version = 3020;
		context->refs++;
		*pctx = (CUcontext)context;
	}
	state_unlock();
	return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct sim_device *device;
	struct sim_context *context;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	state_lock();
	context = device->primary;
	if (!context || context->refs == 0)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (--context->refs == 0 && !atomic_load(&context->destroyed))
		context_deactivate(context);
	state_unlock();
	return result;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return cuDevicePrimaryCtxRelease_v2(dev);
}

/* The references stay: who retained it releases it, or retains it again to make it live. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	state_lock();
	if (device->primary && !atomic_load(&device->primary->destroyed))
		context_deactivate(device->primary);
	state_unlock();
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	return cuDevicePrimaryCtxReset_v2(dev);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct sim_device *device;
	struct sim_context *context;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!context_flags_valid(flags))
		return CUDA_ERROR_INVALID_VALUE;
	state_lock();
	context = primary_of(device);
	if (context)
		context->flags = flags;
	state_unlock();
	return context ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct sim_device *device;
	CUresult result = device_get(dev, &device);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags && !active)
		return CUDA_ERROR_INVALID_VALUE;
	state_lock();
	if (flags)
		*flags = device->primary ? device->primary->flags : 0;
	if (active)
		*active = device->primary && !atomic_load(&device->primary->destroyed);
	state_unlock();
	return CUDA_SUCCESS;
}
