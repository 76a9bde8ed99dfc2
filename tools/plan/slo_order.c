/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/slo_order.h"

#include <stdbool.h>

/* What a request took so far tells of its rest, within these bounds: the first kernels of one may
 * have met somebody else's last ones. */
#define GAMMA_LEAST 125u
#define GAMMA_MOST 8000u
/* The paper adds idle time over isolated time, a bare number, to a time: so much for each 1. */
#define STALENESS_NS 1000000ull
/* A staler one is no more urgent; keeps products within 64 bits. */
#define STALENESS_MOST_PERMILLE 1000000000ull

static uint64_t gamma_permille(const struct slo_order_request *request)
{
	uint64_t gamma;

	if (!request->done_ns)
		return 1000;
	gamma = request->measured_ns * 1000 / request->done_ns;
	if (gamma < GAMMA_LEAST)
		return GAMMA_LEAST;
	return gamma < GAMMA_MOST ? gamma : GAMMA_MOST;
}

uint64_t slo_order_remaining(const struct slo_order_request *request)
{
	if (request->done_ns >= request->profiled_ns)
		return 0;
	return (request->profiled_ns - request->done_ns) * gamma_permille(request) / 1000;
}

static uint64_t idle_ns(const struct slo_order_request *request, uint64_t now_ns)
{
	return request->idle_since_ns < now_ns ? now_ns - request->idle_since_ns : 0;
}

/* Idle time in thousandths of the time that it takes alone. */
static uint64_t idle_permille(const struct slo_order_request *request, uint64_t now_ns)
{
	uint64_t alone_ns = request->profiled_ns ? request->profiled_ns : 1;
	uint64_t permille = idle_ns(request, now_ns) * 1000 / alone_ns;

	return permille < STALENESS_MOST_PERMILLE ? permille : STALENESS_MOST_PERMILLE;
}

uint64_t slo_order_score(const struct slo_order *order, const struct slo_order_request *request,
			 uint32_t active, uint64_t now_ns)
{
	uint64_t remaining_ns = slo_order_remaining(request), slack_ns = 0, stale_ns;

	/* Without a deadline there is no slack to compare: neither an urgent nor a lazy one. */
	if (request->deadline_ns != SLO_ORDER_NO_DEADLINE &&
	    request->deadline_ns > now_ns + remaining_ns)
		slack_ns = request->deadline_ns - now_ns - remaining_ns;
	stale_ns = idle_permille(request, now_ns) * (STALENESS_NS / 1000) / (active ? active : 1);
	return remaining_ns + (slack_ns + stale_ns) * order->beta_permille / 1000;
}

static bool is_starved(const struct slo_order *order, const struct slo_order_request *request,
		       uint64_t now_ns)
{
	return order->starve_permille && idle_permille(request, now_ns) > order->starve_permille;
}

uint32_t slo_order_pick(const struct slo_order *order, const struct slo_order_request *request,
			uint32_t count, uint64_t now_ns)
{
	uint32_t best = SLO_ORDER_NONE;
	uint64_t best_score = 0;
	bool best_starved = false;

	for (uint32_t i = 0; i < count; i++) {
		bool starved = is_starved(order, &request[i], now_ns);
		/* Of the starved the one that waits longest, so that each has its turn. */
		uint64_t score = starved ? request[i].idle_since_ns
					 : slo_order_score(order, &request[i], count, now_ns);

		if (best != SLO_ORDER_NONE && best_starved == starved ? score >= best_score
								      : best_starved)
			continue;
		best = i;
		best_score = score;
		best_starved = starved;
	}
	return best;
}
