/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders from papers among processes that overlap (pick.h): one launch after the other is let go,
 * as long as what is in flight of the others does not fill the device. Every process is held
 * alike, servers too. What it needs to know of a launch (class, width, what is left of its request)
 * it takes from the workload; a real gate would have to learn it, and to wake the one that goes
 * across processes: that costs a sleeper's wake-up here as well.
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/pick.h"
#include "plan/policies.h"
#include "plan/workload.h"
#include "plan/world.h"

#define DEPTH_MOST 16

/* Launches of one process that are not seen complete, oldest first, and the one that is held. */
struct pick_proc {
	uint32_t first, count;
	struct pick_flight {
		uint32_t sms;
		uint8_t bw_class;
	} flight[DEPTH_MOST];
	bool ready;
	struct pick_ready next;
	uint64_t request_ns;  /* launched when its request began, predicted */
	uint64_t not_used_ns; /* virtual time that it was given when it came back */
};

struct pick {
	struct world *world;
	enum pick_order order;
	uint32_t sms, full_sms, together, depth, light_permille;
	uint64_t slack_ns, stay_ns, window_ns;
	struct pick_load load;
	struct pick_proc proc[WORLD_MAX_PROCS];
};

enum {
	OPTION_ORDER,
	OPTION_TOGETHER,
	OPTION_AHEAD,
	OPTION_DEPTH,
	OPTION_SLACK,
	OPTION_STAY,
	OPTION_LIGHT,
	OPTION_WINDOW
};

static const struct plan_option pick_options[] = {
	[OPTION_ORDER] = {"order", PLAN_COUNT, PICK_FAIR, PICK_FAIR, PICK_BY_LOAD,
			  "0 fair, 1 another class, 2 narrow, 3 least left, 4 by load"},
	[OPTION_TOGETHER] = {"together", PLAN_COUNT, WORLD_MAX_PROCS, 1, WORLD_MAX_PROCS,
			     "processes in flight"},
	[OPTION_AHEAD] = {"ahead", PLAN_PERMILLE, 1000, 1, 16000,
			  "of the device's SMs: one waits while others want so many"},
	[OPTION_DEPTH] = {"depth", PLAN_COUNT, 2, 1, DEPTH_MOST, "launches of a process in flight"},
	[OPTION_SLACK] = {"slack", PLAN_NS, 4000000, 0, 1000000000,
			  "order 1: so much less used, and nobody is passed over"},
	[OPTION_STAY] = {"stay", PLAN_NS, 1000000, 0, 1000000000,
			 "who is in flight counts as having used so much less"},
	[OPTION_LIGHT] = {"light", PLAN_PERMILLE, 600, 0, 1001, "order 4: fewer SMs busy is light"},
	[OPTION_WINDOW] = {"window", PLAN_NS, 10000000, 10000, 1000000000, "of that"},
	{0},
};

static int pick_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct pick *pick = calloc(1, sizeof(*pick));

	if (!pick)
		return -ENOMEM;
	pick->world = world;
	pick->order = values[OPTION_ORDER];
	pick->sms = world_get_config(world)->device.sms;
	pick->full_sms = (uint32_t)(pick->sms * values[OPTION_AHEAD] / 1000);
	pick->together = (uint32_t)values[OPTION_TOGETHER];
	pick->stay_ns = values[OPTION_STAY];
	pick->depth = (uint32_t)values[OPTION_DEPTH];
	pick->slack_ns = values[OPTION_SLACK];
	pick->light_permille = (uint32_t)values[OPTION_LIGHT];
	pick->window_ns = values[OPTION_WINDOW];
	*ret_state = pick;
	return 0;
}

/* ---- what is known ---- */

static uint32_t op_sms(const struct pick *pick, const struct workload_op *op)
{
	if (op->kind != WORKLOAD_KERNEL)
		return op->kind == WORKLOAD_GRAPH ? pick->sms : 0;
	return op->sms < pick->sms ? op->sms : pick->sms;
}

static uint64_t virtual_ns(const struct pick *pick, const struct plan_proc *proc)
{
	return proc->launched_ns * 100 / proc->weight + pick->proc[proc->index].not_used_ns;
}

static struct pick_ready describe(const struct pick *pick, const struct plan_proc *proc,
				  const struct plan_launch *launch)
{
	const struct pick_proc *own = &pick->proc[proc->index];
	uint64_t whole_ns = proc->workload->steps * proc->workload->step_ns;
	uint64_t done_ns = proc->launched_ns - own->request_ns;

	return (struct pick_ready){.sms = op_sms(pick, launch->op),
				   .bw_class = launch->op->bw_class,
				   .left_ns = whole_ns > done_ns ? whole_ns - done_ns : 0,
				   .virtual_ns = virtual_ns(pick, proc)};
}

/* What is in flight but of two processes (UINT32_MAX: of one, of none). A process runs what it
 * launched first. */
static struct pick_beside beside(const struct pick *pick, uint32_t but, uint32_t and_but)
{
	struct pick_beside sum = {0};

