/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_state.h"

#include "inflight.h"
#include "launch.h"
#include "marker.h"
#include "request.h"
#include "sample.h"
#include "shim.h"
#include "sluice/clock.h"
#include "stream_table.h"

#define CROWD ((CUstream)UINTPTR_MAX) /* no stream's handle */
#define CROWD_PATIENCE 64u	      /* streams without a state between two searches for one */

/* By gate: what stands for the streams that found no state. */
static struct stream_state crowds[SLUICE_MAX_DEVICES];
static _Atomic uint32_t crowd_patience;

static bool is_default(CUstream key)
{
	return key == CU_STREAM_LEGACY || key == CU_STREAM_PER_THREAD;
}

static struct stream_name name_of(CUstream key, uint32_t thread)
{
	struct stream_name name = {.key = key};

	if (is_default(key))
		(void)real.cuCtxGetCurrent(&name.context);
	if (key == CU_STREAM_PER_THREAD)
		name.thread = thread;
	return name;
}

static struct gate *gate_of(CUstream key)
{
	struct shim_device *device = shim_device_of_stream(key);

	return device ? gate_at(device->index) : NULL;
}

/* What must be current for driver calls of our own on the stream. NULL: nothing is. */
static CUcontext context_of(const struct stream_name *name)
{
	CUcontext context = name->context;

	if (context)
		return context;
	if (shim.device_count != 1 && real.cuStreamGetCtx(name->key, &context) == CUDA_SUCCESS)
		return context;
	return real.cuCtxGetCurrent(&context) == CUDA_SUCCESS ? context : NULL;
}

static bool is_blocking(CUstream key)
{
	unsigned int flags = 0;

	if (key == CU_STREAM_LEGACY)
		return true;
	return real.cuStreamGetFlags(key, &flags) != CUDA_SUCCESS ||
	       !(flags & CU_STREAM_NON_BLOCKING);
}

/* ---- ends -------------------------------------------------------------------------------------- */

/* With the stream's lock. */
static void marks_lose(struct stream_state *stream)
{
	stream->tail = stream->head;
	for (uint32_t i = 0; i < STREAM_MARKS; i++)
		stream->mark[i].event = NULL;
}

/* Whatever it had in flight will not be seen complete any more: it counts as complete. */
static void bury(struct stream_state *stream, bool marks_are_lost)
{
	struct gate *gate = stream->gate;

	futex_lock(&gate->lock);
	if (!atomic_exchange_explicit(&stream->quiet, 1, memory_order_relaxed))
		request_stream_drained(stream, 0);
	stream->dead = true;
	futex_unlock(&gate->lock);
	/* Whoever is placing a marker, for a launch that is held elsewhere, uses the handle. */
	futex_lock(&stream->lock);
	if (marks_are_lost)
		marks_lose(stream);
	futex_unlock(&stream->lock);
}

/* The handle has come back for a stream of another device. */
static void leave_gate(struct stream_state *stream)
{
	struct gate *gate = stream->gate;
	uint32_t i = 0;

	futex_lock(&gate->lock);
	while (i < gate->stream_count && gate->stream[i] != stream)
		i++;
	if (i < gate->stream_count)
		gate->stream[i] = gate->stream[--gate->stream_count];
	inflight_drained(stream, stream->launched_ns, sluice_now_ns());
	stream->gate = NULL;
	futex_unlock(&gate->lock);
	futex_lock(&stream->lock);
	marks_lose(stream);
	/* Its word may still be written to: nobody gets it. */
	stream->marker = STREAM_NO_MARKER;
	stream->track = TRACK_NEW;
	futex_unlock(&stream->lock);
}

/* The default streams of threads that are gone, and all else that is done. With the table's lock. */
static void reap(void)
{
	for (uint32_t i = 0; i < table_count(); i++) {
		struct stream_state *stream = table_at(i);

		if (stream->gate && !stream->dead && stream->handle == CU_STREAM_PER_THREAD &&
		    launch_thread_is_gone(stream->thread))
			bury(stream, true);
	}
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		struct gate *gate = gate_at(i);

		if (!gate_is_made(gate))
			continue;
		futex_lock(&gate->lock);
		inflight_poll(gate, sluice_now_ns());
		futex_unlock(&gate->lock);
	}
}

/* ---- beginnings -------------------------------------------------------------------------------- */

/* What the state keeps of the stream that had it before. */
static void renew(struct stream_state *stream, CUcontext context)
{
	futex_lock(&stream->lock);
	/* Events are their context's, and may be gone with it. */
	if (stream->context != context)
		marks_lose(stream);
	if (stream->head == stream->tail && stream->track != TRACK_WORD)
		stream->track = TRACK_NEW;
	stream->context = context;
	futex_unlock(&stream->lock);
}

