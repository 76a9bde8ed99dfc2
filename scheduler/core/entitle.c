/* SPDX-License-Identifier: Apache-2.0 */
#include "entitle.h"

#include <string.h>

#include "keep.h"

/* A tenant that neither wanted nor used the device for so long gives up its entitlement: more
 * than a slow tick, since idle gates are read no more often. */
#define ACTIVE_FOR_NS (3 * CORE_SLOW_TICK_NS / 2)
#define SPENT_MAX_NS (1ull << 62)

/* Cuts the minimums in proportion where they exceed the whole. */
static void entitle_cut_minimums(struct entitle_member *member, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += member[i].min_permille;
	for (uint32_t i = 0; sum > ENTITLE_WHOLE && i < count; i++)
		member[i].min_permille =
			(uint32_t)(member[i].min_permille * (uint64_t)ENTITLE_WHOLE / sum);
}

/*
 * One pass: those without a share yet split what is left by weight; returns whether one of them
 * met a limit and got it. Where the cut shares exceed the whole, minimums are met first, else
 * maximums: fixing both in one pass would fix members that the other kind frees.
 */
static bool entitle_pass(struct entitle_member *member, uint32_t count)
{
	uint64_t left = ENTITLE_WHOLE, weights = 0, below = 0, above = 0;
	bool fix_minimums;

	for (uint32_t i = 0; i < count; i++) {
		if (member[i].permille)
			left -= member[i].permille < left ? member[i].permille : left;
		else
			weights += member[i].weight;
	}
	if (!weights)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t share = left * member[i].weight / weights;

		if (member[i].permille)
			continue;
		if (share < member[i].min_permille)
			below += member[i].min_permille - share;
		if (share > member[i].max_permille)
			above += share - member[i].max_permille;
	}
	if (!below && !above)
		return false;
	fix_minimums = below >= above;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t share = left * member[i].weight / weights;

		if (member[i].permille)
			continue;
		if (fix_minimums && share < member[i].min_permille)
			member[i].permille = member[i].min_permille;
		else if (!fix_minimums && share > member[i].max_permille)
			member[i].permille = member[i].max_permille ? member[i].max_permille : 1;
	}
	return true;
}

void entitle_split(struct entitle_member *member, uint32_t count)
{
	uint64_t left = ENTITLE_WHOLE, weights = 0;

	for (uint32_t i = 0; i < count; i++)
		member[i].permille = 0;
	entitle_cut_minimums(member, count);
	/* Each pass fixes at least one member. */
	for (uint32_t pass = 0; pass < count && entitle_pass(member, count); pass++)
		;
	for (uint32_t i = 0; i < count; i++) {
		if (member[i].permille)
			left -= member[i].permille < left ? member[i].permille : left;
		else
			weights += member[i].weight;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!member[i].permille)
			member[i].permille = (uint32_t)(left * member[i].weight / weights);
		if (!member[i].permille)
			member[i].permille = 1;
	}
}

/* Looks at the gates: which tenants want something now, and which were held? */
static void entitle_look(struct engine *engine, struct device *device, gate_filter filter,
			 uint64_t now_ns)
{
	for (uint32_t t = 0; t < engine->tenants; t++) {
		if (engine->tenant[t]) {
			engine->tenant[t]->on[device->index].backlogged = false;
			engine->tenant[t]->on[device->index].busy = false;
		}
	}
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];
		bool held = gate->usage.want || gate->was_held;
		bool launched = gate->usage.launched_ns != gate->looked_launched_ns;

		gate->was_held = false;
		gate->looked_launched_ns = gate->usage.launched_ns;
		if (!filter(gate) || gate_is_paused(gate))
			continue;
		if (held || gate_is_full(gate))
			gate->share->backlogged = true;
		if (held)
			gate->share->held_seen_ns = now_ns;
		/* Between two looks short work comes and goes. */
		if (held || launched || gate_in_flight(gate))
			gate->share->busy = true;
		if (gate->share->busy)
			gate->share->seen_ns = now_ns;
	}
}

/* What one who is not held may be behind those who are. */
#define BEHIND_MAX_NS 20000000ull

/* The least of those who are held; 0: none is. */
static uint64_t entitle_least_held_ns(const struct engine *engine, const struct device *device)
{
	uint64_t least_ns = UINT64_MAX;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct tenant *tenant = engine->tenant[t];

		if (tenant && tenant->on[device->index].backlogged &&
		    tenant->on[device->index].virtual_ns < least_ns)
			least_ns = tenant->on[device->index].virtual_ns;
	}
	return least_ns == UINT64_MAX ? 0 : least_ns;
}

/* The virtual time served now is the least of those who are busy; the others start there when
 * they come back: what they did not use is lent, not saved. So is what those leave who are busy
 * and have all that they want. */
static void entitle_advance(struct engine *engine, struct device *device)
{
	uint64_t least_ns = UINT64_MAX, held_ns = entitle_least_held_ns(engine, device);

	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct tenant *tenant = engine->tenant[t];

		if (tenant && tenant->on[device->index].busy &&
		    tenant->on[device->index].virtual_ns < least_ns)
			least_ns = tenant->on[device->index].virtual_ns;
	}
	if (least_ns != UINT64_MAX && least_ns > device->virtual_ns)
		device->virtual_ns = least_ns;
	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device->index] : NULL;
		if (share && !share->was_busy && share->virtual_ns < device->virtual_ns)
			share->virtual_ns = device->virtual_ns;
		if (share && !share->backlogged && held_ns > share->virtual_ns + BEHIND_MAX_NS)
			share->virtual_ns = held_ns - BEHIND_MAX_NS;
		if (share)
			share->was_busy = share->busy;
	}
}

