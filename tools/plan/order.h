/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ORDER_H
#define PLAN_ORDER_H

/*
 * The rules of policy `order`, and the names of policy `residency`'s, numbered as their option
 * `rule` is. Pure.
 */

#include <stdint.h>

#include "core/slo_order.h"

enum order_rule {
	ORDER_FIFO,	/* the oldest request, to its end */
	ORDER_SHORTEST, /* the shortest profile, to its end */
	ORDER_SLO,	/* the score of core/slo_order.h */
	ORDER_EDF,	/* the earliest deadline */
	ORDER_SHED,	/* of those that can be met together (core/shed.h), the rest last */
};

enum residency_rule {
	RESIDENCY_ARRIVAL, /* the oldest request's; the least recently used one goes */
	RESIDENCY_WEIGHT,  /* ESFF's weights, compared with that of who would go */
	RESIDENCY_GAIN,	   /* core/residency.h */
};

/* A request that wants to run. */
struct order_candidate {
	struct slo_order_request request;
	uint64_t arrival_ns;
	uint32_t weight; /* of its tenant */
};

/* Index of the one that goes on, of at least one and at most SHED_MOST. */
uint32_t order_pick(enum order_rule rule, const struct slo_order *slo,
		    const struct order_candidate *candidate, uint32_t count, uint64_t now_ns);

#endif
