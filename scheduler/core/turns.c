/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include "lag.h"

#include "sluice/pages.h"

#define LINGER_NS 300000ull /* nothing launched for so long: has nothing to launch */
#define SETTLE_NS 50000ull  /* a launch past its check when the gate closed shows by then */
#define POLL_MIN_NS 100000ull
#define POLL_DRAIN_NS 200000ull /* after the time at which it should be drained */
#define POLL_LONG_NS 5000000ull /* at most: before that time */
/* Looks at a holder that launches, while others wait: often if it left its last turn early. */
#define POLL_BUSY_NS 5000000ull
#define POLL_LIGHT_NS 500000ull
/* Copies so long are worth a change of turn, and who made one lately is looked at as often. */
#define COPY_WORTH_NS 600000ull
#define COPIED_NS 1000000000ull
#define DRAIN_MAX_NS GATE_FLIGHT_MAX_NS
#define CLOCK_RATIO 4u /* a turn lasts at most so many quantums of usable time when others wait */

/* Waits for a turn, and may have one. */
static bool turn_waits(struct gate *gate, const struct turn_terms *terms, uint64_t now_ns)
{
	return terms->member(gate) && !gate_is_paused(gate) && gate->usage.want &&
	       entitle_left_ns(gate, now_ns) > 0;
}

static bool turn_others_wait(struct device *device, const struct turn_terms *terms, uint64_t now_ns)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		if (device->gate[i] != device->turn.gate &&
		    turn_waits(device->gate[i], terms, now_ns))
			return true;
	}
	return false;
}

/* Whatever it launched has had twice its time: whoever does not say so is stopped or wrong. */
static bool turn_is_overdue(const struct gate *gate, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t wait_ns = gate->flight_ns < DRAIN_MAX_NS / 2 ? 2 * gate->flight_ns : DRAIN_MAX_NS;

	return now_ns - since_ns >= wait_ns + SETTLE_NS;
}

/*
 * Nothing but copies is in flight, which need none of the SMs: the rest was seen complete, or should
 * be by now. A thread that waits for a copy sees nothing complete before that has ended.
 */
static bool turn_only_copies(const struct gate *gate, uint64_t since_ns, uint64_t now_ns)
{
	uint64_t copies_ns = gate->usage.copies_ns;

	return copies_ns && (gate->usage.launched_ns - copies_ns <= gate->usage.completed_ns ||
			     now_ns - since_ns + copies_ns >= gate->flight_ns + SETTLE_NS);
}

static uint64_t turn_still_since_ns(const struct gate *gate)
{
	return gate->moved_ns > gate->closed_ns ? gate->moved_ns : gate->closed_ns;
}

static bool turn_is_idle(const struct gate *gate, uint64_t now_ns)
{
	uint64_t since_ns = turn_still_since_ns(gate);

	if (gate->usage.want || now_ns - gate->launched_at_ns < LINGER_NS)
		return false;
	return !gate_in_flight(gate) || turn_only_copies(gate, since_ns, now_ns) ||
	       turn_is_overdue(gate, since_ns, now_ns);
}

/* From the close on: one that goes on claiming launches is not waited for longer. */
static bool turn_is_drained(struct turn *turn, uint64_t now_ns)
{
	const struct gate *gate = turn->gate;

	if (now_ns - gate->closed_ns < SETTLE_NS || gate->read_ns < gate->closed_ns + SETTLE_NS)
		return false;
	/* What it gave way with were copies, and if it launched since, they are. */
	if (!gate_in_flight(gate) || (gate->gave_way && gate->usage.copies_ns) ||
	    turn_only_copies(gate, gate->closed_ns, now_ns))
		return true;
	turn->by_clock |= turn_is_overdue(gate, gate->closed_ns, now_ns);
	return turn_is_overdue(gate, gate->closed_ns, now_ns);
}

