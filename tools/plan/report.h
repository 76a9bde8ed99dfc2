/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_REPORT_H
#define PLAN_REPORT_H

/*
 * What is said of a played scenario: each order's figures with their intervals over seeds, as JSON
 * and as a picture of the frontier (the text is the command's). Fractions of 1, ns.
 */

#include <stdio.h>

#include "plan/run.h"

struct report_tenant {
	struct metrics_interval a_p50_ns, a_p99_ns, a_p999_ns, a_over;
	struct metrics_interval s_p50_ns, s_p99_ns, s_p999_ns, s_over;
	struct metrics_interval alone_a_p99_ns, alone_s_p99_ns, load;
	struct metrics_interval level, window_ns, guard_ns; /* of a controller */
	struct metrics_interval throughput, held;
	uint64_t requests, judged, late, unfinished; /* sums */
	uint64_t target_ns;	  /* mean: a relative one is of each seed's requests alone */
	uint32_t unstable;	  /* seeds */
	uint32_t beside_permille; /* the most of any seed */
	bool has_report, unreachable;
	uint64_t longest_unit_ns;
	uint32_t longest_key;
};

struct report_row {
	const struct scenario_order *order;
	struct report_tenant tenant[WORLD_MAX_PROCS];
	struct metrics_interval throughput, idle_part;
	bool has_shares;
	struct metrics_interval share_1s, share_1s_worst, share_100ms_p95;
	struct run_delay delay[RUN_MAX_DELAYS]; /* sums over seeds, largest first */
	uint32_t delays;
};

/* result: of the order, one for each seed. */
void report_make(const struct scenario *scenario, const struct scenario_order *order,
		 const struct run_result *result, struct report_row *ret_row);
/* 0 or -errno. */
int report_print_json(const struct scenario *scenario, const struct run_result *result, FILE *out);
/* Needs a server, a best-effort tenant, and two orders. */
bool frontier_is_there(const struct scenario *scenario);
/* Best-effort share against A and S of the first server, a line for each sweep. -EINVAL: there is
 * none. */
int frontier_print_svg(const struct scenario *scenario, const struct run_result *result, FILE *out);

#endif
