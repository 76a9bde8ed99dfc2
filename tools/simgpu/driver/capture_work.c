/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/capture.h"

#include <stdlib.h>
#include <string.h>

#include "driver/event.h"
#include "driver/graph.h"
#include "driver/stream.h"

/* What is issued to a capturing stream: nodes, and edges by events. */

CUresult capture_set_tail(struct stream *stream, struct graph_node *const *node, size_t nodes)
{
	struct graph_node **tail;

	if (nodes > stream->tail_room) {
		tail = realloc(stream->tail, nodes * sizeof(struct graph_node *));
		if (tail == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
		stream->tail = tail;
		stream->tail_room = nodes;
	}
	if (nodes > 0)
		memcpy(stream->tail, node, nodes * sizeof(struct graph_node *));
	stream->tails = nodes;
	return CUDA_SUCCESS;
}

/* Joins what the next node depends on, without repeating. */
CUresult capture_add_tail(struct stream *stream, struct graph_node *const *node, size_t nodes)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < nodes && result == CUDA_SUCCESS; i++) {
		size_t j = 0;

		while (j < stream->tails && stream->tail[j] != node[i])
			j++;
		if (j < stream->tails)
			continue;
		if (stream->tails == stream->tail_room) {
			size_t room = 2 * stream->tail_room + 2;
			struct graph_node **tail =
				realloc(stream->tail, room * sizeof(struct graph_node *));

			if (tail == NULL)
				return CUDA_ERROR_OUT_OF_MEMORY;
			stream->tail = tail;
			stream->tail_room = room;
		}
		stream->tail[stream->tails++] = node[i];
	}
	return result;
}

static CUgraphNodeType node_type(enum work_kind kind)
{
	switch (kind) {
	case WORK_KERNEL: return CU_GRAPH_NODE_TYPE_KERNEL;
	case WORK_COPY: return CU_GRAPH_NODE_TYPE_MEMCPY;
	case WORK_SET: return CU_GRAPH_NODE_TYPE_MEMSET;
	case WORK_HOST: return CU_GRAPH_NODE_TYPE_HOST;
	case WORK_MEMOPS: return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
	case WORK_RECORD: return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
	case WORK_EVENT: return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
	case WORK_CHILD: return CU_GRAPH_NODE_TYPE_GRAPH;
	case WORK_ALLOC: return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
	case WORK_FREE: return CU_GRAPH_NODE_TYPE_MEM_FREE;
	default: return CU_GRAPH_NODE_TYPE_EMPTY;
	}
}

CUresult capture_add(struct stream *stream, struct work *work)
{
	struct capture *capture = stream->capture;
	enum work_kind kind = work->kind;
	struct graph_node *node;
	CUresult result;

	if (capture->invalid) {
		work_finish(work);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	work->priority = stream->priority;
	result = graph_add(capture->graph, node_type(kind), work, stream->tail, stream->tails,
			   &node);
	if (result == CUDA_SUCCESS)
		result = capture_set_tail(stream, &node, 1);
	return result;
}

CUresult capture_record(struct stream *stream, struct event *event)
{
	struct graph_node **node = NULL;

	if (stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->tails > 0) {
		node = malloc(stream->tails * sizeof(struct graph_node *));
		if (node == NULL)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(node, stream->tail, stream->tails * sizeof(struct graph_node *));
	}
	event_unbind(event);
	event->capture = stream->capture->id;
	event->node = node;
	event->nodes = stream->tails;
	return CUDA_SUCCESS;
}

CUresult capture_wait(struct stream *stream, struct event *event)
{
	struct capture *capture = capture_find(event->capture, stream->exec);

	if (stream->capture != NULL && stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (event->capture == 0) {
		/* The event's work is outside of the capture. */
		stream->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (capture == NULL) {
		if (stream->capture == NULL)
			return CUDA_ERROR_CAPTURED_EVENT;
		stream->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->capture != NULL && stream->capture != capture) {
		stream->capture->invalid = true;
		capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (stream->is_legacy) {
		capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (stream->capture == NULL)
		capture_enter(capture, stream);
	return capture_add_tail(stream, event->node, event->nodes);
}

static CUresult issue_captured(struct stream *stream, struct work *work)
{
	CUresult result = CUDA_ERROR_INVALID_VALUE; /* the capture ended meanwhile */

	pthread_mutex_lock(&stream->exec->lock);
	if (stream->capture != NULL)
		result = capture_add(stream, work);
	else
		work_finish(work);
	pthread_mutex_unlock(&stream->exec->lock);
	return result;
}

CUresult exec_capture_alloc(struct stream *stream, uint64_t bytes, CUdeviceptr *ret_address)
{
	CUdeviceptr address;
	struct work work;
	CUresult result = work_take_memory(stream->home->context, bytes, &work);

	if (result != CUDA_SUCCESS)
		return result;
	address = work.memory.address;
	result = issue_captured(stream, &work);
	if (result == CUDA_SUCCESS)
		*ret_address = address;
	return result;
}

CUresult exec_capture_free(struct stream *stream, CUdeviceptr address)
{
	struct work work = {.kind = WORK_FREE};

	work.memory.address = address;
	return issue_captured(stream, &work);
}
