/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/issue.h"
#include "driver/capture.h"

static CUresult launch_host(CUstream handle, bool per_thread, CUhostFn fn, void *arg)
{
	struct work work = {.kind = WORK_HOST};
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (fn == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	work.host.fn = fn;
	work.host.arg = arg;
	return issue(stream, &work, false);
}

FORMS(cuLaunchHostFunc, cuLaunchHostFunc_ptsz, (CUstream hStream, CUhostFn fn, void *userData),
      launch_host(hStream, per_thread, fn, userData))

/* Not possible in a graph: a capture forbids it. */
static CUresult add_callback(CUstream handle, bool per_thread, CUstreamCallback callback, void *arg,
			     unsigned int flags)
{
	struct work work = {.kind = WORK_HOST};
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (callback == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture != NULL)
		result = capture_check_sync(stream);
	pthread_mutex_unlock(&stream->exec->lock);
	if (result != CUDA_SUCCESS)
		return result;
	work.host.callback = callback;
	work.host.handle = handle;
	work.host.arg = arg;
	return issue(stream, &work, false);
}

FORMS(cuStreamAddCallback, cuStreamAddCallback_ptsz,
      (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
      add_callback(hStream, per_thread, callback, userData, flags))
