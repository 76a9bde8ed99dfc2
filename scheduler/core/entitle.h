/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENTITLE_H
#define CORE_ENTITLE_H

/*
 * Who may have how much of a device: by weight, within gpu.min and gpu.max, summing to the whole
 * where the limits allow. Fair time is virtual time: what was used over the share entitled to.
 */

#include "state.h"

#define ENTITLE_WHOLE 1000u

struct entitle_member {
	uint32_t weight, min_permille, max_permille;
	uint32_t permille; /* out */
};

/* Splits the whole among `count` members. A minimum wins over weights; minimums that do not fit
 * are cut in proportion. Nobody gets 0. */
void entitle_split(struct entitle_member *member, uint32_t count);

typedef bool (*gate_filter)(const struct gate *gate);

/*
 * Marks which tenants are active or backlogged, by the readings since the last round, entitles
 * the active ones among the gates that `filter` lets through, and starts returning tenants at
 * the virtual time served now, so that nobody saves up time while idle.
 */
void entitle_round(struct engine *engine, struct device *device, gate_filter filter,
		   uint64_t now_ns);

/* gpu.max: how much its tenant may still launch in this period; CORE_NO_LIMIT: not limited. When
 * it is 0, there is more from share->period_end_ns on. */
uint64_t entitle_left_ns(struct gate *gate, uint64_t now_ns);
/*
 * The same for a limit other than its own. Of a latency tenant, time in which its activity kept out
 * others who want the device counts as launched.
 */
uint64_t entitle_left_of_ns(struct gate *gate, uint32_t max_permille, uint64_t now_ns);

/* Was the tenant held lately? */
bool entitle_is_short(const struct share *share, uint64_t now_ns);

/* Charges a gate's tenant for what a reading showed. */
void entitle_charge(struct gate *gate, uint64_t used_ns, uint64_t launched_ns);
/* GPU time in the tenant's virtual time. */
uint64_t entitle_virtual_ns(const struct share *share, uint64_t gpu_ns);

/* GPU time used so far by the gates that `filter` does not let through: latency processes under
 * `slo`. What they took of some wall time was nobody else's to use; the rest was. */
uint64_t entitle_others_ns(const struct device *device, gate_filter filter);
uint64_t entitle_unused_ns(uint64_t wall_ns, uint64_t others_ns, uint64_t others_before_ns);

#endif
