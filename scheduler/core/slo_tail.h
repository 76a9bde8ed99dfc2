/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SLO_TAIL_H
#define CORE_SLO_TAIL_H

/*
 * Paired tails: the last requests' latencies as they were, beside what the same requests would have
 * had alone. The p99 of a few hundred requests is off by a quarter, but so is that of the same
 * requests alone: the difference of the two is known much better than either.
 *
 * Both tails are the mean of the largest 3 in 100, which for tails that fall exponentially is the
 * p99, and uses all of them. A pair that was taken at another level counts as if what was added to
 * it had been taken at the present one, by the ladder's own slope: so that long memories do not lag.
 * They do lag when the load changes, since the tail is made of the time when it was highest: when
 * arrivals have clearly become rarer or denser, only what came since counts.
 *
 * Times are ns. Plain data, owned by the caller.
 */

#include <stdint.h>

#define TAIL_RING 1024

#define TAIL_RATE 64u /* arrivals that show a change */

struct slo_pair {
	uint64_t shared_ns, alone_ns;
	uint64_t arrival_ns; /* 0: not known, then the load is not looked at */
	uint64_t end_ns;
	int32_t level;
};

struct slo_tail {
	uint64_t pairs; /* ever */
	uint64_t from;	/* of these, the first that counts */
	struct slo_pair pair[TAIL_RING];
};

struct slo_tails {
	uint32_t pairs; /* that it was made of */
	uint64_t shared_ns, alone_ns;
};

void slo_tail_add(struct slo_tail *tail, const struct slo_pair *pair);
/* What ended before then counts no more; the last `least` always do. */
void slo_tail_forget(struct slo_tail *tail, uint64_t before_ns, uint32_t least);
/* Of the last `most` pairs, as at `level`. `most` at most TAIL_RING; no pairs: all 0. */
struct slo_tails slo_tail_look(const struct slo_tail *tail, uint32_t most, int32_t level);
/* As they were: sample quantiles for status. */
struct slo_tails slo_tail_show(const struct slo_tail *tail, uint32_t permille);

#endif
