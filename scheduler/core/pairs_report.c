/* SPDX-License-Identifier: Apache-2.0 */
/* Slowdowns and verdicts, for status. */

#include "pairs_impl.h"

static bool report_learned(const struct engine *engine, uint32_t tenant, uint32_t partner,
			   uint32_t device, struct engine_pair *ret_pair)
{
	const struct pair_partner *beside = pair_find(pair_set_of(engine, device, tenant), partner);
	const struct pairs_device *pairs = &engine->device[device]->pairs;
	bool sure, turns = pairs->phase != PAIRS_BESIDE &&
			   (pairs->a == tenant || pairs->b == tenant) &&
			   (pairs->a == partner || pairs->b == partner);

	if (!beside || !beside->beside.total)
		return false;
	*ret_pair = (struct engine_pair){
		.slowdown_permille = pair_xi(engine, device, tenant, partner, &sure),
		.samples = beside->beside.total,
		.verdict = pair_judge(engine, engine->device[device], tenant, partner, turns),
		.turns = turns};
	return true;
}

/* The only best-effort tenant on the device: what a latency tenant meets is its work. */
static bool is_only_partner(const struct engine *engine, uint32_t partner, uint32_t device)
{
	bool there = false;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device] : NULL;
		bool works = share && share->gates > share->latency_gates;

		if (works && t != partner)
			return false;
		there |= works && t == partner;
	}
	return there;
}

/* A latency tenant is not timed: its requests are, as they are scheduled, and its target judges. */
static bool report_latency(const struct engine *engine, uint32_t tenant, uint32_t partner,
			   uint32_t device, struct engine_pair *ret_pair)
{
	const struct event_tenant *set;
	uint64_t shared_ns, alone_ns, target_ns, xi;
	struct engine_slo slo;

	if (!engine_slo_report(engine, tenant, device, &slo) ||
	    !is_only_partner(engine, partner, device))
		return false;
	set = &engine->tenant[tenant]->set;
	shared_ns = set->target_arrival ? slo.arrival_ns : slo.service_ns;
	alone_ns = set->target_arrival ? slo.arrival_alone_ns : slo.service_alone_ns;
	if (!shared_ns || alone_ns < 1000)
		return false;
	xi = shared_ns / (alone_ns / 1000);
	if (xi > PAIRS_XI_MAX)
		xi = PAIRS_XI_MAX;
	target_ns = set->target_over_permille ? alone_ns / 1000 * (1000 + set->target_over_permille)
					      : set->target_ns;
	*ret_pair = (struct engine_pair){.slowdown_permille = xi < 1000 ? 1000 : (uint32_t)xi,
					 .samples = slo.pairs};
	if (target_ns)
		ret_pair->verdict =
			pairs_meets_target(ret_pair->slowdown_permille, alone_ns, target_ns)
				? PAIR_SHARE
				: PAIR_WAIT;
	return true;
}

bool engine_pair_report(const struct engine *engine, uint32_t tenant, uint32_t partner,
			uint32_t device, struct engine_pair *ret_pair)
{
	if (tenant >= CORE_MAX_TENANTS || partner >= CORE_MAX_TENANTS ||
	    device >= CORE_MAX_DEVICES || !engine->device[device] || !engine->tenant[tenant])
		return false;
	return report_learned(engine, tenant, partner, device, ret_pair) ||
	       report_latency(engine, tenant, partner, device, ret_pair);
}
