/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ORDER_H
#define PLAN_ORDER_H

/*
 * The rules of policy `order`, numbered as its option `rule` is. Pure.
 */

#include <stdint.h>

#include "plan/slo_order.h"

enum order_rule {
	ORDER_FIFO,	/* the oldest request, to its end */
	ORDER_SHORTEST, /* the shortest profile, to its end */
	ORDER_SLO,	/* the score of slo_order.h */
	ORDER_EDF,	/* the earliest deadline */
	ORDER_SHED,	/* of those that can be met together (shed.h), the rest last */
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
