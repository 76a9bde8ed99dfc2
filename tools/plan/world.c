/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/world_impl.h"

#define US 1000ull
#define MS 1000000ull
#define DONE_AT_ONCE 64u

void world_config_preset(struct world_config *config)
{
	*config = (struct world_config){
		.seed = 1,
		.visible_ns = 3 * US,
		.wake_ns = 8 * US,
		.sync_ns = 8 * US,
		.turnaround_ns = 15 * US,
		.gap_least_ns = 5 * US,
		.gap_most_ns = 10 * US,
		.loop_gap_ns = 6 * US,
		.loop_depth = MODEL_STREAM_DEPTH,
		.warmup_requests = 50,
		.warmup_ns = 100 * MS,
		.share_ns = 100 * MS,
	};
}

/* ---- life ---- */

int world_create(const struct world_config *config, const struct plan_policy *policy,
		 const uint64_t *values, struct world **ret_world)
{
	uint32_t options = plan_policy_options(policy);
	uint64_t size = (model_size() + 63) & ~63ull;
	struct world *world;

	if (config->gap_least_ns > config->gap_most_ns || !config->share_ns || !config->loop_depth)
		return -EINVAL;
	world = calloc(1, sizeof(*world));
	if (!world)
		return -ENOMEM;
	world->config = *config;
	world->policy = policy;
	for (uint32_t i = 0; i < options; i++)
		world->values[i] = values ? values[i] : policy->options[i].preset;
	world->timer_ns = world->start_ns = MODEL_NEVER;
	world->model = aligned_alloc(64, size);
	if (!world->model) {
		free(world);
		return -ENOMEM;
	}
	memset(world->model, 0, size);
	model_init(world->model, &config->device, 0);
	*ret_world = world;
	return 0;
}

void world_destroy(struct world *world)
{
	if (!world)
		return;
	if (world->created && world->policy->destroy)
		world->policy->destroy(world->state);
	for (uint32_t i = 0; i < world->hosts; i++)
		host_destroy(world->host[i]);
	free(world->model);
	free(world);
}

static bool workload_fits(const struct workload *workload)
{
	for (uint32_t i = 0; i < workload->n_ops; i++) {
		const struct workload_op *op = &workload->ops[i];

		if (op->kind == WORKLOAD_GRAPH && (!op->nodes || op->nodes > MODEL_STREAM_DEPTH ||
						   op->nodes >= workload->n_ops - i))
			return false;
	}
	return workload->n_ops && workload->steps && workload->device_sms;
}

int world_add(struct world *world, const struct world_tenant *tenant, uint32_t *ret_proc)
{
	int r;

	if (world->created || world->hosts == WORLD_MAX_PROCS || !tenant->workload ||
	    !workload_fits(tenant->workload) || (tenant->latency && !tenant->arrivals))
		return -EINVAL;
	r = host_create(world, tenant, &world->host[world->hosts]);
	if (r)
		return r;
	if (ret_proc)
		*ret_proc = world->hosts;
	world->hosts++;
	return 0;
}

/* ---- running ---- */

static int world_begin(struct world *world)
{
	int r = 0;

	if (world->created)
		return 0;
	if (!world->hosts)
		return -EINVAL;
	if (world->policy->create)
		r = world->policy->create(world, world->values, &world->state);
	if (r)
		return r;
	world->created = true;
	for (uint32_t i = 0; i < world->hosts; i++)
		host_start(world, world->host[i]);
	return 0;
}

static bool world_is_over(const struct world *world, uint32_t requests)
{
	bool any = false;

	for (uint32_t i = 0; i < world->hosts; i++) {
		const struct host *host = world->host[i];

		if (!host->tenant.latency)
			continue;
		any = true;
		if (host->finished < world->config.warmup_requests + requests)
			return false;
	}
	return any && requests;
}

static void world_check_warm(struct world *world)
{
	if (world->start_ns != MODEL_NEVER || world->now_ns < world->config.warmup_ns)
		return;
	for (uint32_t i = 0; i < world->hosts; i++) {
		if (!host_is_warm(world, world->host[i]))
			return;
	}
	record_start(world);
}

