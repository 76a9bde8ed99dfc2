/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Of one double, or one time, of each seed's result. */
static void over_doubles(const struct run_result *result, uint32_t seeds, size_t offset,
			 struct metrics_interval *ret)
{
	double value[SCENARIO_MAX_SEEDS];

	for (uint32_t i = 0; i < seeds; i++)
		memcpy(&value[i], (const char *)&result[i] + offset, sizeof(value[i]));
	metrics_over_seeds(value, seeds, ret);
}

static void over_times(const struct run_result *result, uint32_t seeds, size_t offset,
		       struct metrics_interval *ret)
{
	double value[SCENARIO_MAX_SEEDS];

	for (uint32_t i = 0; i < seeds; i++) {
		uint64_t ns;

		memcpy(&ns, (const char *)&result[i] + offset, sizeof(ns));
		value[i] = (double)ns;
	}
	metrics_over_seeds(value, seeds, ret);
}

static size_t of_tenant(uint32_t index, size_t offset)
{
	return offsetof(struct run_result, tenant) + index * sizeof(struct run_tenant) + offset;
}

#define OF(member) of_tenant(index, offsetof(struct run_tenant, member))

static void make_server(const struct run_result *result, uint32_t seeds, uint32_t index,
			struct report_tenant *tenant)
{
	over_times(result, seeds, OF(arrival.p50_ns), &tenant->a_p50_ns);
	over_times(result, seeds, OF(arrival.p99_ns), &tenant->a_p99_ns);
	over_times(result, seeds, OF(arrival.p999_ns), &tenant->a_p999_ns);
	over_times(result, seeds, OF(service.p50_ns), &tenant->s_p50_ns);
	over_times(result, seeds, OF(service.p99_ns), &tenant->s_p99_ns);
	over_times(result, seeds, OF(service.p999_ns), &tenant->s_p999_ns);
	over_times(result, seeds, OF(arrival_alone.p99_ns), &tenant->alone_a_p99_ns);
	over_times(result, seeds, OF(service_alone.p99_ns), &tenant->alone_s_p99_ns);
	over_doubles(result, seeds, OF(a_over), &tenant->a_over);
	over_doubles(result, seeds, OF(s_over), &tenant->s_over);
	over_doubles(result, seeds, OF(load), &tenant->load);
	over_doubles(result, seeds, OF(report.level), &tenant->level);
	over_times(result, seeds, OF(report.window_ns), &tenant->window_ns);
	over_times(result, seeds, OF(report.guard_ns), &tenant->guard_ns);
	for (uint32_t i = 0; i < seeds; i++) {
		const struct run_tenant *one = &result[i].tenant[index];

		tenant->target_ns += one->target_ns;
		tenant->requests += one->requests;
		tenant->judged += one->judged;
		tenant->late += one->late;
		tenant->unfinished += one->unfinished;
		tenant->unstable += one->unstable;
		tenant->has_report |= one->has_report;
		tenant->unreachable |= one->has_report && one->report.unreachable;
		if (one->has_report && one->report.beside_permille > tenant->beside_permille)
			tenant->beside_permille = one->report.beside_permille;
	}
	tenant->target_ns /= seeds;
}

static void make_loop(const struct run_result *result, uint32_t seeds, uint32_t index,
		      struct report_tenant *tenant)
{
	over_doubles(result, seeds, OF(throughput), &tenant->throughput);
	over_doubles(result, seeds, OF(held), &tenant->held);
	tenant->longest_unit_ns = result[0].tenant[index].longest_unit_ns;
	tenant->longest_key = result[0].tenant[index].longest_key;
}

/* ---- delays ---- */

static int compare(const void *a, const void *b)
{
	const struct run_delay *left = a, *right = b;

	if (left->total_ns != right->total_ns)
		return left->total_ns > right->total_ns ? -1 : 1;
	return left->key < right->key ? -1 : left->key > right->key;
}

static void add_delay(struct report_row *row, const struct run_delay *delay)
{
	struct run_delay *own;
	uint32_t i;

	for (i = 0; i < row->delays; i++) {
		own = &row->delay[i];
		if (own->server == delay->server && own->proc == delay->proc &&
		    own->key == delay->key)
			break;
	}
	if (i == RUN_MAX_DELAYS)
		return;
	own = &row->delay[i];
	if (i == row->delays) {
		row->delays++;
		*own = *delay;
		return;
	}
	own->count += delay->count;
	own->late += delay->late;
	own->total_ns += delay->total_ns;
	if (delay->worst_ns > own->worst_ns)
		own->worst_ns = delay->worst_ns;
}

#define OF_RUN(member) offsetof(struct run_result, member)

void report_make(const struct scenario *scenario, const struct scenario_order *order,
		 const struct run_result *result, struct report_row *ret_row)
{
	uint32_t seeds = scenario->seeds;

	memset(ret_row, 0, sizeof(*ret_row));
	ret_row->order = order;
	for (uint32_t i = 0; i < scenario->tenants; i++) {
		if (scenario->tenant[i].world.latency)
			make_server(result, seeds, i, &ret_row->tenant[i]);
		else
			make_loop(result, seeds, i, &ret_row->tenant[i]);
	}
	over_doubles(result, seeds, OF_RUN(throughput), &ret_row->throughput);
	over_doubles(result, seeds, OF_RUN(idle_part), &ret_row->idle_part);
	ret_row->has_shares = result[0].has_shares;
	over_doubles(result, seeds, OF_RUN(share_1s.mean), &ret_row->share_1s);
	over_doubles(result, seeds, OF_RUN(share_1s.worst), &ret_row->share_1s_worst);
	over_doubles(result, seeds, OF_RUN(share_100ms.p95), &ret_row->share_100ms_p95);
	for (uint32_t i = 0; i < seeds; i++) {
		for (uint32_t j = 0; j < result[i].delays; j++)
			add_delay(ret_row, &result[i].delay[j]);
	}
	qsort(ret_row->delay, ret_row->delays, sizeof(ret_row->delay[0]), compare);
}
