/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/order.h"

#include "plan/shed.h"

/* What the simple rules compare: the least goes first. */
static uint64_t key_of(enum order_rule rule, const struct order_candidate *candidate)
{
	switch (rule) {
	case ORDER_SHORTEST: return candidate->request.profiled_ns;
	case ORDER_EDF: return candidate->request.deadline_ns;
	default: return candidate->arrival_ns;
	}
}

static uint32_t pick_least(enum order_rule rule, const struct order_candidate *candidate,
			   uint32_t count)
{
	uint32_t least = 0;

	for (uint32_t i = 1; i < count; i++) {
		if (key_of(rule, &candidate[i]) < key_of(rule, &candidate[least]))
			least = i;
	}
	return least;
}

static uint32_t pick_slo(const struct slo_order *slo, const struct order_candidate *candidate,
			 uint32_t count, uint64_t now_ns)
{
	struct slo_order_request request[SHED_MOST];

	for (uint32_t i = 0; i < count; i++)
		request[i] = candidate[i].request;
	return slo_order_pick(slo, request, count, now_ns);
}

/* From 1 to SHED_WEIGHT_MOST, of the heaviest candidate's. */
static uint32_t weight_of(const struct order_candidate *candidate, uint32_t count, uint32_t index)
{
	uint32_t most = 1, weight;

	for (uint32_t i = 0; i < count; i++)
		most = candidate[i].weight > most ? candidate[i].weight : most;
	weight = (uint32_t)((uint64_t)candidate[index].weight * SHED_WEIGHT_MOST / most);
	return weight ? weight : 1;
}

static uint32_t pick_shed(const struct order_candidate *candidate, uint32_t count, uint64_t now_ns)
{
	struct shed_request request[SHED_MOST];

	for (uint32_t i = 0; i < count; i++)
		request[i] =
			(struct shed_request){.left_ns = slo_order_remaining(&candidate[i].request),
					      .deadline_ns = candidate[i].request.deadline_ns,
					      .weight = weight_of(candidate, count, i)};
	(void)shed_choose(request, count, now_ns);
	return shed_first(request, count);
}

uint32_t order_pick(enum order_rule rule, const struct slo_order *slo,
		    const struct order_candidate *candidate, uint32_t count, uint64_t now_ns)
{
	switch (rule) {
	case ORDER_SLO: return pick_slo(slo, candidate, count, now_ns);
	case ORDER_SHED: return pick_shed(candidate, count, now_ns);
	default: return pick_least(rule, candidate, count);
	}
}
