/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <errno.h>

#include "activity.h"
#include "capture.h"
#include "collective.h"
#include "gate_decide.h"
#include "graph.h"
#include "inflight.h"
#include "kernel.h"
#include "known.h"
#include "profile.h"
#include "trace.h"

#define SAMPLE_EVERY 64u /* slow paths of a thread to one unasked sample */

struct predict launch_predict;

/* ---- seats ------------------------------------------------------------------------------------- */

static struct launch_seat *seat_take(CUstream key, struct stream_state *stream, struct gate *gate)
{
	struct launch_seat *seat = &launch_thread.seat[launch_seat_of(key)];
	uint32_t number = launch_thread_number();
	bool shared = number >= SLUICE_MAX_SLOTS;

	if (seat->key && seat->key != key)
		seat = &launch_thread.seat[launch_seat_of(key) ^ 1];
	seat->lane = gate_lane(gate, shared ? SLUICE_MAX_SLOTS - 1 : number - 1, shared);
	seat->stream = stream;
	/* A shared lane has no fast path: its seat is never found again. */
	seat->key = shared ? NULL : key;
	return seat;
}

/* Seats a stream that has a state and a lane already; NULL: the slow path must make them. */
static struct launch_seat *seat_find(CUstream key)
{
	struct launch_seat *seat = launch_seat(key);
	uint32_t number = launch_thread.number;
	struct stream_state *stream;
	struct gate *gate;

	if (seat->key == key && seat->stream->handle == key)
		return seat;
	if (!number || number >= SLUICE_MAX_SLOTS)
		return NULL;
	stream = stream_peek(key, number);
	gate = stream ? stream->gate : NULL;
	if (!gate || !gate_lane_is_bound(gate, &gate->lane[number - 1]))
		return NULL;
	return seat_take(key, stream, gate);
}

static uint32_t launched_before(void)
{
	return launch_thread.recent[(launch_thread.recents - 1) & (LAUNCH_RECENT - 1)];
}

static struct predict_context context_of(struct sample_what what)
{
	return (struct predict_context){.before = launched_before(), .params = what.params};
}

/* launch_fast with look-ups. */
static bool launch_retry(uint64_t tag, uint32_t guess_ns, CUstream key, struct sample_what what)
{
	struct predict_context context = context_of(what);
	struct predict_entry *entry;
	struct launch_seat *seat;
	uint64_t launched_ns;
	uint32_t raw_ns;

	if (shim_thread.busy | shim_flags())
		return false;
	seat = seat_find(key);
	if (!seat)
		return false;
	entry = predict_find(&launch_predict, tag, guess_ns);
	raw_ns = predict_raw_ns(predict_resolve(&launch_predict, entry, &context));
	launched_ns =
		atomic_load_explicit(&seat->lane->slot->launched_ns, memory_order_relaxed) + raw_ns;
	return launched_ns <= atomic_load_explicit(&seat->lane->stop_at_ns, memory_order_relaxed) &&
	       launch_note(seat->stream, seat->lane, launched_ns, raw_ns,
			   predict_number(&launch_predict, entry));
}

static void seat_leave(CUstream key)
{
	struct launch_seat *seat = launch_seat(key);

	if (seat->key == key)
		seat->key = NULL;
}

void launch_context_changed(void)
{
	seat_leave(CU_STREAM_LEGACY);
	seat_leave(CU_STREAM_PER_THREAD);
}

/* ---- the slow path ------------------------------------------------------------------------------ */

/* number: of the entry that this one is, or is part of. */
static bool wants_sample(struct predict_entry *entry, uint32_t number, struct sample_what what,
			 uint32_t flags)
{
	bool offered;

	if ((flags & (LAUNCH_DEPENDENT | LAUNCH_UNTIMED)) || (shim_flags() & SHIM_CAPTURES) ||
	    (what.kind == PREDICT_KERNEL && profile_is_on()) ||
	    predict_is_followed(&launch_predict, number))
		return false;
	offered = predict_offer(&launch_predict, entry);
	if (offered || launch_thread.countdown-- > 0)
		return offered;
	launch_thread.countdown = SAMPLE_EVERY;
	return predict_is_known(&launch_predict, entry);
}

