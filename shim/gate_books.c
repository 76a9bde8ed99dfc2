/* SPDX-License-Identifier: Apache-2.0 */
#include "gate_books.h"

#include "activity.h"
#include "callback.h"
#include "capture.h"
#include "inflight.h"
#include "launch.h"
#include "marker.h"
#include "request.h"
#include "sample.h"
#include "sync.h"
#include "trace.h"
#include "units.h"
#include "watch.h"

static struct gate gates[SLUICE_MAX_DEVICES];

struct gate *gate_at(uint32_t index)
{
	return &gates[index];
}

/* ---- pages and lanes ------------------------------------------------------------------------- */

static uint64_t page_launched(const struct gate *gate)
{
	uint64_t launched_ns = 0;

	for (uint32_t i = 0; i < gate->lanes; i++)
		launched_ns += books_load(&gate->page->slot[i].launched_ns);
	return launched_ns;
}

/* A lane whose thread has not come by since the page was swapped counts where it did, till then. */
static const struct sluice_slot *lane_left(const struct gate *gate, uint32_t number)
{
	const struct sluice_slot *slot = gate->lane[number].slot;

	return slot && slot != &gate->page->slot[number] ? slot : NULL;
}

/* Launched under earlier pages; it grows while lanes still write there. */
static uint64_t earlier_launched(const struct gate *gate)
{
	uint64_t launched_ns = gate->retired_ns;

	for (uint32_t i = 0; i < gate->lanes; i++) {
		const struct sluice_slot *slot = lane_left(gate, i);

		launched_ns += slot ? books_load(&slot->launched_ns) : 0;
	}
	return launched_ns;
}

void gate_rehome(uint32_t index, uint32_t ordinal, struct sluice_channel_device *page)
{
	struct gate *gate = &gates[index];

	futex_lock(&gate->lock);
	if (gate->page != page) {
		struct sluice_channel_device *old = gate->page;

		gate->index = index;
		gate->ordinal = ordinal;
		gate->page = page;
		gate->watch_stale = true;
		atomic_fetch_add_explicit(&gate->page_number, 1, memory_order_release);
		/* Lanes still look at the old page's epoch, which is nobody else's any more: this
		 * sends each of them to its slow path, where it finds the new page. */
		if (old)
			atomic_fetch_add_explicit(&old->grant.epoch, 1, memory_order_release);
	}
	futex_unlock(&gate->lock);
}

/* A page that is new to a gate may have been used before: a slot goes on from what it holds. */
static void lane_bind(struct gate *gate, struct lane *lane, uint32_t slot, bool shared)
{
	const struct sluice_slot *left = lane_left(gate, slot);

	if (left)
		gate->retired_ns += books_load(&left->launched_ns);
	lane->slot = &gate->page->slot[slot];
	lane->grant = &gate->page->grant;
	lane->shared = shared;
	books_store(&lane->stop_at_ns, 0);
	lane->watch_count = 0;
	lane->watch[0] = (struct gate_watch){.word = &activity_none};
	books_store(&lane->drawn_ns, 0);
	if (slot >= gate->lanes)
		gate->lanes = slot + 1;
	/* Last: another thread of a shared lane then sees all of it. */
	atomic_store_explicit(&lane->page_number, gate->page_number, memory_order_release);
}

struct lane *gate_lane(struct gate *gate, uint32_t slot, bool shared)
{
	struct lane *lane = &gate->lane[slot];

	if (!gate_lane_is_bound(gate, lane)) {
		futex_lock(&gate->lock);
		if (!gate_lane_is_bound(gate, lane))
			lane_bind(gate, lane, slot, shared);
		futex_unlock(&gate->lock);
	}
	return lane;
}

/* ---- books; all with gate->lock ---------------------------------------------------------------- */

uint64_t gate_in_flight(const struct gate *gate)
{
	uint64_t launched_ns = earlier_launched(gate) + page_launched(gate);

	return launched_ns > gate->completed_ns ? launched_ns - gate->completed_ns : 0;
}

static void publish(struct gate *gate, uint64_t now_ns)
{
	struct sluice_counters *counters = &gate->page->counters;
	uint64_t earlier_ns = earlier_launched(gate);

	books_store(&counters->completed_at_ns, now_ns);
	/* Pairs with the arbiter's acquire: what is complete is not taken for older than it is. */
	atomic_store_explicit(&counters->completed_ns,
			      gate->completed_ns > earlier_ns ? gate->completed_ns - earlier_ns : 0,
			      memory_order_release);
	books_store(&counters->drained, gate_in_flight(gate) == 0);
}

void gate_completed(struct gate *gate, uint64_t done_ns, uint64_t now_ns)
{
	gate->completed_ns += done_ns;
	gate->moved_ns = now_ns;
	publish(gate, now_ns);
}

void books_take(struct gate *gate, struct lane *lane, struct stream_state *stream, uint32_t cost_ns,
		uint64_t now_ns)
{
	struct sluice_slot *slot = lane->slot;

	if (!gate_in_flight(gate))
		gate->moved_ns = now_ns;
	/* The last slot may have several writers; all of them come here, under the lock. */
	books_store(&slot->launched_ns, books_load(&slot->launched_ns) + cost_ns);
	books_store(&slot->launches, books_load(&slot->launches) + 1);
	atomic_fetch_add_explicit(&stream->launched_ns, cost_ns, memory_order_seq_cst);
	books_store(&gate->page->counters.last_launch_ns, now_ns);
	books_store(&gate->page->counters.drained, 0);
}

