/* SPDX-License-Identifier: Apache-2.0 */
#include "sample.h"

#include <sched.h>
#include <string.h>

#include "inflight.h"
#include "known.h"
#include "launch.h"
#include "marker.h"
#include "sluice/clock.h"

#define SAMPLES 16
#define OWNER_NS SLUICE_NS_PER_S /* for a few driver calls; who takes longer has been killed */

enum { SAMPLE_FREE, SAMPLE_OWNED, SAMPLE_PENDING };

struct sample {
	_Atomic uint32_t state;	    /* SAMPLE_*; a change to OWNED (acquire) takes all the rest */
	_Atomic(CUcontext) context; /* of the events; NULL: there are none. May be read unowned */
	CUevent begin, end;
	struct stream_state *stream;
	struct predict_entry *entry;
	struct sample_what what;
	struct gate *gate;
	uint64_t conditions; /* what must not have changed for a clean sample; 0: not clean */
};

static struct sample samples[SAMPLES];
static _Atomic uint32_t pending; /* a hint that saves looking at the pool */

static bool sample_own(struct sample *sample, uint32_t from)
{
	return atomic_compare_exchange_strong_explicit(&sample->state, &from, SAMPLE_OWNED,
						       memory_order_acquire, memory_order_relaxed);
}

static void sample_disown(struct sample *sample, uint32_t to)
{
	atomic_store_explicit(&sample->state, to, memory_order_release);
}

/* A digest of what would let other work run beside the launch; 0 where it may run already. */
static uint64_t conditions_now(const struct gate *gate)
{
	const struct sluice_grant *grant = &gate->page->grant;
	uint64_t digest = atomic_load_explicit(&grant->epoch, memory_order_acquire) + 1ull;

	if (!(atomic_load_explicit(&grant->flags, memory_order_relaxed) & SLUICE_GRANT_EXCLUSIVE))
		return 0;
	for (uint32_t i = 0; i < gate->watch_count; i++) {
		uint64_t word = atomic_load_explicit(&gate->watch[i]->word, memory_order_acquire);

		if (sluice_activity_active(word))
			return 0;
		digest = digest * 0x9e3779b97f4a7c15ull + word;
	}
	return digest;
}

/* Gives up those of another context than the current one, where that lives. */
static void events_leave(struct sample *sample)
{
	if (marker_context_enter(sample->context)) {
		(void)real.cuEventDestroy_v2(sample->begin);
		(void)real.cuEventDestroy_v2(sample->end);
		marker_context_leave(true);
	}
	sample->context = NULL;
}

/* `context` is current. */
static bool events_make(struct sample *sample, CUcontext context)
{
	if (sample->context == context)
		return true;
	if (sample->context)
		events_leave(sample);
	if (real.cuEventCreate(&sample->begin, 0) != CUDA_SUCCESS)
		return false;
	if (real.cuEventCreate(&sample->end, 0) != CUDA_SUCCESS) {
		(void)real.cuEventDestroy_v2(sample->begin);
		return false;
	}
	sample->context = context;
	return true;
}

static struct sample *sample_take(CUcontext with, CUcontext context)
{
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct sample *sample = &samples[i];

		if ((with && sample->context != with) || !sample_own(sample, SAMPLE_FREE))
			continue;
		if (events_make(sample, context))
			return sample;
		sample_disown(sample, SAMPLE_FREE);
	}
	return NULL;
}

/* One with events of this context, else any: contexts take turns at the pool. */
static struct sample *sample_pick(CUcontext context)
{
	struct sample *sample = sample_take(context, context);

	return sample ? sample : sample_take(NULL, context);
}

struct sample *sample_begin(struct stream_state *stream, struct gate *gate,
			    struct predict_entry *entry, struct sample_what what)
{
	struct own_calls calls;
	struct sample *sample;

	if ((stream->handle == CU_STREAM_LEGACY && !launch_is_alone()) ||
	    stream->track == TRACK_NONE)
		return NULL;
	calls = own_calls_begin();
	sample = sample_pick(stream->context);
	if (sample)
		sample->gate = gate;
	if (sample && real.cuEventRecord(sample->begin, stream->handle) != CUDA_SUCCESS) {
		sample_disown(sample, SAMPLE_FREE);
		sample = NULL;
	}
	own_calls_end(calls);
	if (!sample)
		return NULL;
	sample->stream = stream;
	sample->entry = entry;
	sample->what = what;
	futex_lock(&gate->lock);
	sample->conditions = conditions_now(gate);
	futex_unlock(&gate->lock);
	return sample;
}

