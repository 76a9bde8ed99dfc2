/* SPDX-License-Identifier: Apache-2.0 */
#include "inflight.h"

#include "capture.h"
#include "launch.h"
#include "environment.h"
#include "marker.h"

#define INTERVAL_LEAST_NS 50000u
#define INTERVAL_MOST_NS 1000000u
#define INTERVAL_LATENCY_NS 5000000u /* each marker costs the latency tenant's stream about 1 us */

#define CONNECTIONS_USUAL 8u

/* Streams that share a connection to the GPU wait for one another's markers. */
static uint32_t rarer(void)
{
	const char *connections = environment()->connections;

	if (connections[0] < '1' || connections[0] >= '0' + (int)CONNECTIONS_USUAL ||
	    connections[1])
		return 1;
	return CONNECTIONS_USUAL / (uint32_t)(connections[0] - '0');
}

uint64_t inflight_interval_ns(uint64_t window_ns, bool latency)
{
	uint64_t third_ns = window_ns / 3 < INTERVAL_MOST_NS ? window_ns / 3 : INTERVAL_MOST_NS;

	if (latency)
		return INTERVAL_LATENCY_NS;
	if (third_ns < INTERVAL_LEAST_NS)
		third_ns = INTERVAL_LEAST_NS;
	return third_ns * rarer();
}

/* ---- marks -------------------------------------------------------------------------------------- */

static bool mark_event(struct stream_state *stream, struct stream_mark *mark)
{
	struct own_calls calls = own_calls_begin();
	CUresult result = CUDA_SUCCESS;

	if (!mark->event)
		result = real.cuEventCreate(&mark->event, CU_EVENT_DISABLE_TIMING);
	if (result == CUDA_SUCCESS)
		result = real.cuEventRecord(mark->event, stream->handle);
	else
		mark->event = NULL;
	own_calls_end(calls);
	return result == CUDA_SUCCESS;
}

/* With the stream's lock; its context is current. Falls from words to events to asking, and stays. */
static bool mark_place(struct stream_state *stream, struct stream_mark *mark)
{
	bool empty = stream->head == stream->tail;

	/* A word of an earlier page is no place for more; nor is any while pages change. */
	if (stream->track == TRACK_WORD && !marker_is_of_page(stream)) {
		if (!empty)
			return false;
		marker_give_back(stream);
	}
	if (stream->track == TRACK_NEW && !marker_page_is_here(stream->gate))
		return false;
	if (stream->track == TRACK_NEW)
		stream->track = real_has(cuStreamWriteValue32_v2) && marker_take(stream)
					? TRACK_WORD
					: TRACK_EVENT;
	if (stream->track == TRACK_WORD) {
		if (marker_place(stream, mark))
			return true;
		if (!empty)
			return false;
		marker_give_back(stream);
		stream->track = TRACK_EVENT;
	}
	if (stream->track == TRACK_EVENT) {
		if (mark_event(stream, mark))
			return true;
		if (empty)
			stream->track = TRACK_QUERY;
	}
	return false;
}

/* Anything placed on the legacy stream orders all blocking streams: harmless where the launch that
 * follows does the same and no other thread can come between. */
static bool may_place(const struct stream_state *stream)
{
	return stream->handle != CU_STREAM_LEGACY || launch_is_alone();
}

/* A marker must not become part of a capture. Whoever begins one raises the flag and then waits for
 * the stream's lock, which we hold. */
static bool is_captured(const struct stream_state *stream)
{
	return (shim_flags() & SHIM_CAPTURES) && capture_is_open(stream->handle);
}