void entitle_round(struct engine *engine, struct device *device, gate_filter filter,
		   uint64_t now_ns)
{
	struct entitle_member member[CORE_MAX_TENANTS];
	struct share *whose[CORE_MAX_TENANTS];
	uint32_t count = 0;

	entitle_look(engine, device, filter, now_ns);
	keep_round(engine, device, filter, now_ns);
	entitle_advance(engine, device);
	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct tenant *tenant = engine->tenant[t];
		struct share *share = tenant ? &tenant->on[device->index] : NULL;

		if (!share)
			continue;
		share->active =
			share->gates && share->seen_ns && now_ns - share->seen_ns <= ACTIVE_FOR_NS;
		if (!share->active)
			continue;
		member[count].weight = tenant->set.weight;
		member[count].min_permille = tenant->set.gpu_min_permille;
		member[count].max_permille = tenant->set.gpu_max_permille;
		whose[count++] = share;
	}
	entitle_split(member, count);
	for (uint32_t i = 0; i < count; i++)
		whose[i]->entitled_permille = member[i].permille;
}

bool entitle_is_short(const struct share *share, uint64_t now_ns)
{
	return share->gates && share->held_seen_ns && now_ns - share->held_seen_ns <= ACTIVE_FOR_NS;
}

/* So many periods of so much are over: what was not used is lost, what was overdrawn is owed. */
static uint64_t entitle_owed_ns(uint64_t spent_ns, uint64_t periods, uint64_t budget_ns)
{
	if (!budget_ns || spent_ns / budget_ns < periods)
		return 0;
	return spent_ns - periods * budget_ns;
}

static uint32_t entitle_took_permille(const struct share *share, uint64_t period_ns)
{
	uint64_t taken_ns = share->spent_ns > share->kept_ns ? share->spent_ns : share->kept_ns;

	return taken_ns < period_ns ? (uint32_t)(taken_ns * ENTITLE_WHOLE / period_ns)
				    : ENTITLE_WHOLE;
}

uint64_t entitle_left_of_ns(struct gate *gate, uint32_t max_permille, uint64_t now_ns)
{
	uint64_t period_ns = gate_set(gate)->period_ns, taken_ns;
	uint64_t budget_ns = period_ns / ENTITLE_WHOLE * max_permille;
	struct share *share = gate->share;

	if (max_permille >= ENTITLE_WHOLE) {
		share->period_end_ns = 0;
		share->took_permille = 0;
		return CORE_NO_LIMIT;
	}
	if (!share->period_end_ns) {
		share->period_end_ns = now_ns + period_ns;
		share->spent_ns = share->kept_ns = 0;
	}
	if (now_ns >= share->period_end_ns) {
		uint64_t periods = (now_ns - share->period_end_ns) / period_ns + 1;

		share->took_permille = entitle_took_permille(share, periods * period_ns);
		share->period_end_ns += periods * period_ns;
		share->spent_ns = entitle_owed_ns(share->spent_ns, periods, budget_ns);
		share->kept_ns = entitle_owed_ns(share->kept_ns, periods, budget_ns);
	}
	taken_ns = share->spent_ns > share->kept_ns ? share->spent_ns : share->kept_ns;
	if (taken_ns >= budget_ns)
		return 0;
	if (gate->process->latency)
		keep_look(gate->device, now_ns);
	return budget_ns - taken_ns;
}

uint64_t entitle_left_ns(struct gate *gate, uint64_t now_ns)
{
	return entitle_left_of_ns(gate, gate_set(gate)->gpu_max_permille, now_ns);
}

uint64_t entitle_virtual_ns(const struct share *share, uint64_t gpu_ns)
{
	uint32_t permille = share->entitled_permille ? share->entitled_permille : ENTITLE_WHOLE;

	return gpu_ns * ENTITLE_WHOLE / permille;
}

void entitle_charge(struct gate *gate, uint64_t used_ns, uint64_t launched_ns)
{
	struct share *share = gate->share;

	gate->used_ns += used_ns;
	share->account.used_ns += used_ns;
	share->virtual_ns += entitle_virtual_ns(share, used_ns);
	/* Claims of many processes must not add up to little. */
	share->spent_ns = launched_ns < SPENT_MAX_NS - share->spent_ns
				  ? share->spent_ns + launched_ns
				  : SPENT_MAX_NS;
}

uint64_t entitle_others_ns(const struct device *device, gate_filter filter)
{
	uint64_t used_ns = 0;

	for (uint32_t i = 0; i < device->gates; i++)
		used_ns += filter(device->gate[i]) ? 0 : device->gate[i]->used_ns;
	return used_ns;
}

uint64_t entitle_unused_ns(uint64_t wall_ns, uint64_t others_ns, uint64_t others_before_ns)
{
	/* Less than before: one of them has gone. */
	uint64_t taken_ns = others_ns > others_before_ns ? others_ns - others_before_ns : 0;

	return taken_ns < wall_ns ? wall_ns - taken_ns : 0;
}