	for (uint32_t i = 0; i < world_procs(pick->world); i++) {
		const struct pick_proc *proc = &pick->proc[i];
		const struct pick_flight *runs = &proc->flight[proc->first];

		if (i == but || i == and_but || !proc->count)
			continue;
		sum.procs++;
		sum.sms += runs->sms;
		if (runs->sms)
			sum.of_class[runs->bw_class]++;
	}
	return sum;
}

static bool has_room(const struct pick *pick, const struct pick_beside *beside)
{
	return beside->procs < pick->together && beside->sms < pick->full_sms;
}

/* There is room for `other` if `index` stops, and none if it goes on. */
static bool stands_in_the_way(const struct pick *pick, uint32_t index, uint32_t other)
{
	struct pick_beside without = beside(pick, index, other), with = without;

	with.procs++;
	with.sms += pick->proc[index].next.sms;
	return has_room(pick, &without) && !has_room(pick, &with);
}

/* Nobody whom it would keep out comes before it. Who has begun goes on for a while. */
static bool may_go(const struct pick *pick, uint32_t index)
{
	enum pick_order order = pick_now(pick->order, pick->load.permille, pick->light_permille);
	const struct pick_proc *proc = &pick->proc[index];
	struct pick_beside others = beside(pick, index, UINT32_MAX);
	struct pick_ready ready[WORLD_MAX_PROCS];
	uint32_t count = 1;

	if (proc->count >= pick->depth || !has_room(pick, &others))
		return false;
	ready[0] = proc->next;
	ready[0].beside = others;
	if (proc->count)
		ready[0].virtual_ns -=
			pick->stay_ns < ready[0].virtual_ns ? pick->stay_ns : ready[0].virtual_ns;
	for (uint32_t i = 0; i < world_procs(pick->world); i++) {
		if (i == index || !pick->proc[i].ready || pick->proc[i].count ||
		    !stands_in_the_way(pick, index, i))
			continue;
		ready[count] = pick->proc[i].next;
		ready[count++].beside = beside(pick, index, i);
	}
	return pick_next(order, ready, count, pick->slack_ns) == 0;
}

/* ---- what happens ---- */

static void pick_wake(struct pick *pick)
{
	uint64_t at_ns = world_now(pick->world) + world_get_config(pick->world)->wake_ns;

	for (uint32_t i = 0; i < world_procs(pick->world); i++) {
		if (pick->proc[i].ready && may_go(pick, i))
			world_wake(pick->world, i, at_ns);
	}
}

static enum plan_verdict pick_admit(void *state, struct plan_proc *proc, struct plan_launch *launch,
				    uint64_t *ret_wake_ns)
{
	struct pick *pick = state;
	struct pick_proc *own = &pick->proc[proc->index];

	own->next = describe(pick, proc, launch);
	own->ready = !may_go(pick, proc->index);
	if (!own->ready)
		return PLAN_GO;
	pick_wake(pick);
	return PLAN_HOLD;
}

static void pick_note_load(struct pick *pick)
{
	struct pick_beside all = beside(pick, UINT32_MAX, UINT32_MAX);

	pick_load_note(&pick->load, all.sms, pick->sms, pick->window_ns, world_now(pick->world));
}

static void pick_launched(void *state, struct plan_proc *proc, const struct plan_launch *launch)
{
	struct pick *pick = state;
	struct pick_proc *own = &pick->proc[proc->index];

	own->flight[(own->first + own->count++) % DEPTH_MOST] =
		(struct pick_flight){op_sms(pick, launch->op), launch->op->bw_class};
	pick_note_load(pick);
	pick_wake(pick);
}

static void pick_completed(void *state, struct plan_proc *proc, const struct workload_op *op,
			   uint64_t cost_ns)
{
	struct pick *pick = state;
	struct pick_proc *own = &pick->proc[proc->index];

	own->first = (own->first + 1) % DEPTH_MOST;
	own->count--;
	pick_note_load(pick);
	pick_wake(pick);
}

/* Who comes back has no claim to what was used meanwhile. */
static void pick_request_begin(void *state, struct plan_proc *proc)
{
	struct pick *pick = state;
	uint64_t least_ns = UINT64_MAX, own_ns = virtual_ns(pick, proc);

	pick->proc[proc->index].request_ns = proc->launched_ns;
	for (uint32_t i = 0; i < world_procs(pick->world); i++) {
		const struct plan_proc *other = world_proc(pick->world, i);

		if (i != proc->index && (other->active || !other->latency) &&
		    virtual_ns(pick, other) < least_ns)
			least_ns = virtual_ns(pick, other);
	}
	if (least_ns != UINT64_MAX && least_ns > own_ns)
		pick->proc[proc->index].not_used_ns += least_ns - own_ns;
}

const struct plan_policy plan_policy_pick = {
	.name = "pick",
	.about =
		"orders from papers among processes that overlap: by class, width, or what is left",
	.options = pick_options,
	.create = pick_create,
	.destroy = free,
	.admit = pick_admit,
	.launched = pick_launched,
	.completed = pick_completed,
	.request_begin = pick_request_begin,
};
