/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

/*
 * A scenario played: one *run* is one order (policy) and one seed, with the same arrivals for
 * every policy, and again for each tenant alone. Results are plain data of a fixed size. Times ns,
 * overheads and shares fractions of 1.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/metrics.h"
#include "plan/scenario.h"

#define RUN_MAX_DELAYS 24u

struct run_tenant {
	/* Servers. */
	struct metrics_tail arrival, service, arrival_alone, service_alone;
	double a_over, s_over; /* p99 over alone */
	double load;	       /* service alone, with turnaround, over the time between arrivals */
	bool unstable;	    /* serves slower than requests arrive: A grows with the run's length */
	uint64_t target_ns; /* resolved; 0: none */
	uint32_t requests, unfinished;
	uint32_t judged, late; /* requests or services that the target is on; of them, over it */
	bool has_report;
	struct plan_report report;
	/* Loops. */
	double throughput; /* against alone */
	double held;	   /* part of the time in which a launch was held */
	uint64_t longest_unit_ns;
	uint32_t longest_key;
};

/* Services of a server that took longer than its median alone, by what ran when they began. */
struct run_delay {
	uint32_t server, proc, key; /* proc UINT32_MAX: no best-effort work was in flight */
	uint32_t count, late;
	uint64_t total_ns, worst_ns;
};

struct run_result {
	uint32_t tenants, delays;
	struct run_tenant tenant[WORLD_MAX_PROCS];
	struct run_delay delay[RUN_MAX_DELAYS]; /* largest total first */
	double throughput;			/* sum over the loops; 1 is one loop alone */
	double idle_part; /* throughput over (1 - sum of loads); 0 where that is no room */
	bool has_shares;
	struct metrics_shares share_1s, share_100ms;
	uint64_t events, virtual_ns;
};

/* What every policy is compared with, for one seed. */
struct run_alone {
	uint64_t mean_ns[WORLD_MAX_PROCS];    /* servers: between two arrivals, at the base rate */
	uint64_t service_ns[WORLD_MAX_PROCS]; /* servers: a request on an idle device */
	struct run_tenant tenant[WORLD_MAX_PROCS];
	uint64_t done_ns[WORLD_MAX_PROCS], measured_ns[WORLD_MAX_PROCS];
};

int run_alone(const struct scenario *scenario, uint64_t seed, struct run_alone *ret_alone);
int run_order(const struct scenario *scenario, const struct scenario_order *order, uint64_t seed,
	      const struct run_alone *alone, struct run_result *ret_result);

/* All orders and seeds: result[order * seeds + seed]. On several processes; workers 0: as many as
 * there are processors. free() the results. */
int run_scenario(const struct scenario *scenario, uint32_t workers, struct run_result **ret_result);

#endif
