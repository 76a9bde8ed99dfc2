/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/delays.h"
#include "plan/pool.h"
#include "plan/workload.h"

#define MS 1000000ull
#define S (1000 * MS)
#define LONE_REQUESTS 20u
#define LOOP_ITERATIONS 40u
#define LOOP_MOST_NS (20 * S)

/* One world of a scenario: all of its tenants, or one. */
struct play {
	struct world *world;
	struct arrivals arrivals[WORLD_MAX_PROCS];
};

static int play_add_as(struct play *play, const struct world_tenant *given, uint32_t index,
		       const struct arrivals_desc *desc)
{
	struct world_tenant tenant = *given;

	if (tenant.latency) {
		int r = arrivals_init(&play->arrivals[index], desc);

		if (r)
			return r;
		tenant.arrivals = &play->arrivals[index];
	}
	return world_add(play->world, &tenant, NULL);
}

static int play_add(struct play *play, const struct scenario *scenario, uint32_t index,
		    const struct arrivals_desc *desc, int32_t priority)
{
	struct world_tenant tenant = scenario->tenant[index].world;

	tenant.priority = priority;
	return play_add_as(play, &tenant, index, desc);
}

static struct arrivals_desc arrivals_of(const struct scenario *scenario, uint32_t index,
					uint64_t seed, uint64_t mean_ns)
{
	struct arrivals_desc desc = scenario->tenant[index].arrivals;

	desc.mean_ns = mean_ns;
	desc.seed = seed * WORLD_MAX_PROCS + index;
	return desc;
}

static struct world_config config_of(const struct scenario *scenario, uint64_t seed, bool mps)
{
	struct world_config config = scenario->config;

	config.seed = seed;
	config.device.mps = mps;
	return config;
}

/* ---- alone ---- */

/* How long a request of the mean length takes on an idle device. */
static int lone_service(const struct scenario *scenario, uint32_t index, uint64_t seed,
			uint64_t *ret_ns)
{
	struct world_config config = config_of(scenario, seed, scenario->config.device.mps);
	const struct workload *workload = scenario->tenant[index].workload;
	struct arrivals_desc desc = {.kind = ARRIVALS_PERIODIC,
				     .mean_ns = 4 * workload_iteration_ns(workload) + 100 * MS,
				     .seed = seed};
	struct world_tenant tenant = scenario->tenant[index].world;
	struct play play = {0};
	struct world_record record;
	uint64_t sum_ns = 0;
	int r;

	tenant.work_sigma_permille = 0;
	config.warmup_requests = 0;
	r = world_create(&config, plan_policy_find("native"), NULL, &play.world);
	if (!r)
		r = play_add_as(&play, &tenant, index, &desc);
	if (!r)
		r = world_run(play.world, LONE_REQUESTS, MODEL_NEVER);
	if (!r) {
		world_get_record(play.world, 0, &record);
		for (uint32_t i = 0; i < record.requests; i++)
			sum_ns += record.request[i].end_ns - record.request[i].arrival_ns;
		*ret_ns = sum_ns / record.requests;
	}
	world_destroy(play.world);
	return r;
}

static int server_mean(const struct scenario *scenario, uint32_t index, uint64_t seed,
		       struct run_alone *alone)
{
	const struct scenario_tenant *tenant = &scenario->tenant[index];
	int r = lone_service(scenario, index, seed, &alone->service_ns[index]);

	if (r)
		return r;
	alone->mean_ns[index] = tenant->arrivals.mean_ns;
	if (tenant->load_permille)
		alone->mean_ns[index] =
			(alone->service_ns[index] + scenario->config.turnaround_ns) * 1000 /
			tenant->load_permille;
	return 0;
}

static int tails_of(const struct world *world, uint32_t proc, uint32_t warmup, uint32_t requests,
		    struct metrics_tail *ret_arrival, struct metrics_tail *ret_service)
{
	struct world_record record;
	int r;

	world_get_record(world, proc, &record);
	/* A server that is faster than another has served more by the end. */
	if (requests && record.requests > warmup + requests)
		record.requests = warmup + requests;
	r = metrics_arrival(&record, warmup, ret_arrival);
	return r ? r : metrics_service(&record, warmup, ret_service);
}

/* A loop without servers has no requests to end by: so many iterations. */
static uint64_t loop_end_ns(const struct scenario *scenario, uint32_t index)
{
	uint64_t step_ns = workload_iteration_ns(scenario->tenant[index].workload);
	uint64_t end_ns = LOOP_ITERATIONS * (step_ns + MS);

	return scenario->config.warmup_ns + (end_ns < LOOP_MOST_NS ? end_ns : LOOP_MOST_NS);
}