void sample_end(struct sample *sample, bool submitted)
{
	struct own_calls calls = own_calls_begin();

	if (submitted && real.cuEventRecord(sample->end, sample->stream->handle) == CUDA_SUCCESS) {
		atomic_fetch_add_explicit(&pending, 1, memory_order_relaxed);
		sample_disown(sample, SAMPLE_PENDING);
	} else {
		sample_disown(sample, SAMPLE_FREE);
	}
	own_calls_end(calls);
}

/* Status names the longest launch unit that was seen. With gate->lock. */
static void note_longest(struct gate *gate, const struct sample *sample)
{
	struct sluice_counters *counters = &gate->page->counters;
	uint64_t cost_ns = predict_cost_ns(sample->entry);

	if (cost_ns <= atomic_load_explicit(&counters->longest_unit_ns, memory_order_relaxed))
		return;
	atomic_store_explicit(&counters->longest_unit_ns, cost_ns, memory_order_relaxed);
	launch_name(sample->what, counters->longest_unit, sizeof(counters->longest_unit));
}

static void sample_read(struct sample *sample, struct predict *predict)
{
	struct gate *gate = sample->gate;
	float took_ms = 0;
	bool clean;

	if (real.cuEventElapsedTime(&took_ms, sample->begin, sample->end) != CUDA_SUCCESS ||
	    !(took_ms >= 0) || took_ms > 1e6f)
		return;
	futex_lock(&gate->lock);
	clean = sample->conditions && sample->conditions == conditions_now(gate);
	predict_sample(predict, sample->entry, (uint64_t)(took_ms * 1e6f), clean);
	known_tell(predict, sample->entry, &sluice_channel_of(gate->page, gate->index)->estimates);
	note_longest(gate, sample);
	futex_unlock(&gate->lock);
}

void sample_harvest(struct predict *predict)
{
	struct own_calls calls;

	if (!atomic_load_explicit(&pending, memory_order_relaxed))
		return;
	calls = own_calls_begin();
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct sample *sample = &samples[i];
		CUresult result;

		if (atomic_load_explicit(&sample->state, memory_order_relaxed) != SAMPLE_PENDING ||
		    !sample_own(sample, SAMPLE_PENDING))
			continue;
		result = real.cuEventQuery(sample->end);
		if (result == CUDA_ERROR_NOT_READY) {
			sample_disown(sample, SAMPLE_PENDING);
			continue;
		}
		if (result == CUDA_SUCCESS)
			sample_read(sample, predict);
		atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
		sample_disown(sample, SAMPLE_FREE);
	}
	own_calls_end(calls);
}

static void sample_lose(struct sample *sample, bool was_pending)
{
	sample->context = NULL;
	if (was_pending)
		atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
	sample_disown(sample, SAMPLE_FREE);
}

void sample_context_dying(CUcontext context)
{
	uint64_t end_ns = sluice_now_ns() + OWNER_NS;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct sample *sample = &samples[i];

		/* Another thread may be asking its events, which must not go under that. */
		while (sample->context == context) {
			bool was_pending = sample_own(sample, SAMPLE_PENDING);

			if (was_pending || sample_own(sample, SAMPLE_FREE)) {
				if (sample->context == context)
					sample_lose(sample, was_pending);
				else
					sample_disown(sample,
						      was_pending ? SAMPLE_PENDING : SAMPLE_FREE);
			} else if (sluice_now_ns() > end_ns) {
				break;
			} else {
				sched_yield();
			}
		}
	}
}

void sample_device_dying(uint32_t ordinal)
{
	for (uint32_t i = 0; i < SAMPLES; i++) {
		struct sample *sample = &samples[i];
		CUcontext context = sample->context;

		if (context && sample->gate && sample->gate->ordinal == ordinal)
			sample_context_dying(context);
	}
}

void sample_forked(void)
{
	for (uint32_t i = 0; i < SAMPLES; i++)
		memset(&samples[i], 0, sizeof(samples[i]));
	pending = 0;
}