/* Which parameters of the kernel may be scalars: asked once, of the driver. */
static void learn_scalars(struct predict_entry *entry, struct sample_what what)
{
	uint32_t narrow = 0, wide = 0;
	size_t offset, bytes;
	const char *name;
	CUfunction function = what.params ? kernel_look(what.handle, &name) : NULL;

	for (uint32_t i = 0; function && real_has(cuFuncGetParamInfo) && i < 32; i++) {
		if (real.cuFuncGetParamInfo(function, i, &offset, &bytes) != CUDA_SUCCESS)
			break;
		narrow |= (uint32_t)(bytes == 4) << i;
		wide |= (uint32_t)(bytes == 8) << i;
	}
	predict_set_scalars(&launch_predict, entry, narrow, wide);
}

/* The entry that this very launch is predicted by. */
static struct predict_entry *launch_entry(uint64_t tag, uint32_t guess_ns, struct sample_what what,
					  const struct gate *gate, uint32_t *ret_number)
{
	struct predict_context context = context_of(what);
	struct predict_entry *whole = predict_find(&launch_predict, tag, guess_ns), *entry;

	known_meet(&launch_predict, whole, what, gate->ordinal);
	entry = predict_resolve(&launch_predict, whole, &context);
	if (predict_needs_scalars(&launch_predict, entry)) {
		learn_scalars(entry, what);
		entry = predict_resolve(&launch_predict, entry, &context);
	}
	*ret_number = predict_number(&launch_predict, whole);
	return entry;
}

/* Between host and device: on a copy engine, which no other process's slice takes away. */
static bool is_large_copy(struct sample_what what)
{
	return (what.kind == PREDICT_COPY_TO_DEVICE || what.kind == PREDICT_COPY_TO_HOST) &&
	       what.size >= GATE_LARGE_COPY_BYTES;
}

/* One that may be what others run and wait for is never held, but by a pause. */
static bool is_passed(struct gate *gate, struct sample_what what)
{
	uint32_t flags = atomic_load_explicit(&gate->page->grant.flags, memory_order_relaxed);

	return !(flags & SLUICE_GRANT_PAUSED) && collective_is(what);
}

/* Past the gate, for this launch alone: the next one of the lane asks. */
static void gate_bypass(struct gate *gate, struct launch_seat *seat, struct stream_state *stream,
			uint32_t cost_ns)
{
	gate_pass(gate, seat->lane, stream, cost_ns);
	atomic_store_explicit(&seat->lane->stop_at_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&seat->lane->drawn_ns, 0, memory_order_relaxed);
}

static uint32_t gate_flags(struct predict_entry *entry, struct sample_what what)
{
	return (predict_is_known(&launch_predict, entry) ? GATE_MEASURED : 0) |
	       (is_large_copy(what) ? GATE_IS_LARGE_COPY : 0);
}

/* What the way through the gate is: the wait, if any, is in here. */
static void launch_admit(struct launch *launch, struct launch_seat *seat,
			 struct predict_entry *entry, struct sample_what what, uint32_t flags)
{
	struct stream_state *stream = launch->stream;
	struct gate *gate = launch->gate;
	bool is_free = gate_is_free(gate);
	uint64_t window_ns =
		atomic_load_explicit(&gate->page->grant.window_ns, memory_order_relaxed);

	if (!(flags & LAUNCH_DEPENDENT) &&
	    inflight_is_due(stream, inflight_interval_ns(window_ns, is_free) / 2))
		inflight_mark(stream);
	if (is_free)
		gate_pass(gate, seat->lane, stream, predict_cost_ns(entry));
	else if (is_passed(gate, what))
		gate_bypass(gate, seat, stream, predict_cost_ns(entry));
	else
		launch->next = gate_enter(gate, seat->lane, stream, predict_cost_ns(entry),
					  predict_gate_ns(&launch_predict, entry),
					  gate_flags(entry, what));
}