static int alone_tenant(const struct scenario *scenario, uint32_t index, uint64_t seed,
			struct run_alone *alone)
{
	struct world_config config = config_of(scenario, seed, scenario->config.device.mps);
	bool server = scenario->tenant[index].world.latency;
	struct arrivals_desc desc = arrivals_of(scenario, index, seed, alone->mean_ns[index]);
	struct run_tenant *tenant = &alone->tenant[index];
	struct play play = {0};
	struct world_record record;
	int r = world_create(&config, plan_policy_find("native"), NULL, &play.world);

	if (!r)
		r = play_add(&play, scenario, index, &desc, 0);
	if (!r)
		r = world_run(play.world, server ? scenario->requests : 0,
			      server ? scenario->time_ns : loop_end_ns(scenario, index));
	if (!r && server)
		r = tails_of(play.world, 0, config.warmup_requests, scenario->requests,
			     &tenant->arrival_alone, &tenant->service_alone);
	if (!r) {
		world_get_record(play.world, 0, &record);
		alone->done_ns[index] = record.done_ns;
		alone->measured_ns[index] = record.measured_ns;
	}
	world_destroy(play.world);
	return r;
}

int run_alone(const struct scenario *scenario, uint64_t seed, struct run_alone *ret_alone)
{
	int r = 0;

	memset(ret_alone, 0, sizeof(*ret_alone));
	for (uint32_t i = 0; !r && i < scenario->tenants; i++) {
		if (scenario->tenant[i].world.latency)
			r = server_mean(scenario, i, seed, ret_alone);
		if (!r)
			r = alone_tenant(scenario, i, seed, ret_alone);
	}
	return r;
}

/* ---- together ---- */

static uint64_t resolve_target(const struct plan_target *target, const struct run_tenant *tenant)
{
	uint64_t alone_ns =
		target->from_arrival ? tenant->arrival_alone.p99_ns : tenant->service_alone.p99_ns;

	if (target->p99_ns)
		return target->p99_ns;
	return target->extra_permille ? alone_ns + alone_ns * target->extra_permille / 1000 : 0;
}

static void count_late(const struct world_record *record, uint32_t warmup, bool from_arrival,
		       struct run_tenant *tenant)
{
	if (!tenant->target_ns)
		return;
	for (uint32_t i = warmup; from_arrival && i < record->requests; i++) {
		tenant->judged++;
		tenant->late += record->request[i].end_ns - record->request[i].arrival_ns >
				tenant->target_ns;
	}
	for (uint32_t i = 0; !from_arrival && i < record->services; i++) {
		const struct world_service *service = &record->service[i];

		if (service->request < warmup)
			continue;
		tenant->judged++;
		tenant->late += service->end_ns - service->start_ns > tenant->target_ns;
	}
}

/* Of the requests that came in this run. */
static double load_of(const struct scenario *scenario, const struct world_record *record,
		      uint64_t service_ns)
{
	uint32_t last = record->requests ? record->requests - 1 : 0;
	uint64_t span_ns =
		last ? record->request[last].arrival_ns - record->request[0].arrival_ns : 0;

	service_ns += scenario->config.turnaround_ns;
	return span_ns ? (double)service_ns * last / (double)span_ns : 0;
}

/* Mean service, turnaround included, over the mean time between two arrivals. */
static bool is_unstable(const struct scenario *scenario, const struct world_record *record)
{
	uint64_t busy_ns = 0, span_ns;

	if (record->requests < 2)
		return false;
	for (uint32_t i = 0; i < record->requests; i++)
		busy_ns += record->request[i].end_ns - record->request[i].start_ns +
			   scenario->config.turnaround_ns;
	span_ns = record->request[record->requests - 1].arrival_ns - record->request[0].arrival_ns;
	return busy_ns > span_ns;
}

static int judge_server(const struct scenario *scenario, const struct play *play, uint32_t index,
			const struct run_alone *alone, struct run_result *result)
{
	struct run_tenant *tenant = &result->tenant[index];
	const struct plan_target *target = &scenario->tenant[index].world.target;
	uint32_t warmup = scenario->config.warmup_requests;
	struct world_record record;
	int r;

	*tenant = alone->tenant[index];
	r = tails_of(play->world, index, warmup, scenario->requests, &tenant->arrival,
		     &tenant->service);
	if (r)
		return r;
	world_get_record(play->world, index, &record);
	tenant->requests = record.requests > warmup ? record.requests - warmup : 0;
	tenant->unfinished = record.unfinished;
	tenant->load = load_of(scenario, &record, alone->service_ns[index]);
	tenant->a_over = metrics_over(tenant->arrival.p99_ns, tenant->arrival_alone.p99_ns);
	tenant->s_over = metrics_over(tenant->service.p99_ns, tenant->service_alone.p99_ns);
	tenant->unstable = is_unstable(scenario, &record);
	tenant->target_ns = resolve_target(target, tenant);
	count_late(&record, warmup, target->from_arrival, tenant);
	tenant->has_report = world_report(play->world, index, &tenant->report);
	return delays_add(&record, index, warmup, tenant, target->from_arrival, result);
}

