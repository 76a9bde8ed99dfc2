/* SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "entitle.h"
#include "quota.h"
#include "round.h"
#include "turns.h"

#define CLAIM_MAX_NS (1ull << 62) /* nothing that a process claims is taken for more */
#define ACTIONS_PER_GATE 8u
#define ACTIONS_AT_FIRST 64u

static int engine_make_room(struct engine *engine, uint32_t more)
{
	uint32_t room = engine->action_room + more;
	struct action *actions = calloc(room, sizeof(*actions));

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
	if (engine_make_room(engine, ACTIONS_AT_FIRST)) {
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

/* ---- look-ups: NULL for what is not there ---------------------------------------------------- */

static struct device *find_device(const struct engine *engine, uint32_t index)
{
	return index < CORE_MAX_DEVICES ? engine->device[index] : NULL;
}

static struct tenant *find_tenant(const struct engine *engine, uint32_t index)
{
	return index < CORE_MAX_TENANTS ? engine->tenant[index] : NULL;
}

static struct process *find_process(const struct engine *engine, uint32_t index)
{
	return index < CORE_MAX_PROCESSES ? engine->process[index] : NULL;
}

static struct gate *find_gate(const struct engine *engine, uint32_t process, uint32_t device)
{
	struct process *found = find_process(engine, process);

	return found && device < CORE_MAX_DEVICES ? found->gate[device] : NULL;
}

/* ---- devices and tenants --------------------------------------------------------------------- */

static int on_device(struct engine *engine, const struct event *event)
{
	struct device *device;

	if (event->device >= CORE_MAX_DEVICES)
		return -EINVAL;
	device = engine->device[event->device];
	if (!device) {
		device = calloc(1, sizeof(*device));
		if (!device)
			return -ENOMEM;
		device->index = event->device;
		device->next_ns = CORE_NEVER;
		engine->device[event->device] = device;
	}
	device->record = event->device_added;
	return 0;
}

static int on_device_gone(struct engine *engine, const struct event *event)
{
	struct device *device = find_device(engine, event->device);

	if (!device || device->gates)
		return -EINVAL;
	free(device);
	engine->device[event->device] = NULL;
	for (uint32_t t = 0; t < engine->tenants; t++) {
		if (engine->tenant[t])
			engine->tenant[t]->on[event->device] = (struct share){0};
	}
	return 0;
}

static int on_tenant(struct engine *engine, const struct event *event)
{
	const struct event_tenant *set = &event->tenant_set;
	struct tenant *tenant;

	if (event->tenant >= CORE_MAX_TENANTS || !set->weight || set->period_ns < 1000)
		return -EINVAL;
	tenant = engine->tenant[event->tenant];
	if (!tenant) {
		tenant = calloc(1, sizeof(*tenant));
		if (!tenant)
			return -ENOMEM;
		tenant->index = event->tenant;
		engine->tenant[event->tenant] = tenant;
		if (engine->tenants <= event->tenant)
			engine->tenants = event->tenant + 1;
	}
	tenant->set = *set;
	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		if (engine->device[d])
			quota_limit_changed(engine, engine->device[d], tenant);
	}
	return 0;
}

static int on_tenant_gone(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = find_tenant(engine, event->tenant);

	if (!tenant)
		return -EINVAL;
	for (uint32_t i = 0; i < CORE_MAX_PROCESSES; i++) {
		if (engine->process[i] && engine->process[i]->tenant == tenant)
			return -EINVAL;
	}
	free(tenant);
	engine->tenant[event->tenant] = NULL;
	return 0;
}

static int on_pause(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = find_tenant(engine, event->tenant);

	if (!tenant)
		return -EINVAL;
	tenant->paused = event->on;
	return 0;
}

/* ---- processes and gates --------------------------------------------------------------------- */

static int on_join(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = find_tenant(engine, event->tenant);
	struct process *process;

	if (!tenant || event->process >= CORE_MAX_PROCESSES || engine->process[event->process])
		return -EINVAL;
	process = calloc(1, sizeof(*process));
	if (!process)
		return -ENOMEM;
	process->index = event->process;
	process->tenant = tenant;
	process->latency = event->join.latency;
	engine->process[event->process] = process;
	return 0;
}

static int on_attach(struct engine *engine, const struct event *event)
{
	struct process *process = find_process(engine, event->process);
	struct device *device = find_device(engine, event->device);
	struct gate *gate;

	if (!process || !device || process->gate[event->device] || device->gates == CORE_MAX_GATES)
		return -EINVAL;
	if (engine_make_room(engine, ACTIONS_PER_GATE))
		return -ENOMEM;
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		return -ENOMEM;
	gate->process = process;
	gate->device = device;
	gate->share = &process->tenant->on[device->index];
	gate->share->gates++;
	gate->share->latency_gates += process->latency;
	gate->read_ns = gate->moved_ns = gate->closed_ns = event->now_ns;
	process->gate[device->index] = gate;
	device->gate[device->gates++] = gate;
	quota_attach(engine, gate, event->attach.held_units);
	return 0;
}

static void gate_destroy(struct gate *gate, bool reclaim)
{
	struct device *device = gate->device;
	uint32_t at = 0;

	turns_forget(device, gate);
	quota_leave(gate, reclaim);
	gate->share->gates--;
	gate->share->latency_gates -= gate->process->latency;
	while (device->gate[at] != gate)
		at++;
	device->gates--;
	memmove(&device->gate[at], &device->gate[at + 1],
		(device->gates - at) * sizeof(device->gate[0]));
	free(gate);
}

static int on_leave(struct engine *engine, const struct event *event)
{
	struct process *process = find_process(engine, event->process);

	if (!process)
		return -EINVAL;
	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		if (process->gate[d])
			gate_destroy(process->gate[d], event->reclaim);
	}
	engine->process[process->index] = NULL;
	free(process);
	return 0;
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
	usage.held_ns = claim_at_least(gate->usage.held_ns, claim->held_ns);
	usage.mem_held_ns = claim_at_least(gate->usage.mem_held_ns, claim->mem_held_ns);
	return usage;
}

