/* SPDX-License-Identifier: Apache-2.0 */
#include "sync.h"

#include <errno.h>

#include "activity.h"
#include "inflight.h"
#include "launch.h"
#include "request.h"
#include "sluice/clock.h"
#include "trace.h"

#define EVENTS 4096 /* a power of two; at most three quarters are used */

struct event_record {
	CUevent event; /* NULL: free */
	struct stream_state *stream;
	uint64_t launched_ns;
};

static struct {
	struct futex_lock lock;
	uint32_t used;
	struct event_record record[EVENTS]; /* linear probing, backward shift on removal */
} events;

/* ---- events ------------------------------------------------------------------------------------ */

static uint32_t event_home(CUevent event)
{
	return (uint32_t)((uintptr_t)event * 0x9e3779b97f4a7c15ull >> 40) & (EVENTS - 1);
}

/* Where the event is, or the free place where it would be. */
static uint32_t event_find(CUevent event)
{
	uint32_t index = event_home(event);

	while (events.record[index].event && events.record[index].event != event)
		index = (index + 1) & (EVENTS - 1);
	return index;
}

static void event_remove(CUevent event)
{
	uint32_t hole = event_find(event), index = hole;

	if (!events.record[hole].event)
		return;
	events.used--;
	for (;;) {
		uint32_t home;

		index = (index + 1) & (EVENTS - 1);
		if (!events.record[index].event)
			break;
		home = event_home(events.record[index].event);
		/* It may move into the hole unless its home lies behind it, cyclically. */
		if (((index - home) & (EVENTS - 1)) >= ((index - hole) & (EVENTS - 1))) {
			events.record[hole] = events.record[index];
			hole = index;
		}
	}
	events.record[hole] = (struct event_record){0};
}

void sync_event_recorded(CUevent event, CUstream key, bool capturing)
{
	struct stream_state *stream = capturing ? NULL : stream_peek(key, launch_thread_number());
	uint32_t index;

	if (!event)
		return;
	futex_lock(&events.lock);
	index = event_find(event);
	if (!stream) {
		event_remove(event);
	} else if (events.record[index].event || events.used < EVENTS / 4 * 3) {
		events.used += !events.record[index].event;
		events.record[index] = (struct event_record){
			.event = event,
			.stream = stream,
			.launched_ns =
				atomic_load_explicit(&stream->launched_ns, memory_order_seq_cst),
		};
	}
	futex_unlock(&events.lock);
}

void sync_event_gone(CUevent event)
{
	futex_lock(&events.lock);
	event_remove(event);
	futex_unlock(&events.lock);
}

/* ---- points --------------------------------------------------------------------------------------- */

static void point_add(struct sync_point *point, struct stream_state *stream, uint64_t launched_ns)
{
	struct gate *gate = stream->gate;

	if (point->count == SYNC_STREAMS)
		return;
	if (gate && atomic_load_explicit(&gate->marked, memory_order_relaxed))
		activity_warm(gate);
	point->at[point->count].stream = stream;
	point->at[point->count++].launched_ns = launched_ns;
}

static uint64_t launched(struct stream_state *stream)
{
	return atomic_load_explicit(&stream->launched_ns, memory_order_seq_cst);
}