/* What another lane launches meanwhile is either before the copy, or moves the sum past it. */
void books_note_copy(struct gate *gate, uint32_t cost_ns)
{
	struct sluice_counters *counters = &gate->page->counters;
	uint64_t until_ns = page_launched(gate);

	if (books_load(&counters->copies_until_ns) != until_ns - cost_ns)
		books_store(&counters->copies_from_ns, until_ns - cost_ns);
	/* Pairs with the arbiter's acquire: a run is never taken for longer than it is. */
	atomic_store_explicit(&counters->copies_until_ns, until_ns, memory_order_release);
}

/* Until when the lane's fast path may go on by itself. */
void books_allow(struct gate *gate, struct lane *lane, uint64_t cost_ns, uint64_t allowance_ns,
		 uint64_t interval_ns)
{
	uint64_t least_ns = allowance_ns < interval_ns ? allowance_ns : interval_ns;
	uint64_t launched_ns;

	/* The page may have been swapped while the launch was held. */
	if (!gate_lane_is_bound(gate, lane))
		lane_bind(gate, lane, (uint32_t)(lane - gate->lane), lane->shared);
	launched_ns = books_load(&lane->slot->launched_ns) + cost_ns;
	books_store(&lane->drawn_ns, launched_ns + least_ns);
	/* Traced launches all come the slow way. */
	books_store(&lane->stop_at_ns,
		    lane->shared || trace_is_on(gate) ? 0 : launched_ns + least_ns);
	lane->epoch = gate->watch_epoch;
	lane->watch_count = gate->watch_count;
	lane->watch[0] = (struct gate_watch){.word = &activity_none};
	for (uint32_t i = 0; i < gate->watch_count; i++) {
		uint64_t word = atomic_load_explicit(&gate->watch[i]->word, memory_order_relaxed);

		/* Active since the decision: a value that the word does not have. */
		lane->watch[i] = (struct gate_watch){
			.word = &gate->watch[i]->word,
			.seen = sluice_activity_active(word) ? ~word : word,
		};
	}
}

/* Follows the grant. The epoch first, with acquire: what it announces is seen after it. */
void books_follow(struct gate *gate)
{
	uint32_t epoch = atomic_load_explicit(&gate->page->grant.epoch, memory_order_acquire);

	if (epoch == gate->watch_epoch && !gate->watch_stale)
		return;
	gate->watch_epoch = epoch;
	gate->watch_stale = false;
	activity_refresh(gate);
	request_retrack(gate);
}

void books_look(struct gate *gate, const struct lane *lane, uint64_t now_ns,
		struct gate_view *ret_view)
{
	const struct sluice_grant *grant = &gate->page->grant;

	books_follow(gate);
	ret_view->gate_word = atomic_load_explicit(&grant->gate, memory_order_acquire);
	ret_view->flags = atomic_load_explicit(&grant->flags, memory_order_relaxed);
	ret_view->credit_ns = books_load(&grant->credit_ns);
	ret_view->window_ns = books_load(&grant->window_ns);
	ret_view->guard_ns = books_load(&grant->guard_ns);
	ret_view->progress_ns = books_load(&grant->progress_ns);
	/* No launch can be kept to part of the SMs yet. */
	ret_view->cap_sms = 0;
	ret_view->busy_limit_ns = 0;
	ret_view->quiet_from_ns = books_load_us(&grant->quiet_from_us);
	ret_view->quiet_until_ns = books_load_us(&grant->quiet_until_us);
	ret_view->launched_ns = page_launched(gate);
	ret_view->in_flight_ns = gate_in_flight(gate);
	ret_view->moved_ns = gate->moved_ns;
	/* The rest has been running since something last completed. */
	ret_view->done_ns = gate->moved_ns + ret_view->in_flight_ns;
	ret_view->drawn_ns = 0;
	for (uint32_t i = 0; i < gate->lanes; i++) {
		const struct lane *other = &gate->lane[i];
		uint64_t drawn_ns = books_load(&other->drawn_ns);
		uint64_t launched_ns = other->slot ? books_load(&other->slot->launched_ns) : 0;

		if (other != lane && drawn_ns > launched_ns)
			ret_view->drawn_ns += drawn_ns - launched_ns;
	}
	activity_look(gate, now_ns, ret_view);
}

/* Takes back what other lanes have drawn and not used: idle threads keep nobody waiting. */
void books_recall(struct gate *gate, const struct lane *lane, struct gate_view *view)
{
	for (uint32_t i = 0; i < gate->lanes; i++) {
		if (&gate->lane[i] == lane)
			continue;
		books_store(&gate->lane[i].stop_at_ns, 0);
		books_store(&gate->lane[i].drawn_ns, 0);
	}
	view->drawn_ns = 0;
}

/* ---- fork ---- */

void gate_forked(void)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (gates[i].page)
			gates[i] = (struct gate){0};
	}
	activity_forked();
	capture_forked();
	sync_forked();
	callback_forked();
	watch_forked();
	request_forked();
	stream_forked();
	marker_forked();
	sample_forked();
	trace_forked();
	launch_forked();
	units_forked();
}
