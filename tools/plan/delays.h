/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_DELAYS_H
#define PLAN_DELAYS_H

/*
 * Who delayed whom: services that took longer than the median alone, summed by the launch unit
 * that ran when they began. What came later (a launch that was just going) counts there too.
 */

#include "plan/run.h"

/* Adds a server's; `tenant` has its median alone and its target. */
int delays_add(const struct world_record *record, uint32_t server, uint32_t warmup,
	       const struct run_tenant *tenant, bool from_arrival, struct run_result *result);
void delays_sort(struct run_result *result);

#endif
