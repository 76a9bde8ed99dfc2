/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XSched at preemption level 1, with its highest-priority-first policy (OSDI'25). Each stream has a
 * queue and a worker thread, which keeps at most `threshold` commands in flight and sees completions
 * by an event after every `batch` commands. A server's queue becoming ready or idle is sent to a
 * daemon, which answers with the queues to suspend and to run; a suspended worker launches nothing,
 * what is in flight runs on.
 *
 * In its favour: the queue's own cost per launch and the slower synchronisation of the server are
 * left out; a queue counts as idle only when the request is over, not whenever it runs empty.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/policies.h"
#include "plan/world.h"

/* A change on its way from the daemon to the workers. */
struct flag_change {
	uint64_t at_ns;
	bool suspended;
};

#define CHANGES 16u

struct xsched_queue {
	uint64_t launched, seen, acknowledged; /* commands; acknowledged by an event, or a drain */
};

struct xsched {
	struct world *world;
	uint32_t threshold, batch;
	uint64_t daemon_ns;
	uint32_t ready; /* latency-critical queues */
	bool suspended; /* best-effort workers, as they know it */
	uint32_t first_change, changes;
	struct flag_change change[CHANGES];
	struct xsched_queue queue[WORLD_MAX_PROCS];
};

enum { OPTION_THRESHOLD, OPTION_BATCH, OPTION_DAEMON };

static const struct plan_option xsched_options[] = {
	[OPTION_THRESHOLD] = {"threshold", PLAN_COUNT, 16, 1, 1024, "commands in flight"},
	[OPTION_BATCH] = {"batch", PLAN_COUNT, 8, 1, 1024, "commands to an event"},
	[OPTION_DAEMON] = {"daemon", PLAN_NS, 15000, 0, 10000000, "from a change to the workers"},
	{0},
};

static int xsched_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct xsched *xsched = calloc(1, sizeof(*xsched));

	if (!xsched)
		return -ENOMEM;
	xsched->world = world;
	xsched->threshold = (uint32_t)values[OPTION_THRESHOLD];
	xsched->batch = (uint32_t)values[OPTION_BATCH];
	if (xsched->batch > xsched->threshold)
		xsched->batch = xsched->threshold; /* else its event would never come */
	xsched->daemon_ns = values[OPTION_DAEMON];
	*ret_state = xsched;
	return 0;
}

static void apply_changes(struct xsched *xsched)
{
	uint64_t now_ns = world_now(xsched->world);

	while (xsched->changes && xsched->change[xsched->first_change].at_ns <= now_ns) {
		xsched->suspended = xsched->change[xsched->first_change].suspended;
		xsched->first_change = (xsched->first_change + 1) % CHANGES;
		xsched->changes--;
	}
}

static enum plan_verdict xsched_admit(void *state, struct plan_proc *proc,
				      struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct xsched *xsched = state;
	struct xsched_queue *queue = &xsched->queue[proc->index];

	apply_changes(xsched);
	if (!proc->latency && xsched->suspended)
		return PLAN_HOLD;
	return queue->launched - queue->acknowledged < xsched->threshold ? PLAN_GO : PLAN_HOLD;
}

static void xsched_launched(void *state, struct plan_proc *proc, const struct plan_launch *launch)
{
	struct xsched *xsched = state;

	xsched->queue[proc->index].launched++;
}

static void xsched_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			     uint64_t cost_ns)
{
	struct xsched *xsched = state;
	struct xsched_queue *queue = &xsched->queue[proc->index];

	queue->seen++;
	if (queue->seen % xsched->batch && queue->seen != queue->launched)
		return;
	queue->acknowledged = queue->seen;
	/* The worker spins on its event; it sleeps only while it is suspended. */
	world_wake(xsched->world, proc->index, world_now(xsched->world));
}

/* The daemon has heard of it, and the workers will. */
static void send_change(struct xsched *xsched, bool suspended)
{
	uint64_t at_ns = world_now(xsched->world) + xsched->daemon_ns;
	uint64_t wake_ns = at_ns + world_get_config(xsched->world)->wake_ns;

	apply_changes(xsched);
	if (xsched->changes == CHANGES)
		xsched->changes--; /* the daemon sends only the latest state */
	xsched->change[(xsched->first_change + xsched->changes++) % CHANGES] =
		(struct flag_change){at_ns, suspended};
	for (uint32_t i = 0; !suspended && i < world_procs(xsched->world); i++) {
		if (!world_proc(xsched->world, i)->latency)
			world_wake(xsched->world, i, wake_ns);
	}
}

static void xsched_request_begin(void *state, struct plan_proc *proc)
{
	struct xsched *xsched = state;

	if (!xsched->ready++)
		send_change(xsched, true);
}

static void xsched_request_end(void *state, struct plan_proc *proc, uint64_t start_ns)
{
	struct xsched *xsched = state;

	if (!--xsched->ready)
		send_change(xsched, false);
}

const struct plan_policy plan_policy_xsched = {
	.name = "xsched",
	.about = "XSched, level 1: commands in flight bounded by count, a daemon suspends queues",
	.options = xsched_options,
	.create = xsched_create,
	.destroy = free,
	.admit = xsched_admit,
	.launched = xsched_launched,
	.completed = xsched_completed,
	.request_begin = xsched_request_begin,
	.request_end = xsched_request_end,
};
