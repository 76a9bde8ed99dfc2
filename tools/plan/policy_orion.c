/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orion (EuroSys'24). All programs are threads of one process, so their kernels overlap: it stands
 * for a device with MPS only. One spinning scheduler thread launches the server's operations as they
 * come, on a stream of high priority; a best-effort operation goes beside them if it fits into the SM
 * limit together with the best-effort ones in flight, and its class and that of the server's latest
 * kernel are different or one of them is unknown; when no request runs, any goes. Best-effort work is
 * launched in rounds of about `dur_limit`: once a round has spent it, nothing follows until all of
 * it has ended. Copies always go.
 *
 * Its offline profiles are exact here. Left out, in its favour: the 2 us that each launch takes
 * through its queue, and the two cores that spin.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/policies.h"
#include "plan/workload.h"
#include "plan/world.h"

struct orion {
	struct world *world;
	uint64_t dur_limit_ns;
	uint32_t sm_limit;
	uint32_t active; /* servers with a request */
	uint8_t class;	 /* of the latest kernel of a server */
	uint64_t spent_ns[WORLD_MAX_PROCS];
	uint32_t sms[WORLD_MAX_PROCS]; /* of its operations in flight */
};

enum { OPTION_DUR_LIMIT, OPTION_SM_LIMIT };

static const struct plan_option orion_options[] = {
	[OPTION_DUR_LIMIT] = {"dur_limit", PLAN_NS, 130000, 0, 1000000000,
			      "best-effort work in a round"},
	[OPTION_SM_LIMIT] = {"sm_limit", PLAN_COUNT, 0, 0, 1024,
			     "of best-effort work beside a request; 0: the device"},
	{0},
};

static int orion_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct orion *orion = calloc(1, sizeof(*orion));

	if (!orion)
		return -ENOMEM;
	orion->world = world;
	orion->dur_limit_ns = values[OPTION_DUR_LIMIT];
	orion->sm_limit = (uint32_t)values[OPTION_SM_LIMIT];
	if (!orion->sm_limit)
		orion->sm_limit = world_get_config(world)->device.sms;
	*ret_state = orion;
	return 0;
}

static bool fits_beside(const struct orion *orion, const struct workload_op *op)
{
	uint32_t sms = op->sms;

	for (uint32_t i = 0; i < world_procs(orion->world); i++)
		sms += orion->sms[i];
	return sms <= orion->sm_limit &&
	       (op->bw_class == WORKLOAD_UNKNOWN || orion->class == WORKLOAD_UNKNOWN ||
		op->bw_class != orion->class);
}

static bool is_kernel(const struct workload_op *op)
{
	return op->kind == WORKLOAD_KERNEL || op->kind == WORKLOAD_GRAPH;
}

static enum plan_verdict orion_admit(void *state, struct plan_proc *proc,
				     struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct orion *orion = state;
	const struct workload_op *op = launch->op;

	if (proc->latency || !is_kernel(op))
		return PLAN_GO;
	if (!proc->in_flight)
		orion->spent_ns[proc->index] = 0;
	if (orion->spent_ns[proc->index] > orion->dur_limit_ns)
		return PLAN_HOLD;
	if (orion->active && !fits_beside(orion, op))
		return PLAN_HOLD;
	return PLAN_GO;
}

/* The scheduler spins: whatever may have opened the way is seen at once. */
static void wake_held(struct orion *orion)
{
	for (uint32_t i = 0; i < world_procs(orion->world); i++) {
		if (!world_proc(orion->world, i)->latency)
			world_wake(orion->world, i, world_now(orion->world));
	}
}

static void orion_launched(void *state, struct plan_proc *proc, const struct plan_launch *launch)
{
	struct orion *orion = state;

	if (!is_kernel(launch->op))
		return;
	if (proc->latency) {
		if (launch->op->bw_class != orion->class) {
			orion->class = launch->op->bw_class;
			wake_held(orion);
		}
		return;
	}
	orion->spent_ns[proc->index] += launch->cost_ns;
	orion->sms[proc->index] += launch->op->sms;
}

static void orion_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			    uint64_t cost_ns)
{
	struct orion *orion = state;

	if (proc->latency || !is_kernel(op))
		return;
	orion->sms[proc->index] -= op->sms;
	wake_held(orion);
}

static void orion_request_begin(void *state, struct plan_proc *proc)
{
	struct orion *orion = state;

	orion->active++;
}

static void orion_request_end(void *state, struct plan_proc *proc, uint64_t start_ns)
{
	struct orion *orion = state;

	if (!--orion->active)
		wake_held(orion);
}

const struct plan_policy plan_policy_orion = {
	.name = "orion",
	.about = "Orion: classes and SMs of kernels from profiles, rounds of bounded duration",
	.options = orion_options,
	.create = orion_create,
	.destroy = free,
	.admit = orion_admit,
	.launched = orion_launched,
	.completed = orion_completed,
	.request_begin = orion_request_begin,
	.request_end = orion_request_end,
};
