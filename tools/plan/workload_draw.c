/* SPDX-License-Identifier: Apache-2.0 */
#include "workload_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "random.h"

const uint32_t workload_levels[WORKLOAD_LEVELS] = {0, 250, 500, 750, 900, 1000};

#define ONE (1ll << 20)

/* Between two quantiles the values rise along t, bent towards the fourth power of t by `bend`
 * (of ONE), or, where it is negative, as much the other way: that keeps quantiles and order. */
static int64_t bent(int64_t t, int64_t bend)
{
	int64_t u = bend < 0 ? ONE - t : t;
	int64_t square = u * u / ONE, fourth = square * square / ONE;
	int64_t curve = bend < 0 ? ONE - fourth : fourth;
	int64_t share = bend < 0 ? -bend : bend;

	return t + (curve - t) * share / ONE;
}

/* The `rank`-th of `last` + 1 values. */
static uint64_t ns_at(const struct workload_group *group, uint32_t rank, uint32_t last,
		      int64_t bend)
{
	int64_t at = last ? (int64_t)rank * 1000000 / last : 500000;
	uint32_t i = 0;

	while (i + 2 < WORKLOAD_LEVELS && at > workload_levels[i + 1] * 1000ll)
		i++;
	int64_t from = workload_levels[i] * 1000ll, to = workload_levels[i + 1] * 1000ll;
	int64_t t = bent((at - from) * ONE / (to - from), bend);

	return group->ns[i] + (uint64_t)((__int128)(group->ns[i + 1] - group->ns[i]) * t / ONE);
}

static uint64_t sum_of(const struct workload_group *group, int64_t bend)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < group->count; i++)
		sum += ns_at(group, i, group->count - 1, bend);
	return sum;
}

/* The bend whose sum is nearest the total; the sum is linear in it on either side of 0. */
static int64_t bend_for(const struct workload_group *group)
{
	uint64_t straight = sum_of(group, 0), low = sum_of(group, ONE), high = sum_of(group, -ONE);
	uint64_t total = group->total_ns;

	if (total == straight)
		return 0;
	if (total < straight)
		return total <= low ? ONE
				    : (int64_t)((unsigned __int128)(straight - total) * ONE /
						(straight - low));
	return total >= high ? -ONE
			     : -(int64_t)((unsigned __int128)(total - straight) * ONE /
					  (high - straight));
}

/* Longer kernels of one class are mostly wider ones: the widths rise with the durations. */
static uint32_t sms_at(const struct workload_group *group, uint32_t rank, uint32_t last)
{
	uint64_t at = last ? (uint64_t)rank * 2000 / last : 1000;
	const uint32_t *sms = group->sms;

	if (at <= 1000)
		return sms[0] + (uint32_t)((sms[1] - sms[0]) * at / 1000);
	return sms[1] + (uint32_t)((sms[2] - sms[1]) * (at - 1000) / 1000);
}

bool workload_draw_group(const struct workload_group *group, uint32_t first_key,
			 struct workload_op *ops)
{
	uint32_t last = group->count - 1;
	unsigned __int128 sum = 0;
	uint64_t given = 0;
	int64_t bend = bend_for(group);

	for (uint32_t i = 0; i < group->count; i++) {
		ops[i] = (struct workload_op){
			.ns = ns_at(group, i, last, bend),
			.key = first_key + i,
			.sms = sms_at(group, i, last),
			.kind = WORKLOAD_KERNEL,
			.bw_class = group->bw_class,
			.spread_permille = group->spread_permille,
		};
		sum += ops[i].ns;
	}
	/* What the bend could not reach, and rounding. The total is kept, since a pair's rates hang
	 * on it; the quantiles give. The last nanoseconds go to the longest. */
	for (uint32_t i = 0; i < group->count; i++) {
		ops[i].ns = (uint64_t)(ops[i].ns * (unsigned __int128)group->total_ns / sum);
		ops[i].ns += !ops[i].ns;
		given += ops[i].ns;
	}
	if (given - ops[last].ns >= group->total_ns)
		return false;
	ops[last].ns += group->total_ns - given;
	return true;
}

struct place {
	uint64_t at; /* in the phase, of 2^32 */
	struct workload_op op;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->op.key < right->op.key ? -1 : left->op.key > right->op.key;
}

static void shuffle(struct workload_op *ops, uint32_t n, struct random *random)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)random_below(random, i);
		struct workload_op held = ops[i - 1];

		ops[i - 1] = ops[j];
		ops[j] = held;
	}
}

/* The i-th of a group's n operations stands somewhere in the i-th n-th of the phase. */
int workload_interleave(const uint32_t *counts, uint32_t n_groups, uint64_t seed,
			struct workload_op *ops, uint32_t n)
{
	struct place *places = malloc(n * sizeof(*places));
	struct random random;
	uint32_t k = 0;

	if (!places)
		return -ENOMEM;
	random_seed(&random, seed);
	for (uint32_t g = 0; g < n_groups; g++) {
		shuffle(ops + k, counts[g], &random);
		for (uint32_t i = 0; i < counts[g]; i++, k++)
			places[k] = (struct place){
				.at = (((uint64_t)i << 32) + random_below(&random, 1ull << 32)) /
				      counts[g],
				.op = ops[k],
			};
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < n; i++)
		ops[i] = places[i].op;
	free(places);
	return 0;
}