static void judge_loop(const struct play *play, uint32_t index, const struct run_alone *alone,
		       struct run_result *result)
{
	struct run_tenant *tenant = &result->tenant[index];
	struct world_record record,
		lone = {.done_ns = alone->done_ns[index], .measured_ns = alone->measured_ns[index]};

	world_get_record(play->world, index, &record);
	tenant->throughput = metrics_throughput(&record, &lone);
	tenant->held = record.measured_ns ? (double)record.held_ns / (double)record.measured_ns : 0;
	tenant->longest_unit_ns = record.longest_unit_ns;
	tenant->longest_key = record.longest_key;
	result->throughput += tenant->throughput;
}

static int judge_shares(const struct scenario *scenario, const struct play *play,
			struct run_result *result)
{
	struct world_record record[WORLD_MAX_PROCS];
	uint32_t weight[WORLD_MAX_PROCS], loops = 0;
	uint64_t sample_ns = scenario->config.share_ns, start_ns;
	int r;

	for (uint32_t i = 0; i < scenario->tenants; i++) {
		if (scenario->tenant[i].world.latency)
			continue;
		weight[loops] = scenario->tenant[i].world.weight;
		world_get_record(play->world, i, &record[loops++]);
	}
	if (loops < 2)
		return 0;
	start_ns = record[0].start_ns;
	result->has_shares = true;
	r = metrics_share_error(record, weight, loops, sample_ns, 1 * S, start_ns,
				&result->share_1s);
	return r ? r
		 : metrics_share_error(record, weight, loops, sample_ns, 100 * MS, start_ns,
				       &result->share_100ms);
}

static int judge(const struct scenario *scenario, const struct play *play,
		 const struct run_alone *alone, struct run_result *result)
{
	double room = 1;
	int r = 0;

	result->tenants = scenario->tenants;
	result->events = world_events(play->world);
	result->virtual_ns = world_now(play->world);
	for (uint32_t i = 0; !r && i < scenario->tenants; i++) {
		if (scenario->tenant[i].world.latency)
			r = judge_server(scenario, play, i, alone, result);
		else
			judge_loop(play, i, alone, result);
		room -= result->tenant[i].load;
	}
	result->idle_part = room > 0.01 ? result->throughput / room : 0;
	delays_sort(result);
	return r ? r : judge_shares(scenario, play, result);
}

int run_order(const struct scenario *scenario, const struct scenario_order *order, uint64_t seed,
	      const struct run_alone *alone, struct run_result *ret_result)
{
	struct world_config config = config_of(scenario, seed, order->mps);
	struct play play = {0};
	int r = world_create(&config, order->policy, order->value, &play.world);

	memset(ret_result, 0, sizeof(*ret_result));
	for (uint32_t i = 0; !r && i < scenario->tenants; i++) {
		struct arrivals_desc desc = arrivals_of(scenario, i, seed, alone->mean_ns[i]);
		bool first = order->client_priority && scenario->tenant[i].world.latency;

		r = play_add(&play, scenario, i, &desc, first ? -1 : 0);
	}
	if (!r)
		r = world_run(play.world, scenario->requests, scenario->time_ns);
	if (!r)
		r = judge(scenario, &play, alone, ret_result);
	world_destroy(play.world);
	return r;
}

/* ---- all of it ---- */

struct everything {
	const struct scenario *scenario;
	struct run_alone *alone;   /* by seed */
	struct run_result *result; /* by order and seed */
};

static int alone_task(void *context, uint32_t number)
{
	struct everything *all = context;

	return run_alone(all->scenario, all->scenario->seed[number], &all->alone[number]);
}

static int order_task(void *context, uint32_t number)
{
	struct everything *all = context;
	uint32_t seeds = all->scenario->seeds, seed = number % seeds;

	return run_order(all->scenario, &all->scenario->order[number / seeds],
			 all->scenario->seed[seed], &all->alone[seed], &all->result[number]);
}

int run_scenario(const struct scenario *scenario, uint32_t workers, struct run_result **ret_result)
{
	uint32_t runs = scenario->orders * scenario->seeds;
	size_t alone_size = scenario->seeds * sizeof(struct run_alone);
	size_t size = runs * sizeof(struct run_result);
	struct everything all = {.scenario = scenario,
				 .alone = pool_shared(alone_size),
				 .result = pool_shared(size)};
	struct run_result *result = malloc(size);
	int r = all.alone && all.result && result ? 0 : -ENOMEM;

	if (!r)
		r = pool_run(scenario->seeds, workers, alone_task, &all);
	if (!r)
		r = pool_run(runs, workers, order_task, &all);
	if (!r) {
		memcpy(result, all.result, size);
		*ret_result = result;
	} else {
		free(result);
	}
	pool_release(all.alone, alone_size);
	pool_release(all.result, size);
	return r;
}