/* Puts a state (new, or of a handle that has come back) under its gate. With the table's lock. */
static bool adopt(struct stream_state *stream, CUstream key, struct gate *gate, CUcontext context)
{
	bool listed, blocking = is_blocking(key);

	if (stream->gate && stream->gate != gate)
		leave_gate(stream);
	renew(stream, context);
	futex_lock(&gate->lock);
	listed = stream->gate == gate;
	if (!listed && gate->stream_count < GATE_STREAMS) {
		gate->stream[gate->stream_count++] = stream;
		listed = true;
	}
	if (listed) {
		request_retrack(gate);
		stream->gate = gate;
		stream->blocking = blocking;
		stream->dead = false;
		atomic_store_explicit(&stream->quiet, request_is_tracked(gate),
				      memory_order_relaxed);
	}
	futex_unlock(&gate->lock);
	return listed;
}

static struct stream_state *crowd_of(struct gate *gate)
{
	struct stream_state *crowd = &crowds[gate->index];

	futex_lock(&gate->lock);
	crowd->handle = CROWD;
	crowd->track = TRACK_NONE;
	crowd->gate = gate;
	futex_unlock(&gate->lock);
	return crowd;
}

void stream_settle_crowd(struct gate *gate, uint64_t now_ns)
{
	struct stream_state *crowd = &crowds[gate->index];

	if (crowd->gate)
		inflight_drained(crowd, crowd->launched_ns, now_ns);
}

/* With the table's lock; `known`: the state that has the name already. NULL: no room. */
static struct stream_state *make_room(const struct stream_name *name, struct stream_state *known,
				      struct gate *gate, CUcontext context)
{
	uint32_t patience = crowd_patience;

	if (patience && !(known && known->gate == gate)) {
		crowd_patience = patience - 1;
		return NULL;
	}
	for (int i = 0; i < 2; i++) {
		struct stream_state *stream = known ? known : table_take();

		if (stream && adopt(stream, name->key, gate, context)) {
			if (!known)
				table_publish(stream, name);
			return stream;
		}
		reap();
	}
	crowd_patience = CROWD_PATIENCE;
	return NULL;
}

static struct stream_state *make(const struct stream_name *name, struct gate *gate)
{
	struct stream_state *stream;
	CUcontext context = context_of(name);
	int cancel;

	if (!context)
		return NULL;
	cancel = cancel_hold();
	table_lock();
	stream = table_look_up(name);
	if (!stream || !stream->gate || stream->dead)
		stream = make_room(name, stream, gate, context);
	table_unlock();
	cancel_resume(cancel);
	return stream ? stream : crowd_of(gate);
}

struct stream_state *stream_find(CUstream key, uint32_t thread)
{
	struct stream_name name = name_of(key, thread);
	struct stream_state *stream;
	struct gate *gate;

	if (is_default(key) && !name.context)
		return NULL;
	stream = table_look_up(&name);
	if (stream && stream->gate && !stream->dead)
		return stream;
	gate = gate_of(key);
	return gate ? make(&name, gate) : NULL;
}

struct stream_state *stream_peek(CUstream key, uint32_t thread)
{
	struct stream_name name = name_of(key, thread);
	struct stream_state *stream;

	if (is_default(key) && !name.context)
		return NULL;
	stream = table_look_up(&name);
	return stream && stream->gate && !stream->dead ? stream : NULL;
}

/* ---- what the hooks see -------------------------------------------------------------------------- */

void stream_born(CUstream handle)
{
	struct stream_state *stream = stream_peek(handle, 0);

	if (stream)
		bury(stream, false);
}

void stream_dying(CUstream handle)
{
	struct stream_state *stream = is_default(handle) ? NULL : stream_peek(handle, 0);

	if (!stream)
		return;
	/* The last marker, placed while the handle still can take one; it lands when all is done. */
	if (inflight_is_due(stream, 1))
		inflight_mark(stream);
	bury(stream, false);
	crowd_patience = 0;
}

static bool has_landed(struct stream_state *stream)
{
	struct gate *gate = stream->gate;
	bool landed;

	futex_lock(&gate->lock);
	inflight_poll(gate, sluice_now_ns());
	futex_lock(&stream->lock);
	landed = stream->head == stream->tail;
	futex_unlock(&stream->lock);
	futex_unlock(&gate->lock);
	return landed;
}

void stream_context_dying(CUcontext context, int device_ordinal)
{
	bool landed = device_ordinal < 0;

	for (uint32_t i = 0; i < table_count(); i++) {
		struct stream_state *stream = table_at(i);
		struct gate *gate = stream->gate;

		if (!gate || (device_ordinal < 0 ? stream->context != context
						 : (int)gate->ordinal != device_ordinal))
			continue;
		landed = landed && has_landed(stream);
		bury(stream, true);
		if (device_ordinal >= 0)
			marker_context_dying(stream->context, false);
	}
	crowd_patience = 0;
	launch_context_changed();
	if (device_ordinal < 0) {
		marker_context_dying(context, landed);
		sample_context_dying(context);
	} else {
		sample_device_dying((uint32_t)device_ordinal);
	}
}

void stream_await_marks(void)
{
	for (uint32_t i = 0; i < table_count(); i++) {
		futex_lock(&table_at(i)->lock);
		futex_unlock(&table_at(i)->lock);
	}
}

void stream_forked(void)
{
	table_forked();
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		crowds[i] = (struct stream_state){0};
	crowd_patience = 0;
}
