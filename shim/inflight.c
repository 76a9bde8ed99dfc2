/* SPDX-License-Identifier: Apache-2.0 */
#include "inflight.h"

#include "launch.h"
#include "link.h"

#define INTERVAL_LEAST_NS 50000u
#define INTERVAL_MOST_NS 1000000u
#define INTERVAL_LATENCY_NS 5000000u /* each marker costs the latency tenant's stream about 1 us */
#define CONTEXTS 16

/* A context's view of the channel page. */
struct marker_context {
	CUcontext context; /* NULL: unused */
	void *base;	   /* registered for it; NULL: could not be */
	CUdeviceptr device_base;
	bool ours; /* this context made the registration, and it goes with it */
};

static struct {
	struct futex_lock lock;
	struct marker_context context[CONTEXTS];
	uint32_t page_number[SLUICE_MAX_DEVICES]; /* that `used` speaks of */
	bool used[SLUICE_MAX_DEVICES][SLUICE_MAX_MARKERS];
} state;

uint64_t inflight_interval_ns(uint64_t window_ns, bool latency)
{
	uint64_t third_ns = window_ns / 3;

	if (latency)
		return INTERVAL_LATENCY_NS;
	if (third_ns < INTERVAL_LEAST_NS)
		return INTERVAL_LEAST_NS;
	return third_ns > INTERVAL_MOST_NS ? INTERVAL_MOST_NS : third_ns;
}

