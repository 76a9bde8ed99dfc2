/* SPDX-License-Identifier: Apache-2.0 */
#include "watch_look.h"

#include "inflight.h"
#include "request.h"
#include "sluice/clock.h"

bool watch_is_busy(struct gate *gate)
{
	return gate_is_made(gate) && atomic_load_explicit(&gate->marked, memory_order_relaxed);
}

uint64_t watch_due_ns(struct gate *gate, uint64_t looked_ns)
{
	uint64_t due_ns;

	futex_lock(&gate->lock);
	due_ns = gate->marked ? request_look_ns(gate, looked_ns) : 0;
	futex_unlock(&gate->lock);
	return due_ns;
}

static uint64_t launched(struct stream_state *stream)
{
	return atomic_load_explicit(&stream->launched_ns, memory_order_seq_cst);
}

/* One that is not empty settles it: the others need not be asked. */
uint64_t watch_find(struct gate *gate, struct sync_point *ret_point)
{
	uint64_t settle_ns;

	ret_point->count = 0;
	futex_lock(&gate->lock);
	settle_ns = request_settle_ns(gate);
	for (uint32_t i = 0; i < gate->stream_count && ret_point->count < SYNC_STREAMS; i++) {
		struct stream_state *stream = gate->stream[i];
		uint64_t launched_ns = launched(stream);

		if (atomic_load_explicit(&stream->quiet, memory_order_relaxed))
			continue;
		if (!inflight_ask_apart(stream)) {
			ret_point->count = 0;
			break;
		}
		ret_point->at[ret_point->count].stream = stream;
		ret_point->at[ret_point->count++].launched_ns = launched_ns;
	}
	futex_unlock(&gate->lock);
	return ret_point->count ? settle_ns : 0;
}

void watch_take(struct gate *gate, const struct sync_point *point, uint64_t found_ns,
		bool is_judged)
{
	bool was_open;

	futex_lock(&gate->lock);
	was_open = gate->marked != 0;
	for (uint32_t i = 0; i < point->count; i++) {
		struct stream_state *stream = point->at[i].stream;

		if (stream->gate == gate && launched(stream) == point->at[i].launched_ns &&
		    !atomic_load_explicit(&stream->quiet, memory_order_relaxed) &&
		    inflight_ask_apart(stream))
			sync_drained(gate, stream, point->at[i].launched_ns, found_ns);
	}
	if (was_open && !gate->marked && is_judged)
		request_found(gate, sluice_now_ns());
	else if (was_open && !gate->marked)
		request_shown(gate, sluice_now_ns());
	futex_unlock(&gate->lock);
}
