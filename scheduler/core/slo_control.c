/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The controller. A tenant's tail grows with the level as an exponential does: so the distance to
 * its target is measured in octaves, and a step goes part of the way there that the ladder's slope
 * says. (The policy study's loop took the distance as it is, and four times as much of it down as
 * up: noise alone kept it well below its targets.) Upwards a step is short while few requests are
 * known.
 *
 * Every tenant with a target wishes for a level; the device has the least of their wishes.
 */

#include "slo.h"

#include <stddef.h>

#include "entitle.h"
#include "lives.h"
#include "slo_fix.h"

#define STEP_NS 250000000ull
#define STEP_PAIRS 25u
#define LEARN_NS 500000000ull
#define LEARN_EARLY_NS 50000000ull /* a decode loop should not meet best-effort work for long */
#define SILENT_NS 10000000000ull   /* without a request for so long a tenant wishes for nothing */

#define OCTAVES_PER_LEVEL 2300 /* 1024ths: how fast what is added to a tail grows */
/* Of what may be added this much is aimed at: chance, over thousands of requests, moves a tail by a
 * sixth of what is added, and by a percent and a half of the tail. */
#define AIM_PERMILLE 840u
#define AIM_NOISE_PERMILLE 15u
#define UP_PERMILLE 400 /* of the way */
#define DOWN_PERMILLE 600
#define UP_MOST 250
#define DOWN_MOST 1000
#define UP_FEW_PERMILLE 300 /* of a step upwards, with few pairs */
#define PAIRS_MANY 512
#define ADDED_LEAST_SHIFT 4 /* less than a sixteenth of what may be added is noise */
#define BURST_PAIRS 128u    /* a miss by much shows in so few */
#define BURST_PERMILLE 2500u
#define FLOOR_STEPS 3u /* so often late with next to nothing beside it: it cannot be met */
#define PAIRS_JUDGED 100u
/* Memory: few requests in a long time say little of now; and at the least level, with next to nothing
 * let in for so long, what was before says nothing of whether it is still needed. */
#define MEMORY_NS 300000000000ull
#define MEMORY_FLOOR_NS 10000000000ull

static bool slo_has_target(const struct event_tenant *set)
{
	return set->target_ns || set->target_over_permille;
}

/* The tail that its target is on. */
static struct slo_tail *slo_target_tail(const struct event_tenant *set, struct slo_watch *watch)
{
	return set->target_arrival ? &watch->arrival : &watch->service;
}

static uint64_t slo_allowed_ns(const struct event_tenant *set, uint64_t alone_ns)
{
	if (!set->target_ns)
		return fix_muldiv(alone_ns, set->target_over_permille, 1000);
	return set->target_ns > alone_ns ? set->target_ns - alone_ns : 0;
}

static int32_t slo_ceiling(const struct device *device, const struct event_tenant *set)
{
	if (!device->record.mps || !device->record.partitions || !set->target_arrival)
		return LEVEL_IDLE_ONLY;
	if (set->target_over_permille > 200)
		return LEVEL_MOST;
	return set->target_over_permille >= 150 ? LEVEL_CEILING_LOOSE : LEVEL_CEILING;
}

/* ---- one tenant's step ------------------------------------------------------------------------- */

/* How much is added to the tail now, and how much may be. */
struct slo_signal {
	uint32_t pairs;
	uint64_t added_ns, allowed_ns, alone_ns;
};

static struct slo_signal slo_look(const struct event_tenant *set, const struct slo_tail *tail,
				  uint32_t most, int32_t level)
{
	struct slo_tails seen = slo_tail_look(tail, most, level);

	return (struct slo_signal){
		.pairs = seen.pairs,
		.alone_ns = seen.alone_ns,
		.added_ns = seen.shared_ns > seen.alone_ns ? seen.shared_ns - seen.alone_ns : 0,
		.allowed_ns = slo_allowed_ns(set, seen.alone_ns),
	};
}

/* The last few count where they miss the target by much. */
static struct slo_signal slo_signal(const struct event_tenant *set, const struct slo_tail *tail,
				    int32_t level)
{
	struct slo_signal whole = slo_look(set, tail, TAIL_RING, level);
	struct slo_signal burst = slo_look(set, tail, BURST_PAIRS, level);

	if (burst.added_ns > fix_muldiv(burst.allowed_ns, BURST_PERMILLE, 1000) &&
	    burst.added_ns > whole.added_ns)
		return burst;
	/* An absolute target leaves less when the load has risen. */
	if (set->target_ns && burst.allowed_ns < whole.allowed_ns)
		whole.allowed_ns = burst.allowed_ns;
	return whole;
}

static uint64_t slo_aim_ns(const struct slo_signal *signal)
{
	uint64_t aim_ns = fix_muldiv(signal->allowed_ns, AIM_PERMILLE, 1000);
	uint64_t noise_ns = fix_muldiv(signal->alone_ns, AIM_NOISE_PERMILLE, 1000);

	return noise_ns < aim_ns / 3 * 2 ? aim_ns - noise_ns : aim_ns / 3;
}

