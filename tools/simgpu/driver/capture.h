/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CAPTURE_H
#define SIMGPU_CAPTURE_H

/*
 * Stream capture: work issued to a capturing stream becomes nodes of a graph. A capture begins in
 * one stream (the origin) and spreads to others along events. What a capture forbids answers with
 * one of CUDA_ERROR_STREAM_CAPTURE_* and, where the driver does so, invalidates the capture.
 * All functions want exec->lock.
 */

#include "driver/stream.h"

struct graph;

struct capture {
	uint64_t id;
	struct graph *graph; /* owned until cuStreamEndCapture gives it out */
	CUstreamCaptureMode mode;
	uint64_t thread; /* that began it */
	bool invalid;
	bool into_existing; /* the graph is the program's */
	struct stream *origin;
	struct stream *members; /* by capture_next, origin included */
	struct capture *next;	/* all of the process */
};

/* Adds a node for *work, which it takes over, behind what the stream's next node depends on. */
CUresult capture_add(struct stream *stream, struct work *work);
/* Before work goes into a stream that does not capture: the legacy stream must not be used while
 * a blocking stream of its context captures. */
CUresult capture_check_work(struct stream *stream);
/* Before a stream is queried or waited for. */
CUresult capture_check_sync(struct stream *stream);
/* Before a call that a capture forbids other calls to make, by mode. */
CUresult capture_check_unsafe(struct exec *exec);
CUresult capture_record(struct stream *stream, struct event *event);
CUresult capture_wait(struct stream *stream, struct event *event);
/* NULL: a new graph, which belongs to the capture until its end. */
CUresult capture_begin(struct stream *stream, struct graph *into, CUstreamCaptureMode mode);
CUresult capture_end(struct stream *stream, struct graph **ret_graph);
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);
/* What the stream's next node depends on: instead of, or besides what it does. */
CUresult capture_set_tail(struct stream *stream, struct graph_node *const *node, size_t nodes);
CUresult capture_add_tail(struct stream *stream, struct graph_node *const *node, size_t nodes);
struct capture *capture_find(uint64_t id, const struct exec *exec); /* NULL: it is over */
void capture_enter(struct capture *capture, struct stream *stream);
/* The captures that a stream or context takes part in are over. */
void capture_drop_stream(struct stream *stream);
void capture_drop_home(struct home *home);
/* A number for the calling thread that no other thread ever has. */
uint64_t capture_thread(void);

#endif
