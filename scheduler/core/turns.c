/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include "sluice/pages.h"

#define LINGER_NS 300000ull /* nothing launched for so long: has nothing to launch */
#define SETTLE_NS 50000ull  /* a launch past its check when the gate closed shows by then */
#define POLL_MIN_NS 100000ull
#define POLL_DRAIN_NS 200000ull /* after the time at which it should be drained */
#define POLL_LONG_NS 5000000ull /* at most: before that time */
/* Looks at a holder that launches, while others wait: often if it left its last turn early. */
#define POLL_BUSY_NS 5000000ull
#define POLL_LIGHT_NS 500000ull
#define DRAIN_MAX_NS GATE_FLIGHT_MAX_NS
#define WALL_RATIO 4u /* a turn lasts at most so many quantums of wall time when others wait */

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

static bool turn_is_idle(const struct gate *gate, uint64_t now_ns)
{
	if (gate->usage.want || now_ns - gate->launched_at_ns < LINGER_NS)
		return false;
	return !gate_in_flight(gate) ||
	       turn_is_overdue(gate,
			       gate->moved_ns > gate->closed_ns ? gate->moved_ns : gate->closed_ns,
			       now_ns);
}

/* From the close on: one that goes on claiming launches is not waited for longer. */
static bool turn_is_drained(struct turn *turn, uint64_t now_ns)
{
	const struct gate *gate = turn->gate;

	if (now_ns - gate->closed_ns < SETTLE_NS || gate->read_ns < gate->closed_ns + SETTLE_NS)
		return false;
	if (!gate_in_flight(gate))
		return true;
	turn->by_clock |= turn_is_overdue(gate, gate->closed_ns, now_ns);
	return turn_is_overdue(gate, gate->closed_ns, now_ns);
}

/* The holder's quantum, in proportion to the least share among those active. */
static uint64_t turn_quantum_ns(struct engine *engine, struct device *device,
				const struct gate *gate)
{
	uint32_t least = ENTITLE_WHOLE, own = gate->share->entitled_permille;
	uint64_t quantum_ns;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device->index] : NULL;
		if (share && share->active && share->entitled_permille < least)
			least = share->entitled_permille;
	}
	if (!least || own < least)
		return TURN_QUANTUM_NS;
	quantum_ns = TURN_QUANTUM_NS * own / least;
	return quantum_ns < TURN_QUANTUM_NS * TURN_QUANTUM_RATIO
		       ? quantum_ns
		       : TURN_QUANTUM_NS * TURN_QUANTUM_RATIO;
}

/* Is `gate` to be served before `best`? */
static bool turn_is_before(const struct gate *gate, const struct gate *best)
{
	if (!best)
		return true;
	if (gate->share != best->share)
		return gate->share->virtual_ns < best->share->virtual_ns;
	return gate->closed_ns < best->closed_ns;
}

/* Who waits comes first; with nobody waiting, anyone, so that its first launch is not held. */
static struct gate *turn_pick(struct device *device, const struct turn_terms *terms,
			      uint64_t now_ns)
{
	struct gate *waiting = NULL, *any = NULL;

	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (!terms->member(gate) || gate_is_paused(gate))
			continue;
		if (turn_waits(gate, terms, now_ns) && turn_is_before(gate, waiting))
			waiting = gate;
		if (turn_is_before(gate, any))
			any = gate;
	}
	return waiting ? waiting : any;
}

static void turn_open(struct engine *engine, struct device *device, struct gate *gate,
		      uint64_t now_ns)
{
	struct turn *turn = &device->turn;

	*turn = (struct turn){.state = TURN_OPEN,
			      .gate = gate,
			      .opened_ns = now_ns,
			      .start_launched_ns = gate->usage.launched_ns,
			      .quantum_ns = turn_quantum_ns(engine, device, gate)};
	/* The time to launch something starts now. */
	gate->moved_ns = gate->launched_at_ns = now_ns;
	if (gate->share->virtual_ns > device->virtual_ns)
		device->virtual_ns = gate->share->virtual_ns;
}

static void turn_close(struct device *device, uint64_t now_ns)
{
	device->turn.state = TURN_DRAINING;
	device->turn.closed_ns = now_ns;
	device->turn.gate->closed_ns = now_ns;
	device->turn.gate->flight_ns = gate_in_flight_ns(device->turn.gate);
	device->turn.gate->gave_way = turn_is_idle(device->turn.gate, now_ns);
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

static bool turn_is_over(struct device *device, const struct turn_terms *terms, uint64_t now_ns)
{
	struct turn *turn = &device->turn;
	struct gate *gate = turn->gate;

	if (gate_is_paused(gate))
		return true;
	if (!turn_is_waited_for(device, terms, now_ns))
		return false;
	if (turn_is_idle(gate, now_ns) || entitle_left_ns(gate, now_ns) == 0 ||
	    gate->usage.launched_ns - turn->start_launched_ns >= turn->quantum_ns)
		return true;
	turn->by_clock = now_ns - turn->opened_ns >= WALL_RATIO * turn->quantum_ns;
	return turn->by_clock;
}

static uint64_t turn_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
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
	return turn_min(wait_ns, gate->gave_way ? POLL_LIGHT_NS : POLL_BUSY_NS);
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
	uint64_t due_ns = device->turn.gate->closed_ns + device->turn.gate->flight_ns;
	uint64_t wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;

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

void turns_decide(struct engine *engine, struct device *device, const struct turn_terms *terms,
		  uint64_t now_ns)
{
	struct turn *turn = &device->turn;

	entitle_round(engine, device, terms->member, now_ns);
	/* It bypasses by now, or is of another class: nobody can wait for it to drain. */
	if (turn->gate && !terms->member(turn->gate))
		turns_forget(device, turn->gate);
	if (turn->state == TURN_OPEN && turn_is_over(device, terms, now_ns))
		turn_close(device, now_ns);
	if (turn->state == TURN_DRAINING && turn_is_drained(turn, now_ns)) {
		turn_charge(device, terms, now_ns);
		turn->state = TURN_FREE;
	}
	if (turn->state == TURN_FREE) {
		struct gate *next = turn_pick(device, terms, now_ns);

		turn->gate = NULL;
		if (next)
			turn_open(engine, device, next, now_ns);
	}
	if (turn->state == TURN_OPEN)
		turn_grant(device, terms, now_ns);
	else if (turn->state == TURN_DRAINING)
		turn_watch_drain(device, now_ns);
	turn_watch_periods(device, terms, now_ns);
}

void turns_forget(struct device *device, const struct gate *gate)
{
	if (device->turn.gate != gate)
		return;
	device->turn.state = TURN_FREE;
	device->turn.gate = NULL;
}
