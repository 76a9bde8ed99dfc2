/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers whose weights do not all fit on the device: a request of one that is not there waits until
 * they are, a copy before its first launch, on the copy engine beside what runs. Weights are only
 * read, so what goes need not be copied out. Who comes in, and who goes for it,
 * is one of the rules of order.h.
 *
 * `room` of the models fit, all of a size: it takes `swap` to bring one in.
 * Sluice has no back end that swaps yet: this is what one would be asked. A request's time is what
 * the workload says; arrivals are seen (process ranges).
 */

#include <errno.h>
#include <stdlib.h>

#include "plan/residency.h"
#include "plan/policies.h"
#include "plan/workload.h"
#include "plan/world.h"

#define ARRIVALS 1024u	   /* that are remembered, of a tenant */
#define TICK_NS 1000000ull /* gains grow while nothing else happens */
#define GAP_SHARE 16u	   /* of one gap in the mean */

struct residency_proc {
	bool resident, comes; /* comes: its copy is wanted, before the launch that waits */
	uint32_t arrived, finished;
	uint64_t waiting_sum_ns; /* arrivals of those in between, together */
	uint64_t arrival_ns[ARRIVALS];
	uint64_t gap_ns; /* mean, of the latest */
	uint64_t used_ns;
};

struct residency {
	struct world *world;
	enum residency_rule rule;
	uint32_t room;
	uint64_t swap_ns;
	struct residency_proc proc[WORLD_MAX_PROCS];
};

enum { OPTION_RULE, OPTION_ROOM, OPTION_SWAP };

static const struct plan_option residency_options[] = {
	[OPTION_RULE] = {"rule", PLAN_COUNT, RESIDENCY_GAIN, RESIDENCY_ARRIVAL, RESIDENCY_GAIN,
			 "0 arrival, 1 weight, 2 gain"},
	[OPTION_ROOM] = {"room", PLAN_COUNT, WORLD_MAX_PROCS, 1, WORLD_MAX_PROCS,
			 "models that fit"},
	[OPTION_SWAP] = {"swap", PLAN_NS, 50000000, 1, 10000000000, "to bring one in"},
	{0},
};

static int residency_create(struct world *world, const uint64_t *values, void **ret_state)
{
	struct residency *residency = calloc(1, sizeof(*residency));

	if (!residency)
		return -ENOMEM;
	residency->world = world;
	residency->rule = (enum residency_rule)values[OPTION_RULE];
	residency->room = (uint32_t)values[OPTION_ROOM];
	residency->swap_ns = values[OPTION_SWAP];
	*ret_state = residency;
	return 0;
}

/* A request is being served, or the copy for one is wanted or under way. */
static bool is_busy(const struct residency *residency, uint32_t index)
{
	const struct plan_proc *proc = world_proc(residency->world, index);

	return residency->proc[index].comes || (proc->active && residency->proc[index].resident);
}

/* ---- by arrival ---- */

static uint32_t oldest_wanted(const struct residency *residency)
{
	uint32_t oldest = RESIDENCY_NONE;

	for (uint32_t i = 0; i < world_procs(residency->world); i++) {
		const struct plan_proc *proc = world_proc(residency->world, i);

		if (!proc->active || residency->proc[i].resident)
			continue;
		if (oldest == RESIDENCY_NONE ||
		    proc->arrival_ns < world_proc(residency->world, oldest)->arrival_ns)
			oldest = i;
	}
	return oldest;
}

/* When the request came that a server begins next; 0: so long ago that it is forgotten. */
static uint64_t next_arrival(const struct residency_proc *own)
{
	uint32_t waiting = own->arrived - own->finished;

	if (!waiting)
		return UINT64_MAX;
	return waiting <= ARRIVALS ? own->arrival_ns[own->finished % ARRIVALS] : 0;
}