static void add_context(struct sync_point *point, CUcontext context, bool blocking_only)
{
	if (!context && real.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		return;
	for (uint32_t index = 0; index < SLUICE_MAX_DEVICES; index++) {
		struct gate *gate = gate_at(index);

		if (!gate_is_made(gate))
			continue;
		futex_lock(&gate->lock);
		for (uint32_t i = 0; i < gate->stream_count; i++) {
			struct stream_state *stream = gate->stream[i];

			if (stream->context == context && !stream->dead &&
			    (stream->blocking || !blocking_only) &&
			    launched(stream) != stream->completed_ns)
				point_add(point, stream, launched(stream));
		}
		futex_unlock(&gate->lock);
	}
}

void sync_on_context(struct sync_point *point, CUcontext context, bool blocking_only)
{
	point->count = 0;
	add_context(point, context, blocking_only);
}

void sync_on_stream(struct sync_point *point, CUstream key)
{
	struct launch_seat *seat = launch_seat(key);
	struct stream_state *stream = seat->key == key && seat->stream->handle == key
					      ? seat->stream
					      : stream_peek(key, launch_thread_number());

	point->count = 0;
	if (stream)
		point_add(point, stream, launched(stream));
}

void sync_on_default(struct sync_point *point, CUstream key)
{
	if (key == CU_STREAM_LEGACY)
		sync_on_context(point, NULL, true);
	else
		sync_on_stream(point, key);
}

void sync_on_event(struct sync_point *point, CUevent event)
{
	struct event_record *record;

	point->count = 0;
	futex_lock(&events.lock);
	record = &events.record[event_find(event)];
	if (record->event)
		point_add(point, record->stream, record->launched_ns);
	futex_unlock(&events.lock);
}

/* Streams that were joined to the one that has drained, by events, show it only if asked. */
static void ask_the_others(struct gate *gate)
{
	uint32_t thread = launch_thread_number();
	uint64_t now_ns;

	futex_lock(&gate->lock);
	/* Requests of other threads may have begun while the lock was waited for. */
	now_ns = sluice_now_ns();
	for (uint32_t i = 0; gate->marked && i < gate->stream_count; i++) {
		struct stream_state *stream = gate->stream[i];
		uint64_t launched_ns = launched(stream);

		if (atomic_load_explicit(&stream->quiet, memory_order_relaxed) ||
		    !inflight_ask(stream, thread))
			continue;
		inflight_drained(stream, launched_ns, now_ns);
		request_drained(stream, launched_ns, now_ns);
		if (!gate->marked)
			request_shown(gate, now_ns);
	}
	futex_unlock(&gate->lock);
}

static void ask_all(void)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (atomic_load_explicit(&gate_at(i)->marked, memory_order_relaxed))
			ask_the_others(gate_at(i));
	}
}

bool sync_drained(struct gate *gate, struct stream_state *stream, uint64_t launched_ns,
		  uint64_t now_ns)
{
	bool is_all = false;

	/* It may have been destroyed while the caller waited for an event of it. */
	if (stream->gate != gate)
		return false;
	/* The gates of others first, the books after. */
	if (request_is_tracked(gate))
		is_all = request_drained(stream, launched_ns, now_ns);
	inflight_drained(stream, launched_ns, now_ns);
	if (unlikely(trace_is_on(gate)))
		trace_drained(gate, stream, now_ns);
	return is_all;
}

/* With gate->lock. */
static bool stream_shown(struct gate *gate, struct stream_state *stream, uint64_t launched_ns,
			 uint64_t now_ns)
{
	bool is_all = sync_drained(gate, stream, launched_ns, now_ns);

	if (is_all && !gate->marked)
		request_shown(gate, now_ns);
	return is_all;
}

enum sync_apart sync_shown_apart(struct stream_state *stream, uint64_t launched_ns, bool may_wait)
{
	struct gate *gate = stream->gate;
	bool is_all, others;

	if (!gate)
		return SYNC_DONE;
	if (may_wait)
		futex_lock(&gate->lock);
	else if (!futex_trylock(&gate->lock))
		return SYNC_BUSY;
	is_all = stream_shown(gate, stream, launched_ns, sluice_now_ns());
	others = gate->marked != 0;
	futex_unlock(&gate->lock);
	return is_all && others ? SYNC_OTHERS : SYNC_DONE;
}

void sync_shown(struct sync_point *point)
{
	uint64_t now_ns = sluice_now_ns();

	for (uint32_t i = 0; i < point->count; i++) {
		struct stream_state *stream = point->at[i].stream;
		struct gate *gate = stream->gate;

		if (!gate)
			continue;
		futex_lock(&gate->lock);
		stream_shown(gate, stream, point->at[i].launched_ns, now_ns);
		futex_unlock(&gate->lock);
	}
	ask_all();
	sample_harvest(&launch_predict);
}

void sync_failed(void)
{
	ask_all();
}

bool sync_is_requested(void)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (atomic_load_explicit(&gate_at(i)->marked, memory_order_relaxed))
			return true;
	}
	return false;
}

void sync_look(CUstream key)
{
	struct stream_state *stream = stream_peek(key, launch_thread_number());
	struct gate *gate = stream ? stream->gate : NULL;
	struct sync_point point = {.count = 0};
	bool is_empty;

	if (!gate || !atomic_load_explicit(&gate->marked, memory_order_relaxed))
		return;
	point_add(&point, stream, launched(stream));
	futex_lock(&gate->lock);
	is_empty = inflight_ask(stream, launch_thread_number());
	futex_unlock(&gate->lock);
	if (is_empty)
		sync_shown(&point);
}

void sync_forked(void)
{
	events.lock = (struct futex_lock){0};
	events.used = 0;
	for (uint32_t i = 0; i < EVENTS; i++)
		events.record[i] = (struct event_record){0};
}
