/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <errno.h>

#include "activity.h"
#include "gate_books.h"
#include "gate_wait.h"
#include "inflight.h"
#include "launch.h"
#include "link.h"
#include "request.h"
#include "units.h"
#include "sluice/clock.h"

#define WANT_CREDIT_NS 10000000u /* between two words to the arbiter that credit has run out */
#define WANT_AGAIN_NS 100000000u /* while one and the same hold lasts */

/* ---- holding ------------------------------------------------------------------------------------ */

static void hold_count(struct gate *gate, struct gate_hold *hold, uint64_t now_ns)
{
	struct sluice_counters *counters = &gate->page->counters;

	if (hold->counted || hold->reason == GATE_WINDOW)
		return;
	hold->counted = true;
	if (!gate->holding++)
		books_store(&counters->held_since_ns, now_ns);
	books_store(&counters->held, books_load(&counters->held) + 1);
	books_store(&counters->sleeping, gate->holding);
}

static void hold_end(struct gate *gate, const struct gate_hold *hold, uint64_t now_ns)
{
	struct sluice_counters *counters = &gate->page->counters;
	uint64_t since_ns = books_load(&counters->held_since_ns);

	if (!hold->counted)
		return;
	if (!--gate->holding) {
		books_store(&counters->held_since_ns, 0);
		if (since_ns && now_ns > since_ns)
			books_store(&counters->held_ns,
				    books_load(&counters->held_ns) + now_ns - since_ns);
	}
	books_store(&counters->sleeping, gate->holding);
}

/* The arbiter reads from the page who is held; it must be told only that it has begun. A gate that
 * has not moved since it was told says that it knows. */
static bool want_is_due(struct gate *gate, const struct gate_view *view, enum gate_reason reason,
			uint64_t now_ns)
{
	bool told = gate->want_ns && gate->want_word == view->gate_word;
	uint64_t again_ns = reason == GATE_CREDIT ? WANT_CREDIT_NS : WANT_AGAIN_NS;

	if (reason == GATE_WINDOW || reason == GATE_GUARD || reason == GATE_QUIET ||
	    (told && now_ns - gate->want_ns < again_ns))
		return false;
	gate->want_ns = now_ns;
	gate->want_word = view->gate_word;
	return true;
}

