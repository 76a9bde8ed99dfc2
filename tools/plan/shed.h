/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SHED_H
#define PLAN_SHED_H

/*
 * On overload: which requests still meet their deadlines, and which are better given up at once,
 * so that not all of them miss. Requests run one after the other, the chosen ones by earliest
 * deadline, the late ones whenever nothing else wants to.
 *
 * Where all weights are equal, Moore and Hodgson's rule finds the largest set; else dynamic
 * programming over the sum of weights (Lawler and Moore) finds the heaviest, within SHED_MOST
 * requests of a weight up to SHED_WEIGHT_MOST. Both are exact. Pure. Times in ns, below 2^50.
 */

#include <stdbool.h>
#include <stdint.h>

#define SHED_MOST 32u
#define SHED_WEIGHT_MOST 32u

struct shed_request {
	uint64_t left_ns;     /* what it still takes */
	uint64_t deadline_ns; /* absolute; UINT64_MAX: none, it is never late */
	uint32_t weight;      /* 1 .. SHED_WEIGHT_MOST */
	bool late; /* filled in: cannot be had without missing something that weighs more */
};

/* Fills in `late` of each. At most SHED_MOST requests. Returns how many are late. */
uint32_t shed_choose(struct shed_request *request, uint32_t count, uint64_t now_ns);

/* Index of the one to run: of those on time the earliest deadline; if all are late the least left
 * for its weight. UINT32_MAX: `count` is 0. After shed_choose. */
uint32_t shed_first(const struct shed_request *request, uint32_t count);

#endif
