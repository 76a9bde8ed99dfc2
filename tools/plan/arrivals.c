/* SPDX-License-Identifier: Apache-2.0 */
#include "arrivals.h"

#include <errno.h>

static bool steps_are_valid(const struct arrivals_desc *desc)
{
	if (desc->n_steps > ARRIVALS_MAX_STEPS)
		return false;
	for (uint32_t i = 0; i < desc->n_steps; i++)
		if (!desc->steps[i].rate_permille ||
		    (i && desc->steps[i].at_ns <= desc->steps[i - 1].at_ns))
			return false;
	return true;
}

static int mean_of_gaps(const struct arrivals_desc *desc, uint64_t *ret_mean_ns)
{
	unsigned __int128 sum = 0;

	if (!desc->gaps || !desc->n_gaps)
		return -EINVAL;
	for (uint32_t i = 0; i < desc->n_gaps; i++)
		sum += desc->gaps[i];
	*ret_mean_ns = (uint64_t)(sum / desc->n_gaps);
	return *ret_mean_ns ? 0 : -EINVAL;
}

int arrivals_init(struct arrivals *arrivals, const struct arrivals_desc *desc)
{
	uint64_t gaps_mean_ns = 0;

	if (desc->kind == ARRIVALS_RECORDED) {
		int r = mean_of_gaps(desc, &gaps_mean_ns);

		if (r)
			return r;
	} else if (!desc->mean_ns && desc->kind != ARRIVALS_CLOSED) {
		return -EINVAL;
	}
	if (desc->jitter_permille >= 1000 || desc->sigma_permille > 3000 || !steps_are_valid(desc))
		return -EINVAL;

	*arrivals = (struct arrivals){
		.desc = *desc,
		.gaps_mean_ns = gaps_mean_ns,
		.rate_permille = 1000,
	};
	random_seed(&arrivals->random, desc->seed);
	if (desc->kind == ARRIVALS_RECORDED)
		arrivals->next_gap = (uint32_t)random_below(&arrivals->random, desc->n_gaps);
	return 0;
}

static uint64_t recorded_gap(struct arrivals *arrivals)
{
	const struct arrivals_desc *desc = &arrivals->desc;
	uint64_t gap = desc->gaps[arrivals->next_gap];

	arrivals->next_gap = (arrivals->next_gap + 1) % desc->n_gaps;
	if (!desc->mean_ns)
		return gap;
	return (uint64_t)((unsigned __int128)gap * desc->mean_ns / arrivals->gaps_mean_ns);
}

static uint64_t draw_gap(struct arrivals *arrivals)
{
	const struct arrivals_desc *desc = &arrivals->desc;
	uint64_t half;

	switch (desc->kind) {
	case ARRIVALS_POISSON:
		return random_scale_q32(desc->mean_ns, random_exponential_q32(&arrivals->random));
	case ARRIVALS_PERIODIC:
		half = (uint64_t)((unsigned __int128)desc->mean_ns * desc->jitter_permille / 1000);
		return desc->mean_ns - half + random_below(&arrivals->random, 2 * half + 1);
	case ARRIVALS_LOGNORMAL:
		return random_scale_q32(desc->mean_ns, random_lognormal_q32(&arrivals->random,
									    desc->sigma_permille));
	case ARRIVALS_RECORDED: return recorded_gap(arrivals);
	case ARRIVALS_CLOSED: break;
	}
	return desc->mean_ns;
}

/* Lets `gap` of the base rate's time pass. */
static void pass(struct arrivals *arrivals, uint64_t gap)
{
	const struct arrivals_desc *desc = &arrivals->desc;

	while (arrivals->next_step < desc->n_steps) {
		const struct arrivals_step *step = &desc->steps[arrivals->next_step];
		unsigned __int128 left = 0;

		if (step->at_ns > arrivals->last_ns)
			left = (unsigned __int128)(step->at_ns - arrivals->last_ns) *
			       arrivals->rate_permille / 1000;
		if (gap < left)
			break;
		gap -= (uint64_t)left;
		if (step->at_ns > arrivals->last_ns)
			arrivals->last_ns = step->at_ns;
		arrivals->rate_permille = step->rate_permille;
		arrivals->next_step++;
	}
	arrivals->last_ns += (uint64_t)((unsigned __int128)gap * 1000 / arrivals->rate_permille);
}

void arrivals_next(struct arrivals *arrivals, uint64_t *ret_ns)
{
	if (arrivals->waiting) {
		*ret_ns = UINT64_MAX;
		return;
	}
	pass(arrivals, draw_gap(arrivals));
	arrivals->waiting = arrivals->desc.kind == ARRIVALS_CLOSED;
	*ret_ns = arrivals->last_ns;
}

void arrivals_done(struct arrivals *arrivals, uint64_t now_ns)
{
	if (arrivals->desc.kind != ARRIVALS_CLOSED)
		return;
	arrivals->waiting = false;
	if (now_ns > arrivals->last_ns)
		arrivals->last_ns = now_ns;
}
