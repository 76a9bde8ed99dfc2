/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_LAG_H
#define CORE_LAG_H

/*
 * How far each of those who compete is behind its share of what all of them have used: in GPU time,
 * so that the tenants' lags sum to zero. Whoever is farthest behind comes first, and goes on until it
 * is as far ahead as one may be: for a given precision of shares over a window those are the fewest
 * changes, and what a launch went over is taken off the next turn.
 *
 * How far that is follows from what latency processes have left lately. An error of the shares is
 * relative to what there was to share, and what they leave varies the more the less it is: so the
 * square. Times are ns.
 */

#include "entitle.h"
#include "state.h"

#define LAG_AHEAD_NS 2000000ull /* where nothing is taken ... */
#define LAG_LEAST_NS 250000ull	/* ... and where most is: launches are as long */

/* Virtual time, the mean by share of those who compete; `weight` is the sum of their shares. */
struct lag {
	uint64_t base_ns;
	int64_t mean_ns; /* from there */
	uint32_t weight;
};

/* After entitle_round. */
struct lag lag_survey(const struct engine *engine, const struct device *device);
/* Once `more_ns` are used too; below 0: ahead. */
int64_t lag_ns(const struct lag *lag, const struct share *share, uint64_t more_ns);
/* How much it may use until it is as far ahead as one may be; 0: nobody competes with it. */
uint64_t lag_quantum_ns(const struct lag *lag, const struct device *device,
			const struct share *share);

/* Keeps what those beside `filter` have left lately; at every round. */
void lag_look(struct device *device, gate_filter filter, uint64_t now_ns);
uint64_t lag_ahead_ns(const struct device *device);

#endif
