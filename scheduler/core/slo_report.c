/* SPDX-License-Identifier: Apache-2.0 */
#include "slo.h"

#include "lives.h"

#define P99 990u

static enum slo_state report_state(const struct engine *engine, const struct tenant *tenant,
				   const struct slo_watch *watch)
{
	const struct event_tenant *set = &tenant->set;
	const struct slo_tail *tail = set->target_arrival ? &watch->arrival : &watch->service;

	if (!set->target_ns && !set->target_over_permille)
		return SLO_NO_TARGET;
	if (engine->level.fixed)
		return SLO_FIXED;
	if (set->target_arrival && !watch->ranges)
		return SLO_NO_ARRIVALS;
	if (tail->pairs < SLO_PAIRS_LEAST || !watch->stepped_ns)
		return SLO_LEARNING;
	if (slo_is_late_alone(watch))
		return SLO_UNREACHABLE;
	return slo_is_at_floor(watch) ? SLO_AT_FLOOR : SLO_STEERED;
}

static void report_tails(const struct tenant *tenant, const struct slo_watch *watch,
			 struct engine_slo *ret_slo)
{
	struct slo_tails service = slo_tail_show(&watch->service, P99);
	struct slo_tails arrival = slo_tail_show(&watch->arrival, P99);

	ret_slo->service_ns = service.shared_ns;
	ret_slo->service_alone_ns = service.alone_ns;
	ret_slo->arrival_ns = arrival.shared_ns;
	ret_slo->arrival_alone_ns = arrival.alone_ns;
	ret_slo->alone_median_ns = slo_alone_typical_ns(&watch->alone);
	ret_slo->pairs = tenant->set.target_arrival ? arrival.pairs : service.pairs;
}

bool engine_slo_report(const struct engine *engine, uint32_t tenant, uint32_t device,
		       struct engine_slo *ret_slo)
{
	const struct tenant *found = lives_find_tenant(engine, tenant);
	const struct device *where = lives_find_device(engine, device);
	const struct slo_watch *watch;

	if (!found || !where || !found->on[device].latency_gates || engine->policy != &policy_slo)
		return false;
	watch = found->on[device].slo;
	*ret_slo = (struct engine_slo){
		.level = where->slo.level,
		.window_ns = where->slo.setting.window_ns,
		.guard_ns = where->slo.guard_ns,
		.cap_sms = where->slo.cap_sms,
		.busy_limit_ns = where->slo.busy_limit_ns,
		.quiet_from_ns = where->slo.quiet_from_ns,
		.quiet_until_ns = where->slo.quiet_until_ns,
	};
	if (watch) {
		ret_slo->state = report_state(engine, found, watch);
		report_tails(found, watch, ret_slo);
		if (watch->beside)
			ret_slo->beside_permille = (uint32_t)(watch->beside * 1000 /
							      (watch->requests + watch->ranges));
		if (ret_slo->state == SLO_UNREACHABLE || ret_slo->state == SLO_AT_FLOOR)
			ret_slo->reachable_ns = watch->alone_tail_ns;
	} else if (found->set.target_ns || found->set.target_over_permille) {
		ret_slo->state = engine->level.fixed ? SLO_FIXED : SLO_LEARNING;
	}
	return true;
}
