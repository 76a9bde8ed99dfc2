/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include <errno.h>

#include "activity.h"
#include "capture.h"
#include "gate_wait.h"
#include "inflight.h"
#include "launch.h"
#include "link.h"
#include "request.h"
#include "sync.h"
#include "sluice/clock.h"

#define WANT_CREDIT_NS 10000000u /* between two words to the arbiter that credit has run out */
#define WANT_AGAIN_NS 100000000u /* while one and the same hold lasts */

static struct gate gates[SLUICE_MAX_DEVICES];

struct gate *gate_at(uint32_t index)
{
	return &gates[index];
}

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

/* ---- pages and lanes ------------------------------------------------------------------------- */

static uint64_t page_launched(const struct gate *gate)
{
	uint64_t launched_ns = 0;

	for (uint32_t i = 0; i < gate->lanes; i++)
		launched_ns += load(&gate->page->slot[i].launched_ns);
	return launched_ns;
}

void gate_rehome(uint32_t index, uint32_t ordinal, struct sluice_channel_device *page)
{
	struct gate *gate = &gates[index];

	futex_lock(&gate->lock);
	if (gate->page != page) {
		struct sluice_channel_device *old = gate->page;

		if (old)
			gate->retired_ns += page_launched(gate);
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
	lane->slot = &gate->page->slot[slot];
	lane->grant = &gate->page->grant;
	lane->shared = shared;
	store(&lane->stop_at_ns, 0);
	lane->watch_count = 0;
	lane->watch[0] = (struct gate_watch){.word = &activity_none};
	store(&lane->drawn_ns, 0);
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
	uint64_t launched_ns = gate->retired_ns + page_launched(gate);

	return launched_ns > gate->completed_ns ? launched_ns - gate->completed_ns : 0;
}

static void publish(struct gate *gate)
{
	struct sluice_counters *counters = &gate->page->counters;

	store(&counters->completed_ns,
	      gate->completed_ns > gate->retired_ns ? gate->completed_ns - gate->retired_ns : 0);
	store(&counters->drained, gate_in_flight(gate) == 0);
}

void gate_completed(struct gate *gate, uint64_t done_ns, uint64_t now_ns)
{
	gate->completed_ns += done_ns;
	gate->moved_ns = now_ns;
	publish(gate);
}

static void lane_take(struct gate *gate, struct lane *lane, struct stream_state *stream,
		      uint32_t cost_ns, uint64_t now_ns)
{
	struct sluice_slot *slot = lane->slot;

	if (!gate_in_flight(gate))
		gate->moved_ns = now_ns;
	/* The last slot may have several writers; all of them come here, under the lock. */
	store(&slot->launched_ns, load(&slot->launched_ns) + cost_ns);
	store(&slot->launches, load(&slot->launches) + 1);
	atomic_fetch_add_explicit(&stream->launched_ns, cost_ns, memory_order_seq_cst);
	store(&gate->page->counters.last_launch_ns, now_ns);
	store(&gate->page->counters.drained, 0);
}

/* Until when the lane's fast path may go on by itself. */
static void lane_allow(struct gate *gate, struct lane *lane, uint64_t allowance_ns,
		       uint64_t interval_ns)
{
	uint64_t launched_ns = load(&lane->slot->launched_ns);
	uint64_t least_ns = allowance_ns < interval_ns ? allowance_ns : interval_ns;

	store(&lane->drawn_ns, launched_ns + least_ns);
	store(&lane->stop_at_ns, lane->shared ? 0 : launched_ns + least_ns);
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
static void gate_follow(struct gate *gate)
{
	uint32_t epoch = atomic_load_explicit(&gate->page->grant.epoch, memory_order_acquire);

	if (epoch == gate->watch_epoch && !gate->watch_stale)
		return;
	gate->watch_epoch = epoch;
	gate->watch_stale = false;
	activity_refresh(gate);
	request_retrack(gate);
}

static void gate_look(struct gate *gate, const struct lane *lane, uint64_t now_ns,
		      struct gate_view *ret_view)
{
	const struct sluice_grant *grant = &gate->page->grant;

	gate_follow(gate);
	ret_view->gate_word = atomic_load_explicit(&grant->gate, memory_order_acquire);
	ret_view->flags = atomic_load_explicit(&grant->flags, memory_order_relaxed);
	ret_view->credit_ns = load(&grant->credit_ns);
	ret_view->window_ns = load(&grant->window_ns);
	ret_view->guard_ns = load(&grant->guard_ns);
	ret_view->progress_ns = load(&grant->progress_ns);
	ret_view->launched_ns = page_launched(gate);
	ret_view->in_flight_ns = gate_in_flight(gate);
	ret_view->moved_ns = gate->moved_ns;
	/* The rest has been running since something last completed. */
	ret_view->done_ns = gate->moved_ns + ret_view->in_flight_ns;
	ret_view->drawn_ns = 0;
	for (uint32_t i = 0; i < gate->lanes; i++) {
		const struct lane *other = &gate->lane[i];
		uint64_t drawn_ns = load(&other->drawn_ns);
		uint64_t launched_ns = load(&gate->page->slot[i].launched_ns);

		if (other != lane && drawn_ns > launched_ns)
			ret_view->drawn_ns += drawn_ns - launched_ns;
	}
	activity_look(gate, now_ns, ret_view);
}

/* Takes back what other lanes have drawn and not used: idle threads keep nobody waiting. */
static void lanes_recall(struct gate *gate, const struct lane *lane, struct gate_view *view)
{
	for (uint32_t i = 0; i < gate->lanes; i++) {
		if (&gate->lane[i] == lane)
			continue;
		store(&gate->lane[i].stop_at_ns, 0);
		store(&gate->lane[i].drawn_ns, 0);
	}
	view->drawn_ns = 0;
}

/* ---- holding ------------------------------------------------------------------------------------ */

static void hold_count(struct gate *gate, struct gate_hold *hold, uint64_t now_ns)
{
	struct sluice_counters *counters = &gate->page->counters;

	if (hold->counted || hold->reason == GATE_WINDOW)
		return;
	hold->counted = true;
	if (!gate->holding++)
		store(&counters->held_since_ns, now_ns);
	store(&counters->held, load(&counters->held) + 1);
	store(&counters->sleeping, gate->holding);
}

static void hold_end(struct gate *gate, const struct gate_hold *hold, uint64_t now_ns)
{
	struct sluice_counters *counters = &gate->page->counters;
	uint64_t since_ns = load(&counters->held_since_ns);

	if (!hold->counted)
		return;
	if (!--gate->holding) {
		store(&counters->held_since_ns, 0);
		if (since_ns && now_ns > since_ns)
			store(&counters->held_ns, load(&counters->held_ns) + now_ns - since_ns);
	}
	store(&counters->sleeping, gate->holding);
}

/* The arbiter reads from the page who is held; it must be told only that it has begun. A gate that
 * has not moved since it was told says that it knows. */
static bool want_is_due(struct gate *gate, const struct gate_view *view, enum gate_reason reason,
			uint64_t now_ns)
{
	bool told = gate->want_ns && gate->want_word == view->gate_word;
	uint64_t again_ns = reason == GATE_CREDIT ? WANT_CREDIT_NS : WANT_AGAIN_NS;

	if (reason == GATE_WINDOW || reason == GATE_GUARD ||
	    (told && now_ns - gate->want_ns < again_ns))
		return false;
	gate->want_ns = now_ns;
	gate->want_word = view->gate_word;
	return true;
}

/* The first launch that meets a request tells status what best-effort work the request met. What
 * completed between the arrival and this launch is not in it: a launch or a wait's end away. */
static void arrival_count(struct gate *gate, const struct gate_view *view)
{
	uint64_t arrival_ns;

	if (!view->active || !view->activity)
		return;
	arrival_ns = load(&view->activity->busy_since_ns);
	if (arrival_ns == gate->arrival_ns)
		return;
	gate->arrival_ns = arrival_ns;
	sluice_hist_add(&gate->page->be_in_flight, view->in_flight_ns);
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
	uint64_t now_ns = sluice_now_ns();
	enum link_state link;
	bool want, told;

	hold->now_ns = now_ns;
	futex_unlock(&gate->lock);
	link = link_tick(gate->index, now_ns);
	futex_lock(&gate->lock);
	inflight_poll(gate, now_ns);
	gate_look(gate, lane, now_ns, view);
	arrival_count(gate, view);
	hold->reason = gate_decide(view, cost_ns, hold->since_ns, now_ns, &hold->until_ns);
	if ((hold->reason == GATE_WINDOW || hold->reason == GATE_CREDIT) && view->drawn_ns) {
		lanes_recall(gate, lane, view);
		hold->reason = gate_decide(view, cost_ns, hold->since_ns, now_ns, &hold->until_ns);
	}
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

_Atomic uint32_t *gate_enter(struct gate *gate, struct lane *lane, struct stream_state *stream,
			     uint32_t cost_ns, bool known)
{
	struct gate_hold hold = {0};
	struct gate_view view;
	_Atomic uint32_t *next;
	uint64_t now_ns;
	int saved = errno;

	futex_lock(&gate->lock);
	while (!gate_try(gate, lane, cost_ns, &hold, &view))
		continue;
	now_ns = hold.now_ns;
	hold_end(gate, &hold, now_ns);
	if (hold.reason == GATE_FORCED) {
		struct sluice_counters *counters = &gate->page->counters;

		store(&counters->forced, load(&counters->forced) + 1);
		gate->moved_ns = now_ns;
	}
	if (!known)
		store(&gate->page->counters.unpredicted,
		      load(&gate->page->counters.unpredicted) + 1);
	lane_take(gate, lane, stream, cost_ns, now_ns);
	lane_allow(gate, lane,
		   hold.reason == GATE_FORCED ? 0 : gate_allowance(&view, cost_ns, gate->lanes),
		   inflight_interval_ns(view.window_ns, false));
	next = gate_wait_next(gate, &hold);
	futex_unlock(&gate->lock);
	errno = saved;
	return next;
}

void gate_raise(struct gate *gate, struct stream_state *stream, uint64_t key)
{
	uint64_t now_ns = sluice_now_ns();

	futex_lock(&gate->lock);
	gate_follow(gate);
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
	gate_follow(gate);
	inflight_poll(gate, now_ns);
	lane_take(gate, lane, stream, cost_ns, now_ns);
	lane_allow(gate, lane, UINT64_MAX, inflight_interval_ns(UINT64_MAX, true));
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

void gate_forked(void)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (gates[i].page)
			gates[i] = (struct gate){0};
	}
	activity_forked();
	capture_forked();
	sync_forked();
	request_forked();
	stream_forked();
	inflight_forked();
	sample_forked();
	launch_forked();
}
