/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entitle.h"
#include "quota.h"
#include "lives.h"
#include "round.h"

#define CLAIM_MAX_NS (1ull << 62) /* nothing that a process claims is taken for more */
#define ACTIONS_AT_FIRST 64u
#define ACTIONS_PER_GATE 8u

int engine_make_room(struct engine *engine, uint32_t gates)
{
	uint32_t room = ACTIONS_AT_FIRST + gates * ACTIONS_PER_GATE;
	struct action *actions;

	if (room <= engine->action_room)
		return 0;
	/* Gates come one by one: not each time. */
	room += room / 2;
	actions = calloc(room, sizeof(*actions));
	if (!actions)
		return -ENOMEM;
	assert(engine->action_head == engine->action_count);
	free(engine->actions);
	engine->actions = actions;
	engine->action_room = room;
	return 0;
}

struct engine *engine_create(uint64_t now_ns)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return NULL;
	engine->policy = &policy_share;
	engine->now_ns = now_ns;
	engine->told_timer_ns = CORE_NEVER;
	if (engine_make_room(engine, 0)) {
		free(engine);
		return NULL;
	}
	return engine;
}

void engine_emit(struct engine *engine, const struct action *action)
{
	assert(engine->action_count < engine->action_room);
	engine->actions[engine->action_count++] = *action;
}

bool engine_take(struct engine *engine, struct action *ret_action)
{
	if (engine->action_head == engine->action_count) {
		engine->action_head = engine->action_count = 0;
		return false;
	}
	*ret_action = engine->actions[engine->action_head++];
	return true;
}

/* ---- readings -------------------------------------------------------------------------------- */

static uint64_t claim_at_least(uint64_t before, uint64_t claim)
{
	if (claim > CLAIM_MAX_NS)
		claim = CLAIM_MAX_NS;
	return claim > before ? claim : before;
}

/* Counters only rise, and nothing is complete that was not launched. */
static struct event_usage gate_believe(const struct gate *gate, const struct event_usage *claim)
{
	struct event_usage usage = *claim;

	usage.launched_ns = claim_at_least(gate->usage.launched_ns, claim->launched_ns);
	usage.completed_ns = claim_at_least(gate->usage.completed_ns, claim->completed_ns);
	if (usage.completed_ns > usage.launched_ns)
		usage.completed_ns = usage.launched_ns;
	if (usage.copies_ns > usage.launched_ns - usage.completed_ns)
		usage.copies_ns = usage.launched_ns - usage.completed_ns;
	usage.held_ns = claim_at_least(gate->usage.held_ns, claim->held_ns);
	usage.mem_held_ns = claim_at_least(gate->usage.mem_held_ns, claim->mem_held_ns);
	return usage;
}

/* Something was launched since the last reading, by then at the latest: it is complete since that
 * time, or else just now. */
static uint64_t usage_launched_at_ns(const struct gate *gate, const struct event_usage *usage,
				     uint64_t now_ns)
{
	uint64_t at_ns = usage->completed_at_ns;

	if (usage->completed_ns < usage->launched_ns || !at_ns || at_ns > now_ns)
		return now_ns;
	return at_ns > gate->launched_at_ns ? at_ns : gate->launched_at_ns;
}

static int on_usage(struct engine *engine, const struct event *event)
{
	struct gate *gate = lives_find_gate(engine, event->process, event->device);
	struct event_usage usage;
	uint64_t held_ns, used_ns;

	if (!gate)
		return -EINVAL;
	usage = gate_believe(gate, &event->usage);
	used_ns = gate_account_charge(&gate->account, event->now_ns - gate->read_ns,
				      gate->told.open || gate_in_flight(gate),
				      usage.completed_ns - gate->usage.completed_ns);
	entitle_charge(gate, used_ns, usage.launched_ns - gate->usage.launched_ns);
	held_ns = usage.held_ns - gate->usage.held_ns + usage.mem_held_ns - gate->usage.mem_held_ns;
	gate->stretch_held_ns += held_ns;
	pressure_held(&gate->share->pressure, gate->stretch_held_ns);
	if (usage.held_ns > gate->usage.held_ns)
		gate->was_held = true;
	if (usage.launched_ns > gate->usage.launched_ns) {
		gate->moved_ns = event->now_ns;
		gate->launched_at_ns = usage_launched_at_ns(gate, &usage, event->now_ns);
		gate->flight_ns = usage.launched_ns - usage.completed_ns;
	}
	gate->usage = usage;
	gate->read_ns = event->now_ns;
	return 0;
}

static int on_want(struct engine *engine, const struct event *event)
{
	struct gate *gate = lives_find_gate(engine, event->process, event->device);

	if (!gate)
		return -EINVAL;
	gate->usage.want = true;
	return 0;
}

/* A slow tick ends the stretch of time that `pressure` and `used` look at. */
static void engine_tick(struct engine *engine, uint64_t now_ns)
{
	for (uint32_t t = 0; t < engine->tenants; t++) {
		for (uint32_t d = 0; engine->tenant[t] && d < CORE_MAX_DEVICES; d++) {
			struct share *share = &engine->tenant[t]->on[d];

			if (!share->gates && !share->account.used_ns)
				continue;
			account_tick(&share->account, now_ns);
			pressure_tick(&share->pressure, now_ns);
		}
	}
	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		struct device *device = engine->device[d];

		for (uint32_t i = 0; device && i < device->gates; i++)
			device->gate[i]->stretch_held_ns = 0;
		if (device)
			quota_tick(engine, device);
	}
}

