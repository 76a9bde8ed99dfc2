/* SPDX-License-Identifier: Apache-2.0 */
/* What is learned: who ran beside whom, and how fast. */

#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "pairs_impl.h"

/* Within that nobody begins and ends unseen: a look is due every millisecond while two compete. */
#define LOOK_MAX_NS 5000000ull
/* Without readings at each look a tenant that bypasses, or a latency tenant alone with one other,
 * is known to rest only after so long. */
#define OUTSIDER_REST_NS (2 * CORE_SLOW_TICK_NS)
/* No program completes more predicted time than that in a time of the clock. */
#define SPEED_MOST 8u
#define SPEED_LEAST_MILLIONTHS 1000u

/* BEGAN: runs now, and did not all the time. */
enum pair_doing { PAIR_RAN, PAIR_BEGAN, PAIR_RESTED, PAIR_MIXED };

/* ---- speeds ---------------------------------------------------------------------------------- */

static void speed_sample(struct pair_speed *speed, uint32_t millionths)
{
	int64_t away = (int64_t)millionths - speed->millionths;

	if (speed->samples < PAIRS_MOST_SAMPLES)
		speed->samples++;
	speed->total += speed->total < UINT32_MAX;
	speed->millionths = (uint32_t)(speed->millionths + away / speed->samples);
}

static void speed_add(struct pair_speed *speed, uint64_t wall_ns, uint64_t done_ns)
{
	uint64_t millionths;

	speed->wall_ns += wall_ns;
	speed->done_ns += done_ns < SPEED_MOST * wall_ns ? done_ns : SPEED_MOST * wall_ns;
	if (speed->wall_ns < PAIRS_SAMPLE_NS)
		return;
	millionths = speed->done_ns * 1000 / (speed->wall_ns / 1000);
	speed_sample(speed, millionths > SPEED_LEAST_MILLIONTHS ? (uint32_t)millionths
								: SPEED_LEAST_MILLIONTHS);
	speed->wall_ns = speed->done_ns = 0;
}

struct pair_partner *pair_find(struct pair_set *set, uint32_t tenant)
{
	for (uint32_t i = 0; set && i < set->partners; i++) {
		if (set->partner[i].tenant == tenant)
			return &set->partner[i];
	}
	return NULL;
}

/* Whoever was beside it longest ago gives way. */
static struct pair_partner *pair_make(struct pair_set *set, uint32_t tenant)
{
	struct pair_partner *found = pair_find(set, tenant);

	if (found)
		return found;
	if (set->partners < PAIRS_PARTNERS) {
		found = &set->partner[set->partners++];
	} else {
		found = &set->partner[0];
		for (uint32_t i = 1; i < PAIRS_PARTNERS; i++) {
			if (set->partner[i].seen_ns < found->seen_ns)
				found = &set->partner[i];
		}
	}
	*found = (struct pair_partner){.tenant = tenant};
	return found;
}

/* ---- stretches ------------------------------------------------------------------------------- */

/* What the stretch has so far is evidence; it goes on from its last completion. */
static void stretch_take(struct pair_set *set)
{
	struct pair_partner *partner;

	if (set->to_ns <= set->from_ns)
		return;
	if (set->with == PAIR_ALONE) {
		speed_add(&set->alone, set->to_ns - set->from_ns,
			  set->to_done_ns - set->from_done_ns);
	} else {
		partner = pair_make(set, set->with);
		partner->seen_ns = set->to_ns;
		speed_add(&partner->beside, set->to_ns - set->from_ns,
			  set->to_done_ns - set->from_done_ns);
	}
	set->from_ns = set->to_ns;
	set->from_done_ns = set->to_done_ns;
}

static void stretch_drop(struct pair_set *set)
{
	set->with = PAIR_NOBODY;
	set->from_ns = set->to_ns = 0;
}

