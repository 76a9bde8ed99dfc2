/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program: one thread, one stream. A server serves its requests one by one; a loop begins its
 * next iteration when the last is done. Both launch a step's operations one after the other and
 * then wait for them.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/world_impl.h"

#define QUEUE_MOST (1u << 20)
#define LENGTHS 0x6c656e67746873ull /* use of random numbers, beside those of arrivals */
/* Requests are no shorter and no longer than that, over their workload's. */
#define WORK_LEAST_PERMILLE 50u
#define WORK_MOST_PERMILLE 20000u

/* ---- life ---- */

static int host_attach(struct world *world, struct host *host, uint32_t index)
{
	int r = model_attach(world->model, 0, index + 1, 1, &host->model_proc);

	if (!r)
		r = model_set_priority(world->model, 0, host->model_proc, host->tenant.priority);
	if (!r)
		r = model_stream_create(world->model, host->model_proc, host->tenant.priority,
					&host->stream);
	return r;
}

int host_create(struct world *world, const struct world_tenant *tenant, struct host **ret_host)
{
	struct host *host = calloc(1, sizeof(*host));
	struct random seed;
	int r;

	if (!host)
		return -ENOMEM;
	host->tenant = *tenant;
	host->proc = (struct plan_proc){.index = world->hosts,
					.latency = tenant->latency,
					.weight = tenant->weight,
					.gpu_max_permille = tenant->gpu_max_permille,
					.gpu_min_permille = tenant->gpu_min_permille,
					.target = tenant->target,
					.workload = tenant->workload};
	random_seed(&seed, world->config.seed);
	random_fork(&seed, 2 * world->hosts + 1, &host->gaps);
	random_fork(&seed, 2 * world->hosts + 2, &host->work);
	if (tenant->latency) {
		/* Requests are as long however they are served, and beside whom. */
		random_seed(&seed, tenant->arrivals->desc.seed);
		random_fork(&seed, LENGTHS, &host->lengths);
	}
	host->work_permille = 1000;
	host->step_ns = host->seen_at_ns = host->arrival_ns = MODEL_NEVER;
	host->limit_sms = UINT32_MAX;
	r = host_attach(world, host, world->hosts);
	if (r) {
		free(host);
		return r;
	}
	*ret_host = host;
	return 0;
}

void host_destroy(struct host *host)
{
	if (!host)
		return;
	free(host->request.item);
	free(host->service.item);
	free(host->progress.item);
	free(host);
}

bool host_is_warm(const struct world *world, const struct host *host)
{
	return !host->tenant.latency || host->finished >= world->config.warmup_requests;
}

/* ---- requests ---- */

static void host_next_arrival(struct host *host)
{
	arrivals_next(host->tenant.arrivals, &host->arrival_ns);
}

void host_start(struct world *world, struct host *host)
{
	host->state = host->tenant.latency ? HOST_IDLE : HOST_LAUNCH;
	if (host->tenant.latency)
		host_next_arrival(host);
	else
		host->step_ns = 0;
}

static struct world_request *host_request(struct host *host)
{
	return (struct world_request *)host->request.item + host->finished;
}

void host_arrival(struct world *world, struct host *host)
{
	struct world_request *request = vector_add(&host->request, sizeof(*request));

	if (!request || host->arrived - host->finished >= QUEUE_MOST) {
		world->error = request ? -EOVERFLOW : -ENOMEM;
		return;
	}
	request->arrival_ns = world->now_ns;
	host->arrived++;
	if (world->policy->arrived)
		world->policy->arrived(world->state, &host->proc, world->now_ns);
	if (host->state == HOST_IDLE) {
		host->state = HOST_LAUNCH;
		host->step_ns = world->now_ns;
	}
	host_next_arrival(host);
}

static uint32_t host_draw_length(struct host *host)
{
	uint64_t permille;

	if (!host->tenant.work_sigma_permille)
		return 1000;
	permille = random_scale_q32(
		1000, random_lognormal_q32(&host->lengths, host->tenant.work_sigma_permille));
	if (permille < WORK_LEAST_PERMILLE)
		return WORK_LEAST_PERMILLE;
	return permille < WORK_MOST_PERMILLE ? (uint32_t)permille : WORK_MOST_PERMILLE;
}

static void host_begin_request(struct world *world, struct host *host)
{
	struct world_request *request = host_request(host);

	host->work_permille = request->work_permille = host_draw_length(host);
	host->proc.arrival_ns = request->arrival_ns;
	request->start_ns = world->now_ns;
}

/* A server's first launch of a step. */
static void host_begin(struct world *world, struct host *host)
{
	host->proc.active = true;
	host->proc.busy_since_ns = world->now_ns;
	host->now = (struct world_service){
		.request = host->finished, .step = host->step, .start_ns = world->now_ns};
	record_met(world, &host->now);
	if (!host->step)
		host_begin_request(world, host);
	if (world->policy->request_begin)
		world->policy->request_begin(world->state, &host->proc);
}

