/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sluice itself: the daemon's scheduling core and the shim's gate, the very code, with the
 * daemon's duties around them (readings, timers, the slow tick) and the delays of sockets and
 * wake-ups between them. What the world has not: several threads in a process, memory, markers
 * (each completion is seen by itself).
 */

#include <errno.h>
#include <stdlib.h>

#include "core/policy.h"
#include "plan/policies.h"
#include "plan/sluice_gate.h"
#include "plan/workload.h"
#include "plan/world.h"

enum {
	OPTION_WINDOW,
	OPTION_GUARD,
	OPTION_SLICE,
	OPTION_SLICE_EXTRA,
	OPTION_ARBITER,
	OPTION_PROGRESS,
	OPTION_PERIOD,
	OPTIONS
};

static const struct plan_option options[] = {
	[OPTION_WINDOW] = {"window", PLAN_NS, PLAN_OPEN, 1000, 1000000000,
			   "predicted work in flight at most, instead of the core's"},
	[OPTION_GUARD] = {"guard", PLAN_NS, PLAN_OPEN, 0, 1000000000,
			  "nothing so soon after a server went idle, instead of the core's"},
	[OPTION_SLICE] = {"slice", PLAN_NS, PLAN_OPEN, 10000, 1000000000,
			  "kernels longer than this are launched in pieces"},
	[OPTION_SLICE_EXTRA] = {"slice_extra", PLAN_NS, 1000, 0, 1000000,
				"what each such piece costs"},
	[OPTION_ARBITER] = {"arbiter", PLAN_NS, 15000, 0, 10000000,
			    "from a message to the arbiter, or its timer, to its decision"},
	[OPTION_PROGRESS] = {"progress", PLAN_NS, 20000000, 1000000, 10000000000,
			     "held this long with nothing moving: one launch goes"},
	[OPTION_PERIOD] = {"period", PLAN_NS, 100000000, 10000000, 10000000000, "of gpu.max"},
	[OPTIONS] = {NULL},
};

struct sluice {
	struct world *world;
	const struct world_config *config;
	struct engine *engine;
	uint64_t value[OPTIONS];
	struct sluice_gate_terms terms;
	uint64_t timer_ns, tick_ns;
	uint32_t gates;
	struct sluice_gate gate[WORLD_MAX_PROCS];
};

/* ---- the arbiter ---- */

static void sluice_arm(struct sluice *sluice)
{
	uint64_t at_ns = sluice->timer_ns < sluice->tick_ns ? sluice->timer_ns : sluice->tick_ns;

	for (uint32_t i = 0; i < sluice->gates; i++) {
		if (sluice->gate[i].want_at_ns < at_ns)
			at_ns = sluice->gate[i].want_at_ns;
	}
	world_timer(sluice->world, at_ns);
}

/* Fixed in the scenario: the core is overruled. */
static struct grant sluice_fix(const struct sluice *sluice, const struct sluice_gate *gate,
			       struct grant grant)
{
	if (gate->proc->latency || !grant.open)
		return grant;
	if (sluice->value[OPTION_WINDOW] != PLAN_OPEN)
		grant.window_ns = sluice->value[OPTION_WINDOW];
	if (sluice->value[OPTION_GUARD] != PLAN_OPEN)
		grant.guard_ns = sluice->value[OPTION_GUARD];
	return grant;
}

static void sluice_carry_out(struct sluice *sluice, const struct action *action)
{
	uint64_t now_ns = world_now(sluice->world);
	struct sluice_gate *gate = &sluice->gate[action->process];
	struct grant grant;

	switch (action->kind) {
	case ACTION_TIMER:
		sluice->timer_ns = action->at_ns;
		if (action->at_ns != CORE_NEVER)
			sluice->timer_ns += sluice->value[OPTION_ARBITER];
		break;
	case ACTION_WATCH: gate->watched = action->on; break;
	case ACTION_ACTIVITY: gate->counts = action->on; break;
	case ACTION_GRANT:
		grant = sluice_fix(sluice, gate, action->grant);
		sluice_gate_grant(gate, &grant);
		world_wake(sluice->world, action->process, now_ns + sluice->terms.wake_ns);
		break;
	default: break; /* memory: no program here asks for any */
	}
}

