/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SLO_ORDER_H
#define PLAN_SLO_ORDER_H

/*
 * Which of several latency tenants' requests goes on, where they take turns on one device: the
 * score of Sparse-DySta (MICRO'23), whose profile is corrected by how long this very request has
 * taken so far. Mostly the shortest remaining first; slack and staleness shape ties, and a request
 * that has been passed over for too long goes first whatever its score.
 *
 * A request is the launches between two synchronisations. Pure. Times in ns, below 2^50.
 */

#include <stdint.h>

#define SLO_ORDER_NONE UINT32_MAX
#define SLO_ORDER_NO_DEADLINE UINT64_MAX

struct slo_order_request {
	uint64_t profiled_ns;	/* the whole request, as predicted */
	uint64_t done_ns;	/* of that, what is done */
	uint64_t measured_ns;	/* and what that took */
	uint64_t deadline_ns;	/* absolute */
	uint64_t idle_since_ns; /* since it ran last, or came; now or later: it runs */
};

struct slo_order {
	uint32_t beta_permille;	  /* weight of slack and staleness; the paper's is 10 */
	uint32_t starve_permille; /* idle for so much of its profile: it goes first; 0: never */
};

/* The profile's rest times gamma, what was measured over what was predicted for it. */
uint64_t slo_order_remaining(const struct slo_order_request *request);
/* Smaller is sooner. `active`: requests that compete, itself among them. */
uint64_t slo_order_score(const struct slo_order *order, const struct slo_order_request *request,
			 uint32_t active, uint64_t now_ns);
/* Index of the one that goes on; of equal ones the first. NONE: `count` is 0. */
uint32_t slo_order_pick(const struct slo_order *order, const struct slo_order_request *request,
			uint32_t count, uint64_t now_ns);

#endif