/* It was `with` that one from since_ns to now_ns; `anew`: itself not from the beginning. */
static void stretch_go_on(struct pair_set *set, uint32_t with, bool anew, uint64_t since_ns,
			  uint64_t now_ns)
{
	uint64_t at_ns = set->now.completed_at_ns;

	if (anew || with != set->with) {
		stretch_take(set);
		stretch_drop(set);
		set->with = with;
	}
	if (with == PAIR_NOBODY || set->now.completed_ns == set->last.completed_ns)
		return;
	if (at_ns <= since_ns || at_ns > now_ns)
		at_ns = now_ns;
	set->to_ns = at_ns;
	set->to_done_ns = set->now.completed_ns;
	if (!set->from_ns) {
		set->from_ns = at_ns;
		set->from_done_ns = set->now.completed_ns;
	}
	if (set->to_ns - set->from_ns >= PAIRS_SAMPLE_NS)
		stretch_take(set);
}

/* ---- one look -------------------------------------------------------------------------------- */

/* A closed gate whose work is complete needs no reading. */
static bool gate_is_read(const struct gate *gate, uint64_t now_ns)
{
	return gate->read_ns == now_ns ||
	       (gate->told_any && !gate->told.open && !gate_in_flight(gate));
}

static bool outsider_rests(const struct gate *gate, uint64_t since_ns, uint64_t now_ns)
{
	if (gate_in_flight(gate) || gate->usage.active)
		return false;
	return gate->read_ns == now_ns ? gate->launched_at_ns < since_ns
				       : now_ns - gate->launched_at_ns >= OUTSIDER_REST_NS;
}

static bool sums_add(struct share *share, const struct gate *gate, uint32_t look)
{
	struct pair_set *set = share->pairs;

	if (!set) {
		set = share->pairs = calloc(1, sizeof(*set));
		if (!set)
			return false;
		set->with = PAIR_NOBODY;
	}
	if (set->look != look) {
		set->changed |= set->look + 1 != look;
		set->look = look;
		set->now = (struct pair_sums){0};
	}
	/* Sums may wrap; what counts is how they move. */
	set->now.launched_ns += gate->usage.launched_ns;
	set->now.completed_ns += gate->usage.completed_ns;
	set->now.held_ns += gate->usage.held_ns + gate->usage.mem_held_ns;
	set->now.in_flight |= gate_in_flight(gate);
	set->now.wants |= gate->usage.want;
	if (gate->usage.completed_at_ns > set->now.completed_at_ns)
		set->now.completed_at_ns = gate->usage.completed_at_ns;
	return true;
}

/* What it did between two looks. */
static enum pair_doing sums_doing(const struct pair_set *set)
{
	const struct pair_sums *last = &set->last, *now = &set->now;
	bool launched = now->launched_ns != last->launched_ns, held;

	if (set->changed)
		return PAIR_MIXED;
	if (!launched && !last->in_flight && !now->in_flight)
		return PAIR_RESTED;
	/* New credit comes at looks alone: held in between, it still had work all the time. */
	if (last->in_flight && now->in_flight)
		return PAIR_RAN;
	held = now->held_ns != last->held_ns || now->wants || last->wants;
	if (!launched)
		return PAIR_MIXED;
	return !held ? PAIR_RAN : now->in_flight ? PAIR_BEGAN : PAIR_MIXED;
}

struct field {
	uint32_t ran, mixed;
	uint32_t who[2]; /* of those who ran; one who began is mixed to the others */
};

static struct pair_set *set_at(const struct engine *engine, const struct device *device, uint32_t t)
{
	struct pair_set *set =
		engine->tenant[t] ? engine->tenant[t]->on[device->index].pairs : NULL;

	return set && set->look == device->pairs.look ? set : NULL;
}

static struct field field_survey(const struct engine *engine, const struct device *device)
{
	struct field field = {0};

	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct pair_set *set = set_at(engine, device, t);
		enum pair_doing doing = set ? sums_doing(set) : PAIR_RESTED;

