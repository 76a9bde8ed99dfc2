/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks of streams: all that was given to the stream before is complete when they run. In a
 * capture they become nodes of a graph, which may run many times: left as they are.
 */
#include "callback.h"
#include "capture.h"
#include "shim.h"

static callback_token wrap(CUstream key, CUhostFn host, CUstreamCallback stream, void *data)
{
	callback_token token = NULL;

	/* Without a function the driver refuses the call. */
	if ((!host && !stream) || !shim_enter())
		return NULL;
	if (!(shim_flags() & SHIM_CAPTURES) || !capture_is_open(key))
		token = callback_wrap(key, host, stream, data);
	shim_leave();
	return token;
}

static CUresult really(CUresult result, callback_token token)
{
	if (unlikely(result != CUDA_SUCCESS))
		callback_unwrap(token);
	return result;
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	callback_token token = wrap(stream_key(hStream, false), fn, NULL, userData);

	if (!token)
		return real.cuLaunchHostFunc(hStream, fn, userData);
	return really(real.cuLaunchHostFunc(hStream, callback_run_host, token), token);
}

CUresult CUDAAPI cuLaunchHostFunc_ptsz(CUstream hStream, CUhostFn fn, void *userData)
{
	callback_token token = wrap(stream_key(hStream, true), fn, NULL, userData);

	if (!token)
		return real.cuLaunchHostFunc_ptsz(hStream, fn, userData);
	return really(real.cuLaunchHostFunc_ptsz(hStream, callback_run_host, token), token);
}

CUresult CUDAAPI cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
				     unsigned int flags)
{
	callback_token token = wrap(stream_key(hStream, false), NULL, callback, userData);

	if (!token)
		return real.cuStreamAddCallback(hStream, callback, userData, flags);
	return really(real.cuStreamAddCallback(hStream, callback_run_stream, token, flags), token);
}

CUresult CUDAAPI cuStreamAddCallback_ptsz(CUstream hStream, CUstreamCallback callback,
					  void *userData, unsigned int flags)
{
	callback_token token = wrap(stream_key(hStream, true), NULL, callback, userData);

	if (!token)
		return real.cuStreamAddCallback_ptsz(hStream, callback, userData, flags);
	return really(real.cuStreamAddCallback_ptsz(hStream, callback_run_stream, token, flags),
		      token);
}
