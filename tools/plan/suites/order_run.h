/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_ORDER_RUN_H
#define PLAN_SUITES_ORDER_RUN_H

/*
 * One world of a scene: any tenants, one policy with settings. 0 stands for the preset. Workloads
 * and gaps are borrowed; records live until order_run_done.
 */

#include <stdint.h>

#include "plan/arrivals.h"
#include "plan/suites/rows.h"
#include "plan/world.h"

struct order_tenant {
	const struct workload *workload;
	bool server;		       /* requests arrive; else a loop */
	struct arrivals_desc arrivals; /* servers; its seed is drawn from the run's */
	int32_t priority;
	uint32_t weight;
	struct plan_target target;
	uint32_t work_sigma_permille; /* servers: requests differ in length */
};

struct order_run {
	const char *policy;
	struct suite_setting setting[4];
	struct model_desc device;
	uint64_t seed;
	uint32_t warmup, requests; /* of each server */
	uint64_t warmup_ns, end_ns;
	uint32_t tenants;
	struct order_tenant tenant[WORLD_MAX_PROCS];
	/* Filled by order_run_do. */
	struct world *world;
	struct arrivals stream[WORLD_MAX_PROCS];
	struct world_record record[WORLD_MAX_PROCS];
};

/* -errno; order_run_done in any case. */
int order_run_do(struct order_run *run);
void order_run_done(struct order_run *run);

/* Nominal GPU time that the tenants from `first` on completed in a ns: what all of them got done. */
double order_run_rate(const struct order_run *run, uint32_t first, uint32_t count);

#endif
