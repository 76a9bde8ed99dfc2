/* SPDX-License-Identifier: Apache-2.0 */
#include "entitle.h"
#include "state.h"

#include "sluice/pages.h"

/*
 * Entitled, for people: among the tenants with processes on the device, and itself. A
 * latency-critical tenant under `slo` is not held below its gpu.max; the others share the whole
 * among themselves.
 */
static uint32_t report_entitled(const struct engine *engine, const struct tenant *tenant,
				uint32_t device, bool latency)
{
	struct entitle_member member[CORE_MAX_TENANTS];
	uint32_t count = 0, own = 0;

	if (latency && engine->policy == &policy_slo)
		return tenant->set.gpu_max_permille;
	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct tenant *other = engine->tenant[t];

		if (!other || (!other->on[device].gates && other != tenant))
			continue;
		if (other != tenant && other->on[device].latency_gates &&
		    engine->policy == &policy_slo)
			continue;
		if (other == tenant)
			own = count;
		member[count].weight = other->set.weight;
		member[count].min_permille = other->set.gpu_min_permille;
		member[count++].max_permille = other->set.gpu_max_permille;
	}
	entitle_split(member, count);
	return member[own].permille;
}

static void report_gates(const struct device *device, const struct tenant *tenant,
			 struct engine_report *ret_report)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		const struct gate *gate = device->gate[i];

		if (gate->process->tenant != tenant)
			continue;
		ret_report->processes++;
		ret_report->open |= gate->told.open;
		ret_report->held |= gate->usage.want;
		ret_report->excess |= (gate->told.flags & SLUICE_GRANT_EXCESS) != 0;
	}
}

bool engine_report(const struct engine *engine, uint32_t tenant, uint32_t device,
		   struct engine_report *ret_report)
{
	const struct tenant *found = tenant < CORE_MAX_TENANTS ? engine->tenant[tenant] : NULL;
	const struct share *share;

	if (!found || device >= CORE_MAX_DEVICES || !engine->device[device])
		return false;
	share = &found->on[device];
	*ret_report = (struct engine_report){
		.used_ns = share->account.used_ns,
		.used_permille = account_used_permille(&share->account, engine->now_ns),
		.entitled_permille =
			report_entitled(engine, found, device, share->latency_gates > 0),
		.granted_bytes = share->granted_units * SLUICE_ESCROW_UNIT,
		.reclaiming_bytes = share->reclaiming_units * SLUICE_ESCROW_UNIT,
		.avg10_permille = (uint32_t)(share->pressure.avg_q11[0] >> 11),
		.avg60_permille = (uint32_t)(share->pressure.avg_q11[1] >> 11),
		.avg300_permille = (uint32_t)(share->pressure.avg_q11[2] >> 11),
		.held_total_ns = share->pressure.total_ns,
	};
	report_gates(engine->device[device], found, ret_report);
	return true;
}

bool engine_is_paused(const struct engine *engine, uint32_t tenant)
{
	return tenant < CORE_MAX_TENANTS && engine->tenant[tenant] &&
	       engine->tenant[tenant]->paused;
}