static int on_usage(struct engine *engine, const struct event *event)
{
	struct gate *gate = find_gate(engine, event->process, event->device);
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
		gate->flight_ns = usage.launched_ns - usage.completed_ns;
	}
	gate->usage = usage;
	gate->read_ns = event->now_ns;
	return 0;
}

static int on_want(struct engine *engine, const struct event *event)
{
	struct gate *gate = find_gate(engine, event->process, event->device);

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
	struct gate *gate = find_gate(engine, event->process, event->device);

	return gate && event->units ? quota_request(engine, gate, event->units) : -EINVAL;
}

static int on_mem_taken(struct engine *engine, const struct event *event)
{
	struct gate *gate = find_gate(engine, event->process, event->device);

	return gate ? quota_taken(engine, gate, event->units) : -EINVAL;
}

static int on_mem_reclaimed(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = find_tenant(engine, event->tenant);

	if (!tenant || event->device >= CORE_MAX_DEVICES)
		return -EINVAL;
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

static int engine_dispatch(struct engine *engine, const struct event *event)
{
	switch (event->kind) {
	case EVENT_POLICY: return on_policy(engine, event);
	case EVENT_DEVICE: return on_device(engine, event);
	case EVENT_DEVICE_GONE: return on_device_gone(engine, event);
	case EVENT_TENANT: return on_tenant(engine, event);
	case EVENT_TENANT_GONE: return on_tenant_gone(engine, event);
	case EVENT_JOIN: return on_join(engine, event);
	case EVENT_LEAVE: return on_leave(engine, event);
	case EVENT_ATTACH: return on_attach(engine, event);
	case EVENT_USAGE: return on_usage(engine, event);
	case EVENT_WANT: return on_want(engine, event);
	case EVENT_PAUSE: return on_pause(engine, event);
	case EVENT_TIMER: return on_timer(engine, event);
	case EVENT_MEM_REQUEST: return on_mem_request(engine, event);
	case EVENT_MEM_TAKEN: return on_mem_taken(engine, event);
	case EVENT_MEM_RECLAIMED: return on_mem_reclaimed(engine, event);
	}
	return -EINVAL;
}

/* Readings and memory change nobody's gate by themselves. */
static bool engine_decides_at(enum event_kind kind)
{
	return kind != EVENT_USAGE && kind != EVENT_JOIN && kind != EVENT_MEM_REQUEST &&
	       kind != EVENT_MEM_TAKEN && kind != EVENT_MEM_RECLAIMED;
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
	for (uint32_t i = 0; i < CORE_MAX_TENANTS; i++)
		free(engine->tenant[i]);
	for (uint32_t i = 0; i < CORE_MAX_DEVICES; i++)
		free(engine->device[i]);
	free(engine->actions);
	free(engine);
}

bool engine_has_turns(const struct engine *engine, uint32_t device)
{
	const struct device *found = find_device(engine, device);

	return found && engine->policy->has_turns(found);
}

uint32_t engine_granted_units(const struct engine *engine, uint32_t process, uint32_t device)
{
	const struct gate *gate = find_gate(engine, process, device);

	return gate ? gate->granted_units : 0;
}