		field.mixed += doing == PAIR_MIXED || doing == PAIR_BEGAN;
		if (doing == PAIR_RAN && field.ran++ < 2)
			field.who[field.ran - 1] = t;
	}
	return field;
}

/* Beside whom the tenant did that. */
static uint32_t field_partner(const struct field *field, uint32_t tenant, enum pair_doing doing)
{
	uint32_t others = field->ran - (doing == PAIR_RAN);
	uint32_t mixed = field->mixed - (doing == PAIR_BEGAN);

	if ((doing != PAIR_RAN && doing != PAIR_BEGAN) || mixed || others > 1)
		return PAIR_NOBODY;
	if (!others)
		return PAIR_ALONE;
	return field->who[0] == tenant ? field->who[1] : field->who[0];
}

/* False: something could not be seen; the look is none. */
static bool look_gather(struct device *device, bool (*member)(const struct gate *gate),
			uint64_t now_ns, bool *ret_outsiders)
{
	uint64_t since_ns = device->pairs.looked_ns;

	*ret_outsiders = false;
	for (uint32_t i = 0; i < device->gates; i++) {
		const struct gate *gate = device->gate[i];

		if (!member(gate))
			*ret_outsiders |= !outsider_rests(gate, since_ns, now_ns);
		else if (!gate_is_read(gate, now_ns))
			return false;
	}
	device->pairs.look++;
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (member(gate) && !sums_add(gate->share, gate, device->pairs.look))
			return false;
	}
	return true;
}

void pairs_look(struct engine *engine, struct device *device,
		bool (*member)(const struct gate *gate), uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;
	uint64_t since_ns = pairs->looked_ns;
	struct field field;
	bool counts, outsiders;

	if (!device->record.mps || now_ns == since_ns ||
	    !look_gather(device, member, now_ns, &outsiders))
		return;
	counts = !outsiders && since_ns >= pairs->counts_ns && now_ns - since_ns <= LOOK_MAX_NS;
	field = field_survey(engine, device);
	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct pair_set *set = set_at(engine, device, t);
		enum pair_doing doing;

		if (!set)
			continue;
		doing = sums_doing(set);
		stretch_go_on(set, counts ? field_partner(&field, t, doing) : PAIR_NOBODY,
			      doing == PAIR_BEGAN, since_ns, now_ns);
		set->last = set->now;
		set->changed = false;
	}
	pairs->looked_ns = now_ns;
}

/* ---- lives ----------------------------------------------------------------------------------- */

static void speed_restart(struct pair_speed *speed)
{
	speed->samples = 0;
	speed->wall_ns = speed->done_ns = 0;
}

void pair_restart_alone(struct pair_set *set)
{
	stretch_drop(set);
	speed_restart(&set->alone);
}

void pair_restart_beside(struct pair_set *set, uint32_t tenant)
{
	struct pair_partner *partner = pair_find(set, tenant);

	stretch_drop(set);
	if (partner)
		speed_restart(&partner->beside);
}

void pairs_changed(struct share *share)
{
	struct pair_set *set = share->pairs;

	if (!set)
		return;
	set->changed = true;
	pair_restart_alone(set);
	for (uint32_t i = 0; i < set->partners; i++)
		speed_restart(&set->partner[i].beside);
}

void pairs_forget(struct share *share)
{
	free(share->pairs);
	share->pairs = NULL;
}

void pairs_forget_tenant(struct engine *engine, uint32_t tenant)
{
	for (uint32_t t = 0; t < engine->tenants; t++) {
		for (uint32_t d = 0; engine->tenant[t] && d < CORE_MAX_DEVICES; d++) {
			struct pair_set *set = engine->tenant[t]->on[d].pairs;
			struct pair_partner *partner = pair_find(set, tenant);

			if (!set)
				continue;
			if (set->with == tenant)
				stretch_drop(set);
			if (partner)
				*partner = set->partner[--set->partners];
		}
	}
}
