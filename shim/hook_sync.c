/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that show that work is done. They are never held, and no lock of ours is held in them; what
 * they show opens gates and ends requests.
 */
#include "capture.h"
#include "launch.h"
#include "sync.h"

/* What the call shows is looked at only if it succeeds. */
#define SHOWING(on, call) \
	do { \
		struct sync_point point; \
		CUresult result; \
\
		if (!shim_enter()) \
			return call; \
		on; \
		result = call; \
		if (result == CUDA_SUCCESS) \
			sync_shown(&point); \
		else if (unlikely(result != CUDA_ERROR_NOT_READY)) \
			sync_failed(); \
		shim_leave(); \
		return result; \
	} while (0)

CUresult CUDAAPI cuCtxSynchronize(void)
{
	SHOWING(sync_on_context(&point, NULL, false), real.cuCtxSynchronize());
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext ctx)
{
	SHOWING(sync_on_context(&point, ctx, false), real.cuCtxSynchronize_v2(ctx));
}

CUresult CUDAAPI cuStreamSynchronize(CUstream hStream)
{
	SHOWING(sync_on_stream(&point, stream_key(hStream, false)),
		real.cuStreamSynchronize(hStream));
}

CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream hStream)
{
	SHOWING(sync_on_stream(&point, stream_key(hStream, true)),
		real.cuStreamSynchronize_ptsz(hStream));
}

CUresult CUDAAPI cuStreamQuery(CUstream hStream)
{
	SHOWING(sync_on_stream(&point, stream_key(hStream, false)), real.cuStreamQuery(hStream));
}

CUresult CUDAAPI cuStreamQuery_ptsz(CUstream hStream)
{
	SHOWING(sync_on_stream(&point, stream_key(hStream, true)),
		real.cuStreamQuery_ptsz(hStream));
}

CUresult CUDAAPI cuEventSynchronize(CUevent hEvent)
{
	SHOWING(sync_on_event(&point, hEvent), real.cuEventSynchronize(hEvent));
}

CUresult CUDAAPI cuEventQuery(CUevent hEvent)
{
	SHOWING(sync_on_event(&point, hEvent), real.cuEventQuery(hEvent));
}

/* ---- what events stand for ---------------------------------------------------------------------- */

static void recorded(CUevent event, CUstream key)
{
	if (!shim_enter())
		return;
	sync_event_recorded(event, key, (shim_flags() & SHIM_CAPTURES) && capture_is_open(key));
	shim_leave();
}

static void gone(CUevent event)
{
	if (!shim_enter())
		return;
	sync_event_gone(event);
	shim_leave();
}

/* An event that was not recorded stands for nothing, or for what it stood for before. */
static CUresult really(CUresult result, CUevent event)
{
	if (unlikely(result != CUDA_SUCCESS))
		gone(event);
	return result;
}

CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream)
{
	recorded(hEvent, stream_key(hStream, false));
	return really(real.cuEventRecord(hEvent, hStream), hEvent);
}

CUresult CUDAAPI cuEventRecord_ptsz(CUevent hEvent, CUstream hStream)
{
	recorded(hEvent, stream_key(hStream, true));
	return really(real.cuEventRecord_ptsz(hEvent, hStream), hEvent);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	recorded(hEvent, stream_key(hStream, false));
	return really(real.cuEventRecordWithFlags(hEvent, hStream, flags), hEvent);
}

CUresult CUDAAPI cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	recorded(hEvent, stream_key(hStream, true));
	return really(real.cuEventRecordWithFlags_ptsz(hEvent, hStream, flags), hEvent);
}

CUresult CUDAAPI cuEventDestroy(CUevent hEvent)
{
	gone(hEvent);
	return real.cuEventDestroy(hEvent);
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent hEvent)
{
	gone(hEvent);
	return real.cuEventDestroy_v2(hEvent);
}
