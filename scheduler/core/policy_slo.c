/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `slo`: latency-critical processes are never held; best-effort ones launch nothing in the first
 * moments (guard) after a latency process went idle, then keep at most a window of predicted work
 * in flight, one process at a time where processes cannot overlap. How long and how much follows
 * from the level (slo.h): the controller's where a tenant has a target, else 1: guard 60 us,
 * window 300 us, which costs the latency tenant's p99 about 1 % in the policy study and gives 0.95
 * of its idle time. The hold while a latency process is active is not decided here: every
 * best-effort gate sees the activity page at its next launch.
 *
 * Above its own gpu.max, or when it would break a waiting best-effort tenant's gpu.min, a latency
 * tenant's excess is gated too: it gets credit up to the limit, period by period, and while it has
 * none its activity does not count.
 *
 * SLUICE_GRANT_EXCLUSIVE (durations may be sampled) is given to the one best-effort process that
 * may run, although a latency process may cut in: that is a burst, the others then hold, and the
 * sampler keeps a low quantile. A latency process gets it when it is the only one.
 */

#include "lead.h"
#include "turns.h"

#include "sluice/pages.h"

#define SLO_IDLE_WINDOW_NS 2000000ull /* no latency process on the device */
#define SLO_LOOK_NS 1000000ull

static bool slo_is_latency(const struct gate *gate)
{
	return gate->process->latency && gate_is_managed(gate);
}

static bool slo_is_best_effort(const struct gate *gate)
{
	return !gate->process->latency && gate_is_managed(gate);
}

static uint32_t slo_count(const struct device *device, gate_filter filter)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < device->gates; i++)
		count += filter(device->gate[i]);
	return count;
}

static bool slo_has_turns(const struct device *device)
{
	return (!device->record.mps && slo_count(device, slo_is_best_effort) > 1) ||
	       pairs_are_in_turns(device);
}

/* What latency tenants must leave: the minimums of best-effort tenants that were held lately. */
static uint32_t slo_reserved_permille(const struct engine *engine, const struct device *device,
				      uint64_t now_ns)
{
	uint32_t reserved = 0;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct tenant *tenant = engine->tenant[t];

		if (tenant && entitle_is_short(&tenant->on[device->index], now_ns))
			reserved += tenant->set.gpu_min_permille;
	}
	return reserved < ENTITLE_WHOLE ? reserved : ENTITLE_WHOLE;
}

/* Of what latency tenants may take in all, what this one may: its part, or what the others leave.
 * Each within the whole of it, they would together take twice as much. */
static uint32_t slo_part_permille(const struct engine *engine, const struct device *device,
				  const struct share *own, uint32_t whole)
{
	uint32_t count = 0, others = 0;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device->index] : NULL;

		if (!share || !share->latency_gates)
			continue;
		count++;
		if (share != own)
			others += share->took_permille;
	}
	if (count > 1 && others > whole - whole / count)
		return whole / count;
	return others < whole ? whole - others : 0;
}

/* Credit up to gpu.max and what others are promised, per period; true: it has any left. */
static bool slo_limit_latency(const struct engine *engine, struct device *device, struct gate *gate,
			      uint32_t reserved, uint64_t now_ns)
{
	uint32_t limit =
		reserved ? slo_part_permille(engine, device, gate->share, ENTITLE_WHOLE - reserved)
			 : ENTITLE_WHOLE;
	uint32_t max = gate_set(gate)->gpu_max_permille;
	uint64_t left_ns, look_ns;

	if (max < limit)
		limit = max;
	if (limit >= ENTITLE_WHOLE)
		return true;
	left_ns = entitle_left_of_ns(gate, limit, now_ns);
	gate->next.credit_ns = gate->usage.launched_ns + left_ns;
	gate->next_watch = true;
	/* Its gate lets it pass the limit: look when it may be there. */
	look_ns = left_ns ? now_ns + (left_ns > SLO_LOOK_NS ? left_ns : SLO_LOOK_NS)
			  : gate->share->period_end_ns;
	if (look_ns > gate->share->period_end_ns)
		look_ns = gate->share->period_end_ns;
	if (look_ns < device->next_ns)
		device->next_ns = look_ns;
	return left_ns > 0;
}

static void slo_grant_latency(const struct engine *engine, struct device *device, uint64_t now_ns)
{
	bool alone = slo_count(device, slo_is_latency) == 1;
	uint32_t others = slo_count(device, slo_is_best_effort);
	uint32_t reserved = slo_reserved_permille(engine, device, now_ns);

	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (!slo_is_latency(gate) || gate_is_paused(gate))
			continue;
		gate->next.open = true;
		gate->next.flags |= SLUICE_GRANT_LATENCY;
		if (alone)
			gate->next.flags |= SLUICE_GRANT_EXCLUSIVE;
		if (others)
			gate->next.flags |= SLUICE_GRANT_WAITERS;
		gate->next.credit_ns = gate->next.window_ns = CORE_NO_LIMIT;
		/* A busy period survives gaps shorter than that. */
		gate->next.guard_ns = device->slo.busy_guard_ns;
		/* What it takes is not held against those who compete for the rest. */
		gate->next_watch = others > 1;
		gate->next_counts = slo_limit_latency(engine, device, gate, reserved, now_ns);
		if (!gate->next_counts)
			gate->next.flags |= SLUICE_GRANT_EXCESS;
	}
}

/* What best-effort gates may do beside an active tenant, or before one is expected. */
static void slo_grant_beside(struct device *device)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (!slo_is_best_effort(gate) || !gate->next.open)
			continue;
		gate->next.cap_sms = device->slo.cap_sms;
		gate->next.busy_limit_ns = device->slo.busy_limit_ns;
		gate->next.quiet_from_ns = device->slo.quiet_from_ns;
		gate->next.quiet_until_ns = device->slo.quiet_until_ns;
	}
}

static void slo_decide(struct engine *engine, struct device *device, uint64_t now_ns)
{
	bool guarded = slo_count(device, slo_is_latency) > 0;
	uint64_t guard_ns, window_ns;

	slo_control(engine, device, now_ns);
	guard_ns = guarded ? device->slo.guard_ns : 0;
	window_ns = guarded		? device->slo.setting.window_ns
		    : device->gates > 1 ? SLO_IDLE_WINDOW_NS
					: CORE_NO_LIMIT;
	pairs_look(engine, device, slo_is_best_effort, now_ns);
	if (device->record.mps && !pairs_take_turns(engine, device, now_ns)) {
		struct lead_terms terms = {
			.window_ns = window_ns, .guard_ns = guard_ns, .member = slo_is_best_effort};

		lead_decide(engine, device, &terms, now_ns);
	} else {
		/* A latency process's own copies would wait for those of all. */
		struct turn_terms terms = {.window_ns = window_ns,
					   .guard_ns = guard_ns,
					   .member = slo_is_best_effort,
					   .copies_pass = !guarded};

		turns_decide(engine, device, &terms, now_ns);
		pairs_watch(device, now_ns);
	}
	slo_grant_latency(engine, device, now_ns);
	if (guarded)
		slo_grant_beside(device);
}

const struct policy policy_slo = {
	.name = "slo",
	.decide = slo_decide,
	.has_turns = slo_has_turns,
};
