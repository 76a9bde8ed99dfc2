/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sluice itself: the daemon's scheduling core and the shim's gate, the very code, with the
 * daemon's duties around them (sluice_arbiter.c) and the delays of sockets and wake-ups between.
 * What the world has not: several threads in a process, memory, markers (each completion is seen
 * by itself), and requests are told apart by server, not by what they launch first.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/policies.h"
#include "plan/sluice_arbiter.h"
#include "plan/workload.h"

enum {
	OPTION_LEVEL, /* these are the controller's: share takes what comes after */
	OPTION_GUARD,
	OPTION_PARTITIONS,
	OPTION_WINDOW,
	OPTION_SLICE,
	OPTION_SLICE_EXTRA,
	OPTION_ARBITER,
	OPTION_PROGRESS,
	OPTION_PERIOD,
	OPTION_COPIES,
	OPTION_COLLECTIVES,
	OPTION_PAIRS,
	OPTIONS,
	OPTION_SHARED = OPTION_WINDOW
};

#define MILLI(value) ((uint64_t)(int64_t)(value))

static const struct plan_option options[] = {
	[OPTION_LEVEL] = {"level", PLAN_MILLI, PLAN_OPEN, MILLI(-1000), MILLI(5000),
			  "fixed, instead of the controller's"},
	[OPTION_GUARD] = {"guard", PLAN_NS, PLAN_OPEN, 0, 1000000000,
			  "nothing so soon after a server went idle, whatever the level"},
	[OPTION_PARTITIONS] = {"partitions", PLAN_FLAG, 0, 0, 1,
			       "launches can be kept to part of the SMs: levels above 2"},
	[OPTION_WINDOW] = {"window", PLAN_NS, PLAN_OPEN, 1000, 1000000000,
			   "predicted work in flight at most, whatever the level"},
	[OPTION_SLICE] = {"slice", PLAN_NS, PLAN_OPEN, 10000, 1000000000,
			  "kernels longer than this are launched in pieces"},
	[OPTION_SLICE_EXTRA] = {"slice_extra", PLAN_NS, 1000, 0, 1000000,
				"what each such piece costs"},
	[OPTION_ARBITER] = {"arbiter", PLAN_NS, 15000, 0, 10000000,
			    "from a message to the arbiter, or its timer, to its decision"},
	[OPTION_PROGRESS] = {"progress", PLAN_NS, 20000000, 1000000, 10000000000,
			     "held this long with nothing moving: one launch goes"},
	[OPTION_PERIOD] = {"period", PLAN_NS, 100000000, 10000000, 10000000000, "of gpu.max"},
	[OPTION_COPIES] = {"copies", PLAN_FLAG, 1, 0, 1,
			   "a turn ends where only large copies are left, and does not hold them"},
	[OPTION_COLLECTIVES] = {"collectives", PLAN_FLAG, 0, 0, 1,
				"kernels that exchange data with other GPUs count as such copies"},
	[OPTION_PAIRS] = {"pairs", PLAN_COUNT, PAIRS_PROGRESS, PAIRS_ALWAYS, PAIRS_COMPLETION,
			  "loops that could overlap take turns: 0 never, 1 where they do less side "
			  "by side, 2 where they would be done later on the mean"},
	[OPTIONS] = {NULL},
};

struct sluice {
	struct sluice_arbiter arbiter;
	uint64_t slice_ns, slice_extra_ns;
};

/* ---- life ---- */

static void sluice_destroy(void *state)
{
	struct sluice *sluice = state;

	sluice_arbiter_finish(&sluice->arbiter);
	free(sluice);
}

static int sluice_create(struct world *world, const uint64_t *values, const char *policy,
			 void **ret_state)
{
	struct sluice_terms terms = {.policy = policy,
				     .partitions = values[OPTION_PARTITIONS],
				     .copies = values[OPTION_COPIES],
				     .collectives = values[OPTION_COLLECTIVES],
				     .period_ns = values[OPTION_PERIOD],
				     .progress_ns = values[OPTION_PROGRESS],
				     .delay_ns = values[OPTION_ARBITER],
				     .pairs = (enum pairs_test)values[OPTION_PAIRS],
				     .fixed = {.window_ns = values[OPTION_WINDOW],
					       .guard_ns = values[OPTION_GUARD],
					       .level = values[OPTION_LEVEL]}};
	struct sluice *sluice = calloc(1, sizeof(*sluice));
	int r;

	if (!sluice)
		return -ENOMEM;
	sluice->slice_ns = values[OPTION_SLICE];
	sluice->slice_extra_ns = values[OPTION_SLICE_EXTRA];
	r = sluice_arbiter_begin(&sluice->arbiter, world, &terms);
	if (r) {
		sluice_destroy(sluice);
		return r;
	}
	*ret_state = sluice;
	return 0;
}

