/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/run.h"

#include <errno.h>

/* Above best-effort processes, where the row has priorities. */
#define LC_PRIORITY (-1)

static int add_server(const struct suite_catalog *catalog, struct suite_run *run)
{
	struct arrivals_desc desc = {.kind = run->arrivals,
				     .mean_ns = run->lc_gap_ns,
				     .jitter_permille = run->jitter_permille,
				     .sigma_permille = run->sigma_permille,
				     .gaps = catalog->gaps,
				     .n_gaps = catalog->n_gaps,
				     .n_steps = run->n_steps,
				     .seed = run->seed};
	struct world_tenant tenant = {.name = "server",
				      .latency = true,
				      .priority = run->row->no_priority ? 0 : LC_PRIORITY,
				      .weight = 100,
				      .gpu_max_permille = 1000,
				      .workload = run->lc,
				      .arrivals = &run->stream};
	int r;

	if (run->row->extra_permille)
		tenant.target = (struct plan_target){.extra_permille = run->row->extra_permille,
						     .from_arrival = true};
	for (uint32_t i = 0; i < run->n_steps; i++)
		desc.steps[i] = run->steps[i];
	r = arrivals_init(&run->stream, &desc);
	return r ? r : world_add(run->world, &tenant, NULL);
}

static int add_loops(struct suite_run *run)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < run->n_be; i++) {
		struct world_tenant tenant = {.name = "loop",
					      .weight = run->weight[i] ? run->weight[i] : 100,
					      .gpu_max_permille = 1000,
					      .workload = run->be[i]};

		r = world_add(run->world, &tenant, NULL);
	}
	return r;
}

static void collect(struct suite_run *run)
{
	uint32_t first_be = run->lc ? 1 : 0;

	if (run->lc)
		world_get_record(run->world, 0, &run->lc_record);
	for (uint32_t i = 0; i < run->n_be; i++)
		world_get_record(run->world, first_be + i, &run->be_record[i]);
}

int suite_run_do(const struct suite_catalog *catalog, struct suite_run *run)
{
	const struct plan_policy *policy;
	uint64_t values[PLAN_MAX_OPTIONS];
	struct world_config config;
	int r = suite_row_values(run->row, &policy, values);

	if (r)
		return r;
	world_config_preset(&config);
	config.device = catalog->device[run->mode];
	config.seed = run->seed;
	config.warmup_requests = SUITE_WARMUP;
	if (run->warmup_ns)
		config.warmup_ns = run->warmup_ns;
	if (run->share_ns)
		config.share_ns = run->share_ns;
	r = world_create(&config, policy, values, &run->world);
	if (!r && run->lc)
		r = add_server(catalog, run);
	if (!r)
		r = add_loops(run);
	if (!r)
		r = world_run(run->world, run->requests, run->end_ns ? run->end_ns : UINT64_MAX);
	if (!r)
		collect(run);
	return r;
}

void suite_run_done(struct suite_run *run)
{
	world_destroy(run->world);
	run->world = NULL;
}