static int on_timer(struct engine *engine, const struct event *event)
{
	if (event->now_ns - engine->tick_ns >= CORE_SLOW_TICK_NS * 9 / 10) {
		engine->tick_ns = event->now_ns;
		engine_tick(engine, event->now_ns);
	}
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int on_mem_request(struct engine *engine, const struct event *event)
{
	struct gate *gate = lives_find_gate(engine, event->process, event->device);

	return gate && event->units ? quota_request(engine, gate, event->units) : -EINVAL;
}

static int on_mem_taken(struct engine *engine, const struct event *event)
{
	struct gate *gate = lives_find_gate(engine, event->process, event->device);

	return gate ? quota_taken(engine, gate, event->units) : -EINVAL;
}

static int on_mem_absent(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = lives_find_tenant(engine, event->tenant);

	if (!tenant || event->device >= CORE_MAX_DEVICES)
		return -EINVAL;
	if (event->kind == EVENT_MEM_HELD)
		quota_held(&tenant->on[event->device], event->units);
	else
		quota_reclaimed(&tenant->on[event->device], event->units);
	return 0;
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static int on_policy(struct engine *engine, const struct event *event)
{
	if (!event->policy)
		return -EINVAL;
	engine->policy = event->policy;
	/* Turns go on: their state means the same to every policy that has them. */
	return 0;
}

static int on_pairs(struct engine *engine, const struct event *event)
{
	if (event->pairs > PAIRS_COMPLETION)
		return -EINVAL;
	engine->pairs = event->pairs;
	return 0;
}

static int engine_dispatch(struct engine *engine, const struct event *event)
{
	switch (event->kind) {
	case EVENT_POLICY: return on_policy(engine, event);
	case EVENT_DEVICE: return lives_device(engine, event);
	case EVENT_DEVICE_GONE: return lives_device_gone(engine, event);
	case EVENT_TENANT: return lives_tenant(engine, event);
	case EVENT_TENANT_GONE: return lives_tenant_gone(engine, event);
	case EVENT_JOIN: return lives_join(engine, event);
	case EVENT_LEAVE: return lives_leave(engine, event);
	case EVENT_ATTACH: return lives_attach(engine, event);
	case EVENT_USAGE: return on_usage(engine, event);
	case EVENT_WANT: return on_want(engine, event);
	case EVENT_PAUSE: return lives_pause(engine, event);
	case EVENT_TIMER: return on_timer(engine, event);
	case EVENT_MEM_REQUEST: return on_mem_request(engine, event);
	case EVENT_MEM_TAKEN: return on_mem_taken(engine, event);
	case EVENT_MEM_HELD:
	case EVENT_MEM_RECLAIMED: return on_mem_absent(engine, event);
	case EVENT_REQUEST: return slo_request(engine, event);
	case EVENT_LEVEL: return slo_fix_level(engine, event);
	case EVENT_PAIRS: return on_pairs(engine, event);
	}
	return -EINVAL;
}

/* Readings and memory change nobody's gate by themselves. */
static bool engine_decides_at(enum event_kind kind)
{
	return kind != EVENT_USAGE && kind != EVENT_JOIN && kind != EVENT_MEM_REQUEST &&
	       kind != EVENT_MEM_TAKEN && kind != EVENT_MEM_HELD && kind != EVENT_MEM_RECLAIMED &&
	       kind != EVENT_REQUEST;
}

int engine_event(struct engine *engine, const struct event *event)
{
	struct event now = *event;
	int r;

	assert(engine->action_head == engine->action_count);
	engine->action_head = engine->action_count = 0;
	if (now.now_ns < engine->now_ns)
		now.now_ns = engine->now_ns;
	engine->now_ns = now.now_ns;
	r = engine_dispatch(engine, &now);
	if (!r && engine_decides_at(now.kind))
		round_run(engine, now.now_ns);
	return r;
}

void engine_destroy(struct engine *engine)
{
	if (!engine)
		return;
	for (uint32_t i = 0; i < CORE_MAX_PROCESSES; i++) {
		for (uint32_t d = 0; engine->process[i] && d < CORE_MAX_DEVICES; d++)
			free(engine->process[i]->gate[d]);
		free(engine->process[i]);
	}
	for (uint32_t i = 0; i < CORE_MAX_TENANTS; i++) {
		for (uint32_t d = 0; engine->tenant[i] && d < CORE_MAX_DEVICES; d++) {
			slo_forget(&engine->tenant[i]->on[d]);
			pairs_forget(&engine->tenant[i]->on[d]);
		}
		free(engine->tenant[i]);
	}
	for (uint32_t i = 0; i < CORE_MAX_DEVICES; i++)
		free(engine->device[i]);
	free(engine->actions);
	free(engine);
}

bool engine_has_turns(const struct engine *engine, uint32_t device)
{
	const struct device *found = lives_find_device(engine, device);

	return found && engine->policy->has_turns(found);
}

uint32_t engine_granted_units(const struct engine *engine, uint32_t process, uint32_t device)
{
	const struct gate *gate = lives_find_gate(engine, process, device);

	return gate ? gate->granted_units : 0;
}