static int32_t slo_step(const struct slo_signal *signal)
{
	uint64_t aim_ns = slo_aim_ns(signal);
	uint64_t added_ns = signal->added_ns;
	int32_t step;

	if (!aim_ns)
		return -DOWN_MOST;
	if (added_ns < (aim_ns >> ADDED_LEAST_SHIFT) + 1)
		added_ns = (aim_ns >> ADDED_LEAST_SHIFT) + 1;
	step = (fix_log2(aim_ns) - fix_log2(added_ns)) * 1000 / OCTAVES_PER_LEVEL;
	if (step < 0) {
		step = step * DOWN_PERMILLE / 1000;
		return step > -DOWN_MOST ? step : -DOWN_MOST;
	}
	step = step * UP_PERMILLE / 1000;
	if (signal->pairs < PAIRS_MANY * UP_FEW_PERMILLE / 1000)
		step = step * UP_FEW_PERMILLE / 1000;
	else if (signal->pairs < PAIRS_MANY)
		step = step * (int32_t)signal->pairs / PAIRS_MANY;
	return step < UP_MOST ? step : UP_MOST;
}

static void slo_forget_old(const struct device *device, struct slo_tail *tail, uint64_t now_ns)
{
	uint64_t memory_ns = MEMORY_NS;

	if (device->slo.closed_ns && now_ns - device->slo.closed_ns >= MEMORY_FLOOR_NS)
		memory_ns = MEMORY_FLOOR_NS;
	if (now_ns > memory_ns)
		slo_tail_forget(tail, now_ns - memory_ns, PAIRS_JUDGED);
}

static uint32_t slo_count(uint32_t steps, bool again, uint32_t pairs)
{
	if (!again)
		return 0;
	return steps + (pairs >= PAIRS_JUDGED && steps < FLOOR_STEPS);
}

/* Late at the least level, or with nothing beside it, again and again: of the whole memory, since a
 * few requests are late by chance. */
static void slo_judge(const struct event_tenant *set, const struct slo_tail *tail, int32_t level,
		      struct slo_watch *watch)
{
	struct slo_signal whole = slo_look(set, tail, TAIL_RING, level);
	bool at_floor = whole.added_ns > whole.allowed_ns && watch->wish <= LEVEL_LEAST;
	bool late_alone = set->target_ns && whole.alone_ns > set->target_ns;

	watch->floor_steps = slo_count(watch->floor_steps, at_floor, whole.pairs);
	watch->alone_steps = slo_count(watch->alone_steps, late_alone, whole.pairs);
	watch->alone_tail_ns = whole.alone_ns;
}

bool slo_is_at_floor(const struct slo_watch *watch)
{
	return watch->floor_steps >= FLOOR_STEPS;
}

bool slo_is_late_alone(const struct slo_watch *watch)
{
	return watch->alone_steps >= FLOOR_STEPS;
}

static void slo_step_tenant(const struct device *device, const struct tenant *tenant,
			    struct slo_watch *watch, uint64_t now_ns)
{
	const struct event_tenant *set = &tenant->set;
	struct slo_tail *tail = slo_target_tail(set, watch);
	int32_t ceiling = slo_ceiling(device, set), wish;
	struct slo_signal signal;

	if (tail->pairs < SLO_PAIRS_LEAST || tail->pairs - watch->stepped_pairs < STEP_PAIRS ||
	    now_ns - watch->stepped_ns < STEP_NS)
		return;
	watch->stepped_ns = now_ns;
	watch->stepped_pairs = tail->pairs;
	slo_forget_old(device, tail, now_ns);
	signal = slo_signal(set, tail, device->slo.level);
	wish = device->slo.level + slo_step(&signal);
	watch->wish = wish < LEVEL_LEAST ? LEVEL_LEAST : wish < ceiling ? wish : ceiling;
	slo_judge(set, tail, device->slo.level, watch);
}

/* ---- the device ---------------------------------------------------------------------------------- */

static bool slo_is_heard(const struct slo_watch *watch, uint64_t now_ns)
{
	return watch && watch->last_ns && now_ns - watch->last_ns < SILENT_NS;
}

/* The least wish; a tenant without a target, or whose alone is not known yet, wishes for the middle. */
static int32_t slo_wish(const struct device *device, const struct tenant *tenant,
			struct slo_watch *watch)
{
	const struct event_tenant *set = &tenant->set;

	if (!slo_has_target(set) || slo_target_tail(set, watch)->pairs < SLO_PAIRS_LEAST)
		return LEVEL_START;
	return watch->stepped_ns ? watch->wish : device->slo.level;
}

static int32_t slo_level(struct engine *engine, struct device *device, uint64_t now_ns)
{
	int32_t level = LEVEL_MOST;
	bool any = false;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct tenant *tenant = engine->tenant[t];
		struct slo_watch *watch = tenant ? tenant->on[device->index].slo : NULL;
		int32_t wish;

		if (!slo_is_heard(watch, now_ns) || !tenant->on[device->index].latency_gates)
			continue;
		if (slo_has_target(&tenant->set))
			slo_step_tenant(device, tenant, watch, now_ns);
		wish = slo_wish(device, tenant, watch);
		if (wish < level)
			level = wish;
		any = true;
	}
	/* All silent: as it was. */
	return any ? level : device->slo.level;
}

