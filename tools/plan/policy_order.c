/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several latency tenants that take turns: one's request goes on, the others' are held. Who is next
 * is decided when a request begins on an idle device, when one ends, and every `group` of its
 * predicted time; by one of the rules of order.h.
 *
 * Sluice does not hold latency tenants: this is what they would have to agree to. Deadlines count
 * from arrival, so their programs must say when a request was accepted (process ranges).
 * Best-effort work goes when no request does.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/order.h"
#include "plan/policies.h"
#include "plan/workload.h"
#include "plan/world.h"

/* A request, from its first launch on. */
struct order_chain {
	uint64_t done_ns;     /* predicted, of what was seen complete */
	uint64_t measured_ns; /* what that took while it ran */
	uint64_t from_ns;     /* its kernel in flight runs since then, at the earliest */
	uint64_t ran_ns;      /* it had its turn until then */
};

struct order {
	struct world *world;
	enum order_rule rule;
	bool correct;
	uint64_t group_ns, window_ns;
	struct slo_order slo;
	uint32_t at_once;
	uint32_t goes;	  /* a bit for each that has its turn */
	uint64_t left_ns; /* of their group */
	struct order_chain chain[WORLD_MAX_PROCS];
};

enum {
	OPTION_RULE,
	OPTION_GROUP,
	OPTION_WINDOW,
	OPTION_BETA,
	OPTION_STARVE,
	OPTION_CORRECT,
	OPTION_AT_ONCE
};

static const struct plan_option order_options[] = {
	[OPTION_RULE] = {"rule", PLAN_COUNT, ORDER_SLO, ORDER_FIFO, ORDER_SHED,
			 "0 fifo, 1 shortest, 2 slo, 3 edf, 4 shed"},
	[OPTION_GROUP] = {"group", PLAN_NS, 300000, 0, 1000000000,
			  "predicted time between two decisions"},
	[OPTION_WINDOW] = {"window", PLAN_NS, 300000, 0, 1000000000,
			   "predicted time in flight of the one that goes"},
	[OPTION_BETA] = {"beta", PLAN_PERMILLE, 10, 0, 1000, "slo: of slack and staleness"},
	[OPTION_STARVE] = {"starve", PLAN_PERMILLE, 20000, 0, 1000000,
			   "slo: idle for so much of its own time, it goes first; 0: never"},
	[OPTION_CORRECT] = {"correct", PLAN_FLAG, 1, 0, 1,
			    "slo, shed: profiles follow what was measured of this request"},
	[OPTION_AT_ONCE] = {"at_once", PLAN_COUNT, 1, 1, WORLD_MAX_PROCS,
			    "requests that go together, where processes overlap"},
	{0},
};

static int order_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct order *order = calloc(1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	order->world = world;
	order->rule = (enum order_rule)values[OPTION_RULE];
	order->correct = values[OPTION_CORRECT];
	order->group_ns = values[OPTION_GROUP];
	order->window_ns = values[OPTION_WINDOW];
	order->slo.beta_permille = (uint32_t)values[OPTION_BETA];
	order->slo.starve_permille = (uint32_t)values[OPTION_STARVE];
	if (world_get_config(world)->device.mps)
		order->at_once = (uint32_t)values[OPTION_AT_ONCE];
	else
		order->at_once = 1;
	*ret_state = order;
	return 0;
}

/* ---- who is next ---- */

static uint64_t deadline_of(const struct plan_proc *proc)
{
	if (!proc->target.p99_ns)
		return SLO_ORDER_NO_DEADLINE;
	return (proc->target.from_arrival ? proc->arrival_ns : proc->busy_since_ns) +
	       proc->target.p99_ns;
}

static struct order_candidate candidate_of(const struct order *order, const struct plan_proc *proc)
{
	const struct order_chain *chain = &order->chain[proc->index];
	bool goes = order->goes & 1u << proc->index;

	return (struct order_candidate){
		.request = {.profiled_ns = proc->workload->step_ns,
			    .done_ns = chain->done_ns,
			    .measured_ns = order->correct ? chain->measured_ns : chain->done_ns,
			    .deadline_ns = deadline_of(proc),
			    .idle_since_ns = goes ? UINT64_MAX : chain->ran_ns},
		.arrival_ns = proc->arrival_ns,
		.weight = proc->weight};
}

