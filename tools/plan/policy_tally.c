/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tally (ASPLOS'25). A server process owns the GPU and gets every call by a remote procedure, so
 * kernels of its programs overlap: it stands for a device with MPS only. A server's kernels go as
 * they are. Of best-effort work at most one kernel is in flight, and it is launched only once no
 * request has run for `idle`. Kernels longer than `bound` are rewritten into blocks that look at a
 * flag: a request that comes has it set, running blocks end, the others wait until the GPU has been
 * idle again. After `alone` without a request the original kernels run.
 *
 * Costs are assumed, stated, and options: `rpc` on the thread for each best-effort launch, `slowdown`
 * of rewritten kernels, `retreat` until the flag is seen. preempt = 0 is Tally without rewriting:
 * whole kernels, no slowdown. Left out: its choice among rewritten forms by measured speed (one
 * form, `slowdown` for all), the time to measure them, kernels that it cannot rewrite, and what
 * the remote calls cost the latency-critical program.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/policies.h"
#include "plan/workload.h"
#include "plan/world.h"

struct tally {
	struct world *world;
	uint64_t idle_ns, bound_ns, alone_ns, rpc_ns, retreat_ns;
	uint32_t stretch_permille;
	bool preempt;
	uint32_t active;
	uint64_t idle_since_ns;		 /* of all servers */
	uint64_t retreat_at_ns;		 /* the flag is set then; UINT64_MAX: no */
	bool retreated;			 /* no block starts */
	bool rewritten[WORLD_MAX_PROCS]; /* what is in flight looks at the flag */
};

enum {
	OPTION_IDLE,
	OPTION_BOUND,
	OPTION_ALONE,
	OPTION_RPC,
	OPTION_SLOWDOWN,
	OPTION_RETREAT,
	OPTION_PREEMPT,
};

static const struct plan_option tally_options[] = {
	[OPTION_IDLE] = {"idle", PLAN_NS, 100000, 0, 1000000000, "without a request, before work"},
	[OPTION_BOUND] = {"bound", PLAN_NS, 31600, 0, 1000000000, "shorter kernels stay whole"},
	[OPTION_ALONE] = {"alone", PLAN_NS, 100000000, 0, 1000000000000, "then original kernels"},
	[OPTION_RPC] = {"rpc", PLAN_NS, 5000, 0, 1000000, "of a best-effort launch"},
	[OPTION_SLOWDOWN] = {"slowdown", PLAN_PERMILLE, 100, 0, 5000, "of rewritten kernels"},
	[OPTION_RETREAT] = {"retreat", PLAN_NS, 5000, 0, 1000000, "until the flag is seen"},
	[OPTION_PREEMPT] = {"preempt", PLAN_FLAG, 1, 0, 1, "rewritten kernels"},
	{0},
};

static int tally_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return -ENOMEM;
	*tally = (struct tally){
		.world = world,
		.idle_ns = values[OPTION_IDLE],
		.bound_ns = values[OPTION_BOUND],
		.alone_ns = values[OPTION_ALONE],
		.rpc_ns = values[OPTION_RPC],
		.retreat_ns = values[OPTION_RETREAT],
		.stretch_permille = 1000 + (uint32_t)values[OPTION_SLOWDOWN],
		.preempt = values[OPTION_PREEMPT],
		.retreat_at_ns = UINT64_MAX,
	};
	*ret_state = tally;
	return 0;
}

static bool is_best_effort(struct tally *tally, uint32_t index)
{
	return !world_proc(tally->world, index)->latency;
}

static uint32_t in_flight(struct tally *tally)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < world_procs(tally->world); i++)
		count += is_best_effort(tally, i) ? world_proc(tally->world, i)->in_flight : 0;
	return count;
}

static void wake_all(struct tally *tally, uint64_t at_ns)
{
	for (uint32_t i = 0; i < world_procs(tally->world); i++) {
		if (is_best_effort(tally, i))
			world_wake(tally->world, i, at_ns);
	}
}

static void limit_rewritten(struct tally *tally, uint32_t max_sms)
{
	for (uint32_t i = 0; i < world_procs(tally->world); i++) {
		if (is_best_effort(tally, i) && tally->rewritten[i])
			world_limit(tally->world, i, max_sms);
	}
}

static enum plan_verdict tally_admit(void *state, struct plan_proc *proc,
				     struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct tally *tally = state;
	uint64_t now_ns = world_now(tally->world), idle_ns = now_ns - tally->idle_since_ns;

	if (proc->latency)
		return PLAN_GO;
	if (tally->active || in_flight(tally))
		return PLAN_HOLD;
	if (idle_ns < tally->idle_ns) {
		*ret_wake_ns = tally->idle_since_ns + tally->idle_ns;
		return PLAN_HOLD;
	}
	launch->host_extra_ns = tally->rpc_ns;
	tally->rewritten[proc->index] = tally->preempt && launch->op->kind == WORKLOAD_KERNEL &&
					launch->cost_ns > tally->bound_ns &&
					idle_ns < tally->alone_ns;
	if (tally->rewritten[proc->index])
		launch->stretch_permille = tally->stretch_permille;
	return PLAN_GO;
}

static void tally_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			    uint64_t cost_ns)
{
	struct tally *tally = state;

	if (!proc->latency)
		wake_all(tally, world_now(tally->world));
}

static void tally_request_begin(void *state, struct plan_proc *proc)
{
	struct tally *tally = state;

	if (tally->active++ || !tally->preempt || tally->retreated)
		return;
	tally->retreat_at_ns = world_now(tally->world) + tally->retreat_ns;
	world_timer(tally->world, tally->retreat_at_ns);
}

/* The flag is seen; or the GPU has been idle long enough for what retreated to go on. */
static void tally_timer(void *state)
{
	struct tally *tally = state;

	if (tally->retreat_at_ns <= world_now(tally->world)) {
		tally->retreat_at_ns = UINT64_MAX;
		tally->retreated = true;
		limit_rewritten(tally, 0);
		if (!tally->active) /* the request is over already */
			world_timer(tally->world, tally->idle_since_ns + tally->idle_ns);
	} else if (!tally->active) {
		tally->retreated = false;
		limit_rewritten(tally, UINT32_MAX);
		wake_all(tally, world_now(tally->world));
	}
}

static void tally_request_end(void *state, struct plan_proc *proc, uint64_t start_ns)
{
	struct tally *tally = state;

	if (--tally->active)
		return;
	tally->idle_since_ns = world_now(tally->world);
	if (tally->retreat_at_ns == UINT64_MAX)
		world_timer(tally->world, tally->idle_since_ns + tally->idle_ns);
	wake_all(tally, tally->idle_since_ns + tally->idle_ns);
}

const struct plan_policy plan_policy_tally = {
	.name = "tally",
	.about = "Tally: one best-effort kernel at a time, rewritten to be preempted at its blocks",
	.options = tally_options,
	.create = tally_create,
	.destroy = free,
	.admit = tally_admit,
	.completed = tally_completed,
	.request_begin = tally_request_begin,
	.request_end = tally_request_end,
	.timer = tally_timer,
};
