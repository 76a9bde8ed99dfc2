/* SPDX-License-Identifier: Apache-2.0 */
/* From steps to a workload: which of them stand for all, and what their operations cost. */

#include <errno.h>
#include <stdlib.h>

#include "plan/fold_impl.h"
#include "plan/workload.h"

#define PERIOD_MOST 16u
#define PERIOD_ENOUGH 900u /* permille of the steps that come around */
#define NODE_NS 100000u	   /* a graph's nodes are not seen: it is played as kernels of this */
#define NODES_MOST 512u

/* Steps i and i + period alike, of all there are. */
static uint32_t comes_around(const struct steps *steps, uint32_t period)
{
	uint32_t alike = 0, all = steps->count - period;

	for (uint32_t i = 0; i < all; i++)
		alike += steps->step[i].hash == steps->step[i + period].hash;
	return alike * 1000 / all;
}

static uint32_t find_period(const struct steps *steps, bool latency)
{
	for (uint32_t period = 1; !latency && period <= PERIOD_MOST && 4 * period <= steps->count;
	     period++) {
		if (comes_around(steps, period) >= PERIOD_ENOUGH)
			return period;
	}
	return 1;
}

static uint64_t chain_hash(const struct steps *steps, uint32_t at, uint32_t period)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < period; i++)
		hash = (hash ^ steps->step[at + i].hash) * 0x100000001b3ull + i;
	return hash;
}

static uint64_t chain_work_ns(const struct steps *steps, uint32_t at, uint32_t period)
{
	uint64_t work_ns = 0;

	for (uint32_t i = 0; i < period; i++)
		work_ns += steps->step[at + i].work_ns;
	return work_ns;
}

struct like {
	uint64_t hash, work_ns;
	uint32_t first;
};

static int compare_likes(const void *a, const void *b)
{
	const struct like *left = a, *right = b;

	if (left->hash != right->hash)
		return left->hash < right->hash ? -1 : 1;
	return left->first < right->first ? -1 : left->first > right->first;
}

/* The sequence of steps that makes up most of the work: where it first stands. */
static int find_typical(const struct steps *steps, uint32_t period, uint32_t *ret_first)
{
	uint32_t count = steps->count - period + 1;
	struct like *like = calloc(count, sizeof(*like));
	uint64_t most_ns = 0;

	if (!like)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		like[i] = (struct like){.hash = chain_hash(steps, i, period),
					.work_ns = chain_work_ns(steps, i, period),
					.first = i};
	qsort(like, count, sizeof(*like), compare_likes);
	for (uint32_t i = 0, j; i < count; i = j) {
		uint64_t work_ns = 0;

		for (j = i; j < count && like[j].hash == like[i].hash; j++)
			work_ns += like[j].work_ns;
		if (work_ns > most_ns) {
			most_ns = work_ns;
			*ret_first = like[i].first;
		}
	}
	free(like);
	return 0;
}

/* ---- the workload ---- */

