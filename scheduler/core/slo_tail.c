/* SPDX-License-Identifier: Apache-2.0 */
#include "slo_tail.h"

#include "slo_fix.h"

/* What is added to the tail grows by so many octaves (in 1024ths) with a level: between 0 and 3.5 it
 * doubles every 0.45 in the policy study. */
#define SLOPE_OCTAVES 2300
#define TAIL_PERMILLE 30u

static uint32_t tail_kept(const struct slo_tail *tail, uint32_t most)
{
	uint64_t kept = tail->pairs - tail->from;

	return kept < most ? (uint32_t)kept : most;
}

static const struct slo_pair *tail_at(const struct slo_tail *tail, uint32_t ago)
{
	return &tail->pair[(tail->pairs - 1 - ago) % TAIL_RING];
}

/* The last arrivals come 1.6 times as fast as those before, or as slowly: for random ones that is
 * three deviations and more. */
static void tail_watch_rate(struct slo_tail *tail)
{
	uint32_t kept = tail_kept(tail, TAIL_RING);
	uint64_t now_ns, then_ns, last_ns, before_ns;

	if (kept < 2 * TAIL_RATE || tail->pairs % (TAIL_RATE / 4))
		return;
	now_ns = tail_at(tail, 0)->arrival_ns;
	then_ns = tail_at(tail, TAIL_RATE)->arrival_ns;
	before_ns = tail_at(tail, kept - 1)->arrival_ns;
	if (!before_ns || now_ns < then_ns || then_ns < before_ns)
		return;
	last_ns = (now_ns - then_ns) / TAIL_RATE;
	before_ns = (then_ns - before_ns) / (kept - 1 - TAIL_RATE);
	if (last_ns > before_ns + before_ns * 3 / 5 || before_ns > last_ns + last_ns * 3 / 5)
		tail->from = tail->pairs - TAIL_RATE;
}

void slo_tail_add(struct slo_tail *tail, const struct slo_pair *pair)
{
	tail->pair[tail->pairs++ % TAIL_RING] = *pair;
	tail_watch_rate(tail);
}

void slo_tail_forget(struct slo_tail *tail, uint64_t before_ns, uint32_t least)
{
	uint32_t kept = tail_kept(tail, TAIL_RING);

	while (kept > least && tail_at(tail, kept - 1)->end_ns < before_ns)
		kept--;
	tail->from = tail->pairs - kept;
}

static uint64_t pair_at_level(const struct slo_pair *pair, int32_t level)
{
	uint64_t more_ns;

	if (pair->shared_ns <= pair->alone_ns || pair->level == level)
		return pair->shared_ns;
	more_ns = fix_scale(pair->shared_ns - pair->alone_ns,
			    (level - pair->level) * SLOPE_OCTAVES / 1000);
	/* Nothing that was seen says that it could be more than all of this. */
	if (more_ns > pair->alone_ns)
		more_ns = pair->alone_ns > pair->shared_ns - pair->alone_ns
				  ? pair->alone_ns
				  : pair->shared_ns - pair->alone_ns;
	return pair->alone_ns + more_ns;
}

static uint64_t tail_mean(uint64_t *value, uint32_t count)
{
	uint32_t largest = count * TAIL_PERMILLE / 1000;
	uint64_t sum = 0;

	if (!largest)
		largest = 1;
	fix_select(value, count, count - largest);
	for (uint32_t i = count - largest; i < count; i++)
		sum += value[i]; /* none is above an hour or two */
	return sum / largest;
}

struct slo_tails slo_tail_look(const struct slo_tail *tail, uint32_t most, int32_t level)
{
	uint64_t shared_ns[TAIL_RING], alone_ns[TAIL_RING];
	uint32_t count = tail_kept(tail, most);

	if (!count)
		return (struct slo_tails){0};
	for (uint32_t i = 0; i < count; i++) {
		const struct slo_pair *pair = tail_at(tail, i);

		shared_ns[i] = pair_at_level(pair, level);
		alone_ns[i] = pair->alone_ns;
	}
	return (struct slo_tails){.pairs = count,
				  .shared_ns = tail_mean(shared_ns, count),
				  .alone_ns = tail_mean(alone_ns, count)};
}

struct slo_tails slo_tail_show(const struct slo_tail *tail, uint32_t permille)
{
	uint64_t shared_ns[TAIL_RING], alone_ns[TAIL_RING];
	uint32_t count = tail_kept(tail, TAIL_RING), rank;

	if (!count)
		return (struct slo_tails){0};
	for (uint32_t i = 0; i < count; i++) {
		shared_ns[i] = tail_at(tail, i)->shared_ns;
		alone_ns[i] = tail_at(tail, i)->alone_ns;
	}
	rank = (count * permille + 999) / 1000;
	rank = rank ? rank - 1 : 0;
	return (struct slo_tails){.pairs = count,
				  .shared_ns = fix_select(shared_ns, count, rank),
				  .alone_ns = fix_select(alone_ns, count, rank)};
}