/* Is `gate` to be served before `best`? */
static bool turn_is_before(const struct lag *lag, const struct gate *gate, const struct gate *best)
{
	if (!best)
		return true;
	if (gate->share != best->share)
		return lag_ns(lag, gate->share, 0) > lag_ns(lag, best->share, 0);
	return gate->closed_ns < best->closed_ns;
}

/* Of those who wait, or of all: so that, with nobody waiting, a first launch is not held. */
static struct gate *turn_first(struct device *device, const struct turn_terms *terms,
			       const struct lag *lag, bool waits, uint64_t now_ns)
{
	struct gate *first = NULL;

	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (gate == device->turn.gate || !terms->member(gate) || gate_is_paused(gate) ||
		    (waits && !turn_waits(gate, terms, now_ns)))
			continue;
		if (turn_is_before(lag, gate, first))
			first = gate;
	}
	return first;
}

static void turn_open(struct device *device, const struct turn_terms *terms, struct gate *gate,
		      const struct lag *lag, uint64_t now_ns)
{
	struct turn *turn = &device->turn;
	uint64_t quantum_ns = lag_quantum_ns(lag, device, gate->share);

	*turn = (struct turn){.state = TURN_OPEN,
			      .gate = gate,
			      .opened_ns = now_ns,
			      .opened_others_ns = entitle_others_ns(device, terms->member),
			      .start_launched_ns = gate->usage.launched_ns,
			      .quantum_ns = quantum_ns ? quantum_ns : TURN_QUANTUM_NS};
	/* The time to launch something starts now. */
	gate->moved_ns = gate->launched_at_ns = now_ns;
}

static void turn_close(struct device *device, uint64_t now_ns)
{
	struct gate *gate = device->turn.gate;

	gate->gave_way = turn_is_idle(gate, now_ns) ||
			 turn_only_copies(gate, turn_still_since_ns(gate), now_ns);
	device->turn.state = TURN_DRAINING;
	device->turn.closed_ns = now_ns;
	gate->closed_ns = now_ns;
	gate->flight_ns = gate_in_flight_ns(gate);
}

/* Do others wait, and since when? */
static bool turn_is_waited_for(struct device *device, const struct turn_terms *terms,
			       uint64_t now_ns)
{
	struct turn *turn = &device->turn;

	if (!turn_others_wait(device, terms, now_ns)) {
		turn->waited_ns = 0;
		return false;
	}
	if (!turn->waited_ns) {
		turn->waited_ns = now_ns;
		turn->used_ns = turn->gate->used_ns;
		turn->others_ns = entitle_others_ns(device, terms->member);
	}
	return true;
}

/*
 * A turn that ended by the clock kept the GPU from those who waited, whatever it was used for: it
 * costs that time. Otherwise who wants for ever and launches nothing (stopped, or lying) would have
 * the least virtual time, and every turn.
 */
static void turn_charge(struct device *device, const struct turn_terms *terms, uint64_t now_ns)
{
	const struct turn *turn = &device->turn;
	uint64_t usable_ns, used_ns = turn->gate->used_ns - turn->used_ns;

	if (!turn->by_clock || !turn->waited_ns)
		return;
	usable_ns = entitle_unused_ns(now_ns - turn->waited_ns,
				      entitle_others_ns(device, terms->member), turn->others_ns);
	if (used_ns < usable_ns)
		turn->gate->share->virtual_ns +=
			entitle_virtual_ns(turn->gate->share, usable_ns - used_ns);
}

/* Without what latency processes took of it: nobody else could have used that. */
static uint64_t turn_lasted_ns(const struct device *device, const struct turn_terms *terms,
			       uint64_t now_ns)
{
	return entitle_unused_ns(now_ns - device->turn.opened_ns,
				 entitle_others_ns(device, terms->member),
				 device->turn.opened_others_ns);
}

static uint64_t turn_clock_ns(const struct turn *turn)
{
	return CLOCK_RATIO *
	       (turn->quantum_ns > TURN_QUANTUM_NS ? turn->quantum_ns : TURN_QUANTUM_NS);
}

