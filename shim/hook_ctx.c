/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of the driver, and the lives of contexts. What is allocated in a context is freed
 * with it, without a call that we would see: its charges go back here. Contexts can also appear
 * through the runtime's private tables, so that none of the create hooks is ever relied on.
 */
#include "callback.h"
#include "capture.h"
#include "launch.h"
#include "mem.h"
#include "mem_context.h"
#include "shim.h"
#include "stream_state.h"
#include "watch.h"

CUresult CUDAAPI cuInit(unsigned int Flags)
{
	CUresult result;

	/* A program that found our cuInit in its own scope may never have loaded the driver. */
	if (!real_load_driver())
		return CUDA_ERROR_NO_DEVICE;
	result = real.cuInit(Flags);
	if (result == CUDA_SUCCESS && shim_enter())
		shim_leave();
	return result;
}

static CUresult created(CUresult result, const CUcontext *context)
{
	if (result == CUDA_SUCCESS) {
		mem_context_created(*context);
		launch_context_changed();
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	if (!shim_enter())
		return real.cuCtxCreate(pctx, flags, dev);
	return created(real.cuCtxCreate(pctx, flags, dev), pctx);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	if (!shim_enter())
		return real.cuCtxCreate_v2(pctx, flags, dev);
	return created(real.cuCtxCreate_v2(pctx, flags, dev), pctx);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
				unsigned int flags, CUdevice dev)
{
	if (!shim_enter())
		return real.cuCtxCreate_v3(pctx, paramsArray, numParams, flags, dev);
	return created(real.cuCtxCreate_v3(pctx, paramsArray, numParams, flags, dev), pctx);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
				unsigned int flags, CUdevice dev)
{
	if (!shim_enter())
		return real.cuCtxCreate_v4(pctx, ctxCreateParams, flags, dev);
	return created(real.cuCtxCreate_v4(pctx, ctxCreateParams, flags, dev), pctx);
}

static CUresult destroy(CUresult (*real_destroy)(CUcontext), CUcontext context)
{
	uint32_t number = mem_context_retire(context);
	int watch = watch_exclude();
	CUresult result;

	stream_context_dying(context, -1);
	result = real_destroy(context);
	watch_admit(watch);
	if (result == CUDA_SUCCESS) {
		capture_context_gone(context, -1);
		callback_context_gone(context, -1);
		mem_context_gone(number);
		mem_context_free(number);
	} else {
		mem_context_restore(number, context);
	}
	shim_leave();
	return result;
}

CUresult CUDAAPI cuCtxDestroy(CUcontext ctx)
{
	if (!shim_enter())
		return real.cuCtxDestroy(ctx);
	return destroy(real.cuCtxDestroy, ctx);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext ctx)
{
	if (!shim_enter())
		return real.cuCtxDestroy_v2(ctx);
	return destroy(real.cuCtxDestroy_v2, ctx);
}

/* Ends the context unless cuCtxAttach has been called on it, which no program of this century
 * does: taken as an end. */
CUresult CUDAAPI cuCtxDetach(CUcontext ctx)
{
	if (!shim_enter())
		return real.cuCtxDetach(ctx);
	return destroy(real.cuCtxDetach, ctx);
}

static void device_gone(CUdevice dev)
{
	capture_context_gone(NULL, dev);
	callback_context_gone(NULL, dev);
	mem_device_gone((uint32_t)dev);
}

static bool primary_is_active(CUdevice dev)
{
	unsigned int flags;
	int active = 0;

	return real.cuDevicePrimaryCtxGetState(dev, &flags, &active) == CUDA_SUCCESS && active;
}

/* Whether a release is the last one shows only behind it: the driver has then undone the
 * registration of our pages itself, and what is noted of it is dropped. */
static CUresult primary_release(CUresult (*real_release)(CUdevice), CUdevice dev)
{
	int watch = watch_exclude();
	CUresult result = real_release(dev);
	bool is_gone = result == CUDA_SUCCESS && !primary_is_active(dev);

	if (is_gone)
		stream_context_dying(NULL, dev);
	watch_admit(watch);
	if (is_gone)
		device_gone(dev);
	shim_leave();
	return result;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease(CUdevice dev)
{
	if (!shim_enter())
		return real.cuDevicePrimaryCtxRelease(dev);
	return primary_release(real.cuDevicePrimaryCtxRelease, dev);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	if (!shim_enter())
		return real.cuDevicePrimaryCtxRelease_v2(dev);
	return primary_release(real.cuDevicePrimaryCtxRelease_v2, dev);
}

/* A reset takes the context away whoever still holds it. */
static CUresult primary_reset(CUresult (*real_reset)(CUdevice), CUdevice dev)
{
	int watch = watch_exclude();
	bool was_active = primary_is_active(dev);
	CUresult result;

	if (was_active)
		stream_context_dying(NULL, dev);
	result = real_reset(dev);
	watch_admit(watch);
	if (result == CUDA_SUCCESS && was_active)
		device_gone(dev);
	shim_leave();
	return result;
}

CUresult CUDAAPI cuDevicePrimaryCtxReset(CUdevice dev)
{
	if (!shim_enter())
		return real.cuDevicePrimaryCtxReset(dev);
	return primary_reset(real.cuDevicePrimaryCtxReset, dev);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	if (!shim_enter())
		return real.cuDevicePrimaryCtxReset_v2(dev);
	return primary_reset(real.cuDevicePrimaryCtxReset_v2, dev);
}
