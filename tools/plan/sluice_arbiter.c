/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/sluice_arbiter.h"

#include <errno.h>
#include <string.h>

#include "core/policy.h"

/* ---- actions ---- */

void sluice_arbiter_arm(struct sluice_arbiter *arbiter)
{
	uint64_t at_ns =
		arbiter->timer_ns < arbiter->tick_ns ? arbiter->timer_ns : arbiter->tick_ns;

	for (uint32_t i = 0; i < arbiter->gates; i++) {
		if (arbiter->gate[i].want_at_ns < at_ns)
			at_ns = arbiter->gate[i].want_at_ns;
	}
	world_timer(arbiter->world, at_ns);
}

static struct grant arbiter_fix(const struct sluice_arbiter *arbiter,
				const struct sluice_gate *gate, struct grant grant)
{
	if (gate->proc->latency || !grant.open)
		return grant;
	if (arbiter->fixed.window_ns != PLAN_OPEN)
		grant.window_ns = arbiter->fixed.window_ns;
	if (arbiter->fixed.guard_ns != PLAN_OPEN)
		grant.guard_ns = arbiter->fixed.guard_ns;
	return grant;
}

static void arbiter_carry_out(struct sluice_arbiter *arbiter, const struct action *action)
{
	struct sluice_gate *gate = &arbiter->gate[action->process];
	struct grant grant;

	switch (action->kind) {
	case ACTION_TIMER:
		arbiter->timer_ns = action->at_ns;
		if (action->at_ns != CORE_NEVER)
			arbiter->timer_ns += arbiter->delay_ns;
		break;
	case ACTION_WATCH: gate->watched = action->on; break;
	case ACTION_ACTIVITY: gate->counts = action->on; break;
	case ACTION_GRANT:
		grant = arbiter_fix(arbiter, gate, action->grant);
		sluice_gate_grant(gate, &grant);
		world_wake(arbiter->world, action->process,
			   world_now(arbiter->world) + arbiter->terms.wake_ns);
		break;
	default: break; /* memory: no program here asks for any */
	}
}

static int arbiter_feed(struct sluice_arbiter *arbiter, struct event event)
{
	struct action action;
	int r;

	event.now_ns = world_now(arbiter->world);
	r = engine_event(arbiter->engine, &event);
	while (engine_take(arbiter->engine, &action))
		arbiter_carry_out(arbiter, &action);
	return r;
}

/* ---- readings ---- */

static void arbiter_read(struct sluice_arbiter *arbiter, bool all)
{
	uint64_t now_ns = world_now(arbiter->world);

	for (uint32_t i = 0; i < arbiter->gates; i++) {
		const struct sluice_gate *gate = &arbiter->gate[i];
		struct event event = {.kind = EVENT_USAGE, .process = i};

		if (!all && !gate->watched)
			continue;
		event.usage = sluice_gate_usage(gate, now_ns);
		(void)arbiter_feed(arbiter, event);
	}
}

/* Of all best-effort processes; UINT64_MAX: not known. */
static uint64_t arbiter_met_ns(const struct sluice_arbiter *arbiter, uint64_t start_ns)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < arbiter->gates; i++) {
		uint64_t met_ns;

		if (arbiter->gate[i].proc->latency)
			continue;
		met_ns = sluice_gate_met(&arbiter->gate[i], start_ns);
		if (met_ns == UINT64_MAX)
			return UINT64_MAX;
		sum_ns += met_ns;
	}
	return sum_ns;
}

/* Was another server at work then? */
static bool arbiter_is_beside(const struct sluice_arbiter *arbiter, uint32_t own,
			      const struct event_request *request)
{
	for (uint32_t i = 0; i < arbiter->gates; i++) {
		const struct plan_proc *proc = arbiter->gate[i].proc;
		const struct sluice_ring *ring = &arbiter->ring[i];

		if (i == own || !proc->latency)
			continue;
		if (proc->active && proc->busy_since_ns <= request->end_ns)
			return true;
		for (uint64_t n = ring->head; n && ring->head - n < SLUICE_RING; n--) {
			const struct event_request *other = &ring->record[(n - 1) % SLUICE_RING];

			if (other->end_ns < request->start_ns)
				break;
			if (other->start_ns <= request->end_ns)
				return true;
		}
	}
	return false;
}

static void arbiter_read_requests(struct sluice_arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->gates; i++) {
		struct sluice_ring *ring = &arbiter->ring[i];

		if (ring->head - ring->seen >= SLUICE_RING)
			ring->seen = ring->head - SLUICE_RING + 1;
		for (; ring->seen < ring->head; ring->seen++) {
			struct event event = {.kind = EVENT_REQUEST,
					      .process = i,
					      .request = ring->record[ring->seen % SLUICE_RING]};

			event.request.be_in_flight_ns =
				arbiter_met_ns(arbiter, event.request.start_ns);
			event.request.beside = arbiter_is_beside(arbiter, i, &event.request);
			(void)arbiter_feed(arbiter, event);
		}
	}
	for (uint32_t i = 0; i < arbiter->gates; i++)
		arbiter->gate[i].rest_launched_ns = arbiter->gate[i].proc->launched_ns;
}

void sluice_arbiter_note(struct sluice_arbiter *arbiter, uint32_t proc,
			 const struct event_request *request)
{
	struct sluice_ring *ring = &arbiter->ring[proc];

	ring->record[ring->head++ % SLUICE_RING] = *request;
}

/* ---- time ---- */

