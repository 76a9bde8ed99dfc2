/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/paired.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/metrics.h"
#include "plan/random.h"

#define BLOCK 100u /* requests: longer than a busy period */
#define RESAMPLES 400u
#define TAIL_PERMILLE 10u

struct ranked {
	uint64_t ns;
	uint32_t block;
};

static int compare_falling(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;

	return left->ns > right->ns ? -1 : left->ns < right->ns;
}

static struct ranked *rank(const uint64_t *value, uint32_t count)
{
	struct ranked *ranked = calloc(count, sizeof(*ranked));

	for (uint32_t i = 0; ranked && i < count; i++)
		ranked[i] = (struct ranked){value[i], i / BLOCK};
	if (ranked)
		qsort(ranked, count, sizeof(*ranked), compare_falling);
	return ranked;
}

/* The p99 where block b counts times[b] times. */
static uint64_t tail(const struct ranked *ranked, uint32_t count, const uint32_t *times)
{
	uint64_t total = 0, above = 0;

	for (uint32_t i = 0; i < count; i++)
		total += times[i / BLOCK];
	for (uint32_t i = 0; i < count; i++) {
		above += times[ranked[i].block];
		if (above * 1000 > total * TAIL_PERMILLE)
			return ranked[i].ns;
	}
	return ranked[count - 1].ns;
}

static double over(const struct ranked *shared, const struct ranked *alone, uint32_t count,
		   const uint32_t *times)
{
	uint64_t alone_ns = tail(alone, count, times);

	return alone_ns ? (double)tail(shared, count, times) / (double)alone_ns - 1 : 0;
}

static void resample(const struct ranked *shared, const struct ranked *alone, uint32_t count,
		     uint64_t seed, uint32_t *times, struct suite_paired *ret)
{
	uint32_t blocks = (count + BLOCK - 1) / BLOCK;
	double value[RESAMPLES];
	struct random random;

	for (uint32_t b = 0; b < blocks; b++)
		times[b] = 1;
	ret->over = over(shared, alone, count, times);
	random_seed(&random, seed);
	for (uint32_t i = 0; i < RESAMPLES; i++) {
		memset(times, 0, blocks * sizeof(*times));
		for (uint32_t b = 0; b < blocks; b++)
			times[random_below(&random, blocks)]++;
		value[i] = over(shared, alone, count, times);
	}
	metrics_sort_real(value, RESAMPLES);
	ret->low = value[RESAMPLES * 5 / 100];
	ret->high = value[RESAMPLES - 1 - RESAMPLES * 5 / 100];
}

int suite_paired_p99(const uint64_t *shared, const uint64_t *alone, uint32_t count, uint64_t seed,
		     struct suite_paired *ret)
{
	struct ranked *left, *right;
	uint32_t *times;

	if (!count)
		return -EINVAL;
	left = rank(shared, count);
	right = rank(alone, count);
	times = calloc((count + BLOCK - 1) / BLOCK, sizeof(*times));
	if (left && right && times)
		resample(left, right, count, seed, times, ret);
	free(left);
	free(right);
	free(times);
	return left && right && times ? 0 : -ENOMEM;
}