static void arrival_note(struct gate *gate, const struct gate_view *view, uint64_t arrival_ns,
			 uint64_t met_ns)
{
	struct sluice_channel *channel = sluice_channel_of(gate->page, gate->index);
	struct sluice_arrival_ring *ring = &channel->arrival[gate->index];
	uint64_t head = books_load(&ring->head);
	struct launch_unit unit;

	launch_longest(met_ns, &unit);
	if (unit.key)
		units_show(channel->units, unit.key);
	ring->record[head % SLUICE_ARRIVAL_RECORDS] = (struct sluice_arrival_record){
		.busy_since_ns = arrival_ns,
		.seen_ns = sluice_now_ns(),
		.in_flight_ns = met_ns,
		.key = unit.key,
		.unit_ns = unit.cost_ns,
		.launches = unit.launches,
		.generation = activity_generation(view->activity),
	};
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/* The first launch that meets a request tells status what best-effort work the request met. */
static void arrival_count(struct gate *gate, const struct gate_view *view)
{
	uint64_t arrival_ns, met_ns;

	if (!view->active || !view->activity || !view->is_told)
		return;
	arrival_ns = books_load(&view->activity->busy_since_ns);
	if (arrival_ns == gate->arrival_ns)
		return;
	gate->arrival_ns = arrival_ns;
	met_ns = gate_met_ns(view, arrival_ns);
	sluice_hist_add(&gate->page->be_in_flight, met_ns);
	arrival_note(gate, view, arrival_ns, met_ns);
}

/* Trailing markers, of every stream with work that none covers: else nothing would show that the
 * pipe has run empty. Another thread's per-thread stream cannot be reached from here. */
static void mark_held(struct gate *gate)
{
	for (uint32_t i = 0; i < gate->stream_count; i++) {
		struct stream_state *stream = gate->stream[i];

		if (!inflight_is_due(stream, 1) || (stream->handle == CU_STREAM_PER_THREAD &&
						    stream->thread != launch_thread_number()))
			continue;
		futex_unlock(&gate->lock);
		inflight_mark(stream);
		futex_lock(&gate->lock);
	}
}

/* One look, and one wait if it says so. True: admitted. With gate->lock, which it drops to wait. */
static bool gate_try(struct gate *gate, struct lane *lane, uint32_t cost_ns, struct gate_hold *hold,
		     struct gate_view *view)
{
	uint64_t now_ns = sluice_now_ns(), was_done_ns;
	enum link_state link;
	bool want, told;

	hold->now_ns = now_ns;
	futex_unlock(&gate->lock);
	link = link_tick(gate->index, now_ns);
	futex_lock(&gate->lock);
	was_done_ns = gate->moved_ns + gate_in_flight(gate);
	inflight_poll(gate, now_ns);
	books_look(gate, lane, now_ns, view);
	view->was_done_ns = was_done_ns < now_ns ? was_done_ns : now_ns;
	view->is_large_copy = hold->is_large_copy;
	arrival_count(gate, view);
	hold->reason = gate_decide(view, cost_ns, hold->since_ns, now_ns, &hold->until_ns);
	if ((hold->reason == GATE_WINDOW || hold->reason == GATE_CREDIT) && view->drawn_ns) {
		books_recall(gate, lane, view);
		hold->reason = gate_decide(view, cost_ns, hold->since_ns, now_ns, &hold->until_ns);
	}
	hold->is_governed = (view->flags & SLUICE_GRANT_MANAGED) && link == LINK_UP;
	if (!(view->flags & SLUICE_GRANT_MANAGED) || link == LINK_OPEN)
		hold->reason = GATE_OPEN;
	if (link == LINK_HOLD)
		hold->reason = hold->since_ns && now_ns - hold->since_ns > link_hold_ns()
				       ? GATE_OPEN
				       : GATE_CLOSED;
	if (hold->reason <= GATE_FORCED)
		return true;
	hold_count(gate, hold, now_ns);
	mark_held(gate);
	if (!hold->since_ns) {
		/* They may land at once: look again before sleeping. */
		hold->since_ns = now_ns;
		return false;
	}
	want = want_is_due(gate, view, hold->reason, now_ns);
	futex_unlock(&gate->lock);
	told = !want || link_want(gate->index, cost_ns);
	gate_wait(gate, view, hold, now_ns);
	futex_lock(&gate->lock);
	if (!told)
		gate->want_ns = 0;
	return false;
}

/* With gate->lock: waits until the launch may go. A tenant may have become active while we looked
 * at the rest: the last look is at the activity. */
static void gate_await(struct gate *gate, struct lane *lane, uint32_t cost_ns, uint32_t most_ns,
		       struct gate_hold *ret_hold)
{
	struct gate_view view;

	do {
		*ret_hold =
			(struct gate_hold){.lane = lane, .is_large_copy = ret_hold->is_large_copy};
		while (!gate_try(gate, lane, most_ns, ret_hold, &view))
			continue;
		hold_end(gate, ret_hold, ret_hold->now_ns);
		books_allow(gate, lane, cost_ns,
			    ret_hold->reason == GATE_FORCED
				    ? 0
				    : gate_allowance(&view, most_ns, gate->lanes),
			    inflight_interval_ns(view.window_ns, false));
	} while (ret_hold->reason == GATE_OPEN && ret_hold->is_governed && launch_watched(lane));
}

_Atomic uint32_t *gate_enter(struct gate *gate, struct lane *lane, struct stream_state *stream,
			     uint32_t cost_ns, uint32_t most_ns, uint32_t flags)
{
	struct gate_hold hold;
	struct sluice_counters *counters;
	_Atomic uint32_t *next;
	int saved = errno;

	futex_lock(&gate->lock);
	hold.is_large_copy = flags & GATE_IS_LARGE_COPY;
	gate_await(gate, lane, cost_ns, most_ns, &hold);
	books_take(gate, lane, stream, cost_ns, hold.now_ns);
	counters = &gate->page->counters;
	if (hold.reason == GATE_FORCED) {
		books_store(&counters->forced, books_load(&counters->forced) + 1);
		gate->moved_ns = hold.now_ns;
		inflight_write_off(gate, hold.now_ns);
	}
	if (flags & GATE_IS_LARGE_COPY)
		books_note_copy(gate, cost_ns);
	if (!(flags & GATE_MEASURED))
		books_store(&counters->unpredicted, books_load(&counters->unpredicted) + 1);
	next = gate_wait_next(gate, &hold);
	futex_unlock(&gate->lock);
	errno = saved;
	return next;
}

void gate_raise(struct gate *gate, struct stream_state *stream, uint64_t key)
{
	uint64_t now_ns;

	/* All of it is cold after the wait for a request; fetched side by side. */
	__builtin_prefetch(&gate->lock, 1);
	activity_warm(gate);
	request_warm(gate, key);
	futex_lock(&gate->lock);
	now_ns = sluice_now_ns();
	books_follow(gate);
	if (!stream->dead && stream->gate == gate && request_is_tracked(gate))
		request_launch(stream, key, now_ns);
	futex_unlock(&gate->lock);
}

void gate_pass(struct gate *gate, struct lane *lane, struct stream_state *stream, uint32_t cost_ns)
{
	uint64_t now_ns = sluice_now_ns();
	int saved = errno;

	link_tick(gate->index, now_ns);
	futex_lock(&gate->lock);
	books_follow(gate);
	inflight_poll(gate, now_ns);
	books_allow(gate, lane, cost_ns, UINT64_MAX, inflight_interval_ns(UINT64_MAX, true));
	books_take(gate, lane, stream, cost_ns, now_ns);
	futex_unlock(&gate->lock);
	errno = saved;
}

bool gate_is_free(struct gate *gate)
{
	uint32_t flags = atomic_load_explicit(&gate->page->grant.flags, memory_order_relaxed);

	if (!(flags & SLUICE_GRANT_MANAGED))
		return true;
	return (flags & SLUICE_GRANT_LATENCY) &&
	       !(flags & (SLUICE_GRANT_EXCESS | SLUICE_GRANT_PAUSED));
}
