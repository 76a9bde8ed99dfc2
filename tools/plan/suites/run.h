/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_RUN_H
#define PLAN_SUITES_RUN_H

/*
 * One run of a row in a world: what goes in, what comes out. 0 stands for the preset.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/arrivals.h"
#include "plan/suites/catalog.h"
#include "plan/suites/rows.h"
#include "plan/world.h"

#define SUITE_WARMUP 50
#define SUITE_MOST_BE 4

struct suite_run {
	const struct suite_row *row;
	enum suite_mode mode;
	const struct workload *lc; /* NULL: none */
	uint64_t lc_gap_ns;	   /* mean */
	enum arrivals_kind arrivals;
	uint32_t jitter_permille, sigma_permille;
	struct arrivals_step steps[ARRIVALS_MAX_STEPS];
	uint32_t n_steps;
	const struct workload *be[SUITE_MOST_BE];
	uint32_t weight[SUITE_MOST_BE];
	uint32_t n_be;
	uint64_t seed;
	uint32_t requests;
	uint64_t warmup_ns, end_ns, share_ns; /* 0: presets */
	/* Filled by suite_run_do; freed by suite_run_done. */
	struct world *world;
	struct arrivals stream;
	struct world_record lc_record, be_record[SUITE_MOST_BE];
};

int suite_run_do(const struct suite_catalog *catalog, struct suite_run *run);
void suite_run_done(struct suite_run *run);

#endif
