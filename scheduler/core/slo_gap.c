/* SPDX-License-Identifier: Apache-2.0 */
#include "slo_gap.h"

#include <string.h>

#include "slo_fix.h"

#define GAPS_KNOWN 30u /* seen before anything is made of them */
#define PERIODS_KNOWN 50u
#define SHORT_MOST_NS 2000000ull   /* a longer mode is not within requests */
#define SHORT_LEAST_PERMILLE 300u  /* fewer short gaps are no mode */
#define VALLEY_RATIO 2u		   /* between the modes: as wide as that ... */
#define VALLEY_SHARE 8u		   /* ... with an eighth of either in it at most */
#define MODE_RATIO 4u		   /* longest to shortest gap of one mode */
#define PEAK_SPREAD_PERMILLE 250u  /* of the median: a narrower peak is a period */
#define PEAK_OUTLIERS_PERMILLE 50u /* at each side */

void slo_gap_add(struct slo_gaps *gaps, uint64_t gap_ns)
{
	gaps->gap_ns[gaps->gaps++ % GAP_RING] = gap_ns;
}

void slo_gap_add_period(struct slo_gaps *gaps, uint64_t period_ns)
{
	gaps->period_ns[gaps->periods++ % PERIOD_RING] = period_ns;
}

static uint32_t gap_sorted(const uint64_t *ring, uint64_t ever, uint32_t size, uint64_t *ret_value)
{
	uint32_t count = ever < size ? (uint32_t)ever : size;

	memcpy(ret_value, ring, count * sizeof(*ring));
	fix_sort(ret_value, count);
	return count;
}

/* How many of the sorted values lie in (low, high]? */
static uint32_t gap_within(const uint64_t *value, uint32_t count, uint64_t low, uint64_t high)
{
	uint32_t within = 0;

	for (uint32_t i = 0; i < count && value[i] <= high; i++)
		within += value[i] > low;
	return within;
}

/*
 * Does a mode end at value[at]? It holds many of the gaps, none of them much shorter than that, and
 * above it there is next to nothing for as far again, and then more, which holds most of the time.
 */
static int gap_ends_mode(const uint64_t *value, uint32_t count, uint32_t at)
{
	uint64_t edge_ns = value[at], short_ns = 0, long_ns = 0;
	uint32_t mode = gap_within(value, at + 1, edge_ns / MODE_RATIO, edge_ns);
	uint32_t inside = 0, above, least;

	while (at + 1 + inside < count && value[at + 1 + inside] < VALLEY_RATIO * edge_ns)
		inside++;
	above = count - at - 1 - inside;
	least = above < mode ? above : mode;
	for (uint32_t i = 0; i < count; i++)
		*(i <= at + inside ? &short_ns : &long_ns) += value[i];
	/* To wait them out costs best-effort work the short gaps: less than what is left to it. */
	return mode >= count * SHORT_LEAST_PERMILLE / 1000 && short_ns < long_ns &&
	       inside <= least / VALLEY_SHARE + (above >= 2);
}

void slo_gap_learn(struct slo_gaps *gaps)
{
	uint64_t value[GAP_RING], edge_ns = 0;
	uint32_t count = gap_sorted(gaps->gap_ns, gaps->gaps, GAP_RING, value);

	for (uint32_t at = count * SHORT_LEAST_PERMILLE / 1000;
	     count >= GAPS_KNOWN && at < count && value[at] < SHORT_MOST_NS; at++) {
		/* The lowest edge of the highest mode: what straggles above it does not end it. */
		if (value[at] > MODE_RATIO * edge_ns && gap_ends_mode(value, count, at))
			edge_ns = value[at];
	}
	edge_ns += edge_ns / 4;
	if (edge_ns > GUARD_MOST_NS)
		edge_ns = GUARD_MOST_NS;
	gaps->guard_ns = edge_ns > GUARD_LEAST_NS ? edge_ns : 0;
}

static uint64_t gap_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void slo_gap_expect(struct slo_gaps *gaps, uint32_t permille)
{
	uint64_t value[PERIOD_RING], low_ns, high_ns, spread_ns;
	uint32_t count = gap_sorted(gaps->period_ns, gaps->periods, PERIOD_RING, value), last;

	gaps->expect_permille = permille;
	gaps->expect_from_ns = gaps->expect_until_ns = 0;
	if (count < PERIODS_KNOWN || !permille)
		return;
	last = count - 1;
	low_ns = value[last * PEAK_OUTLIERS_PERMILLE / 1000];
	high_ns = value[last - last * PEAK_OUTLIERS_PERMILLE / 1000];
	if (high_ns - low_ns > value[count / 2] / 1000 * PEAK_SPREAD_PERMILLE)
		return;
	/* All of a peak, but not what lies far from it: a request that did not come, or two. */
	spread_ns = high_ns - low_ns;
	gaps->expect_from_ns = gap_max(value[last - last * permille / 1000],
				       low_ns > spread_ns ? low_ns - spread_ns : 0);
	gaps->expect_until_ns =
		value[last] < high_ns + spread_ns ? value[last] : high_ns + spread_ns;
}
