/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/issue.h"

#include "driver/capture.h"
#include "driver/queue.h"

CUresult issue_stream(CUstream handle, bool per_thread, struct stream **ret_stream)
{
	struct sim_context *context;
	CUresult result = sim_current(&context);

	if (result == CUDA_SUCCESS)
		result = exec_stream_get(context, handle, per_thread, ret_stream);
	return result;
}

static CUresult add(struct stream *stream, struct work *work, struct op **ret_op)
{
	CUresult result = capture_check_work(stream);

	if (result != CUDA_SUCCESS) {
		work_finish(work);
		return result;
	}
	return queue_add(stream, work, ret_op);
}

CUresult issue(struct stream *stream, struct work *work, bool wait)
{
	struct exec *exec = stream->exec;
	struct op *op = NULL;
	CUresult result;

	if (wait && host_is_inside()) {
		work_finish(work);
		return CUDA_ERROR_NOT_PERMITTED;
	}
	pthread_mutex_lock(&exec->lock);
	if (stream->capture != NULL && wait) {
		result = capture_check_sync(stream);
		work_finish(work);
	} else if (stream->capture != NULL) {
		result = capture_add(stream, work);
	} else {
		result = add(stream, work, wait ? &op : NULL);
	}
	if (result == CUDA_SUCCESS && op != NULL)
		result = keeper_wait(op);
	op_put(op);
	pthread_mutex_unlock(&exec->lock);
	return result;
}

CUresult issue_sync(struct stream *stream)
{
	struct exec *exec = stream->exec;
	CUresult result;
	struct op *op;

	if (host_is_inside())
		return CUDA_ERROR_NOT_PERMITTED;
	pthread_mutex_lock(&exec->lock);
	result = capture_check_sync(stream);
	op = stream->last;
	if (result == CUDA_SUCCESS && op != NULL) {
		op_ref(op);
		result = keeper_wait(op);
		op_put(op);
	}
	if (result == CUDA_SUCCESS)
		result = atomic_load_explicit(&stream->home->sticky, memory_order_relaxed);
	pthread_mutex_unlock(&exec->lock);
	return result;
}
