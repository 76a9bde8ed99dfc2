/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TGS (NSDI'23): the rate of best-effort work follows that of the production program. The server's
 * blocks launched are reported every `period`; best-effort launches sleep 10 ms at a time while
 * their blocks within 50 ms exceed a limit, which each report moves as a TCP window does. The
 * reference is the highest of the first five reports, during which best-effort work is stopped. A
 * report of nothing lifts the limit.
 *
 * Made for a program whose rate is steady; requests that arrive at random look like contention to
 * it. Assumed: four thread blocks to an SM that a kernel needs. Left out: its unified memory.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/policies.h"
#include "plan/workload.h"
#include "plan/world.h"

#define WINDOW_NS 50000000ull
#define SLEEP_NS 10000000ull
#define BLOCKS_PER_SM 4u
#define FIRST_REPORTS 5u
#define START_LIMIT 20000u
#define LEAST_STEP 1000u
#define LATE_PERIODS 20u

struct tgs {
	struct world *world;
	uint64_t period_ns;
	uint64_t reported; /* blocks of servers since the last report */
	uint64_t most;	   /* the reference, blocks in a period */
	uint32_t reports, far_periods;
	bool slow_start, open;
	uint64_t limit;
	uint64_t window[WORLD_MAX_PROCS], blocks[WORLD_MAX_PROCS]; /* this window's */
};

enum { OPTION_PERIOD };

static const struct plan_option tgs_options[] = {
	[OPTION_PERIOD] = {"period", PLAN_NS, 5000000000, 1000000, 1000000000000,
			   "between two reports"},
	{0},
};

static int tgs_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct tgs *tgs = calloc(1, sizeof(*tgs));

	if (!tgs)
		return -ENOMEM;
	tgs->world = world;
	tgs->period_ns = values[OPTION_PERIOD];
	tgs->slow_start = true;
	*ret_state = tgs;
	world_timer(world, tgs->period_ns);
	return 0;
}

static uint64_t blocks_of(const struct workload_op *op)
{
	return op->kind == WORKLOAD_KERNEL ? (uint64_t)op->sms * BLOCKS_PER_SM : 0;
}

static enum plan_verdict tgs_admit(void *state, struct plan_proc *proc, struct plan_launch *launch,
				   uint64_t *ret_wake_ns)
{
	struct tgs *tgs = state;
	uint64_t now_ns = world_now(tgs->world), window = now_ns / WINDOW_NS;

	if (proc->latency)
		return PLAN_GO;
	if (tgs->window[proc->index] != window) {
		tgs->window[proc->index] = window;
		tgs->blocks[proc->index] = 0;
	}
	if (tgs->open || tgs->blocks[proc->index] < tgs->limit)
		return PLAN_GO;
	*ret_wake_ns = now_ns + SLEEP_NS;
	return PLAN_HOLD;
}

static void tgs_launched(void *state, struct plan_proc *proc, const struct plan_launch *launch)
{
	struct tgs *tgs = state;

	if (proc->latency)
		tgs->reported += blocks_of(launch->op);
	else
		tgs->blocks[proc->index] += blocks_of(launch->op);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void lower(struct tgs *tgs, uint64_t by)
{
	tgs->limit -= by < tgs->limit ? by : tgs->limit;
}

/* Off the reference, in 1/10000. */
static uint64_t distance(const struct tgs *tgs)
{
	uint64_t off =
		tgs->reported > tgs->most ? tgs->reported - tgs->most : tgs->most - tgs->reported;

	return off * 10000 / tgs->most;
}

static void follow(struct tgs *tgs)
{
	uint64_t off = distance(tgs);

	tgs->far_periods = off >= 1200 ? tgs->far_periods + 1 : 0;
	if (tgs->far_periods ==
	    LATE_PERIODS) { /* it never comes back: the reference was too high */
		tgs->far_periods = 0;
		tgs->most = tgs->most * 8 / 10;
		tgs->limit /= 2;
	} else if (off >= 900) {
		tgs->limit /= 10;
		tgs->slow_start = true;
	} else if (tgs->slow_start) {
		tgs->limit = off <= 300 ? tgs->limit * 3 / 2 + 1 : tgs->limit * 2 / 3;
		tgs->slow_start = off <= 300;
	} else if (off <= 300) {
		tgs->limit += larger(tgs->most / 4000, LEAST_STEP);
	} else {
		lower(tgs, larger(tgs->limit * 8 / 100, LEAST_STEP));
	}
}

static void tgs_timer(void *state)
{
	struct tgs *tgs = state;

	world_timer(tgs->world, world_now(tgs->world) + tgs->period_ns);
	tgs->open = !tgs->reported && tgs->reports >= FIRST_REPORTS;
	if (tgs->reports < FIRST_REPORTS) {
		tgs->most = larger(tgs->most, tgs->reported);
		if (++tgs->reports == FIRST_REPORTS) {
			tgs->limit = START_LIMIT;
			tgs->open = !tgs->most;
		}
	} else if (tgs->reported && tgs->most) {
		follow(tgs);
	}
	tgs->reported = 0;
}

const struct plan_policy plan_policy_tgs = {
	.name = "tgs",
	.about = "TGS: best-effort blocks limited so that the server's launch rate stays",
	.options = tgs_options,
	.create = tgs_create,
	.destroy = free,
	.admit = tgs_admit,
	.launched = tgs_launched,
	.timer = tgs_timer,
};