/* Whose turn it is before `arrival_ns` stays. */
static uint32_t least_recently_used(const struct residency *residency, uint64_t arrival_ns)
{
	uint32_t least = RESIDENCY_NONE;

	for (uint32_t i = 0; i < world_procs(residency->world); i++) {
		if (!residency->proc[i].resident || is_busy(residency, i) ||
		    next_arrival(&residency->proc[i]) < arrival_ns)
			continue;
		if (least == RESIDENCY_NONE ||
		    residency->proc[i].used_ns < residency->proc[least].used_ns)
			least = i;
	}
	return least;
}

static struct residency_choice choose_by_arrival(const struct residency *residency,
						 uint32_t resident)
{
	struct residency_choice choice = {.load = oldest_wanted(residency)};
	uint32_t goes;

	if (choice.load == RESIDENCY_NONE || resident < residency->room)
		return choice;
	goes = least_recently_used(residency,
				   world_proc(residency->world, choice.load)->arrival_ns);
	if (goes == RESIDENCY_NONE)
		choice.load = RESIDENCY_NONE;
	else
		choice.evict = 1ull << goes;
	return choice;
}

/* ---- by weight ---- */

/* What a waiting request costs: of a model that must be brought in for them, or that is there. */
static uint64_t weight_of(const struct residency *residency, uint32_t index)
{
	const struct residency_proc *own = &residency->proc[index];
	uint32_t waiting = own->arrived - own->finished;

	if (!waiting)
		return UINT64_MAX;
	return workload_iteration_ns(world_proc(residency->world, index)->workload) +
	       (own->resident ? 0 : residency->swap_ns / waiting);
}

/* The heaviest goes; of those that nobody asks for, the least recently used. */
static uint32_t heaviest(const struct residency *residency)
{
	uint32_t most = RESIDENCY_NONE;

	for (uint32_t i = 0; i < world_procs(residency->world); i++) {
		uint64_t weight = weight_of(residency, i);

		if (!residency->proc[i].resident || is_busy(residency, i))
			continue;
		if (most == RESIDENCY_NONE || weight > weight_of(residency, most) ||
		    (weight == UINT64_MAX && weight_of(residency, most) == weight &&
		     residency->proc[i].used_ns < residency->proc[most].used_ns))
			most = i;
	}
	return most;
}

static struct residency_choice choose_by_weight(const struct residency *residency,
						uint32_t resident)
{
	struct residency_choice choice = {.load = RESIDENCY_NONE};
	uint32_t goes;

	for (uint32_t i = 0; i < world_procs(residency->world); i++) {
		if (!residency->proc[i].resident && weight_of(residency, i) != UINT64_MAX &&
		    (choice.load == RESIDENCY_NONE ||
		     weight_of(residency, i) < weight_of(residency, choice.load)))
			choice.load = i;
	}
	if (choice.load == RESIDENCY_NONE || resident < residency->room)
		return choice;
	goes = heaviest(residency);
	if (goes != RESIDENCY_NONE &&
	    weight_of(residency, choice.load) < weight_of(residency, goes))
		choice.evict = 1ull << goes;
	else
		choice.load = RESIDENCY_NONE;
	return choice;
}

/* ---- by what queues gain ---- */

static struct residency_model model_of(const struct residency *residency, uint32_t index)
{
	const struct residency_proc *own = &residency->proc[index];
	uint64_t now_ns = world_now(residency->world);
	uint32_t waiting = own->arrived - own->finished;

	return (struct residency_model){
		.bytes = 1,
		.swap_ns = residency->swap_ns,
		.exec_ns = workload_iteration_ns(world_proc(residency->world, index)->workload),
		.waiting = waiting,
		.waited_ns = waiting * now_ns - own->waiting_sum_ns,
		.gap_ns = own->gap_ns,
		.resident = own->resident,
		.busy = is_busy(residency, index)};
}

static struct residency_choice choose_by_gain(const struct residency *residency)
{
	struct residency_model model[WORLD_MAX_PROCS];
	uint32_t count = world_procs(residency->world);
	struct residency_choice choice;