static int sluice_feed(struct sluice *sluice, struct event event)
{
	struct action action;
	int r;

	event.now_ns = world_now(sluice->world);
	r = engine_event(sluice->engine, &event);
	while (engine_take(sluice->engine, &action))
		sluice_carry_out(sluice, &action);
	return r;
}

static void sluice_read(struct sluice *sluice, bool all)
{
	for (uint32_t i = 0; i < sluice->gates; i++) {
		const struct sluice_gate *gate = &sluice->gate[i];

		if (all || gate->watched)
			(void)sluice_feed(sluice,
					  (struct event){.kind = EVENT_USAGE,
							 .process = i,
							 .usage = sluice_gate_usage(
								 gate, world_now(sluice->world))});
	}
}

static void sluice_timer(void *state)
{
	struct sluice *sluice = state;
	uint64_t now_ns = world_now(sluice->world);
	bool tick = sluice->tick_ns <= now_ns;

	for (uint32_t i = 0; i < sluice->gates; i++) {
		if (sluice->gate[i].want_at_ns > now_ns)
			continue;
		sluice->gate[i].want_at_ns = UINT64_MAX;
		sluice_read(sluice, false);
		(void)sluice_feed(sluice, (struct event){.kind = EVENT_WANT, .process = i});
	}
	if (tick || sluice->timer_ns <= now_ns) {
		if (tick)
			sluice->tick_ns += CORE_SLOW_TICK_NS;
		else
			sluice->timer_ns = CORE_NEVER;
		sluice_read(sluice, tick);
		(void)sluice_feed(sluice, (struct event){.kind = EVENT_TIMER});
	}
	sluice_arm(sluice);
}

/* ---- life ---- */

static int sluice_join(struct sluice *sluice, uint32_t index)
{
	const struct plan_proc *proc = sluice->gate[index].proc;
	struct event tenant = {.kind = EVENT_TENANT,
			       .tenant = index,
			       .tenant_set = {.managed = true,
					      .weight = proc->weight,
					      .gpu_max_permille = proc->gpu_max_permille,
					      .gpu_min_permille = proc->gpu_min_permille,
					      .period_ns = sluice->value[OPTION_PERIOD],
					      .memory_max_bytes = CORE_NO_LIMIT}};
	struct event join = {.kind = EVENT_JOIN,
			     .tenant = index,
			     .process = index,
			     .join = {.latency = proc->latency}};
	int r = sluice_feed(sluice, tenant);

	if (!r)
		r = sluice_feed(sluice, join);
	return r ? r : sluice_feed(sluice, (struct event){.kind = EVENT_ATTACH, .process = index});
}

static int sluice_begin(struct sluice *sluice, const char *policy)
{
	struct event device = {
		.kind = EVENT_DEVICE,
		.device_added = {.mps = sluice->config->device.mps,
				 .memory_bytes = sluice->config->device.memory_bytes}};
	struct event order = {.kind = EVENT_POLICY, .policy = policy_find(policy)};
	int r = sluice_feed(sluice, order);

	if (!r)
		r = sluice_feed(sluice, device);
	for (uint32_t i = 0; !r && i < sluice->gates; i++)
		r = sluice_join(sluice, i);
	return r;
}

static void sluice_destroy(void *state)
{
	struct sluice *sluice = state;

	engine_destroy(sluice->engine);
	free(sluice);
}

static int sluice_create_as(struct world *world, const uint64_t *values, const char *policy,
			    void **ret_state)
{
	struct sluice *sluice = calloc(1, sizeof(*sluice));
	int r;

	if (!sluice)
		return -ENOMEM;
	sluice->world = world;
	sluice->config = world_get_config(world);
	for (uint32_t i = 0; i < OPTIONS; i++)
		sluice->value[i] = values[i];
	sluice->terms = (struct sluice_gate_terms){.progress_ns = values[OPTION_PROGRESS],
						   .wake_ns = sluice->config->wake_ns,
						   .message_ns = values[OPTION_ARBITER]};
	sluice->timer_ns = CORE_NEVER;
	sluice->tick_ns = CORE_SLOW_TICK_NS;
	sluice->gates = world_procs(world);
	for (uint32_t i = 0; i < sluice->gates; i++)
		sluice->gate[i] = (struct sluice_gate){
			.proc = world_proc(world, i), .word = 1, .want_at_ns = UINT64_MAX};
	sluice->engine = engine_create(0);
	r = sluice->engine ? sluice_begin(sluice, policy) : -ENOMEM;
	if (r) {
		sluice_destroy(sluice);
		return r;
	}
	sluice_arm(sluice);
	*ret_state = sluice;
	return 0;
}

