/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CORE_WORLD_H
#define TESTS_CORE_WORLD_H

/*
 * A GPU and processes around the scheduling core, in virtual time: processes launch as their
 * grants allow, work completes, the caller's duties (readings, timers, wants) are done as the
 * daemon does them. Steps of 10 us; exact and deterministic. One world at a time.
 */

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/policy.h"
#include "sluice/pages.h"

#define WORLD_STEP_NS 10000ull
#define WORLD_PROCS 64
#define WORLD_MS 1000000ull
#define WORLD_S 1000000000ull

/* Check notes every passed assertion with a system call: too many for these loops. */
#define world_assert(what) \
	do { \
		if (!(what)) \
			ck_abort_msg("%s", #what); \
	} while (0)

/* What a process says of itself. */
enum world_lie {
	WORLD_HONEST,
	WORLD_BLINKS,	  /* a launch in flight, for ever; and one held, a third of the time */
	WORLD_WANTS_ONLY, /* a launch is held, for ever; launches nothing. So is one that was stopped */
	WORLD_DRIPS,	  /* the same, and each look shows a little more launched, none complete */
	WORLD_CLAIMS_ALL,    /* all launched that there can be */
	WORLD_CREEPS,	     /* a twentieth of the time used, and more wanted */
	WORLD_CLAIMS_COPIES, /* whatever is in flight needs no SM; the rest is true */
};

/* What a latency process writes into its activity page. */
enum world_activity {
	WORLD_TRUTH,
	WORLD_ALWAYS, /* active, for ever */
	/* The same, but not at full milliseconds after it was looked at: idle then for long */
	WORLD_FLICKERS,
	WORLD_FRESH, /* idle, since just now, at every instant */
};

struct world_proc {
	bool alive, stopped, latency;
	enum world_lie lie;
	enum world_activity activity;
	uint64_t cost_ns;	    /* of each launch; 0: launches nothing */
	uint64_t burst_ns, rest_ns; /* launches so much, then rests when it is done; 0: no rest */
	uint64_t burst_end_ns, rest_until_ns;
	uint64_t launched_ns, done_ns; /* predicted */
	uint64_t held_ns, held_from_ns, want_sent_ns;
	uint64_t opened_at_ns, closed_at_ns;
	uint64_t asked_at_ns; /* when it began to wait for the gate; 0: does not */
	uint64_t longest_wait_ns;
	uint64_t lied_ns;
	uint64_t idle_since_ns; /* latency: when it was last active */
	struct grant grant;
	bool watched, counts;
	uint64_t grants; /* times it was told */
	uint32_t credit_units, granted_units;
};

struct world {
	struct engine *engine;
	uint64_t now_ns, timer_ns, tick_ns, read_ns;
	bool mps;
	bool turns_checked;	  /* assert that best-effort processes never overlap */
	uint32_t beside_permille; /* what several do together, of what one does; 0: as much */
	uint64_t latency_idle_ns; /* when the last latency process went idle; UINT64_MAX: active */
	uint32_t procs;
	struct world_proc proc[WORLD_PROCS];
	uint64_t idle_ns; /* time in which nothing ran */
	uint64_t changes; /* gates opened */
	uint64_t timers;
};

static inline void world_take(struct world *world)
{
	struct action action;

	while (engine_take(world->engine, &action)) {
		struct world_proc *proc = &world->proc[action.process];

		switch (action.kind) {
		case ACTION_TIMER: world->timer_ns = action.at_ns; break;
		case ACTION_WATCH: proc->watched = action.on; break;
		case ACTION_ACTIVITY: proc->counts = action.on; break;
		case ACTION_MEM_GRANT:
			proc->credit_units += action.units;
			proc->granted_units += action.units;
			break;
		case ACTION_GRANT:
			if (action.grant.open && !proc->grant.open) {
				proc->opened_at_ns = world->now_ns;
				world->changes++;
			}
			if (!action.grant.open && proc->grant.open)
				proc->closed_at_ns = world->now_ns;
			proc->grant = action.grant;
			proc->grants++;
			break;
		default: ck_abort_msg("unexpected action %d", (int)action.kind);
		}
	}
}

static inline int world_event(struct world *world, struct event event)
{
	int r;

	event.now_ns = world->now_ns;
	r = engine_event(world->engine, &event);
	world_take(world);
	return r;
}

static inline void world_begin(struct world *world, const struct policy *policy, bool mps)
{
	memset(world, 0, sizeof(*world));
	world->now_ns = 5 * WORLD_S;
	world->timer_ns = CORE_NEVER;
	world->tick_ns = world->now_ns;
	world->mps = mps;
	world->turns_checked = !mps;
	world->engine = engine_create(world->now_ns);
	ck_assert_ptr_nonnull(world->engine);
	ck_assert_int_eq(world_event(world, (struct event){.kind = EVENT_POLICY, .policy = policy}),
			 0);
	ck_assert_int_eq(
		world_event(world, (struct event){.kind = EVENT_DEVICE,
						  .device_added = {.mps = mps,
								   .memory_bytes = 80ull << 30}}),
		0);
}

static inline void world_end(struct world *world)
{
	engine_destroy(world->engine);
}

static inline struct event_tenant world_plain(uint32_t weight)
{
	return (struct event_tenant){.managed = true,
				     .weight = weight,
				     .gpu_max_permille = 1000,
				     .period_ns = 100 * WORLD_MS,
				     .memory_max_bytes = CORE_NO_LIMIT};
}

static inline void world_tenant(struct world *world, uint32_t tenant, struct event_tenant set)
{
	ck_assert_int_eq(world_event(world, (struct event){.kind = EVENT_TENANT,
							   .tenant = tenant,
							   .tenant_set = set}),
			 0);
}

/* A process of the tenant that launches all the time. */
static inline struct world_proc *world_join(struct world *world, uint32_t tenant, bool latency,
					    uint64_t cost_ns)
{
	uint32_t index = world->procs++;
	struct world_proc *proc = &world->proc[index];

	*proc = (struct world_proc){.alive = true, .latency = latency, .cost_ns = cost_ns};
	ck_assert_int_eq(world_event(world, (struct event){.kind = EVENT_JOIN,
							   .process = index,
							   .tenant = tenant,
							   .join = {.latency = latency}}),
			 0);
	ck_assert_int_eq(world_event(world, (struct event){.kind = EVENT_ATTACH, .process = index}),
			 0);
	return proc;
}

static inline void world_leave(struct world *world, struct world_proc *proc)
{
	proc->alive = false;
	proc->done_ns = proc->launched_ns;
	ck_assert_int_eq(
		world_event(world, (struct event){.kind = EVENT_LEAVE,
						  .process = (uint32_t)(proc - world->proc)}),
		0);
}

/* About what it launches, and wants. */
static inline bool world_is_honest(const struct world_proc *proc)
{
	return proc->lie == WORLD_HONEST || proc->lie == WORLD_CLAIMS_COPIES;
}

static inline void world_lie(const struct world *world, struct world_proc *proc,
			     struct event_usage *usage)
{
	if (proc->lie == WORLD_CLAIMS_COPIES)
		usage->copies_ns = UINT64_MAX;
	if (world_is_honest(proc))
		return;
	usage->want = true;
	usage->held_ns = world->now_ns;
	if (proc->lie == WORLD_DRIPS)
		usage->launched_ns = ++proc->lied_ns + WORLD_S;
	if (proc->lie == WORLD_CREEPS) {
		usage->completed_ns = (world->now_ns - 5 * WORLD_S) / 20;
		usage->launched_ns = usage->completed_ns + 1;
	}
	if (proc->lie == WORLD_CLAIMS_ALL)
		usage->launched_ns = UINT64_MAX;
	if (proc->lie == WORLD_BLINKS) {
		usage->launched_ns = 1;
		usage->want = world->now_ns / WORLD_MS % 3 == 0;
		usage->held_ns = 0;
	}
}

static inline bool world_wants(const struct world *world, struct world_proc *proc);

static inline bool world_is_active(const struct world *world, struct world_proc *proc)
{
	switch (proc->activity) {
	case WORLD_ALWAYS: return true;
	case WORLD_FLICKERS: return (world->now_ns - world->read_ns) % WORLD_MS != 0;
	case WORLD_FRESH: return false;
	default: return proc->launched_ns > proc->done_ns || world_wants(world, proc);
	}
}

static inline void world_read(struct world *world, bool all)
{
	for (uint32_t i = 0; i < world->procs; i++) {
		struct world_proc *proc = &world->proc[i];
		struct event event = {.kind = EVENT_USAGE, .process = i};

		if (!proc->alive || (!all && !proc->watched))
			continue;
		event.usage = (struct event_usage){
			.launched_ns = proc->launched_ns,
			.completed_ns = proc->stopped ? 0 : proc->done_ns,
			.held_ns = proc->held_ns +
				   (proc->held_from_ns ? world->now_ns - proc->held_from_ns : 0),
			.want = proc->held_from_ns != 0};
		if (proc->latency) {
			event.usage.active = world_is_active(world, proc);
			event.usage.idle_since_ns =
				proc->activity == WORLD_FRESH ? world->now_ns : proc->idle_since_ns;
		}
		world_lie(world, proc, &event.usage);
		world_assert(!world_event(world, event));
	}
	world->read_ns = world->now_ns;
}

static inline bool world_wants(const struct world *world, struct world_proc *proc)
{
	if (!proc->alive || proc->stopped || !proc->cost_ns)
		return false;
	if (!proc->burst_ns)
		return true;
	if (!proc->burst_end_ns && world->now_ns >= proc->rest_until_ns)
		proc->burst_end_ns = proc->launched_ns + proc->burst_ns;
	if (proc->burst_end_ns && proc->launched_ns >= proc->burst_end_ns &&
	    proc->done_ns == proc->launched_ns) {
		proc->burst_end_ns = 0;
		proc->rest_until_ns = world->now_ns + proc->rest_ns;
	}
	return proc->launched_ns < proc->burst_end_ns;
}

/* The shim's gate. */
static inline bool world_may_launch(const struct world *world, const struct world_proc *proc)
{
	uint64_t in_flight_ns = proc->launched_ns - proc->done_ns;

	if (proc->latency && (proc->grant.flags & SLUICE_GRANT_LATENCY) &&
	    !(proc->grant.flags & SLUICE_GRANT_EXCESS))
		return proc->grant.open && in_flight_ns < 4 * proc->cost_ns;
	if (!proc->latency && proc->grant.guard_ns &&
	    (world->latency_idle_ns == UINT64_MAX ||
	     world->now_ns < world->latency_idle_ns + proc->grant.guard_ns))
		return false;
	return proc->grant.open && proc->launched_ns < proc->grant.credit_ns &&
	       in_flight_ns < 20 * WORLD_MS &&
	       (!in_flight_ns || in_flight_ns + proc->cost_ns <= proc->grant.window_ns);
}

static inline void world_launch(struct world *world, uint32_t index)
{
	struct world_proc *proc = &world->proc[index];
	bool wants = world_wants(world, proc), by_arbiter;

	while (wants && world_may_launch(world, proc)) {
		proc->launched_ns += proc->cost_ns;
		wants = world_wants(world, proc);
	}
	if (wants && !proc->held_from_ns)
		proc->held_from_ns = world->now_ns;
	if ((!wants || (proc->grant.open && proc->launched_ns < proc->grant.credit_ns &&
			proc->grant.window_ns == CORE_NO_LIMIT)) &&
	    proc->held_from_ns) {
		proc->held_ns += world->now_ns - proc->held_from_ns;
		proc->held_from_ns = 0;
	}
	wants |= !world_is_honest(proc);
	by_arbiter = wants && (!world_is_honest(proc) || !proc->grant.open ||
			       proc->launched_ns >= proc->grant.credit_ns);
	if (by_arbiter && !proc->asked_at_ns)
		proc->asked_at_ns = world->now_ns;
	if (!by_arbiter && proc->asked_at_ns) {
		uint64_t wait_ns = world->now_ns - proc->asked_at_ns;

		if (wait_ns > proc->longest_wait_ns)
			proc->longest_wait_ns = wait_ns;
		proc->asked_at_ns = 0;
		proc->want_sent_ns = 0;
	}
	if (by_arbiter &&
	    (!proc->want_sent_ns || world->now_ns - proc->want_sent_ns >= 10 * WORLD_MS)) {
		proc->want_sent_ns = world->now_ns;
		world_read(world, false);
		world_assert(
			!world_event(world, (struct event){.kind = EVENT_WANT, .process = index}));
	}
}

/* Everybody with work in flight gets an equal part of the step. */
static inline void world_run_gpu(struct world *world)
{
	uint64_t left_ns = WORLD_STEP_NS;
	uint32_t running = 0, best_effort = 0;

	for (uint32_t i = 0; i < world->procs; i++) {
		bool runs = world->proc[i].launched_ns > world->proc[i].done_ns;

		running += runs;
		best_effort += runs && !world->proc[i].latency;
	}
	if (world->turns_checked && best_effort > 1)
		ck_abort_msg("%u processes overlap at %llu", best_effort,
			     (unsigned long long)world->now_ns);
	if (!running)
		world->idle_ns += WORLD_STEP_NS;
	if (running > 1 && world->beside_permille)
		left_ns = left_ns * world->beside_permille / 1000;
	for (uint32_t i = 0; running && i < world->procs; i++) {
		struct world_proc *proc = &world->proc[i];
		uint64_t part_ns = left_ns / running;

		if (proc->launched_ns == proc->done_ns)
			continue;
		if (part_ns > proc->launched_ns - proc->done_ns)
			part_ns = proc->launched_ns - proc->done_ns;
		proc->done_ns += part_ns;
		left_ns -= part_ns;
		running--;
	}
}

/* What best-effort gates see on the activity pages. */
static inline void world_activity(struct world *world)
{
	bool active = false;

	for (uint32_t i = 0; i < world->procs; i++) {
		struct world_proc *proc = &world->proc[i];

		if (!proc->alive || !proc->latency)
			continue;
		if (proc->activity == WORLD_FLICKERS)
			proc->idle_since_ns = 1;
		else if (world_is_active(world, proc))
			proc->idle_since_ns = world->now_ns;
		active |= proc->counts && world_is_active(world, proc);
		if (proc->counts && proc->activity == WORLD_FRESH)
			world->latency_idle_ns = world->now_ns;
	}
	if (active)
		world->latency_idle_ns = UINT64_MAX;
	else if (world->latency_idle_ns == UINT64_MAX)
		world->latency_idle_ns = world->now_ns;
}

static inline void world_step(struct world *world)
{
	world_activity(world);
	for (uint32_t i = 0; i < world->procs; i++)
		world_launch(world, i);
	world_run_gpu(world);
	world->now_ns += WORLD_STEP_NS;
	if (world->now_ns - world->tick_ns >= CORE_SLOW_TICK_NS) {
		world->tick_ns = world->now_ns;
		world_read(world, true);
		world_assert(!world_event(world, (struct event){.kind = EVENT_TIMER}));
	} else if (world->now_ns >= world->timer_ns) {
		world->timers++;
		world->timer_ns = CORE_NEVER;
		world_read(world, false);
		world_assert(!world_event(world, (struct event){.kind = EVENT_TIMER}));
	}
}

static inline void world_run(struct world *world, uint64_t ns)
{
	uint64_t end_ns = world->now_ns + ns;

	while (world->now_ns < end_ns)
		world_step(world);
}

/* GPU time that the tenant's share of the last second was, permille. */
static inline uint32_t world_used(const struct world *world, uint32_t tenant)
{
	struct engine_report report;

	ck_assert(engine_report(world->engine, tenant, 0, &report));
	return report.used_permille;
}

#endif