static int compare_ns(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

/* A table of [like chain][launch] costs. */
struct costs {
	uint32_t *cost_ns;
	uint32_t chains, launches;
};

static void costs_take(const struct fold *fold, const struct steps *steps, uint32_t at,
		       uint32_t period, struct costs *costs)
{
	uint32_t *row = &costs->cost_ns[(size_t)costs->chains * costs->launches];

	for (uint32_t s = 0; s < period; s++) {
		const struct step *step = &steps->step[at + s];

		for (uint32_t i = step->from; i < step->to; i++) {
			if (fold_is_launch(&fold->record[i]))
				*row++ = fold->record[i].cost_ns;
		}
	}
	costs->chains++;
}

static uint32_t median_cost(const struct costs *costs, uint32_t launch, uint32_t *scratch)
{
	for (uint32_t i = 0; i < costs->chains; i++)
		scratch[i] = costs->cost_ns[(size_t)i * costs->launches + launch];
	qsort(scratch, costs->chains, sizeof(*scratch), compare_ns);
	return scratch[costs->chains / 2] ? scratch[costs->chains / 2] : 1;
}

/* Keys of a process become small numbers, in the order in which they come. */
static uint32_t small_key(uint64_t *keys, uint32_t *count, uint64_t key)
{
	for (uint32_t i = 0; i < *count; i++) {
		if (keys[i] == key)
			return i + 1;
	}
	keys[(*count)++] = key;
	return *count;
}

static uint32_t sms_of(const struct sluice_trace_record *record, const struct fold_terms *terms)
{
	if (terms->simulated || !record->blocks || !record->per_sm)
		return terms->device_sms;
	return record->blocks / record->per_sm + (record->blocks % record->per_sm != 0);
}

/* One operation; a graph is itself and its nodes. Returns how many. */
static uint32_t put_op(const struct sluice_trace_record *record, uint64_t ns, uint32_t key,
		       const struct fold_terms *terms, struct workload_op *op)
{
	static const uint8_t copies[] = {[SLUICE_TRACE_COPY_TO_DEVICE] = WORKLOAD_COPY_H2D,
					 [SLUICE_TRACE_COPY_TO_HOST] = WORKLOAD_COPY_D2H,
					 [SLUICE_TRACE_COPY_DEVICE] = WORKLOAD_COPY_D2D};
	uint32_t nodes = (uint32_t)(ns / NODE_NS) + 1;

	*op = (struct workload_op){.ns = ns, .key = key};
	switch (fold_kind(record)) {
	case SLUICE_TRACE_KERNEL:
		op->kind = WORKLOAD_KERNEL;
		op->sms = sms_of(record, terms);
		return 1;
	case SLUICE_TRACE_GRAPH:
		nodes = nodes < NODES_MOST ? nodes : NODES_MOST;
		op->kind = WORKLOAD_GRAPH;
		op->nodes = nodes;
		for (uint32_t i = 1; i <= nodes; i++)
			op[i] = (struct workload_op){.kind = WORKLOAD_KERNEL,
						     .ns = ns * i / nodes - ns * (i - 1) / nodes,
						     .key = key,
						     .sms = terms->device_sms};
		return 1 + nodes;
	default:
		op->kind = copies[fold_kind(record)];
		op->bytes = (uint64_t)record->blocks << 10;
		return 1;
	}
}

static uint32_t ops_needed(const struct fold *fold, const struct steps *steps, uint32_t first,
			   uint32_t period)
{
	uint32_t ops = 0;

	for (uint32_t i = steps->step[first].from; i < steps->step[first + period - 1].to; i++)
		ops += fold_kind(&fold->record[i]) == SLUICE_TRACE_GRAPH
			       ? 1 + NODES_MOST
			       : fold_is_launch(&fold->record[i]);
	return ops;
}

static int make_workload(const struct fold *fold, const struct fold_terms *terms,
			 const struct steps *steps, uint32_t first, uint32_t period,
			 const struct costs *costs, struct workload **ret_workload)
{
	uint32_t *scratch = calloc(costs->chains, sizeof(*scratch)), n_ops = 0, n_keys = 0;
	uint64_t *keys = calloc(costs->launches, sizeof(*keys));
	struct workload_op *ops = calloc(ops_needed(fold, steps, first, period), sizeof(*ops));
	int r = scratch && keys && ops ? 0 : -ENOMEM;

	for (uint32_t s = 0, launch = 0; !r && s < period; s++) {
		const struct step *step = &steps->step[first + s];

		for (uint32_t i = step->from; i < step->to; i++) {
			const struct sluice_trace_record *record = &fold->record[i];

			if (!fold_is_launch(record))
				continue;
			n_ops += put_op(record, median_cost(costs, launch++, scratch),
					small_key(keys, &n_keys, record->key), terms, &ops[n_ops]);
		}
	}
	if (!r)
		r = workload_create(terms->name, terms->source, terms->device_sms, ops, n_ops,
				    ret_workload);
	if (!r)
		(*ret_workload)->has_gaps = true;
	free(scratch);
	free(keys);
	free(ops);
	return r;
}

/* ---- all of it ---- */

static int fold_steps(const struct fold *fold, const struct fold_terms *terms,
		      const struct steps *steps, struct workload **ret_workload,
		      struct fold_result *result)
{
	uint32_t period = find_period(steps, terms->latency), first = 0;
	uint64_t hash, used_ns = 0, all_ns = 0;
	struct costs costs = {0};
	int r = find_typical(steps, period, &first);

	if (r)
		return r;
	hash = chain_hash(steps, first, period);
	for (uint32_t i = 0; i < period; i++)
		costs.launches += steps->step[first + i].launches;
	costs.cost_ns = calloc((size_t)costs.launches * (steps->count / period + 1),
			       sizeof(*costs.cost_ns));
	if (!costs.cost_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < steps->count; i++)
		all_ns += steps->step[i].work_ns;
	for (uint32_t i = first; i + period <= steps->count;) {
		if (chain_hash(steps, i, period) != hash) {
			i++;
			continue;
		}
		costs_take(fold, steps, i, period, &costs);
		used_ns += chain_work_ns(steps, i, period);
		i += period;
	}
	*result = (struct fold_result){.steps = steps->count,
				       .used = costs.chains * period,
				       .period = period,
				       .work_permille =
					       all_ns ? (uint32_t)(used_ns * 1000 / all_ns) : 0};
	r = make_workload(fold, terms, steps, first, period, &costs, ret_workload);
	free(costs.cost_ns);
	return r ? r : fold_find_gaps(fold, steps, result);
}

int fold_make(const struct fold *fold, const struct fold_terms *terms,
	      struct workload **ret_workload, struct fold_result *ret_result)
{
	struct steps steps;
	int r = fold_find_steps(fold, &steps);

	if (!r && !steps.count)
		r = -ENODATA;
	if (!r)
		r = fold_steps(fold, terms, &steps, ret_workload, ret_result);
	free(steps.step);
	return r;
}