	for (uint32_t i = 0; i < count; i++)
		model[i] = model_of(residency, i);
	residency_choose(model, count, residency->room, &choice);
	return choice;
}

/* ---- swaps ---- */

static struct residency_choice choose(const struct residency *residency, uint32_t resident)
{
	switch (residency->rule) {
	case RESIDENCY_ARRIVAL: return choose_by_arrival(residency, resident);
	case RESIDENCY_WEIGHT: return choose_by_weight(residency, resident);
	default: return choose_by_gain(residency);
	}
}

/* Copies in what is chosen, one after the other while there is room. */
static void decide(struct residency *residency)
{
	uint32_t count = world_procs(residency->world), resident = 0;
	struct residency_choice choice;

	for (uint32_t i = 0; i < count; i++)
		resident += residency->proc[i].resident;
	for (;;) {
		choice = choose(residency, resident);
		if (choice.load == RESIDENCY_NONE)
			break;
		for (uint32_t i = 0; i < count; i++) {
			if (choice.evict & 1ull << i) {
				residency->proc[i].resident = false;
				resident--;
			}
		}
		residency->proc[choice.load].resident = residency->proc[choice.load].comes = true;
		resident++;
		world_wake(residency->world, choice.load,
			   world_now(residency->world) +
				   world_get_config(residency->world)->wake_ns);
	}
}

/* Somebody waits who may be chosen later, without anything else happening. */
static void set_timer(struct residency *residency)
{
	bool any = residency->rule == RESIDENCY_GAIN && oldest_wanted(residency) != RESIDENCY_NONE;

	world_timer(residency->world, any ? world_now(residency->world) + TICK_NS : UINT64_MAX);
}

static void look(struct residency *residency)
{
	decide(residency);
	set_timer(residency);
}

/* ---- the world's calls ---- */

static enum plan_verdict residency_admit(void *state, struct plan_proc *proc,
					 struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	struct residency *residency = state;
	struct residency_proc *own = &residency->proc[proc->index];

	if (!proc->latency)
		return PLAN_GO;
	if (!own->resident)
		return PLAN_HOLD;
	if (own->comes)
		launch->copy_in_ns = residency->swap_ns;
	own->comes = false;
	own->used_ns = world_now(residency->world);
	return PLAN_GO;
}

static void residency_arrived(void *state, struct plan_proc *proc, uint64_t arrival_ns)
{
	struct residency *residency = state;
	struct residency_proc *own = &residency->proc[proc->index];

	if (own->arrived) {
		uint64_t gap_ns = arrival_ns - own->arrival_ns[(own->arrived - 1) % ARRIVALS];

		own->gap_ns = own->gap_ns
				      ? own->gap_ns - own->gap_ns / GAP_SHARE + gap_ns / GAP_SHARE
				      : gap_ns;
	}
	own->arrival_ns[own->arrived++ % ARRIVALS] = arrival_ns;
	own->waiting_sum_ns += arrival_ns;
	look(residency);
}

static void residency_request_begin(void *state, struct plan_proc *proc)
{
	look(state);
}

static void residency_finished(void *state, struct plan_proc *proc, uint64_t arrival_ns,
			       uint64_t start_ns)
{
	struct residency *residency = state;
	struct residency_proc *own = &residency->proc[proc->index];

	own->finished++;
	own->waiting_sum_ns -= arrival_ns;
	own->used_ns = world_now(residency->world);
	look(residency);
}

static void residency_timer(void *state)
{
	look(state);
}

const struct plan_policy plan_policy_residency = {
	.name = "residency",
	.about = "models that do not all fit: who is brought in, by a bulk copy before a request",
	.options = residency_options,
	.create = residency_create,
	.destroy = free,
	.admit = residency_admit,
	.request_begin = residency_request_begin,
	.arrived = residency_arrived,
	.finished = residency_finished,
	.timer = residency_timer,
};
