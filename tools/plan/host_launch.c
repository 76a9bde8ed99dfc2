/* SPDX-License-Identifier: Apache-2.0 */
/* How a program launches: it asks its policy, waits where that says so, and submits. */

#include <errno.h>

#include "plan/world_impl.h"

static uint64_t host_gap_ns(const struct world *world, struct host *host)
{
	const struct world_config *config = &world->config;

	if (!host->tenant.latency)
		return config->loop_gap_ns;
	return config->gap_least_ns +
	       random_below(&host->gaps, config->gap_most_ns - config->gap_least_ns + 1);
}

static const struct workload_op *host_op(const struct host *host)
{
	return &host->tenant.workload->ops[host->cursor];
}

static void host_send(struct world *world, struct host *host, const struct workload_op *op,
		      uint64_t work_ns, const struct flight *like)
{
	struct flight *flight = flight_at(&host->flights, host->flights.sent);
	struct model_op_desc desc;
	int r;

	shape_op(world, host, op, work_ns, &host->launch, &desc);
	if (host->limit_sms && host->limit_sms < desc.max_sms)
		desc.max_sms = host->limit_sms;
	*flight = *like;
	flight->start_ns = world->now_ns + world->config.device.launch_latency_ns;
	r = model_submit(world->model, world->now_ns, host->stream, &desc, &flight->op);
	if (r) {
		world->error = r;
		return;
	}
	if (!host->limit_sms)
		model_limit(world->model, world->now_ns, flight->op, 0);
	host->flights.sent++;
}

/* A piece's part of a whole. */
static uint64_t part(uint64_t whole, uint32_t piece, uint32_t pieces)
{
	return whole * (piece + 1) / pieces - whole * piece / pieces;
}

/* The nodes of a graph follow one another without the host; the unit is complete with the last. */
static void host_send_unit(struct world *world, struct host *host, uint64_t cost_ns)
{
	const struct plan_launch *launch = &host->launch;
	const struct workload_op *op = launch->op;
	struct flight flight = {.what = op};

	if (op->kind != WORKLOAD_GRAPH) {
		flight.last = true;
		flight.cost_ns = cost_ns;
		flight.nominal_ns = part(op->ns, launch->piece, launch->pieces);
		host_send(world, host, op, host->work_ns, &flight);
		return;
	}
	for (uint32_t i = 1; i <= op->nodes; i++) {
		flight.last = i == op->nodes;
		flight.cost_ns = flight.last ? cost_ns : 0;
		flight.nominal_ns = op[i].ns;
		host_send(world, host, &op[i], shape_work(host, &op[i]), &flight);
	}
}

static uint32_t host_needs(const struct workload_op *op)
{
	return op->kind == WORKLOAD_GRAPH ? op->nodes : 1;
}

bool host_has_room(const struct world *world, const struct host *host)
{
	uint32_t count = flights_count(&host->flights), needs = host_needs(host_op(host));

	return !count || (count + needs <= MODEL_STREAM_DEPTH && count < world->config.loop_depth &&
			  host->flights.sent - host->flights.seen + needs <= HOST_RING);
}

/* What a policy puts before a launch: weights that are not on the device, say. It is nobody's
 * progress, and done when the launch is. */
static void host_copy_in(struct world *world, struct host *host)
{
	static const struct workload_op copy = {.kind = WORKLOAD_COPY_H2D};
	const struct plan_launch *launch = &host->launch;
	struct flight flight = {.what = launch->op};

	if (flights_count(&host->flights) || launch->piece || launch->pieces != 1) {
		world->error = -EINVAL;
		return;
	}
	host_send(world, host, &copy, launch->copy_in_ns, &flight);
	host->copies_in++;
}

static void host_note_unit(struct host *host, const struct workload_op *op)
{
	host->launches++;
	if (op->ns > host->longest_ns) {
		host->longest_ns = op->ns;
		host->longest_key = op->key;
	}
}

static void host_launch(struct world *world, struct host *host)
{
	struct plan_launch *launch = &host->launch;
	struct plan_proc *proc = &host->proc;
	uint64_t cost_ns = part(launch->cost_ns, launch->piece, launch->pieces);

	if (!launch->piece)
		host_note_unit(host, launch->op);
	if (!proc->in_flight)
		proc->moved_ns = world->now_ns;
	if (launch->copy_in_ns)
		host_copy_in(world, host);
	host_send_unit(world, host, cost_ns);
	proc->launched_ns += cost_ns;
	proc->in_flight++;
	host->pieces++;
	if (world->policy->launched)
		world->policy->launched(world->state, proc, launch);
	host->state = HOST_LAUNCH;
	host->step_ns = world->now_ns + launch->host_extra_ns;
	if (++launch->piece < launch->pieces)
		return;
	host->cursor += launch->op->kind == WORKLOAD_GRAPH ? 1 + launch->op->nodes : 1;
	launch->op = NULL;
	host->step_ns += host_gap_ns(world, host);
}

void host_ask(struct world *world, struct host *host)
{
	struct plan_launch *launch = &host->launch;
	struct plan_proc *proc = &host->proc;
	uint64_t wake_ns = MODEL_NEVER;

	if (!launch->op) {
		uint64_t predicted_ns = shape_predict(world, host, host_op(host));

		*launch = (struct plan_launch){.op = host_op(host),
					       .predicted_ns = predicted_ns,
					       .cost_ns = predicted_ns,
					       .pieces = 1,
					       .max_sms = UINT32_MAX,
					       .stretch_permille = 1000};
		host->work_ns = shape_work(host, launch->op);
	}
	if (world->policy->admit(world->state, proc, launch, &wake_ns) == PLAN_GO) {
		if (proc->held_since_ns)
			proc->held_ns += world->now_ns - proc->held_since_ns;
		proc->held_since_ns = 0;
		host_launch(world, host);
		return;
	}
	if (!proc->held_since_ns)
		proc->held_since_ns = world->now_ns;
	host->state = HOST_HELD;
	host->step_ns = wake_ns > world->now_ns ? wake_ns : world->now_ns + 1;
}