void inflight_mark(struct stream_state *stream)
{
	struct stream_mark *mark;
	uint64_t launched_ns;
	int cancel;

	if (!may_place(stream))
		return;
	cancel = cancel_hold();
	futex_lock(&stream->lock);
	launched_ns = atomic_load_explicit(&stream->launched_ns, memory_order_relaxed);
	mark = &stream->mark[stream->head % STREAM_MARKS];
	if (!stream->dead && stream->track < TRACK_QUERY && launched_ns != stream->marked_ns &&
	    stream->head - stream->tail < STREAM_MARKS && !is_captured(stream)) {
		bool pushed = marker_context_enter(stream->context);

		if (mark_place(stream, mark)) {
			mark->launched_ns = stream->marked_ns = launched_ns;
			stream->head++;
		}
		marker_context_leave(pushed);
	}
	futex_unlock(&stream->lock);
	cancel_resume(cancel);
}

bool inflight_is_due(struct stream_state *stream, uint64_t least_ns)
{
	uint64_t launched_ns = atomic_load_explicit(&stream->launched_ns, memory_order_relaxed);
	uint64_t marked_ns = atomic_load_explicit(&stream->marked_ns, memory_order_relaxed);
	uint64_t completed_ns = atomic_load_explicit(&stream->completed_ns, memory_order_relaxed);

	if (completed_ns > marked_ns)
		marked_ns = completed_ns;
	return launched_ns > marked_ns && launched_ns - marked_ns >= least_ns;
}

/* ---- looking ------------------------------------------------------------------------------------ */

static bool is_another_thread_s(const struct stream_state *stream, uint32_t thread)
{
	return stream->handle == CU_STREAM_PER_THREAD && stream->thread != thread;
}

/* With the stream's lock. */
static bool ask(struct stream_state *stream)
{
	struct own_calls calls;
	bool pushed = false;
	CUresult result;

	if (stream->dead || is_captured(stream))
		return false;
	if (stream->handle == CU_STREAM_LEGACY || stream->handle == CU_STREAM_PER_THREAD)
		pushed = marker_context_enter(stream->context);
	calls = own_calls_begin();
	result = real.cuStreamQuery(stream->handle);
	own_calls_end(calls);
	marker_context_leave(pushed);
	/* A context that has failed completes nothing more. */
	return result != CUDA_ERROR_NOT_READY && result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
	       result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

bool inflight_ask(struct stream_state *stream, uint32_t thread)
{
	bool is_empty;

	if (is_another_thread_s(stream, thread) || !futex_trylock(&stream->lock))
		return false;
	is_empty = ask(stream);
	futex_unlock(&stream->lock);
	return is_empty;
}

/* Has the work ended, as the driver answers? What says nothing of the stream's work has not. */
static bool is_end(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_NOT_READY:
	case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
	case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_NOT_INITIALIZED:
	case CUDA_ERROR_INVALID_CONTEXT:
	case CUDA_ERROR_INVALID_HANDLE:
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_NOT_FOUND:
	case CUDA_ERROR_NOT_PERMITTED:
	case CUDA_ERROR_NOT_SUPPORTED:
	case CUDA_ERROR_OUT_OF_MEMORY: return false;
	default: return true;
	}
}

/* With the stream's lock. */
static bool ask_apart(struct stream_state *stream)
{
	CUcontext context = stream->context;
	bool ended;

	if (stream->dead || !context || real.cuCtxPushCurrent_v2(context) != CUDA_SUCCESS)
		return false;
	ended = !is_captured(stream) && is_end(real.cuStreamQuery(stream->handle));
	(void)real.cuCtxPopCurrent_v2(&context);
	return ended;
}

bool inflight_ask_apart(struct stream_state *stream)
{
	struct own_calls calls;
	bool is_empty;

	if (stream->handle == CU_STREAM_PER_THREAD || !futex_trylock(&stream->lock))
		return false;
	calls = own_calls_begin();
	is_empty = ask_apart(stream);
	own_calls_end(calls);
	futex_unlock(&stream->lock);
	return is_empty;
}

void inflight_write_off(struct gate *gate, uint64_t now_ns)
{
	uint32_t thread = launch_thread_number();

	for (uint32_t i = 0; i < gate->stream_count; i++) {
		struct stream_state *stream = gate->stream[i];

		if (is_another_thread_s(stream, thread) && stream->head == stream->tail)
			inflight_drained(stream, stream->launched_ns, now_ns);
	}
}