static int slo_create(struct world *world, const uint64_t *values, void **ret_state)
{
	return sluice_create(world, values, "slo", ret_state);
}

static int share_create(struct world *world, const uint64_t *values, void **ret_state)
{
	uint64_t all[OPTIONS];

	for (uint32_t i = 0; i < OPTIONS; i++)
		all[i] = i < OPTION_SHARED ? options[i].preset : values[i - OPTION_SHARED];
	return sluice_create(world, all, "share", ret_state);
}

/* ---- best-effort gates ---- */

static struct sluice_activity_seen sluice_look(const struct sluice_arbiter *arbiter)
{
	struct sluice_activity_seen seen = {0};

	for (uint32_t i = 0; i < arbiter->gates; i++) {
		const struct sluice_gate *gate = &arbiter->gate[i];

		if (!gate->proc->latency || !gate->counts)
			continue;
		seen.active |= gate->proc->active;
		if (gate->proc->idle_since_ns > seen.idle_since_ns)
			seen.idle_since_ns = gate->proc->idle_since_ns;
		if (gate->busy_since_ns > seen.busy_since_ns)
			seen.busy_since_ns = gate->busy_since_ns;
	}
	return seen;
}

/* Long kernels of several waves go in pieces, each a launch of its own to the gate. */
static void sluice_cut(const struct sluice *sluice, struct plan_launch *launch)
{
	uint32_t waves = plan_waves(sluice->arbiter.world, launch->op, 0);
	uint64_t pieces;

	if (launch->piece || sluice->slice_ns == PLAN_OPEN ||
	    launch->predicted_ns <= sluice->slice_ns)
		return;
	pieces = (launch->predicted_ns + sluice->slice_ns - 1) / sluice->slice_ns;
	launch->pieces = pieces < waves ? (uint32_t)pieces : waves;
	if (launch->pieces > 1)
		launch->gpu_extra_ns = sluice->slice_extra_ns;
}

/* Beside an active server: on part of the SMs, on which it takes longer. */
static void sluice_cap(const struct sluice *sluice, bool beside, uint32_t cap_sms,
		       struct plan_launch *launch)
{
	const struct world *world = sluice->arbiter.world;

	launch->max_sms = beside && cap_sms ? cap_sms : UINT32_MAX;
	launch->cost_ns = launch->predicted_ns;
	if (beside && cap_sms)
		launch->cost_ns = launch->cost_ns * plan_waves(world, launch->op, cap_sms) /
				  plan_waves(world, launch->op, 0);
}

static enum plan_verdict sluice_admit(void *state, struct plan_proc *proc,
				      struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct sluice *sluice = state;
	struct sluice_arbiter *arbiter = &sluice->arbiter;
	struct sluice_gate *gate = &arbiter->gate[proc->index];
	struct sluice_activity_seen seen = sluice_look(arbiter);

	if (!proc->latency) {
		sluice_cut(sluice, launch);
		sluice_cap(sluice, seen.active, gate->grant.cap_sms, launch);
	}
	if (sluice_gate_ask(gate, &seen, &arbiter->terms, launch->op,
			    launch->cost_ns / launch->pieces, world_now(arbiter->world),
			    ret_wake_ns))
		return PLAN_GO;
	sluice_arbiter_arm(arbiter);
	return PLAN_HOLD;
}

static void sluice_launched(void *state, struct plan_proc *proc, const struct plan_launch *launch)
{
	struct sluice_arbiter *arbiter = &((struct sluice *)state)->arbiter;

	sluice_gate_launched(&arbiter->gate[proc->index], &arbiter->terms, launch->op,
			     launch->cost_ns / launch->pieces);
}