/*
 * While a latency process is active nothing of the holder's runs: whoever is farther behind by then
 * may as well be next. Such a change costs nothing, since the device changes processes anyway.
 */
static bool turn_is_free_to_change(struct engine *engine, struct device *device,
				   const struct turn_terms *terms, uint64_t now_ns)
{
	const struct gate *holder = device->turn.gate, *first;
	bool active = false;
	struct lag lag;

	for (uint32_t i = 0; i < device->gates; i++) {
		const struct gate *gate = device->gate[i];

		active |= gate->told_counts && gate->usage.active && gate->read_ns == now_ns;
	}
	if (!active)
		return false;
	lag = lag_survey(engine, device);
	first = turn_first(device, terms, &lag, true, now_ns);
	return first && first->share != holder->share &&
	       lag_ns(&lag, first->share, 0) >
		       lag_ns(&lag, holder->share, gate_in_flight_ns(holder)) +
			       (int64_t)lag_ahead_ns(device) / 4;
}

static bool turn_is_over(struct engine *engine, struct device *device,
			 const struct turn_terms *terms, uint64_t now_ns)
{
	struct turn *turn = &device->turn;
	struct gate *gate = turn->gate;

	if (gate_is_paused(gate))
		return true;
	if (!turn_is_waited_for(device, terms, now_ns))
		return false;
	if (turn_is_idle(gate, now_ns)) {
		/* It asked for a turn and had no use for it: that costs what it takes too. */
		turn->by_clock = gate->usage.launched_ns == turn->start_launched_ns;
		return true;
	}
	if (entitle_left_ns(gate, now_ns) == 0 ||
	    gate->usage.launched_ns - turn->start_launched_ns >= turn->quantum_ns ||
	    turn_is_free_to_change(engine, device, terms, now_ns))
		return true;
	turn->by_clock = turn_lasted_ns(device, terms, now_ns) >= turn_clock_ns(turn);
	return turn->by_clock;
}

static void turn_next(struct engine *engine, struct device *device, const struct turn_terms *terms,
		      uint64_t now_ns)
{
	struct lag lag = lag_survey(engine, device);
	struct gate *next;

	device->turn.gate = NULL;
	next = turn_first(device, terms, &lag, true, now_ns);
	if (!next)
		next = turn_first(device, terms, &lag, false, now_ns);
	if (!next)
		return;
	turn_open(device, terms, next, &lag, now_ns);
	(void)turn_is_waited_for(device, terms, now_ns);
}

static uint64_t turn_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void turn_note_copies(struct device *device, uint64_t now_ns)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		if (device->gate[i]->usage.copies_ns >= COPY_WORTH_NS)
			device->gate[i]->copied_ns = now_ns;
	}
}

static bool turn_copies(const struct gate *gate, uint64_t now_ns)
{
	return gate->copied_ns && now_ns - gate->copied_ns < COPIED_NS;
}

/* When to look at a holder that others wait for. It stops by itself at its quantum's end, so that
 * nothing need happen before that should be complete, unless it has nothing to launch. */
static uint64_t turn_look_ns(const struct gate *gate, uint64_t end_ns, uint64_t now_ns)
{
	uint64_t done_ns = gate->usage.completed_ns, wait_ns;

	wait_ns = end_ns > done_ns + POLL_MIN_NS ? end_ns - done_ns : POLL_MIN_NS;
	/* Held itself, by a latency process perhaps: it has something. */
	if (gate->moved_ns != now_ns && !gate->usage.want)
		return turn_min(wait_ns, LINGER_NS);
	return turn_min(wait_ns,
			gate->gave_way || turn_copies(gate, now_ns) ? POLL_LIGHT_NS : POLL_BUSY_NS);
}

