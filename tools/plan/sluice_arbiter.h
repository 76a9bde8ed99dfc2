/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SLUICE_ARBITER_H
#define PLAN_SLUICE_ARBITER_H

/*
 * The daemon's side: the scheduling core, and the duties around it (readings before decisions,
 * timers, the slow tick, requests that have ended, grants carried to gates). Virtual ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "plan/sluice_gate.h"
#include "plan/world.h"

/* As the shim's ring: what the arbiter does not take in time is written over. */
#define SLUICE_RING 512u

struct sluice_ring {
	uint64_t head, seen;
	struct event_request record[SLUICE_RING];
};

/* What a scenario fixes of what the core would decide; PLAN_OPEN: the core does. */
struct sluice_fixed {
	uint64_t window_ns, guard_ns;
	uint64_t level; /* thousandths, signed */
};

struct sluice_arbiter {
	struct world *world;
	struct engine *engine;
	struct sluice_gate_terms terms;
	struct sluice_fixed fixed;
	uint64_t delay_ns; /* from a message, or a timer, to the decision */
	uint64_t timer_ns, tick_ns;
	uint32_t gates;
	struct sluice_gate gate[WORLD_MAX_PROCS];
	struct sluice_ring ring[WORLD_MAX_PROCS]; /* servers' */
	/* Controllers, summed over ticks after warm-up. */
	uint64_t looks[WORLD_MAX_PROCS], window_sum_ns[WORLD_MAX_PROCS],
		guard_sum_ns[WORLD_MAX_PROCS];
	int64_t level_sum[WORLD_MAX_PROCS];
};

struct sluice_terms {
	const char *policy; /* the core's */
	bool partitions, copies, collectives;
	enum pairs_test pairs;
	uint64_t period_ns, progress_ns, delay_ns;
	struct sluice_fixed fixed;
};

/* The world's processes join. 0 or -errno; destroy then too. */
int sluice_arbiter_begin(struct sluice_arbiter *arbiter, struct world *world,
			 const struct sluice_terms *terms);
void sluice_arbiter_finish(struct sluice_arbiter *arbiter);
void sluice_arbiter_timer(struct sluice_arbiter *arbiter);
/* Something has a new time: the world's timer follows. */
void sluice_arbiter_arm(struct sluice_arbiter *arbiter);
/* A server's request, or range, has ended. */
void sluice_arbiter_note(struct sluice_arbiter *arbiter, uint32_t proc,
			 const struct event_request *request);

#endif
