/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/order_run.h"

static int add_tenant(struct order_run *run, uint32_t index)
{
	const struct order_tenant *given = &run->tenant[index];
	struct world_tenant tenant = {.name = "tenant",
				      .latency = given->server,
				      .priority = given->priority,
				      .weight = given->weight ? given->weight : 100,
				      .gpu_max_permille = 1000,
				      .target = given->target,
				      .workload = given->workload,
				      .work_sigma_permille = given->work_sigma_permille};
	struct arrivals_desc desc = given->arrivals;
	int r = 0;

	if (given->server) {
		desc.seed = run->seed * WORLD_MAX_PROCS + index;
		tenant.arrivals = &run->stream[index];
		r = arrivals_init(&run->stream[index], &desc);
	}
	return r ? r : world_add(run->world, &tenant, NULL);
}

int order_run_do(struct order_run *run)
{
	struct suite_row row = {.name = "order", .policy = run->policy};
	const struct plan_policy *policy;
	uint64_t values[PLAN_MAX_OPTIONS];
	struct world_config config;
	int r;

	for (uint32_t i = 0; i < 4; i++)
		row.setting[i] = run->setting[i];
	r = suite_row_values(&row, &policy, values);
	if (r)
		return r;
	world_config_preset(&config);
	config.device = run->device;
	config.seed = run->seed;
	if (run->warmup)
		config.warmup_requests = run->warmup;
	if (run->warmup_ns)
		config.warmup_ns = run->warmup_ns;
	r = world_create(&config, policy, values, &run->world);
	for (uint32_t i = 0; !r && i < run->tenants; i++)
		r = add_tenant(run, i);
	if (!r)
		r = world_run(run->world, run->requests, run->end_ns ? run->end_ns : UINT64_MAX);
	for (uint32_t i = 0; !r && i < run->tenants; i++)
		world_get_record(run->world, i, &run->record[i]);
	return r;
}

void order_run_done(struct order_run *run)
{
	world_destroy(run->world);
	run->world = NULL;
}

double order_run_rate(const struct order_run *run, uint32_t first, uint32_t count)
{
	double rate = 0;

	for (uint32_t i = first; i < first + count; i++)
		rate += (double)run->record[i].done_ns / (double)run->record[i].measured_ns;
	return rate;
}
