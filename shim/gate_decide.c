/* SPDX-License-Identifier: Apache-2.0 */
#include "gate_decide.h"

#define PROGRESS_DEFAULT_NS 20000000u
#define BESIDE_WINDOW_NS 300000u
#define STUCK_LATEST_NS 500000000u

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t window_of(const struct gate_view *view)
{
	return view->active && view->window_ns > BESIDE_WINDOW_NS ? BESIDE_WINDOW_NS
								  : view->window_ns;
}

/* Room in the window, before the launch that asks. */
static uint64_t window_room(const struct gate_view *view)
{
	uint64_t busy_ns = add(view->in_flight_ns, view->drawn_ns);
	uint64_t window_ns = window_of(view);

	if (window_ns == UINT64_MAX)
		return UINT64_MAX;
	return busy_ns < window_ns ? window_ns - busy_ns : 0;
}

static uint64_t credit_room(const struct gate_view *view)
{
	uint64_t spent_ns = add(view->launched_ns, view->drawn_ns);

	if (view->credit_ns == UINT64_MAX)
		return UINT64_MAX;
	return spent_ns < view->credit_ns ? view->credit_ns - spent_ns : 0;
}

uint64_t gate_met_ns(const struct gate_view *view, uint64_t arrival_ns)
{
	if (view->in_flight_ns)
		return view->in_flight_ns;
	return view->was_done_ns > arrival_ns ? view->was_done_ns - arrival_ns : 0;
}

/* What takes long is not stuck for that, nor for every other time slice being somebody else's; but a
 * prediction may be wrong. */
static uint64_t expected_ns(const struct gate_view *view, uint64_t since_ns)
{
	uint64_t done_ns = add(view->moved_ns, add(view->in_flight_ns, view->in_flight_ns));
	uint64_t latest_ns = add(since_ns, STUCK_LATEST_NS);

	if (done_ns < since_ns)
		return since_ns;
	return done_ns < latest_ns ? done_ns : latest_ns;
}

/* Held work may be what the work in flight waits for, or what a latency tenant's does that was to be
 * done by now. One launch moves moved_ns: the next goes as long after it. Not against `sluice pause`:
 * that was asked. */
static bool is_stuck(const struct gate_view *view, uint64_t held_since_ns, uint64_t now_ns)
{
	uint64_t since_ns = held_since_ns > view->moved_ns ? held_since_ns : view->moved_ns;
	uint64_t progress_ns = view->progress_ns ? view->progress_ns : PROGRESS_DEFAULT_NS;

	if (view->in_flight_ns)
		since_ns = expected_ns(view, since_ns);
	if (!held_since_ns || (view->flags & SLUICE_GRANT_PAUSED) ||
	    now_ns < add(since_ns, progress_ns))
		return false;
	return view->in_flight_ns ||
	       (view->active && view->is_still && now_ns >= add(view->drain_ns, progress_ns));
}

/* Beside an active tenant: only at the beginning of its busy period, on part of the SMs, and with
 * less in flight, since it all has to be waited for. */
static bool may_go_beside(const struct gate_view *view, uint64_t now_ns)
{
	return view->cap_sms && now_ns <= add(view->busy_since_ns, view->busy_limit_ns);
}

/* Would it run into the stretch in which an arrival is expected? */
static bool is_quiet(const struct gate_view *view, uint64_t cost_ns, uint64_t now_ns)
{
	uint64_t from_ns = add(view->busy_since_ns, view->quiet_from_ns);

	return view->quiet_until_ns && view->busy_since_ns &&
	       now_ns < add(view->busy_since_ns, view->quiet_until_ns) &&
	       add(now_ns, add(view->in_flight_ns, cost_ns)) > from_ns;
}

static enum gate_reason hold_reason(const struct gate_view *view, uint64_t cost_ns, uint64_t now_ns,
				    uint64_t *ret_until_ns)
{
	/* Copy engines are not time-sliced: a turn does not keep them for its holder. */
	bool in_passing =
		view->is_large_copy && (view->gate_word & 1) && (view->flags & SLUICE_GRANT_COPIES);

	*ret_until_ns = 0;
	if (((view->gate_word & 1) && !in_passing) || (view->flags & SLUICE_GRANT_PAUSED))
		return GATE_CLOSED;
	if (view->active && !may_go_beside(view, now_ns)) {
		*ret_until_ns = view->drain_ns;
		return GATE_ACTIVE;
	}
	if (!view->active && view->idle_since_ns &&
	    now_ns < add(view->idle_since_ns, view->guard_ns)) {
		*ret_until_ns = add(view->idle_since_ns, view->guard_ns);
		return GATE_GUARD;
	}
	if (!view->active && is_quiet(view, cost_ns, now_ns)) {
		*ret_until_ns = add(view->busy_since_ns, view->quiet_until_ns);
		return GATE_QUIET;
	}
	if (!credit_room(view))
		return GATE_CREDIT;
	/* One launch may always enter an empty pipe, however long it is. */
	if (view->in_flight_ns && cost_ns > window_room(view)) {
		uint64_t over_ns = add(cost_ns, view->drawn_ns);

		/* The part of the window that must come free is at the front of what is in flight. */
		over_ns = over_ns < window_of(view) ? window_of(view) - over_ns : 0;
		*ret_until_ns = view->done_ns > over_ns ? view->done_ns - over_ns : 0;
		return GATE_WINDOW;
	}
	return GATE_OPEN;
}

enum gate_reason gate_decide(const struct gate_view *view, uint64_t cost_ns, uint64_t held_since_ns,
			     uint64_t now_ns, uint64_t *ret_until_ns)
{
	enum gate_reason reason = hold_reason(view, cost_ns, now_ns, ret_until_ns);

	if (reason != GATE_OPEN && is_stuck(view, held_since_ns, now_ns))
		return GATE_FORCED;
	return reason;
}

uint64_t gate_allowance(const struct gate_view *view, uint64_t cost_ns, uint32_t lanes)
{
	uint64_t window_ns = window_room(view), credit_ns = credit_room(view);
	uint64_t room_ns = window_ns < credit_ns ? window_ns : credit_ns;
	uint64_t chunk_ns = UINT64_MAX;

	/* These two hold for a time that is not looked at again on the fast path; what went through a
	 * closed gate opens it for nothing else. */
	if (view->active || view->quiet_until_ns || (view->is_large_copy && (view->gate_word & 1)))
		return 0;
	room_ns = room_ns == UINT64_MAX ? room_ns : room_ns > cost_ns ? room_ns - cost_ns : 0;
	/* What idle lanes have drawn and not used narrows the window: at most a quarter of it. */
	if (lanes > 1 && view->window_ns != UINT64_MAX)
		chunk_ns = view->window_ns / (4 * lanes);
	return room_ns < chunk_ns ? room_ns : chunk_ns;
}
