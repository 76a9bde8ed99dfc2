/* SPDX-License-Identifier: Apache-2.0 */
#include "lead.h"

#include "sluice/pages.h"

#define LOOK_NS 1000000ull	  /* between two looks while tenants compete ... */
#define LOOK_PER_GATE_NS 50000ull /* ... and rarer with many gates: reading them costs time */
/* A pipe that was full is short of work at a look by chance, between two long launches: so many
 * looks must find it so before others need not wait for its tenant. */
#define LOOKS_FREE 3u

/*
 * A tenant that is held although it has room (its window, a latency process, or its own lies) is
 * taken to use at least this much of its share of what latency processes leave, so that nobody
 * waits for one that is stopped or lies. Guards leave less than what is seen to be taken.
 */
#define FLOOR_PERMILLE 900u
#define FLOOR_GUARDED_PERMILLE 500u
#define FLOOR_SLACK_NS 20000000ull /* completions are seen late by no more */

struct lead_field {
	uint32_t backlogged; /* tenants */
	uint32_t rivals;     /* tenants that were, at some look since the last slow tick */
	uint32_t gates;
	uint64_t look_ns;  /* until the next look */
	uint64_t least_ns; /* virtual time of the slowest */
};

/* What a tenant's virtual time will be when its work in flight is done. */
static uint64_t lead_virtual_ns(const struct share *share)
{
	return share->virtual_ns + entitle_virtual_ns(share, share->in_flight_ns);
}

/* Virtual time of a share that is used in full advances as the clock does. */
static void lead_raise(struct share *share, uint64_t usable_ns)
{
	if (!share->backlogged || !share->had_room) {
		share->floor_ns = share->backlogged ? lead_virtual_ns(share) : share->virtual_ns;
		return;
	}
	share->floor_ns += usable_ns;
	if (share->floor_ns > lead_virtual_ns(share) + FLOOR_SLACK_NS)
		share->virtual_ns += share->floor_ns - FLOOR_SLACK_NS - lead_virtual_ns(share);
}

/* The part of the time since the last look that a tenant need have used of its share. */
static uint64_t lead_usable_ns(struct device *device, const struct lead_terms *terms,
			       uint64_t now_ns)
{
	uint64_t others_ns = entitle_others_ns(device, terms->member);
	uint64_t wall_ns = now_ns - device->looked_ns, usable_ns;

	/* A look was due at each slow tick: before the last one processes took turns. */
	if (wall_ns > 2 * CORE_SLOW_TICK_NS)
		wall_ns = 0;
	usable_ns = entitle_unused_ns(wall_ns, others_ns, device->looked_others_ns);
	device->looked_ns = now_ns;
	device->looked_others_ns = others_ns;
	return usable_ns / 1000 * (terms->guard_ns ? FLOOR_GUARDED_PERMILLE : FLOOR_PERMILLE);
}

/* Wants more than it gets; or did at one of the last looks, and has something in flight still. */
static bool lead_competes(const struct share *share, uint64_t look_ns, uint64_t now_ns)
{
	return share->backlogged || (share->members && share->backlogged_ns &&
				     now_ns - share->backlogged_ns <= LOOKS_FREE * look_ns);
}

static struct lead_field lead_survey(struct engine *engine, struct device *device,
				     const struct lead_terms *terms, uint64_t now_ns)
{
	struct lead_field field = {.least_ns = UINT64_MAX};
	uint64_t usable_ns = lead_usable_ns(device, terms, now_ns);

	for (uint32_t t = 0; t < engine->tenants; t++) {
		if (engine->tenant[t]) {
			engine->tenant[t]->on[device->index].in_flight_ns = 0;
			engine->tenant[t]->on[device->index].members = 0;
		}
	}
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (!terms->member(gate) || gate_is_paused(gate))
			continue;
		field.gates++;
		gate->share->in_flight_ns += gate_in_flight_ns(gate);
		gate->share->members += gate_in_flight(gate) || gate->usage.want;
	}
	field.look_ns = field.gates * LOOK_PER_GATE_NS;
	if (field.look_ns < LOOK_NS)
		field.look_ns = LOOK_NS;
	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device->index] : NULL;
		if (!share)
			continue;
		if (share->backlogged)
			share->backlogged_ns = now_ns;
		share->backlogged = lead_competes(share, field.look_ns, now_ns);
		lead_raise(share, usable_ns);
		if (share->gates && share->backlogged_ns &&
		    now_ns - share->backlogged_ns <= CORE_SLOW_TICK_NS)
			field.rivals++;
		if (!share->backlogged)
			continue;
		field.backlogged++;
		if (lead_virtual_ns(share) < field.least_ns)
			field.least_ns = lead_virtual_ns(share);
	}
	return field;
}

/* How much more the gate may launch: its part of the tenant's lead and of its gpu.max. */
static uint64_t lead_room_ns(struct gate *gate, const struct lead_field *field, uint64_t lead_ns,
			     uint64_t now_ns)
{
	struct share *share = gate->share;
	uint64_t left_ns = entitle_left_ns(gate, now_ns), room_ns = CORE_NO_LIMIT;
	uint32_t members = share->members ? share->members : 1;

	if (field->backlogged >= 2) {
		uint64_t limit_ns = field->least_ns + lead_ns, own_ns = lead_virtual_ns(share);

		room_ns = own_ns < limit_ns ? limit_ns - own_ns : 0;
		room_ns = room_ns * share->entitled_permille / ENTITLE_WHOLE / members;
	}
	if (left_ns == CORE_NO_LIMIT)
		return room_ns;
	left_ns /= members;
	return left_ns < room_ns ? left_ns : room_ns;
}

static void lead_grant(struct device *device, struct gate *gate, const struct lead_terms *terms,
		       const struct lead_field *field, uint64_t now_ns)
{
	uint64_t look_ns = field->look_ns;
	uint64_t lead_ns = LEAD_NS > 2 * look_ns ? LEAD_NS : 2 * look_ns;
	uint64_t room_ns = lead_room_ns(gate, field, lead_ns, now_ns);

	gate->share->had_room = room_ns > 0;
	gate->next.open = true;
	gate->next.window_ns = terms->window_ns;
	gate->next.guard_ns = terms->guard_ns;
	gate->next.credit_ns =
		room_ns == CORE_NO_LIMIT ? CORE_NO_LIMIT : gate->usage.launched_ns + room_ns;
	if (field->gates == 1)
		gate->next.flags |= SLUICE_GRANT_EXCLUSIVE;
	/* A pipe that is empty at this look, at the end of an iteration, is full at the next; whoever
	 * waits for its window says nothing, so nobody would look before the slow tick. */
	if (field->rivals >= 2) {
		gate->next_watch = true;
		if (now_ns + look_ns < device->next_ns)
			device->next_ns = now_ns + look_ns;
	}
	if (gate->share->period_end_ns && gate->share->busy &&
	    gate->share->period_end_ns < device->next_ns)
		device->next_ns = gate->share->period_end_ns;
}

void lead_decide(struct engine *engine, struct device *device, const struct lead_terms *terms,
		 uint64_t now_ns)
{
	struct lead_field field;

	entitle_round(engine, device, terms->member, now_ns);
	field = lead_survey(engine, device, terms, now_ns);
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (terms->member(gate) && !gate_is_paused(gate))
			lead_grant(device, gate, terms, &field, now_ns);
	}
}
