/* SPDX-License-Identifier: Apache-2.0 */
#include "round.h"

#include "sluice/pages.h"

/* A limit that moves less than this is not worth waking a process for ... */
#define CREDIT_STEP_NS 500000ull

static void round_preset(struct gate *gate)
{
	gate->next = (struct grant){
		.open = false, .credit_ns = CORE_NO_LIMIT, .window_ns = CORE_NO_LIMIT};
	gate->next_watch = false;
	gate->next_counts = false;
	if (!gate_is_managed(gate)) {
		gate->next.open = true;
		return;
	}
	gate->next.flags = SLUICE_GRANT_MANAGED;
	if (gate_is_paused(gate))
		gate->next.flags |= SLUICE_GRANT_PAUSED;
}

static bool round_same(const struct gate *gate)
{
	const struct grant *next = &gate->next, *told = &gate->told;
	uint64_t more_ns;

	if (!gate->told_any || next->open != told->open || next->flags != told->flags ||
	    next->window_ns != told->window_ns || next->guard_ns != told->guard_ns ||
	    next->cap_sms != told->cap_sms || next->busy_limit_ns != told->busy_limit_ns ||
	    next->quiet_from_ns != told->quiet_from_ns ||
	    next->quiet_until_ns != told->quiet_until_ns)
		return false;
	if (next->credit_ns == told->credit_ns || !next->open)
		return true;
	if (next->credit_ns < told->credit_ns || next->credit_ns == CORE_NO_LIMIT)
		return false;
	/* ... unless it is held or about to be. */
	more_ns = next->credit_ns - told->credit_ns;
	return more_ns < CREDIT_STEP_NS && !gate->usage.want &&
	       gate->usage.launched_ns + CREDIT_STEP_NS < told->credit_ns;
}

static void round_tell_grant(struct engine *engine, struct gate *gate)
{
	struct action action = {.kind = ACTION_GRANT,
				.process = gate->process->index,
				.device = gate->device->index};

	if (round_same(gate))
		return;
	gate->told = gate->next;
	gate->told_any = true;
	action.grant = gate->next;
	engine_emit(engine, &action);
}

static void round_tell_switch(struct engine *engine, struct gate *gate, enum action_kind kind,
			      bool on, bool *told)
{
	struct action action = {
		.kind = kind, .process = gate->process->index, .device = gate->device->index};

	if (on == *told)
		return;
	*told = on;
	action.on = on;
	engine_emit(engine, &action);
}

/* Closed gates are told before opened ones: at no instant are there two where one is allowed. */
static void round_tell(struct engine *engine, struct device *device)
{
	for (uint32_t i = 0; i < device->gates; i++) {
		if (!device->gate[i]->next.open)
			round_tell_grant(engine, device->gate[i]);
	}
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (gate->next.open)
			round_tell_grant(engine, gate);
		round_tell_switch(engine, gate, ACTION_WATCH, gate->next_watch, &gate->told_watch);
		if (gate->process->latency)
			round_tell_switch(engine, gate, ACTION_ACTIVITY, gate->next_counts,
					  &gate->told_counts);
	}
}

void round_run(struct engine *engine, uint64_t now_ns)
{
	struct action timer = {.kind = ACTION_TIMER, .at_ns = CORE_NEVER};

	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		struct device *device = engine->device[d];

		if (!device)
			continue;
		for (uint32_t i = 0; i < device->gates; i++)
			round_preset(device->gate[i]);
		device->next_ns = CORE_NEVER;
		engine->policy->decide(engine, device, now_ns);
		round_tell(engine, device);
		if (device->next_ns < timer.at_ns)
			timer.at_ns = device->next_ns;
	}
	if (timer.at_ns != engine->told_timer_ns) {
		engine->told_timer_ns = timer.at_ns;
		engine_emit(engine, &timer);
	}
}