/* A best-effort tenant wants its gpu.min and has not got it: that comes before targets. */
static bool slo_is_promised(const struct engine *engine, const struct device *device,
			    uint64_t now_ns)
{
	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct tenant *tenant = engine->tenant[t];
		const struct share *share = tenant ? &tenant->on[device->index] : NULL;

		if (share && !share->latency_gates && tenant->set.gpu_min_permille &&
		    entitle_is_short(share, now_ns) &&
		    account_used_permille(&share->account, now_ns) < tenant->set.gpu_min_permille)
			return true;
	}
	return false;
}

/* The shortest service: what a busy period's beginning is counted in. */
static uint64_t slo_service_ns(const struct engine *engine, const struct device *device,
			       uint64_t now_ns)
{
	uint64_t least_ns = 0;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct tenant *tenant = engine->tenant[t];
		const struct slo_watch *watch = tenant ? tenant->on[device->index].slo : NULL;
		uint64_t service_ns;

		if (!slo_is_heard(watch, now_ns))
			continue;
		service_ns = slo_alone_typical_ns(&watch->alone);
		if (!service_ns)
			return 0;
		if (!least_ns || service_ns < least_ns)
			least_ns = service_ns;
	}
	return least_ns;
}

static void slo_learn_gaps(const struct device *device, struct slo_watch *watch, uint64_t now_ns)
{
	uint32_t permille = device->slo.setting.quiet_permille;

	uint64_t again_ns = watch->gaps.gaps < GAP_RING ? LEARN_EARLY_NS : LEARN_NS;

	if (now_ns - watch->learned_ns >= again_ns) {
		slo_gap_learn(&watch->gaps);
		slo_gap_expect(&watch->gaps, permille);
		watch->learned_ns = now_ns;
	} else if (watch->gaps.expect_permille != permille) {
		slo_gap_expect(&watch->gaps, permille);
	}
}

/* The longest learned guard; where only one tenant is heard, when its next arrival is expected. */
static void slo_learn(struct engine *engine, struct device *device, uint64_t now_ns,
		      uint64_t *ret_guard_ns)
{
	struct slo_watch *only = NULL;
	uint32_t heard = 0;

	*ret_guard_ns = GUARD_LEAST_NS;
	for (uint32_t t = 0; t < engine->tenants; t++) {
		struct tenant *tenant = engine->tenant[t];
		struct slo_watch *watch = tenant ? tenant->on[device->index].slo : NULL;

		if (!slo_is_heard(watch, now_ns))
			continue;
		slo_learn_gaps(device, watch, now_ns);
		if (watch->gaps.guard_ns > *ret_guard_ns)
			*ret_guard_ns = watch->gaps.guard_ns;
		heard += tenant->on[device->index].latency_gates;
		only = watch;
	}
	device->slo.quiet_from_ns = device->slo.quiet_until_ns = 0;
	if (heard != 1)
		return;
	device->slo.quiet_from_ns = only->gaps.expect_from_ns;
	device->slo.quiet_until_ns = only->gaps.expect_until_ns;
}

/* Beside an active tenant: only where part of the SMs can be had, and its service is known. */
static void slo_beside(const struct engine *engine, struct device *device, uint64_t now_ns)
{
	const struct slo_setting *setting = &device->slo.setting;
	uint64_t service_ns = slo_service_ns(engine, device, now_ns);

	device->slo.cap_sms = 0;
	device->slo.busy_limit_ns = 0;
	if (!device->record.mps || !device->record.partitions || !setting->cap_permille ||
	    !service_ns)
		return;
	device->slo.cap_sms = device->record.sms * setting->cap_permille / 1000;
	device->slo.busy_limit_ns = setting->busy_permille == LADDER_NO_LIMIT
					    ? CORE_NO_LIMIT
					    : service_ns * setting->busy_permille / 1000;
}

void slo_control(struct engine *engine, struct device *device, uint64_t now_ns)
{
	uint64_t guard_ns;
	bool promised;

	if (!device->slo.begun) {
		device->slo.begun = true;
		device->slo.level = LEVEL_START;
	}
	device->slo.level =
		engine->level.fixed ? engine->level.level : slo_level(engine, device, now_ns);
	promised = slo_is_promised(engine, device, now_ns);
	device->slo.setting = slo_ladder(
		promised && device->slo.level < LEVEL_START ? LEVEL_START : device->slo.level);
	if (device->slo.setting.guard_ns < CLOSED_GUARD_NS)
		device->slo.closed_ns = 0;
	else if (!device->slo.closed_ns)
		device->slo.closed_ns = now_ns;
	slo_learn(engine, device, now_ns, &guard_ns);
	if (promised)
		guard_ns = GUARD_LEAST_NS;
	device->slo.busy_guard_ns = guard_ns;
	device->slo.guard_ns =
		device->slo.setting.guard_ns > guard_ns ? device->slo.setting.guard_ns : guard_ns;
	slo_beside(engine, device, now_ns);
}