/* The first launch of a request that is on a stream that the thread knows: marked before anything
 * else is touched, since until then others launch. */
static void launch_open(uint64_t tag, CUstream key)
{
	struct launch_seat *seat = launch_seat(key);
	struct gate *gate;

	if (seat->key != key || seat->stream->handle != key ||
	    (shim_thread.busy | (shim_flags() & ~SHIM_IDLE)) ||
	    !atomic_load_explicit(&seat->stream->quiet, memory_order_relaxed))
		return;
	gate = seat->stream->gate;
	if (gate)
		gate_raise(gate, seat->stream, tag);
}

static void launch_look(struct launch *launch, uint64_t tag, uint32_t guess_ns, CUstream key,
			struct sample_what what, uint32_t flags, bool is_raised)
{
	struct predict_entry *entry;
	bool is_sampled;
	uint32_t number;
	int saved = errno;

	launch->way = LAUNCH_ADMITTED;
	launch_open(tag, key);
	if (!is_large_copy(what) && launch_retry(tag, guess_ns, key, what))
		return;
	launch->way = LAUNCH_FOREIGN;
	if (!shim_enter())
		return;
	launch->way = LAUNCH_UNTOUCHED;
	if (!(shim_flags() & SHIM_CAPTURES) || !capture_is_open(key))
		launch->stream = stream_find(key, launch_thread_number());
	launch->gate = launch->stream ? launch->stream->gate : NULL;
	if (!launch->gate) {
		errno = saved;
		return;
	}
	launch->way = LAUNCH_NOTED;
	if (atomic_load_explicit(&launch->stream->quiet, memory_order_relaxed))
		gate_raise(launch->gate, launch->stream, tag);
	/* Held itself, as one above its gpu.max is, it must hold nobody. */
	if (unlikely(is_raised))
		activity_settle();
	entry = launch_entry(tag, guess_ns, what, launch->gate, &number);
	sample_harvest(&launch_predict);
	if (flags & LAUNCH_DEPENDENT)
		predict_set_followed(&launch_predict, launched_before());
	is_sampled = wants_sample(entry, number, what, flags);
	launch_admit(launch, seat_take(key, launch->stream, launch->gate), entry, what, flags);
	launch_remember(number);
	if (unlikely(trace_is_on(launch->gate)))
		trace_launch(launch->gate, launch->stream, tag, predict_cost_ns(entry), what);
	if (is_sampled)
		launch->sample = sample_begin(launch->stream, launch->gate, entry, what);
	errno = saved;
}

void launch_begin(struct launch *launch, uint64_t tag, uint32_t guess_ns, CUstream key,
		  struct sample_what what, uint32_t flags)
{
	bool is_raised;

	launch_raise();
	is_raised = shim_thread.is_raised;
	shim_thread.is_raised = 0;
	*launch = (struct launch){.way = LAUNCH_FOREIGN};
	if (launch_is_inert())
		return;
	launch_look(launch, tag, guess_ns, key, what, flags, is_raised);
	if (unlikely(is_raised))
		activity_settle();
}

void launch_end(struct launch *launch, CUresult result)
{
	int saved = errno;

	if (launch->way == LAUNCH_FOREIGN || launch->way == LAUNCH_ADMITTED)
		return;
	if (launch->sample)
		sample_end(launch->sample, result == CUDA_SUCCESS);
	if (launch->next)
		futex_wake(launch->next, 1);
	shim_leave();
	errno = saved;
}

bool launch_is_gated(CUstream key)
{
	struct stream_state *stream;
	struct gate *gate;

	if (shim_thread.busy || (shim_flags() & ~(SHIM_PROFILING | SHIM_IDLE)))
		return false;
	stream = stream_peek(key, launch_thread_number());
	gate = stream ? stream->gate : NULL;
	return gate && !gate_is_free(gate);
}

void launch_forked(void)
{
	collective_forked();
	graph_forked();
	launch_threads_forked();
	launch_predict.lock = (struct futex_lock){0};
}