static bool context_enter(CUcontext context)
{
	CUcontext current = NULL;

	(void)real.cuCtxGetCurrent(&current);
	return current != context && real.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

static void context_leave(bool pushed)
{
	CUcontext context;

	if (pushed)
		(void)real.cuCtxPopCurrent_v2(&context);
}

/* ---- the page's registration ------------------------------------------------------------------ */

static struct marker_context *context_record(CUcontext context)
{
	struct marker_context *unused = NULL;

	for (uint32_t i = 0; i < CONTEXTS; i++) {
		if (state.context[i].context == context)
			return &state.context[i];
		if (!state.context[i].context && !unused)
			unused = &state.context[i];
	}
	if (unused)
		*unused = (struct marker_context){.context = context};
	return unused;
}

/* Portable, so that one registration serves all contexts; the second to ask is told that it is
 * there already (712). `context` is current. */
static void context_register(struct marker_context *record, void *base, size_t bytes)
{
	CUresult result = real.cuMemHostRegister_v2(
		base, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

	if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		return;
	if (real.cuMemHostGetDevicePointer_v2(&record->device_base, base, 0) != CUDA_SUCCESS) {
		if (result == CUDA_SUCCESS)
			(void)real.cuMemHostUnregister(base);
		return;
	}
	record->ours = result == CUDA_SUCCESS;
	record->base = base;
}

/* Where the GPU sees the channel page; 0: nowhere. */
static CUdeviceptr context_page(CUcontext context, void **ret_base)
{
	struct marker_context *record;
	CUdeviceptr device_base = 0;
	size_t bytes;

	if (!link_channel(ret_base, &bytes))
		return 0;
	futex_lock(&state.lock);
	record = context_record(context);
	if (record && record->base != *ret_base) {
		struct own_calls calls = own_calls_begin();

		record->base = NULL;
		context_register(record, *ret_base, bytes);
		own_calls_end(calls);
	}
	if (record && record->base)
		device_base = record->device_base;
	futex_unlock(&state.lock);
	return device_base;
}

void inflight_context_dying(CUcontext context, bool landed)
{
	futex_lock(&state.lock);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		struct marker_context *record = &state.context[i];

		if (record->context != context)
			continue;
		if (record->base && record->ours) {
			bool pushed = context_enter(context);

			if (landed)
				(void)real.cuMemHostUnregister(record->base);
			context_leave(pushed);
			/* The others' views of the page go with it; they register it anew. */
			for (uint32_t j = 0; j < CONTEXTS; j++)
				state.context[j].base = NULL;
		}
		*record = (struct marker_context){0};
	}
	futex_unlock(&state.lock);
}

/* ---- words -------------------------------------------------------------------------------------- */

static void word_give_back(struct stream_state *stream)
{
	uint32_t device = stream->gate->index;

	futex_lock(&state.lock);
	if (stream->marker != STREAM_NO_MARKER && state.page_number[device] == stream->marker_page)
		state.used[device][stream->marker] = false;
	futex_unlock(&state.lock);
	stream->marker = STREAM_NO_MARKER;
	stream->track = TRACK_NEW;
}

static bool word_take(struct stream_state *stream)
{
	struct gate *gate = stream->gate;
	uint32_t device = gate->index, marker = 0;
	uint32_t page_number = atomic_load_explicit(&gate->page_number, memory_order_acquire);

	futex_lock(&state.lock);
	if (state.page_number[device] != page_number) {
		state.page_number[device] = page_number;
		for (uint32_t i = 0; i < SLUICE_MAX_MARKERS; i++)
			state.used[device][i] = false;
	}
	while (marker < SLUICE_MAX_MARKERS && state.used[device][marker])
		marker++;
	if (marker < SLUICE_MAX_MARKERS) {
		state.used[device][marker] = true;
		stream->marker = marker;
		stream->marker_page = page_number;
		stream->word = &gate->page->marker[marker];
		stream->last = &gate->page->marker_last[marker];
	}
	futex_unlock(&state.lock);
	return marker < SLUICE_MAX_MARKERS;
}

/* Has the sequence landed? Sequences wrap. Acquire: nothing of ours depends on it, but a reader of
 * results behind it does not see less than the GPU's own order gives. */
static bool word_has(const struct stream_state *stream, uint32_t seq)
{
	uint32_t now = atomic_load_explicit(stream->word, memory_order_acquire);

	return (int32_t)(now - seq) >= 0;
}

static bool mark_word(struct stream_state *stream, struct stream_mark *mark)
{
	void *base;
	CUdeviceptr page = context_page(stream->context, &base);
	uint32_t seq = atomic_load_explicit(stream->last, memory_order_relaxed) + 1;
	CUdeviceptr address = page + (CUdeviceptr)((char *)stream->word - (char *)base);

	if (!page)
		return false;
	atomic_store_explicit(stream->last, seq, memory_order_relaxed);
	mark->seq = seq;
	if (real.cuStreamWriteValue32_v2(stream->handle, address, seq,
					 CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS)
		return true;
	atomic_store_explicit(stream->last, seq - 1, memory_order_relaxed);
	return false;
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

	if (stream->track == TRACK_WORD && empty &&
	    stream->marker_page !=
		    atomic_load_explicit(&stream->gate->page_number, memory_order_acquire))
		word_give_back(stream);
	if (stream->track == TRACK_NEW)
		stream->track = real_has(cuStreamWriteValue32_v2) && word_take(stream)
					? TRACK_WORD
					: TRACK_EVENT;
	if (stream->track == TRACK_WORD) {
		if (mark_word(stream, mark))
			return true;
		if (!empty)
			return false;
		word_give_back(stream);
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

void inflight_mark(struct stream_state *stream)
{
	struct stream_mark *mark;
	uint64_t launched_ns;

	if (!may_place(stream) || (shim_flags() & SHIM_CAPTURES))
		return;
	futex_lock(&stream->lock);
	launched_ns = atomic_load_explicit(&stream->launched_ns, memory_order_relaxed);
	mark = &stream->mark[stream->head % STREAM_MARKS];
	if (!stream->dead && stream->track != TRACK_QUERY && launched_ns != stream->marked_ns &&
	    stream->head - stream->tail < STREAM_MARKS) {
		bool pushed = context_enter(stream->context);

		if (mark_place(stream, mark)) {
			mark->launched_ns = stream->marked_ns = launched_ns;
			stream->head++;
		}
		context_leave(pushed);
	}
	futex_unlock(&stream->lock);
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

bool inflight_ask(struct stream_state *stream, uint32_t thread)
{
	struct own_calls calls;
	bool pushed = false;
	CUresult result;

	if (stream->dead || (stream->handle == CU_STREAM_PER_THREAD && stream->thread != thread))
		return false;
	if (stream->handle == CU_STREAM_LEGACY || stream->handle == CU_STREAM_PER_THREAD)
		pushed = context_enter(stream->context);
	calls = own_calls_begin();
	result = real.cuStreamQuery(stream->handle);
	own_calls_end(calls);
	context_leave(pushed);
	/* A context that has failed completes nothing more. */
	return result != CUDA_ERROR_NOT_READY && result != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
	       result != CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

static bool mark_has_landed(const struct stream_state *stream, const struct stream_mark *mark)
{
	struct own_calls calls;
	CUresult result;

	if (stream->track == TRACK_WORD)
		return word_has(stream, mark->seq);
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

static bool stream_trylock(struct stream_state *stream)
{
	uint32_t free_state = 0;

	return atomic_compare_exchange_strong_explicit(&stream->lock.state, &free_state, 1,
						       memory_order_acquire, memory_order_relaxed);
}

static bool poll_stream(struct stream_state *stream, uint64_t now_ns)
{
	uint64_t launched_ns = atomic_load_explicit(&stream->launched_ns, memory_order_relaxed);
	uint64_t before_ns = stream->completed_ns, seen_ns = 0;
	bool found = false, is_asked;

	/* Whoever holds the lock is placing a marker, and looks after that. */
	if (!stream_trylock(stream))
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

/* A dead stream whose marks have landed is done, and its word free. */
static bool is_gone(struct stream_state *stream)
{
	bool gone;

	if (!stream->dead || !stream_trylock(stream))
		return false;
	gone = stream->head == stream->tail;
	if (gone && stream->track == TRACK_WORD)
		word_give_back(stream);
	futex_unlock(&stream->lock);
	return gone;
}

bool inflight_poll(struct gate *gate, uint64_t now_ns)
{
	bool moved = false;

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

void inflight_forked(void)
{
	state.lock = (struct futex_lock){0};
	for (uint32_t i = 0; i < CONTEXTS; i++)
		state.context[i] = (struct marker_context){0};
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		state.page_number[i] = 0;
}
