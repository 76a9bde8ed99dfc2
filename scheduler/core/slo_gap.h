/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SLO_GAP_H
#define CORE_SLO_GAP_H

/*
 * What a latency tenant's gaps say of its next arrival. The last few hundred are kept as they are:
 * sorted, they show both the edge of a short mode and the spread of a period exactly, where bins
 * would show neither, and old patterns are forgotten.
 *
 * Guard: where gaps are of two kinds, short ones inside a request (a decode loop) and long ones
 * between requests, best-effort work must wait out the short ones. Periodic arrivals: the stretch of
 * time, counted from the beginning of the last busy period, in which the next one is expected.
 *
 * Times are ns. Plain data, owned by the caller.
 */

#include <stdint.h>

#define GAP_RING 512
#define PERIOD_RING 256
#define GUARD_LEAST_NS 60000ull
#define GUARD_MOST_NS 5000000ull

struct slo_gaps {
	uint64_t gap_ns[GAP_RING];	 /* idle times */
	uint64_t gaps;			 /* ever */
	uint64_t period_ns[PERIOD_RING]; /* between the beginnings of busy periods */
	uint64_t periods;
	uint64_t guard_ns; /* learned; 0: nothing that calls for more than the least */
	/* When the next arrival is expected: this part of them; both 0: they are not periodic. */
	uint32_t expect_permille;
	uint64_t expect_from_ns, expect_until_ns;
};

void slo_gap_add(struct slo_gaps *gaps, uint64_t gap_ns);
void slo_gap_add_period(struct slo_gaps *gaps, uint64_t period_ns);
/* Looks at what has come in: guard_ns. */
void slo_gap_learn(struct slo_gaps *gaps);
/* The same: the stretch that holds this part of the next arrivals. */
void slo_gap_expect(struct slo_gaps *gaps, uint32_t permille);

#endif
