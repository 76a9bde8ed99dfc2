/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"

#define ENOUGH 4u /* clean samples that agree end the asking; others go on until all are there */

/* One in so many is believed to be disturbed, so that so many must agree on a new truth. */
#define FOLLOW_UP 4u

static bool is_above(uint32_t high_ns, uint32_t low_ns, uint32_t percent, uint32_t slack_ns)
{
	return high_ns > (uint64_t)low_ns * (100 + percent) / 100 + slack_ns;
}

static void sort(uint32_t *value, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		uint32_t v = value[i], j = i;

		for (; j > 0 && value[j - 1] > v; j--)
			value[j] = value[j - 1];
		value[j] = v;
	}
}

/* Sorted samples that one disturbed or lucky one cannot have spread. Few must differ by much. */
static bool is_spread(const uint32_t *sorted, uint32_t count)
{
	if (count == ESTIMATE_SAMPLES)
		return is_above(sorted[count - 2], sorted[1], 30, 3000);
	return count >= ENOUGH && is_above(sorted[count - 2], sorted[0], 50, 10000);
}

static void settle(struct estimate *estimate)
{
	uint32_t count = estimate->count, sorted[ESTIMATE_SAMPLES] = {0};

	for (uint32_t i = 0; i < count; i++)
		sorted[i] = estimate->sample_ns[i];
	sort(sorted, count);
	if (!estimate->clean) {
		/* Of samples that met other work only the least says something of the launch. */
		estimate->asks = count < ENOUGH;
		if (!estimate->seeded)
			estimate->cost_ns = estimate->high_ns = sorted[0];
		return;
	}
	estimate->asks =
		count < ENOUGH || estimate->surprises ||
		(count < ESTIMATE_SAMPLES && is_above(sorted[count - 1], sorted[0], 15, 2000));
	/* Whether a surprise is a change or the launch's own way is known after the follow-up. */
	if (estimate->surprises || (estimate->seeded && count < ENOUGH))
		return;
	estimate->seeded = false;
	estimate->varies = is_spread(sorted, count);
	estimate->cost_ns = sorted[(count - 1) / (estimate->varies ? 2 : 3)];
	estimate->high_ns =
		estimate->varies ? sorted[count - 1 - count / ESTIMATE_SAMPLES] : estimate->cost_ns;
}

static void keep_newest(struct estimate *estimate, uint32_t count)
{
	uint32_t drop = estimate->count - count;

	for (uint32_t i = 0; i < count; i++)
		estimate->sample_ns[i] = estimate->sample_ns[i + drop];
	estimate->count = count;
}

/* A sample that does not fit is followed up by a few more. If these agree with it, what was known
 * of earlier times is void. */
static void follow_up(struct estimate *estimate, uint32_t ns)
{
	uint32_t least_ns = UINT32_MAX, most_ns = 0;

	if (estimate->surprises) {
		if (++estimate->surprises < FOLLOW_UP)
			return;
		estimate->surprises = 0;
		for (uint32_t i = estimate->count - FOLLOW_UP; i < estimate->count; i++) {
			uint32_t sample_ns = estimate->sample_ns[i];

			least_ns = sample_ns < least_ns ? sample_ns : least_ns;
			most_ns = sample_ns > most_ns ? sample_ns : most_ns;
		}
		if (!is_above(most_ns, least_ns, 20, 3000))
			keep_newest(estimate, FOLLOW_UP);
	} else if (!estimate->asks && !estimate->varies &&
		   (is_above(ns, estimate->cost_ns, 15, 3000) ||
		    is_above(estimate->cost_ns, ns, 15, 3000))) {
		estimate->surprises = 1;
	}
}

void estimate_reset(struct estimate *estimate, uint32_t guess_ns)
{
	*estimate = (struct estimate){.cost_ns = guess_ns, .high_ns = guess_ns, .asks = true};
}

void estimate_seed(struct estimate *estimate, uint32_t cost_ns, uint32_t high_ns,
		   uint32_t sightings)
{
	if (estimate->count)
		return;
	estimate->cost_ns = cost_ns;
	estimate->high_ns = high_ns > cost_ns ? high_ns : cost_ns;
	estimate->varies = high_ns > cost_ns;
	estimate->sightings = sightings;
	estimate->seeded = true;
}

bool estimate_add(struct estimate *estimate, uint32_t ns, bool clean)
{
	if (clean && !estimate->clean) {
		estimate->count = 0;
		estimate->clean = true;
	}
	if (clean != estimate->clean)
		return false;
	if (estimate->count == ESTIMATE_SAMPLES)
		keep_newest(estimate, ESTIMATE_SAMPLES - 1);
	estimate->sample_ns[estimate->count++] = ns;
	if (estimate->sightings < UINT32_MAX)
		estimate->sightings++;
	if (clean)
		follow_up(estimate, ns);
	settle(estimate);
	return true;
}