/* The next one that is not in `goes`; false: none. */
static bool pick(const struct order *order, uint32_t goes, uint32_t *ret_proc)
{
	struct order_candidate candidate[WORLD_MAX_PROCS];
	uint32_t index[WORLD_MAX_PROCS], count = 0;

	for (uint32_t i = 0; i < world_procs(order->world); i++) {
		const struct plan_proc *proc = world_proc(order->world, i);

		if (!proc->latency || !proc->active || goes & 1u << i)
			continue;
		candidate[count] = candidate_of(order, proc);
		index[count++] = i;
	}
	if (!count)
		return false;
	*ret_proc = index[order_pick(order->rule, &order->slo, candidate, count,
				     world_now(order->world))];
	return true;
}

/* By the simple rules a request goes to its end. */
static uint32_t keep(const struct order *order)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; order->rule <= ORDER_SHORTEST && i < world_procs(order->world); i++) {
		if (order->goes & 1u << i && world_proc(order->world, i)->active)
			kept |= 1u << i;
	}
	return kept;
}

/* Who is held sleeps. */
static void wake(const struct order *order, uint32_t procs)
{
	uint64_t at_ns = world_now(order->world) + world_get_config(order->world)->wake_ns;

	for (uint32_t i = 0; i < world_procs(order->world); i++) {
		if (procs & 1u << i)
			world_wake(order->world, i, at_ns);
	}
}

static void decide(struct order *order)
{
	uint32_t before = order->goes, goes = keep(order), next;

	while ((uint32_t)__builtin_popcount(goes) < order->at_once && pick(order, goes, &next))
		goes |= 1u << next;
	for (uint32_t i = 0; i < world_procs(order->world); i++) {
		if (before & ~goes & 1u << i)
			order->chain[i].ran_ns = world_now(order->world);
	}
	order->goes = goes;
	order->left_ns = order->group_ns;
	/* Best-effort work is let go when nobody is left. */
	wake(order, goes ? goes & ~before : UINT32_MAX);
}

/* ---- the world's calls ---- */

static bool has_turn(const struct order *order, const struct plan_proc *proc)
{
	return proc->latency ? order->goes & 1u << proc->index : !order->goes;
}

/* Without MPS processes take turns: the one before has ended all that it launched. */
static bool is_drained(const struct order *order, const struct plan_proc *proc)
{
	if (world_get_config(order->world)->device.mps)
		return true;
	for (uint32_t i = 0; i < world_procs(order->world); i++) {
		if (i != proc->index && world_proc(order->world, i)->in_flight)
			return false;
	}
	return true;
}

static enum plan_verdict order_admit(void *state, struct plan_proc *proc,
				     struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct order *order = state;
	uint64_t flight_ns = proc->launched_ns - proc->seen_ns;

	if (!has_turn(order, proc) || !is_drained(order, proc))
		return PLAN_HOLD;
	return !flight_ns || flight_ns + launch->cost_ns <= order->window_ns ? PLAN_GO : PLAN_HOLD;
}

static void order_launched(void *state, struct plan_proc *proc, const struct plan_launch *launch)
{
	struct order *order = state;

	if (proc->in_flight == 1)
		order->chain[proc->index].from_ns = world_now(order->world);
}

static void order_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			    uint64_t cost_ns)
{
	struct order *order = state;
	struct order_chain *chain = &order->chain[proc->index];
	uint64_t now_ns = world_now(order->world);

	chain->done_ns += cost_ns;
	chain->measured_ns += now_ns - chain->from_ns;
	chain->from_ns = now_ns;
	if (!has_turn(order, proc)) {
		if (!proc->in_flight)
			wake(order, order->goes); /* who comes next may have waited for that */
		return;
	}
	order->left_ns -= cost_ns < order->left_ns ? cost_ns : order->left_ns;
	if (!order->left_ns && order->rule >= ORDER_SLO && proc->latency)
		decide(order);
	/* A gate looks at what is its own when that is predicted to end: it need not be woken. */
	if (has_turn(order, proc))
		world_wake(order->world, proc->index, now_ns);
}

static void order_request_begin(void *state, struct plan_proc *proc)
{
	struct order *order = state;

	order->chain[proc->index] = (struct order_chain){.ran_ns = world_now(order->world)};
	if ((uint32_t)__builtin_popcount(order->goes) < order->at_once)
		decide(order);
}

static void order_request_end(void *state, struct plan_proc *proc, uint64_t start_ns)
{
	struct order *order = state;

	if (order->goes & 1u << proc->index)
		decide(order);
}

const struct plan_policy plan_policy_order = {
	.name = "order",
	.about = "latency tenants take turns, by a rule; opt-in, and no part of slo",
	.options = order_options,
	.create = order_create,
	.destroy = free,
	.admit = order_admit,
	.launched = order_launched,
	.completed = order_completed,
	.request_begin = order_request_begin,
	.request_end = order_request_end,
};