static bool mark_has_landed(const struct stream_state *stream, const struct stream_mark *mark)
{
	struct own_calls calls;
	CUresult result;

	if (stream->track == TRACK_WORD)
		return marker_has(stream, mark->seq);
	calls = own_calls_begin();
	result = real.cuEventQuery(mark->event);
	own_calls_end(calls);
	return result != CUDA_ERROR_NOT_READY;
}

/* Takes the landed marks off the ring; *ret_launched_ns: what they cover. With the stream's lock. */
static bool marks_take(struct stream_state *stream, uint64_t *ret_launched_ns)
{
	bool taken = false;

	while (stream->tail != stream->head) {
		struct stream_mark *mark = &stream->mark[stream->tail % STREAM_MARKS];

		if (!mark_has_landed(stream, mark))
			break;
		*ret_launched_ns = mark->launched_ns;
		stream->tail++;
		taken = true;
	}
	return taken;
}

void inflight_drained(struct stream_state *stream, uint64_t launched_ns, uint64_t now_ns)
{
	uint64_t done_ns;

	if ((int64_t)(launched_ns - stream->completed_ns) <= 0)
		return;
	done_ns = launched_ns - stream->completed_ns;
	stream->completed_ns = launched_ns;
	gate_completed(stream->gate, done_ns, now_ns);
}

static bool poll_stream(struct stream_state *stream, uint64_t now_ns)
{
	uint64_t launched_ns = atomic_load_explicit(&stream->launched_ns, memory_order_relaxed);
	uint64_t before_ns = stream->completed_ns, seen_ns = 0;
	bool found = false, is_asked;

	/* Whoever holds the lock is placing a marker, and looks after that. */
	if (!futex_trylock(&stream->lock))
		return false;
	if (stream->head != stream->tail)
		found = marks_take(stream, &seen_ns);
	is_asked = stream->track == TRACK_QUERY || !may_place(stream);
	futex_unlock(&stream->lock);
	if (!found && is_asked && launched_ns != stream->completed_ns &&
	    inflight_ask(stream, launch_thread_number())) {
		seen_ns = launched_ns;
		found = true;
	}
	if (found)
		inflight_drained(stream, seen_ns, now_ns);
	return stream->completed_ns != before_ns;
}

static void events_destroy(struct stream_state *stream)
{
	struct own_calls calls = own_calls_begin();

	for (uint32_t i = 0; i < STREAM_MARKS; i++) {
		if (stream->mark[i].event)
			(void)real.cuEventDestroy_v2(stream->mark[i].event);
		stream->mark[i].event = NULL;
	}
	own_calls_end(calls);
}

/* A dead stream whose marks have landed is done, and its word free. */
static bool is_gone(struct stream_state *stream)
{
	uint64_t seen_ns;
	bool gone;

	if (!stream->dead || !futex_trylock(&stream->lock))
		return false;
	/* What a synchronisation showed complete has left its marks behind. */
	(void)marks_take(stream, &seen_ns);
	gone = stream->head == stream->tail;
	if (gone && stream->track == TRACK_WORD)
		marker_give_back(stream);
	if (gone)
		events_destroy(stream);
	futex_unlock(&stream->lock);
	return gone;
}

bool inflight_poll(struct gate *gate, uint64_t now_ns)
{
	bool moved = false;

	stream_settle_crowd(gate, now_ns);
	for (uint32_t i = 0; i < gate->stream_count; i++) {
		struct stream_state *stream = gate->stream[i];

		if (atomic_load_explicit(&stream->launched_ns, memory_order_relaxed) !=
		    stream->completed_ns)
			moved |= poll_stream(stream, now_ns);
		if (stream->dead && is_gone(stream)) {
			inflight_drained(stream, stream->launched_ns, now_ns);
			gate->stream[i--] = gate->stream[--gate->stream_count];
			stream->gate = NULL;
		}
	}
	return moved;
}