static void arbiter_look_at_levels(struct sluice_arbiter *arbiter)
{
	struct engine_slo slo;

	for (uint32_t i = 0; world_is_warm(arbiter->world) && i < arbiter->gates; i++) {
		if (!engine_slo_report(arbiter->engine, i, 0, &slo))
			continue;
		arbiter->looks[i]++;
		arbiter->level_sum[i] += slo.level;
		arbiter->window_sum_ns[i] += slo.window_ns;
		arbiter->guard_sum_ns[i] += slo.guard_ns;
	}
}

static void arbiter_tick(struct sluice_arbiter *arbiter)
{
	arbiter->tick_ns += CORE_SLOW_TICK_NS;
	arbiter_read_requests(arbiter);
	arbiter_read(arbiter, true);
	(void)arbiter_feed(arbiter, (struct event){.kind = EVENT_TIMER});
	arbiter_look_at_levels(arbiter);
}

void sluice_arbiter_timer(struct sluice_arbiter *arbiter)
{
	uint64_t now_ns = world_now(arbiter->world);

	for (uint32_t i = 0; i < arbiter->gates; i++) {
		if (arbiter->gate[i].want_at_ns > now_ns)
			continue;
		arbiter->gate[i].want_at_ns = UINT64_MAX;
		arbiter_read(arbiter, false);
		(void)arbiter_feed(arbiter, (struct event){.kind = EVENT_WANT, .process = i});
	}
	if (arbiter->tick_ns <= now_ns) {
		arbiter_tick(arbiter);
	} else if (arbiter->timer_ns <= now_ns) {
		arbiter->timer_ns = CORE_NEVER;
		arbiter_read(arbiter, false);
		(void)arbiter_feed(arbiter, (struct event){.kind = EVENT_TIMER});
	}
	sluice_arbiter_arm(arbiter);
}

/* ---- life ---- */

static int arbiter_join(struct sluice_arbiter *arbiter, uint32_t index, uint64_t period_ns)
{
	const struct plan_proc *proc = arbiter->gate[index].proc;
	struct event tenant = {.kind = EVENT_TENANT,
			       .tenant = index,
			       .tenant_set = {.managed = true,
					      .weight = proc->weight,
					      .gpu_max_permille = proc->gpu_max_permille,
					      .gpu_min_permille = proc->gpu_min_permille,
					      .period_ns = period_ns,
					      .memory_max_bytes = CORE_NO_LIMIT,
					      .target_ns = proc->target.p99_ns,
					      .target_over_permille = proc->target.extra_permille,
					      .target_arrival = proc->target.from_arrival}};
	struct event join = {.kind = EVENT_JOIN,
			     .tenant = index,
			     .process = index,
			     .join = {.latency = proc->latency}};
	int r = arbiter_feed(arbiter, tenant);

	if (!r)
		r = arbiter_feed(arbiter, join);
	return r ? r
		 : arbiter_feed(arbiter, (struct event){.kind = EVENT_ATTACH, .process = index});
}

static int arbiter_configure(struct sluice_arbiter *arbiter, const struct sluice_terms *terms)
{
	const struct model_desc *desc = &world_get_config(arbiter->world)->device;
	struct event order = {.kind = EVENT_POLICY, .policy = policy_find(terms->policy)};
	struct event device = {.kind = EVENT_DEVICE,
			       .device_added = {.mps = desc->mps,
						.partitions = terms->partitions,
						.sms = desc->sms,
						.memory_bytes = desc->memory_bytes}};
	struct event level = {.kind = EVENT_LEVEL,
			      .level = {.fixed = true, .level = (int32_t)terms->fixed.level}};
	struct event pairs = {.kind = EVENT_PAIRS, .pairs = terms->pairs};
	int r = arbiter_feed(arbiter, order);

	if (!r)
		r = arbiter_feed(arbiter, pairs);
	if (!r && terms->fixed.level != PLAN_OPEN)
		r = arbiter_feed(arbiter, level);
	return r ? r : arbiter_feed(arbiter, device);
}

int sluice_arbiter_begin(struct sluice_arbiter *arbiter, struct world *world,
			 const struct sluice_terms *terms)
{
	int r;

	arbiter->world = world;
	arbiter->fixed = terms->fixed;
	arbiter->delay_ns = terms->delay_ns;
	arbiter->terms = (struct sluice_gate_terms){.progress_ns = terms->progress_ns,
						    .wake_ns = world_get_config(world)->wake_ns,
						    .message_ns = terms->delay_ns,
						    .copies = terms->copies,
						    .collectives = terms->collectives};
	arbiter->timer_ns = CORE_NEVER;
	arbiter->tick_ns = CORE_SLOW_TICK_NS;
	arbiter->gates = world_procs(world);
	for (uint32_t i = 0; i < arbiter->gates; i++)
		arbiter->gate[i] = (struct sluice_gate){
			.proc = world_proc(world, i), .word = 1, .want_at_ns = UINT64_MAX};
	arbiter->engine = engine_create(0);
	r = arbiter->engine ? arbiter_configure(arbiter, terms) : -ENOMEM;
	for (uint32_t i = 0; !r && i < arbiter->gates; i++)
		r = arbiter_join(arbiter, i, terms->period_ns);
	if (!r)
		sluice_arbiter_arm(arbiter);
	return r;
}

void sluice_arbiter_finish(struct sluice_arbiter *arbiter)
{
	engine_destroy(arbiter->engine);
}
