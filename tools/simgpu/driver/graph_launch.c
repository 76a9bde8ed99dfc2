/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/capture.h"
#include "driver/error.h"
#include "driver/event.h"
#include "driver/graph_exec.h"
#include "driver/issue.h"
#include "driver/memop.h"
#include "driver/queue.h"

/* ---- one step ---- */

static CUresult add_memops(struct stream *stream, const struct work *list)
{
	CUresult result = CUDA_SUCCESS;
	struct work work;

	for (uint32_t i = 0; i < list->memops.count && result == CUDA_SUCCESS; i++) {
		memop_single(&list->memops.op[i], &work);
		result = queue_add(stream, &work, NULL);
	}
	return result;
}

static CUresult add_work(struct stream *stream, const struct graph_step *step)
{
	static const struct work none = {.kind = WORK_NONE};
	const struct work *from =
		step->node != NULL && !step->node->disabled ? &step->node->work : &none;
	struct work work;

	switch (from->kind) {
	case WORK_KERNEL:
	case WORK_COPY:
	case WORK_SET:
	case WORK_HOST:
		if (work_dup(from, &work) != 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
		return queue_add(stream, &work, NULL);
	case WORK_MEMOPS: return add_memops(stream, from);
	case WORK_RECORD:
		if (from->event->magic != SIM_MAGIC_EVENT || from->event->home != stream->home)
			return CUDA_ERROR_INVALID_HANDLE;
		return event_record(from->event, stream);
	case WORK_EVENT:
		if (from->event->magic != SIM_MAGIC_EVENT)
			return CUDA_ERROR_INVALID_HANDLE;
		return queue_add_wait(stream, from->event->op);
	default:
		/* A place in the order; its memory is there as long as the graph is. */
		work = none;
		return queue_add(stream, &work, NULL);
	}
}

static struct stream *lane_stream(const struct graph_exec *exec, uint32_t lane,
				  struct stream *stream)
{
	return lane == 0 ? stream : exec->lane[lane].stream;
}

static CUresult add_step(struct graph_exec *exec, uint32_t at, struct stream *stream,
			 struct op *start)
{
	struct graph_step *step = &exec->step[at];
	struct stream *lane = lane_stream(exec, step->lane, stream);
	CUresult result = CUDA_SUCCESS;

	if (step->deps == 0 && step->lane != 0)
		result = queue_add_wait(lane, start);
	for (uint32_t i = 0; i < step->deps && result == CUDA_SUCCESS; i++)
		if (exec->step[step->dep[i]].lane != step->lane)
			result = queue_add_wait(lane, exec->op[step->dep[i]]);
	if (result == CUDA_SUCCESS)
		result = add_work(lane, step);
	/* Nothing left in the lane: it is over already, and nobody need wait. */
	if (result == CUDA_SUCCESS && step->waited_for && lane->last != NULL)
		exec->op[at] = op_ref(lane->last);
	return result;
}

/* ---- a launch ---- */

/* What came before in the stream, the joins with the default stream included. */
static CUresult add_start(struct graph_exec *exec, struct stream *stream, struct op **ret_start)
{
	struct work work = {.kind = WORK_NONE};
	CUresult result = queue_add_wait(stream, exec->last);

	*ret_start = NULL;
	if (result == CUDA_SUCCESS && exec->lanes > 1)
		result = queue_add(stream, &work, ret_start);
	return result;
}

static CUresult launch_into(struct graph_exec *exec, struct stream *stream)
{
	struct op *start = NULL;
	CUresult result = add_start(exec, stream, &start);

	for (uint32_t i = 0; i < exec->steps && result == CUDA_SUCCESS; i++)
		result = add_step(exec, i, stream, start);
	for (uint32_t i = 0; i < exec->steps && result == CUDA_SUCCESS; i++)
		if (!exec->step[i].has_dependents && exec->step[i].lane != 0)
			result = queue_add_wait(stream, exec->op[i]);
	for (uint32_t i = 0; i < exec->steps; i++) {
		op_put(exec->op[i]);
		exec->op[i] = NULL;
	}
	op_put(start);
	op_put(exec->last);
	exec->last = stream->last != NULL ? op_ref(stream->last) : NULL;
	return result;
}

static CUresult launch_captured(struct graph_exec *exec, struct stream *stream)
{
	struct work work = {.kind = WORK_CHILD};

	if (graph_dup(exec->graph, &work.child) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	work.child->is_child = true;
	return capture_add(stream, &work);
}

static CUresult launch(CUgraphExec handle, CUstream stream_handle, bool per_thread)
{
	struct graph_exec *exec = graph_exec_get(handle);
	struct stream *stream;
	CUresult result = issue_stream(stream_handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (exec == NULL || exec->home != stream->home)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&stream->exec->lock);
	result = capture_check_work(stream);
	if (result == CUDA_SUCCESS)
		result = stream->capture != NULL ? launch_captured(exec, stream)
						 : launch_into(exec, stream);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuGraphLaunch, cuGraphLaunch_ptsz, (CUgraphExec hGraphExec, CUstream hStream),
      launch(hGraphExec, hStream, per_thread))

/* There is nothing to bring to the device ahead of a launch. */
static CUresult upload(CUgraphExec handle, CUstream stream_handle, bool per_thread)
{
	struct stream *stream;
	CUresult result = issue_stream(stream_handle, per_thread, &stream);

	if (result == CUDA_SUCCESS && graph_exec_get(handle) == NULL)
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

FORMS(cuGraphUpload, cuGraphUpload_ptsz, (CUgraphExec hGraphExec, CUstream hStream),
      upload(hGraphExec, hStream, per_thread))
