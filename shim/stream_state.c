/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_state.h"

#include "inflight.h"
#include "launch.h"
#include "marker.h"
#include "request.h"
#include "sample.h"
#include "shim.h"
#include "sluice/clock.h"

#define BUCKETS (STREAM_STATES * 2) /* never full: look-ups always end */

static struct {
	struct futex_lock lock;				/* of insertions */
	_Atomic(struct stream_state *) bucket[BUCKETS]; /* published with release, never removed */
	struct stream_state state[STREAM_STATES];
	uint32_t used;
} table;

/* Which of the states under one key is meant: the default streams are one per context (and
 * thread); all other handles are unique in the process. */
struct stream_name {
	CUstream key;
	CUcontext context; /* NULL: any */
	uint32_t thread;
};

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

static bool is_named(const struct stream_state *stream, const struct stream_name *name)
{
	return stream->handle == name->key && stream->thread == name->thread &&
	       (!name->context || stream->context == name->context);
}

static uint32_t bucket_of(const struct stream_name *name)
{
	uint64_t hash =
		(uintptr_t)name->key ^ (uintptr_t)name->context << 7 ^ (uint64_t)name->thread << 40;

	return (uint32_t)(hash * 0x9e3779b97f4a7c15ull >> 40) % BUCKETS;
}

/* The state, or NULL and the bucket where it would go. */
static struct stream_state *look_up(const struct stream_name *name, uint32_t *ret_bucket)
{
	uint32_t bucket = bucket_of(name);
	struct stream_state *stream;

	/* Pairs with the release in `make`. */
	while ((stream = atomic_load_explicit(&table.bucket[bucket], memory_order_acquire))) {
		if (is_named(stream, name))
			return stream;
		bucket = (bucket + 1) % BUCKETS;
	}
	*ret_bucket = bucket;
	return NULL;
}

/* The gate of the device that a stream of the current context works on. */
static struct gate *gate_of_current(void)
{
	struct shim_device *device = shim_device_current();

	return device ? gate_at(device->index) : NULL;
}

static bool is_blocking(CUstream key)
{
	unsigned int flags = 0;

	if (key == CU_STREAM_LEGACY)
		return true;
	return real.cuStreamGetFlags(key, &flags) != CUDA_SUCCESS ||
	       !(flags & CU_STREAM_NON_BLOCKING);
}

/* Puts a state (new, or of a handle that has come back) under its gate. With table.lock. */
static bool adopt(struct stream_state *stream, struct gate *gate, CUcontext context)
{
	bool listed, blocking = is_blocking(stream->handle);

	futex_lock(&gate->lock);
	listed = stream->gate == gate;
	if (!listed && gate->stream_count < GATE_STREAMS) {
		gate->stream[gate->stream_count++] = stream;
		listed = true;
	}
	if (listed) {
		request_retrack(gate);
		stream->gate = gate;
		stream->context = context;
		stream->blocking = blocking;
		stream->dead = false;
		atomic_store_explicit(&stream->quiet, request_is_tracked(gate),
				      memory_order_relaxed);
	}
	futex_unlock(&gate->lock);
	return listed;
}

static struct stream_state *make(const struct stream_name *name, struct gate *gate)
{
	struct stream_state *stream;
	CUcontext context = name->context;
	uint32_t bucket;

	if (!context && real.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
		return NULL;
	futex_lock(&table.lock);
	stream = look_up(name, &bucket);
	if (!stream && table.used < STREAM_STATES) {
		stream = &table.state[table.used];
		stream->handle = name->key;
		stream->thread = name->thread;
		stream->marker = STREAM_NO_MARKER;
		if (adopt(stream, gate, context)) {
			table.used++;
			atomic_store_explicit(&table.bucket[bucket], stream, memory_order_release);
		} else {
			stream = NULL;
		}
	} else if (stream && (!stream->gate || stream->dead)) {
		if (!adopt(stream, gate, context))
			stream = NULL;
	}
	futex_unlock(&table.lock);
	return stream;
}

struct stream_state *stream_find(CUstream key, uint32_t thread)
{
	struct stream_name name = name_of(key, thread);
	struct stream_state *stream;
	struct gate *gate;
	uint32_t bucket;

	if (is_default(key) && !name.context)
		return NULL;
	stream = look_up(&name, &bucket);
	if (stream && stream->gate && !stream->dead)
		return stream;
	gate = gate_of_current();
	return gate ? make(&name, gate) : NULL;
}

struct stream_state *stream_peek(CUstream key, uint32_t thread)
{
	struct stream_name name = name_of(key, thread);
	struct stream_state *stream;
	uint32_t bucket;

	if (is_default(key) && !name.context)
		return NULL;
	stream = look_up(&name, &bucket);
	return stream && stream->gate && !stream->dead ? stream : NULL;
}

/* Whatever it had in flight will not be seen complete any more: it counts as complete. */
static void bury(struct stream_state *stream, bool marks_are_lost)
{
	struct gate *gate = stream->gate;

	futex_lock(&gate->lock);
	if (!atomic_exchange_explicit(&stream->quiet, 1, memory_order_relaxed))
		request_stream_drained(stream, 0);
	stream->dead = true;
	if (marks_are_lost) {
		futex_lock(&stream->lock);
		stream->tail = stream->head;
		futex_unlock(&stream->lock);
	}
	futex_unlock(&gate->lock);
}

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

	for (uint32_t i = 0; i < table.used; i++) {
		struct stream_state *stream = &table.state[i];
		struct gate *gate = stream->gate;

		if (!gate || (device_ordinal < 0 ? stream->context != context
						 : (int)gate->ordinal != device_ordinal))
			continue;
		landed = landed && has_landed(stream);
		bury(stream, true);
		if (device_ordinal >= 0) {
			marker_context_dying(stream->context, false);
			sample_context_dying(stream->context);
		}
	}
	launch_context_changed();
	if (device_ordinal < 0) {
		marker_context_dying(context, landed);
		sample_context_dying(context);
	}
}

void stream_forked(void)
{
	table.lock = (struct futex_lock){0};
	for (uint32_t i = 0; i < BUCKETS; i++)
		table.bucket[i] = NULL;
	for (uint32_t i = 0; i < table.used; i++)
		table.state[i] = (struct stream_state){0};
	table.used = 0;
}
