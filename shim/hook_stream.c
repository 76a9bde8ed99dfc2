/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lives of streams, and changes of the current context, which decide what the default streams
 * are.
 */
#include "capture.h"
#include "launch.h"

static CUresult created(CUresult result, const CUstream *stream)
{
	if (result == CUDA_SUCCESS && shim_enter()) {
		stream_born(*stream);
		shim_leave();
	}
	return result;
}

CUresult CUDAAPI cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return created(real.cuStreamCreate(phStream, Flags), phStream);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	return created(real.cuStreamCreateWithPriority(phStream, flags, priority), phStream);
}

/* Destroying the origin of a capture ends the capture. */
static CUresult destroy(CUresult (*real_destroy)(CUstream), CUstream stream)
{
	CUresult result;

	if (shim_enter()) {
		stream_dying(stream);
		shim_leave();
	}
	result = real_destroy(stream);
	if (result == CUDA_SUCCESS && stream && capture_origin_remove(stream))
		shim_capture_closed();
	return result;
}

CUresult CUDAAPI cuStreamDestroy(CUstream hStream)
{
	return destroy(real.cuStreamDestroy, hStream);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream hStream)
{
	return destroy(real.cuStreamDestroy_v2, hStream);
}

/* ---- the current context ------------------------------------------------------------------------- */

CUresult CUDAAPI cuCtxSetCurrent(CUcontext ctx)
{
	launch_context_changed();
	return real.cuCtxSetCurrent(ctx);
}

CUresult CUDAAPI cuCtxPushCurrent(CUcontext ctx)
{
	launch_context_changed();
	return real.cuCtxPushCurrent(ctx);
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext ctx)
{
	launch_context_changed();
	return real.cuCtxPushCurrent_v2(ctx);
}

CUresult CUDAAPI cuCtxPopCurrent(CUcontext *pctx)
{
	launch_context_changed();
	return real.cuCtxPopCurrent(pctx);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *pctx)
{
	launch_context_changed();
	return real.cuCtxPopCurrent_v2(pctx);
}
