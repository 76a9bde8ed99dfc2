/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_ORDER_COUNT_H
#define PLAN_SUITES_ORDER_COUNT_H

/*
 * What scenes of several servers count: requests against their deadlines, and turnarounds over
 * what each would have taken alone. Counts of several servers add up.
 */

#include <stdint.h>

#include "plan/world.h"

struct order_count {
	uint32_t arrived;  /* after warm-up, also if not finished */
	uint32_t finished; /* of those */
	uint32_t on_time;  /* of those */
	double turnaround; /* sum over the finished: from arrival to end, over alone */
};

/* `alone_ns`: a request of the workload's own length on an idle device. */
void order_count_add(const struct world_record *record, uint32_t warmup, uint64_t target_ns,
		     uint64_t alone_ns, struct order_count *count);
/* Of those that arrived; what is not finished is late. */
double order_count_late(const struct order_count *count);
double order_count_turnaround(const struct order_count *count); /* mean */

#endif
