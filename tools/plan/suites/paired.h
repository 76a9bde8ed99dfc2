/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_PAIRED_H
#define PLAN_SUITES_PAIRED_H

/*
 * Paired tails: latencies of the same requests, shared and alone, in order. Pure but for malloc.
 */

#include <stdint.h>

/* p99 over alone - 1, and its 95 % bounds, each on its side: of resamplings, which draw blocks of
 * requests in sequence and take both latencies of each, 5 % lie below `low`, 5 % above `high`. */
struct suite_paired {
	double over, low, high;
};
int suite_paired_p99(const uint64_t *shared, const uint64_t *alone, uint32_t count, uint64_t seed,
		     struct suite_paired *ret);

#endif