static uint64_t world_next_ns(const struct world *world)
{
	uint64_t next_ns = world->timer_ns < world->sample_ns ? world->timer_ns : world->sample_ns;

	if (world->start_ns == MODEL_NEVER && world->now_ns < world->config.warmup_ns &&
	    world->config.warmup_ns < next_ns)
		next_ns = world->config.warmup_ns;
	for (uint32_t i = 0; i < world->hosts; i++) {
		const struct host *host = world->host[i];

		if (host->step_ns < next_ns)
			next_ns = host->step_ns;
		if (host->seen_at_ns < next_ns)
			next_ns = host->seen_at_ns;
		if (host->arrival_ns < next_ns)
			next_ns = host->arrival_ns;
	}
	return next_ns;
}

static void world_collect(struct world *world)
{
	uint64_t left = model_procs_done(world->model);
	struct model_done done[DONE_AT_ONCE];

	/* Processes of the model are numbered as hosts are: both from 0, and none leaves. */
	for (; left; left &= left - 1) {
		struct host *host = world->host[__builtin_ctzll(left)];
		uint32_t count;

		do {
			count = model_collect(world->model, host->model_proc, DONE_AT_ONCE, done);
			for (uint32_t j = 0; j < count; j++)
				host_ended(world, host, &done[j]);
			world->events += count;
		} while (count == DONE_AT_ONCE);
	}
}

/* In a fixed order, so that what happens at one time always happens alike. */
static void world_programs(struct world *world)
{
	world_check_warm(world);
	for (uint32_t i = 0; i < world->hosts; i++) {
		if (world->host[i]->seen_at_ns <= world->now_ns) {
			host_see(world, world->host[i]);
			world->events++;
		}
	}
	if (world->timer_ns <= world->now_ns) {
		world->timer_ns = MODEL_NEVER;
		world->policy->timer(world->state);
		world->events++;
	}
	for (uint32_t i = 0; i < world->hosts; i++) {
		struct host *host = world->host[i];

		if (host->arrival_ns <= world->now_ns)
			host_arrival(world, host);
		if (host->step_ns <= world->now_ns) {
			host_step(world, host);
			world->events++;
		}
	}
	if (world->sample_ns <= world->now_ns)
		record_sample(world);
}

int world_run(struct world *world, uint32_t requests, uint64_t end_ns)
{
	int r = world_begin(world);

	if (r)
		return r;
	while (!world->error && !world_is_over(world, requests)) {
		uint64_t next_ns = world_next_ns(world);

		/* Stops where something ends. */
		next_ns = model_run(world->model, next_ns < end_ns ? next_ns : end_ns);
		world->now_ns = next_ns;
		world_collect(world);
		if (next_ns >= end_ns)
			break;
		world_programs(world);
	}
	return world->error;
}

/* ---- for policies ---- */

uint64_t world_now(const struct world *world)
{
	return world->now_ns;
}

bool world_is_warm(const struct world *world)
{
	return world->start_ns != MODEL_NEVER;
}

const struct world_config *world_get_config(const struct world *world)
{
	return &world->config;
}

bool world_report(const struct world *world, uint32_t proc, struct plan_report *ret_report)
{
	const struct plan_proc *seen = &world->host[proc]->proc;

	return world->created && seen->latency && world->policy->report &&
	       world->policy->report(world->state, seen, ret_report);
}

uint64_t world_events(const struct world *world)
{
	return world->events;
}

uint32_t world_procs(const struct world *world)
{
	return world->hosts;
}

struct plan_proc *world_proc(struct world *world, uint32_t index)
{
	return &world->host[index]->proc;
}

void world_wake(struct world *world, uint32_t proc, uint64_t at_ns)
{
	struct host *host = world->host[proc];

	if (host->state != HOST_HELD)
		return;
	if (at_ns < world->now_ns)
		at_ns = world->now_ns;
	if (at_ns < host->step_ns)
		host->step_ns = at_ns;
}

void world_limit(struct world *world, uint32_t proc, uint32_t max_sms)
{
	struct host *host = world->host[proc];

	if (host->limit_sms == max_sms)
		return;
	host->limit_sms = max_sms;
	for (uint32_t i = host->flights.done; i != host->flights.sent; i++)
		model_limit(world->model, world->now_ns, flight_at(&host->flights, i)->op, max_sms);
}

void world_timer(struct world *world, uint64_t at_ns)
{
	world->timer_ns = at_ns;
}