/* Its window may have room now. */
static void sluice_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			     uint64_t cost_ns)
{
	struct sluice_arbiter *arbiter = &((struct sluice *)state)->arbiter;
	struct sluice_gate *gate = &arbiter->gate[proc->index];

	gate->completed_at_ns = world_now(arbiter->world);
	if (proc->held_since_ns && gate->reason == GATE_WINDOW)
		world_wake(arbiter->world, proc->index,
			   world_now(arbiter->world) + arbiter->terms.wake_ns);
}

/* ---- servers ---- */

static void sluice_request_begin(void *state, struct plan_proc *proc)
{
	struct sluice_arbiter *arbiter = &((struct sluice *)state)->arbiter;

	sluice_gate_begin(&arbiter->gate[proc->index], world_now(arbiter->world));
}

static void sluice_request_end(void *state, struct plan_proc *proc, uint64_t start_ns)
{
	struct sluice_arbiter *arbiter = &((struct sluice *)state)->arbiter;
	uint64_t now_ns = world_now(arbiter->world);
	struct event_request request = {.start_ns = start_ns, .end_ns = now_ns, .kind = 1};

	sluice_arbiter_note(arbiter, proc->index, &request);
	for (uint32_t i = 0; i < arbiter->gates; i++) {
		if (arbiter->gate[i].proc->held_since_ns && arbiter->gate[i].reason == GATE_ACTIVE)
			world_wake(arbiter->world, i, now_ns + arbiter->terms.wake_ns);
	}
}

/* A server whose target counts from arrival opens a process range at acceptance. */
static void sluice_finished(void *state, struct plan_proc *proc, uint64_t arrival_ns,
			    uint64_t start_ns)
{
	struct sluice_arbiter *arbiter = &((struct sluice *)state)->arbiter;
	struct event_request range = {.arrival_ns = arrival_ns,
				      .start_ns = start_ns,
				      .end_ns = world_now(arbiter->world),
				      .kind = 2,
				      .range = true};

	if (proc->target.from_arrival)
		sluice_arbiter_note(arbiter, proc->index, &range);
}

static void sluice_timer(void *state)
{
	sluice_arbiter_timer(&((struct sluice *)state)->arbiter);
}

static bool sluice_report(void *state, const struct plan_proc *proc, struct plan_report *ret_report)
{
	const struct sluice_arbiter *arbiter = &((struct sluice *)state)->arbiter;
	uint64_t looks = arbiter->looks[proc->index];
	struct engine_slo slo;

	if (!looks || !engine_slo_report(arbiter->engine, proc->index, 0, &slo))
		return false;
	*ret_report = (struct plan_report){
		.level = (double)arbiter->level_sum[proc->index] / 1000 / (double)looks,
		.window_ns = arbiter->window_sum_ns[proc->index] / looks,
		.guard_ns = arbiter->guard_sum_ns[proc->index] / looks,
		.unreachable = slo.state == SLO_UNREACHABLE || slo.state == SLO_AT_FLOOR,
		.beside_permille = slo.beside_permille,
		.a_ns = slo.arrival_ns,
		.a_alone_ns = slo.arrival_alone_ns,
		.s_ns = slo.service_ns,
		.s_alone_ns = slo.service_alone_ns};
	return true;
}

const struct plan_policy plan_policy_sluice = {
	.name = "slo",
	.about = "Sluice: the scheduling core with latency targets, and the shim's gate",
	.options = options,
	.create = slo_create,
	.destroy = sluice_destroy,
	.admit = sluice_admit,
	.launched = sluice_launched,
	.completed = sluice_completed,
	.request_begin = sluice_request_begin,
	.request_end = sluice_request_end,
	.finished = sluice_finished,
	.timer = sluice_timer,
	.report = sluice_report,
};

const struct plan_policy plan_policy_share = {
	.name = "share",
	.about = "Sluice without latency targets: weights, floors and caps alone",
	.options = &options[OPTION_SHARED],
	.create = share_create,
	.destroy = sluice_destroy,
	.admit = sluice_admit,
	.launched = sluice_launched,
	.completed = sluice_completed,
	.request_begin = sluice_request_begin,
	.request_end = sluice_request_end,
	.finished = sluice_finished,
	.timer = sluice_timer,
	.report = sluice_report,
};
