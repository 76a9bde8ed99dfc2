/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/capture.h"

#include <stdlib.h>

#include "driver/graph.h"
#include "driver/queue.h"

/* Captures of all threads, of one process; each executor's lock guards those of its streams, and
 * this list has a lock of its own inside. */
static struct capture *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t last_id, last_thread;
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

uint64_t capture_thread(void)
{
	static __thread uint64_t own;

	if (own == 0)
		own = atomic_fetch_add(&last_thread, 1) + 1;
	return own;
}

/* ---- members ---- */

void capture_enter(struct capture *capture, struct stream *stream)
{
	stream->capture = capture;
	stream->capture_next = capture->members;
	capture->members = stream;
	stream->tails = 0;
}

static void leave(struct stream *stream)
{
	struct stream **at = &stream->capture->members;

	while (*at != stream)
		at = &(*at)->capture_next;
	*at = stream->capture_next;
	stream->capture_next = NULL;
	stream->capture = NULL;
	stream->tails = 0;
}

/* All streams are free again; the graph stays with the caller. */
static void capture_free(struct capture *capture)
{
	struct capture **at = &all;

	while (capture->members != NULL)
		leave(capture->members);
	pthread_mutex_lock(&all_lock);
	while (*at != capture)
		at = &(*at)->next;
	*at = capture->next;
	pthread_mutex_unlock(&all_lock);
	free(capture);
}

static void drop(struct capture *capture)
{
	if (!capture->into_existing)
		graph_free(capture->graph);
	capture_free(capture);
}

CUresult capture_begin(struct stream *stream, struct graph *into, CUstreamCaptureMode mode)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (capture == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->graph = into != NULL ? into : graph_new();
	if (capture->graph == NULL) {
		free(capture);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	capture->into_existing = into != NULL;
	capture->id = atomic_fetch_add(&last_id, 1) + 1;
	capture->mode = mode;
	capture->thread = capture_thread();
	capture->origin = stream;
	capture_enter(capture, stream);
	pthread_mutex_lock(&all_lock);
	capture->next = all;
	all = capture;
	pthread_mutex_unlock(&all_lock);
	return CUDA_SUCCESS;
}

/* Everything that was forked off must have come back: all that a member's next node would depend on
 * is before the origin's next node. */
static bool is_joined(const struct capture *capture)
{
	const struct stream *origin = capture->origin;
	uint64_t mark = graph_new_mark();

	for (size_t i = 0; i < origin->tails; i++)
		graph_mark_before(origin->tail[i], mark);
	for (const struct stream *s = capture->members; s != NULL; s = s->capture_next)
		for (size_t i = 0; i < s->tails; i++)
			if (s->tail[i]->mark != mark)
				return false;
	return true;
}

CUresult capture_end(struct stream *stream, struct graph **ret_graph)
{
	struct capture *capture = stream->capture;
	CUresult result = CUDA_SUCCESS;

	*ret_graph = NULL;
	if (capture == NULL)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != capture_thread())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (capture->origin != stream) {
		capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	if (capture->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined(capture))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	if (result != CUDA_SUCCESS) {
		drop(capture);
		return result;
	}
	*ret_graph = capture->graph;
	capture_free(capture);
	return CUDA_SUCCESS;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
	CUstreamCaptureMode old = thread_mode;

	thread_mode = mode;
	return old;
}

void capture_drop_stream(struct stream *stream)
{
	struct capture *capture = stream->capture;

	if (capture == NULL)
		return;
	if (capture->origin == stream) {
		drop(capture);
	} else {
		capture->invalid = true;
		leave(stream);
	}
}

void capture_drop_home(struct home *home)
{
	for (struct stream *stream = home->streams; stream != NULL; stream = stream->next)
		capture_drop_stream(stream);
}

/* ---- what is forbidden ---- */

CUresult capture_check_work(struct stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	if (!stream->is_legacy)
		return CUDA_SUCCESS;
	for (struct stream *other = stream->home->streams; other != NULL; other = other->next)
		if (other->capture != NULL && !(other->flags & CU_STREAM_NON_BLOCKING)) {
			other->capture->invalid = true;
			result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return result;
}

CUresult capture_check_sync(struct stream *stream)
{
	if (stream->capture == NULL)
		return capture_check_work(stream);
	stream->capture->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult capture_check_unsafe(struct exec *exec)
{
	uint64_t thread = capture_thread();
	CUresult result = CUDA_SUCCESS;

	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&all_lock);
	for (struct capture *capture = all; capture != NULL; capture = capture->next) {
		bool own = capture->thread == thread;

		if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			continue;
		/* Another thread's counts where both are in the global mode. */
		if (!own && (thread_mode != CU_STREAM_CAPTURE_MODE_GLOBAL ||
			     capture->mode != CU_STREAM_CAPTURE_MODE_GLOBAL))
			continue;
		if (capture->origin->exec == exec)
			capture->invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&all_lock);
	return result;
}

CUresult exec_capture_forbids(struct sim_context *context)
{
	struct exec *exec = context->legacy->exec;
	CUresult result;

	pthread_mutex_lock(&exec->lock);
	result = capture_check_unsafe(exec);
	pthread_mutex_unlock(&exec->lock);
	return result;
}

bool exec_stream_is_capturing(struct stream *stream)
{
	bool capturing;

	pthread_mutex_lock(&stream->exec->lock);
	capturing = stream->capture != NULL;
	pthread_mutex_unlock(&stream->exec->lock);
	return capturing;
}

struct capture *capture_find(uint64_t id, const struct exec *exec)
{
	struct capture *capture;

	pthread_mutex_lock(&all_lock);
	for (capture = all; capture != NULL; capture = capture->next)
		if (capture->id == id && capture->origin->exec == exec)
			break;
	pthread_mutex_unlock(&all_lock);
	return capture;
}