static void host_finish_request(struct world *world, struct host *host)
{
	struct world_request *request = host_request(host);

	request->end_ns = world->now_ns;
	host->finished++;
	arrivals_done(host->tenant.arrivals, world->now_ns);
	if (host->arrival_ns == MODEL_NEVER)
		host_next_arrival(host);
	if (world->policy->finished)
		world->policy->finished(world->state, &host->proc, request->arrival_ns,
					request->start_ns);
	host->state = host->arrived > host->finished ? HOST_LAUNCH : HOST_IDLE;
	host->step_ns = host->state == HOST_LAUNCH ? world->now_ns + world->config.turnaround_ns
						   : MODEL_NEVER;
}

/* A server's synchronisation has returned. */
static void host_end_service(struct world *world, struct host *host)
{
	struct world_service *service = vector_add(&host->service, sizeof(*service));

	if (!service) {
		world->error = -ENOMEM;
		return;
	}
	host->now.end_ns = world->now_ns;
	*service = host->now;
	host->proc.active = false;
	host->proc.idle_since_ns = world->now_ns;
	if (world->policy->request_end)
		world->policy->request_end(world->state, &host->proc, service->start_ns);
	host->cursor = 0;
	if (++host->step < host->tenant.workload->steps) {
		host->state = HOST_LAUNCH;
		host->step_ns = world->now_ns + host->tenant.workload->step_gap_ns;
		return;
	}
	host->step = 0;
	host_finish_request(world, host);
}

static void host_end_iteration(struct world *world, struct host *host)
{
	const struct workload *workload = host->tenant.workload;
	bool over = host->step + 1 == workload->steps;

	host->cursor = 0;
	host->iterations += over;
	host->step = over ? 0 : host->step + 1;
	host->state = HOST_LAUNCH;
	host->step_ns = world->now_ns + (over || !workload->step_gap_ns ? world->config.loop_gap_ns
									: workload->step_gap_ns);
}

/* ---- the thread ---- */

/* All of a step is launched. */
static void host_sync(struct world *world, struct host *host)
{
	uint64_t after_ns = host->busy_ns + world->config.sync_ns;

	host->state = HOST_SYNC;
	host->step_ns = MODEL_NEVER;
	if (!flights_count(&host->flights))
		host->step_ns = after_ns > world->now_ns ? after_ns : world->now_ns;
	if (!host->tenant.latency && world->policy->waiting)
		world->policy->waiting(world->state, &host->proc);
}

void host_step(struct world *world, struct host *host)
{
	host->step_ns = MODEL_NEVER;
	if (host->state == HOST_SYNC) {
		if (host->tenant.latency)
			host_end_service(world, host);
		else
			host_end_iteration(world, host);
		return;
	}
	if (host->cursor == host->tenant.workload->n_ops) {
		host_sync(world, host);
		return;
	}
	if (!host_has_room(world, host)) {
		host->state = HOST_FULL;
		return;
	}
	if (host->tenant.latency && !host->proc.active)
		host_begin(world, host);
	host_ask(world, host);
}

/* ---- completions ---- */

void host_ended(struct world *world, struct host *host, const struct model_done *done)
{
	struct flight *flight = flight_at(&host->flights, host->flights.done);

	if (flight->op != done->op) {
		world->error = -EPROTO; /* a stream ends in order */
		return;
	}
	host->flights.done++;
	flight->end_ns = host->busy_ns = done->end_ns;
	host->ended_ns += flight->cost_ns;
	host->progress_ns += flight->nominal_ns;
	if (host->seen_at_ns == MODEL_NEVER)
		host->seen_at_ns = done->end_ns + world->config.visible_ns;
	if (host->state == HOST_FULL) {
		host->state = HOST_LAUNCH;
		host->step_ns = world->now_ns;
	}
	if (host->state == HOST_SYNC && !flights_count(&host->flights))
		host->step_ns = done->end_ns + world->config.sync_ns;
}

static void host_see_one(struct world *world, struct host *host, const struct flight *flight)
{
	struct plan_proc *proc = &host->proc;

	if (!flight->last)
		return;
	proc->seen_ns += flight->cost_ns;
	proc->in_flight--;
	proc->moved_ns = world->now_ns;
	if (world->policy->completed)
		world->policy->completed(world->state, proc, flight->what, flight->cost_ns);
}

void host_see(struct world *world, struct host *host)
{
	struct flights *flights = &host->flights;

	host->seen_at_ns = MODEL_NEVER;
	while (flights->seen != flights->done) {
		const struct flight *flight = flight_at(flights, flights->seen);
		uint64_t at_ns = flight->end_ns + world->config.visible_ns;

		if (at_ns > world->now_ns) {
			host->seen_at_ns = at_ns;
			break;
		}
		flights->seen++;
		host_see_one(world, host, flight);
	}
}
