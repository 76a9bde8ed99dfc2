/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_METRICS_H
#define PLAN_METRICS_H

/*
 * Figures of runs: tails of A (from arrival) and S (of service) against the same arrivals alone,
 * best-effort throughput against alone, shares, who delayed whom, and intervals over seeds. Pure
 * but for malloc; doubles are allowed here and nowhere else in the planner. Overheads and shares
 * are fractions (0.01 = 1 %), times ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/world.h"

/* Rising. */
void metrics_sort(uint64_t *value, uint32_t count);
void metrics_sort_real(double *value, uint32_t count);

/* The q-th quantile (permille: 990 is p99) by rank; sorts `value`. 0 where there is none. */
uint64_t metrics_quantile(uint64_t *value, uint32_t count, uint32_t permille);

struct metrics_tail {
	uint32_t count;
	uint64_t p50_ns, p99_ns, p999_ns;
};

/* A of a server's finished requests, S of its services, both after warm-up. -ENOMEM. */
int metrics_arrival(const struct world_record *record, uint32_t warmup,
		    struct metrics_tail *ret_tail);
int metrics_service(const struct world_record *record, uint32_t warmup,
		    struct metrics_tail *ret_tail);

/* p99 over alone - 1; 0 where alone is 0. */
double metrics_over(uint64_t p99_ns, uint64_t alone_ns);

/* Nominal work per time against alone. */
double metrics_throughput(const struct world_record *record, const struct world_record *alone);

/* Largest deviation of a tenant's part of all best-effort work from its entitlement, in windows of
 * window_ns after warm-up: over `count` loops with weights. Windows without work are left out. */
struct metrics_shares {
	uint32_t windows;
	double mean, p95, worst;
};
int metrics_share_error(const struct world_record *record, const uint32_t *weight, uint32_t count,
			uint64_t sample_ns, uint64_t window_ns, uint64_t warmup_ns,
			struct metrics_shares *ret_shares);

/* Lindley's recursion: latencies of the same arrivals, each served in service_ns, one after the
 * other with turnaround_ns between queued ones. */
void metrics_replay(const uint64_t *arrival_ns, uint32_t count, uint64_t service_ns,
		    uint64_t turnaround_ns, uint64_t *ret_latency_ns);

/* Over seeds: mean and half the width of its 95 % interval (Student's t; 0 for one value). */
struct metrics_interval {
	uint32_t count;
	double mean, half, least, most;
};
void metrics_over_seeds(const double *value, uint32_t count, struct metrics_interval *ret_interval);

#endif