static int slo_create(struct world *world, const uint64_t *values, void **ret_state)
{
	return sluice_create_as(world, values, "slo", ret_state);
}

static int share_create(struct world *world, const uint64_t *values, void **ret_state)
{
	return sluice_create_as(world, values, "share", ret_state);
}

/* ---- the gates ---- */

static struct sluice_activity_seen sluice_look(const struct sluice *sluice)
{
	struct sluice_activity_seen seen = {0};

	for (uint32_t i = 0; i < sluice->gates; i++) {
		const struct plan_proc *proc = sluice->gate[i].proc;

		if (!proc->latency || !sluice->gate[i].counts)
			continue;
		seen.active |= proc->active;
		if (proc->idle_since_ns > seen.idle_since_ns)
			seen.idle_since_ns = proc->idle_since_ns;
	}
	return seen;
}

/* Long kernels of several waves go in pieces, each a launch of its own to the gate. */
static void sluice_cut(const struct sluice *sluice, const struct plan_proc *proc,
		       struct plan_launch *launch)
{
	uint64_t slice_ns = sluice->value[OPTION_SLICE], pieces;
	uint32_t waves = plan_waves(sluice->world, launch->op, 0);

	if (proc->latency || launch->piece || slice_ns == PLAN_OPEN || launch->cost_ns <= slice_ns)
		return;
	pieces = (launch->cost_ns + slice_ns - 1) / slice_ns;
	launch->pieces = pieces < waves ? (uint32_t)pieces : waves;
	if (launch->pieces > 1)
		launch->gpu_extra_ns = sluice->value[OPTION_SLICE_EXTRA];
}

static enum plan_verdict sluice_admit(void *state, struct plan_proc *proc,
				      struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct sluice *sluice = state;
	struct sluice_gate *gate = &sluice->gate[proc->index];
	struct sluice_activity_seen seen = sluice_look(sluice);

	sluice_cut(sluice, proc, launch);
	if (sluice_gate_ask(gate, &seen, &sluice->terms, launch->cost_ns / launch->pieces,
			    world_now(sluice->world), ret_wake_ns))
		return PLAN_GO;
	sluice_arm(sluice);
	return PLAN_HOLD;
}

/* Its window may have room now. */
static void sluice_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			     uint64_t cost_ns)
{
	struct sluice *sluice = state;

	if (proc->held_since_ns && sluice->gate[proc->index].reason == GATE_WINDOW)
		world_wake(sluice->world, proc->index,
			   world_now(sluice->world) + sluice->terms.wake_ns);
}

static void sluice_request_end(void *state, struct plan_proc *proc, uint64_t start_ns)
{
	struct sluice *sluice = state;

	for (uint32_t i = 0; i < sluice->gates; i++) {
		if (sluice->gate[i].proc->held_since_ns && sluice->gate[i].reason == GATE_ACTIVE)
			world_wake(sluice->world, i,
				   world_now(sluice->world) + sluice->terms.wake_ns);
	}
}

const struct plan_policy plan_policy_sluice = {
	.name = "slo",
	.about = "Sluice: the scheduling core with latency targets, and the shim's gate",
	.options = options,
	.create = slo_create,
	.destroy = sluice_destroy,
	.admit = sluice_admit,
	.completed = sluice_completed,
	.request_end = sluice_request_end,
	.timer = sluice_timer,
};

const struct plan_policy plan_policy_share = {
	.name = "share",
	.about = "Sluice without latency targets: weights, floors and caps alone",
	.options = options,
	.create = share_create,
	.destroy = sluice_destroy,
	.admit = sluice_admit,
	.completed = sluice_completed,
	.request_end = sluice_request_end,
	.timer = sluice_timer,
};