/* Fills the holder's grant, and asks to look again when that may matter. */
static void turn_grant(struct device *device, const struct turn_terms *terms, uint64_t now_ns)
{
	struct turn *turn = &device->turn;
	struct gate *gate = turn->gate;
	uint64_t left_ns = entitle_left_ns(gate, now_ns);
	uint64_t credit_ns = CORE_NO_LIMIT;

	if (left_ns != CORE_NO_LIMIT) {
		credit_ns = gate->usage.launched_ns + left_ns;
		device->next_ns = gate->share->period_end_ns;
	}
	if (turn_others_wait(device, terms, now_ns)) {
		uint64_t end_ns = turn->start_launched_ns + turn->quantum_ns;

		credit_ns = turn_min(credit_ns, end_ns);
		device->next_ns =
			turn_min(device->next_ns, now_ns + turn_look_ns(gate, end_ns, now_ns));
	}
	gate->next.open = true;
	gate->next.credit_ns = credit_ns;
	gate->next.window_ns = terms->window_ns;
	gate->next.guard_ns = terms->guard_ns;
	gate->next.flags |= SLUICE_GRANT_EXCLUSIVE;
	gate->next_watch = true;
}

/* While it drains: look about when it should be over. */
static void turn_watch_drain(struct device *device, uint64_t now_ns)
{
	const struct gate *gate = device->turn.gate;
	uint64_t due_ns = gate->closed_ns + gate->flight_ns, wait_ns;

	due_ns -= turn_min(gate->usage.copies_ns, gate->flight_ns);
	wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;

	wait_ns = wait_ns > POLL_MIN_NS		     ? turn_min(wait_ns, POLL_LONG_NS)
		  : now_ns == device->turn.closed_ns ? POLL_MIN_NS
						     : POLL_DRAIN_NS;
	device->turn.gate->next_watch = true;
	device->next_ns = now_ns + wait_ns;
}

/* Somebody waits for the next period of its gpu.max: look again then. */
static void turn_watch_periods(struct device *device, const struct turn_terms *terms,
			       uint64_t now_ns)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (terms->member(gate) && gate->usage.want && entitle_left_ns(gate, now_ns) == 0)
			device->next_ns = turn_min(device->next_ns, gate->share->period_end_ns);
	}
}

/* Copy engines are not time-sliced: a turn does not keep them for its holder. Whoever has a limit of
 * its own waits with all it has. */
static void turn_let_copies(struct device *device, const struct turn_terms *terms, uint64_t now_ns)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (!terms->member(gate) || gate->next.open || gate_is_paused(gate) ||
		    entitle_left_ns(gate, now_ns) != CORE_NO_LIMIT)
			continue;
		gate->next.flags |= SLUICE_GRANT_COPIES;
		gate->next.window_ns = terms->window_ns;
		gate->next.guard_ns = terms->guard_ns;
	}
}

void turns_decide(struct engine *engine, struct device *device, const struct turn_terms *terms,
		  uint64_t now_ns)
{
	struct turn *turn = &device->turn;

	turn_note_copies(device, now_ns);
	entitle_round(engine, device, terms->member, now_ns);
	lag_look(device, terms->member, now_ns);
	/* It bypasses by now, or is of another class: nobody can wait for it to drain. */
	if (turn->gate && !terms->member(turn->gate))
		turns_forget(device, turn->gate);
	if (turn->state == TURN_OPEN && turn_is_over(engine, device, terms, now_ns))
		turn_close(device, now_ns);
	if (turn->state == TURN_DRAINING && turn_is_drained(turn, now_ns)) {
		turn_charge(device, terms, now_ns);
		turn->state = TURN_FREE;
	}
	if (turn->state == TURN_FREE)
		turn_next(engine, device, terms, now_ns);
	if (turn->state == TURN_OPEN)
		turn_grant(device, terms, now_ns);
	else if (turn->state == TURN_DRAINING)
		turn_watch_drain(device, now_ns);
	if (terms->copies_pass)
		turn_let_copies(device, terms, now_ns);
	turn_watch_periods(device, terms, now_ns);
}

void turns_forget(struct device *device, const struct gate *gate)
{
	if (device->turn.gate != gate)
		return;
	device->turn.state = TURN_FREE;
	device->turn.gate = NULL;
}
