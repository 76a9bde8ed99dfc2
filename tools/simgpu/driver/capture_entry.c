/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/capture.h"
#include "driver/graph.h"
#include "driver/issue.h"

static CUresult begin(CUstream handle, bool per_thread, CUstreamCaptureMode mode,
		      struct graph *into, struct graph_node *const *dep, size_t deps)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->is_legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture != NULL)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else
		result = capture_begin(stream, into, mode);
	if (result == CUDA_SUCCESS)
		result = capture_set_tail(stream, dep, deps);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, (CUstream hStream),
      begin(hStream, per_thread, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL, NULL, 0))
FORMS(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz,
      (CUstream hStream, CUstreamCaptureMode mode), begin(hStream, per_thread, mode, NULL, NULL, 0))

static bool are_plain(const CUgraphEdgeData *data, size_t n)
{
	for (size_t i = 0; data != NULL && i < n; i++)
		if (data[i].from_port != 0 || data[i].to_port != 0 || data[i].type != 0)
			return false;
	return true;
}

static CUresult begin_into(CUstream handle, bool per_thread, CUgraph graph_handle,
			   const CUgraphNode *dependencies, const CUgraphEdgeData *data,
			   size_t count, CUstreamCaptureMode mode)
{
	struct graph *graph = graph_get(graph_handle);

	if (graph == NULL || (count > 0 && dependencies == NULL))
		return CUDA_ERROR_INVALID_VALUE;
	if (!are_plain(data, count))
		return sim_refuse("cuStreamBeginCaptureToGraph", "edges of programmatic launches");
	for (size_t i = 0; i < count; i++)
		if (graph_node_get(dependencies[i]) == NULL ||
		    graph_node_get(dependencies[i])->graph != graph)
			return CUDA_ERROR_INVALID_VALUE;
	return begin(handle, per_thread, mode, graph,
		     (struct graph_node *const *)(const void *)dependencies, count);
}

FORMS(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz,
      (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *dependencyData, size_t numDependencies, CUstreamCaptureMode mode),
      begin_into(hStream, per_thread, hGraph, dependencies, dependencyData, numDependencies, mode))

static CUresult end(CUstream handle, bool per_thread, CUgraph *ret_handle)
{
	struct stream *stream;
	struct graph *graph;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&stream->exec->lock);
	result = capture_end(stream, &graph);
	pthread_mutex_unlock(&stream->exec->lock);
	if (ret_handle != NULL)
		*ret_handle = (CUgraph)graph;
	else
		graph_free(graph);
	return result;
}

FORMS(cuStreamEndCapture, cuStreamEndCapture_ptsz, (CUstream hStream, CUgraph *phGraph),
      end(hStream, per_thread, phGraph))

/* ---- asking ---- */

struct info {
	CUstreamCaptureStatus *status;
	cuuint64_t *id;
	CUgraph *graph;
	const CUgraphNode **dependencies;
	const CUgraphEdgeData **data;
	size_t *count;
};

static void fill_active(const struct stream *stream, const struct info *info)
{
	if (info->id != NULL)
		*info->id = stream->capture->id;
	if (info->graph != NULL)
		*info->graph = (CUgraph)stream->capture->graph;
	if (info->dependencies != NULL)
		*info->dependencies = (const CUgraphNode *)(const void *)stream->tail;
	if (info->data != NULL)
		*info->data = NULL; /* no edge has any */
	if (info->count != NULL)
		*info->count = stream->tails;
}

static CUresult get_info(CUstream handle, bool per_thread, const struct info *info)
{
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (info->status == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture == NULL) {
		/* The legacy stream cannot be asked while it must not be used. */
		result = capture_check_work(stream);
		*info->status = CU_STREAM_CAPTURE_STATUS_NONE;
	} else if (stream->capture->invalid) {
		*info->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	} else {
		*info->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
		fill_active(stream, info);
	}
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuStreamIsCapturing, cuStreamIsCapturing_ptsz,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus),
      get_info(hStream, per_thread, &(struct info){.status = captureStatus}))
FORMS(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out),
      get_info(hStream, per_thread, &(struct info){.status = captureStatus_out, .id = id_out}))
FORMS(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
       CUgraph *graph_out, const CUgraphNode **dependencies_out, size_t *numDependencies_out),
      get_info(hStream, per_thread,
	       &(struct info){captureStatus_out, id_out, graph_out, dependencies_out, NULL,
			      numDependencies_out}))
FORMS(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz,
      (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
       CUgraph *graph_out, const CUgraphNode **dependencies_out,
       const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
      get_info(hStream, per_thread,
	       &(struct info){captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
			      numDependencies_out}))

static CUresult update(CUstream handle, bool per_thread, const CUgraphNode *dependencies,
		       const CUgraphEdgeData *data, size_t count, unsigned int flags)
{
	struct graph_node *const *node = (struct graph_node *const *)(const void *)dependencies;
	struct stream *stream;
	CUresult result = issue_stream(handle, per_thread, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if ((count > 0 && node == NULL) || flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	if (!are_plain(data, count))
		return sim_refuse("cuStreamUpdateCaptureDependencies",
				  "edges of programmatic launches");
	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture == NULL)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (stream->capture->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
		if (graph_node_get(dependencies[i]) == NULL ||
		    node[i]->graph != stream->capture->graph)
			result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
				 ? capture_set_tail(stream, node, count)
				 : capture_add_tail(stream, node, count);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

FORMS(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz,
      (CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags),
      update(hStream, per_thread, dependencies, NULL, numDependencies, flags))
FORMS(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2_ptsz,
      (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
       size_t numDependencies, unsigned int flags),
      update(hStream, per_thread, dependencies, dependencyData, numDependencies, flags))

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (mode == NULL || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = capture_exchange_mode(*mode);
	return CUDA_SUCCESS;
}
