/* SPDX-License-Identifier: Apache-2.0 */
#include "lives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "quota.h"
#include "turns.h"

struct device *lives_find_device(const struct engine *engine, uint32_t index)
{
	return index < CORE_MAX_DEVICES ? engine->device[index] : NULL;
}

struct tenant *lives_find_tenant(const struct engine *engine, uint32_t index)
{
	return index < CORE_MAX_TENANTS ? engine->tenant[index] : NULL;
}

struct process *lives_find_process(const struct engine *engine, uint32_t index)
{
	return index < CORE_MAX_PROCESSES ? engine->process[index] : NULL;
}

struct gate *lives_find_gate(const struct engine *engine, uint32_t process, uint32_t device)
{
	struct process *found = lives_find_process(engine, process);

	return found && device < CORE_MAX_DEVICES ? found->gate[device] : NULL;
}

/* ---- devices and tenants --------------------------------------------------------------------- */

int lives_device(struct engine *engine, const struct event *event)
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

int lives_device_gone(struct engine *engine, const struct event *event)
{
	struct device *device = lives_find_device(engine, event->device);

	if (!device || device->gates)
		return -EINVAL;
	free(device);
	engine->device[event->device] = NULL;
	for (uint32_t t = 0; t < engine->tenants; t++) {
		if (!engine->tenant[t])
			continue;
		slo_forget(&engine->tenant[t]->on[event->device]);
		pairs_forget(&engine->tenant[t]->on[event->device]);
		engine->tenant[t]->on[event->device] = (struct share){0};
	}
	return 0;
}

int lives_tenant(struct engine *engine, const struct event *event)
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

int lives_tenant_gone(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = lives_find_tenant(engine, event->tenant);

	if (!tenant)
		return -EINVAL;
	for (uint32_t i = 0; i < CORE_MAX_PROCESSES; i++) {
		if (engine->process[i] && engine->process[i]->tenant == tenant)
			return -EINVAL;
	}
	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		slo_forget(&tenant->on[d]);
		pairs_forget(&tenant->on[d]);
	}
	free(tenant);
	engine->tenant[event->tenant] = NULL;
	pairs_forget_tenant(engine, event->tenant);
	return 0;
}

int lives_pause(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = lives_find_tenant(engine, event->tenant);

	if (!tenant)
		return -EINVAL;
	tenant->paused = event->on;
	return 0;
}

/* ---- processes and gates --------------------------------------------------------------------- */

int lives_join(struct engine *engine, const struct event *event)
{
	struct tenant *tenant = lives_find_tenant(engine, event->tenant);
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

int lives_attach(struct engine *engine, const struct event *event)
{
	struct process *process = lives_find_process(engine, event->process);
	struct device *device = lives_find_device(engine, event->device);
	struct gate *gate;

	if (!process || !device || process->gate[event->device] || device->gates == CORE_MAX_GATES)
		return -EINVAL;
	if (engine_make_room(engine, engine->gates + 1))
		return -ENOMEM;
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		return -ENOMEM;
	engine->gates++;
	gate->process = process;
	gate->device = device;
	gate->share = &process->tenant->on[device->index];
	gate->share->gates++;
	gate->share->latency_gates += process->latency;
	pairs_changed(gate->share);
	gate->read_ns = gate->moved_ns = gate->launched_at_ns = gate->closed_ns = event->now_ns;
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
	pairs_changed(gate->share);
	while (device->gate[at] != gate)
		at++;
	device->gates--;
	memmove(&device->gate[at], &device->gate[at + 1],
		(device->gates - at) * sizeof(device->gate[0]));
	free(gate);
}

int lives_leave(struct engine *engine, const struct event *event)
{
	struct process *process = lives_find_process(engine, event->process);

	if (!process)
		return -EINVAL;
	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		if (!process->gate[d])
			continue;
		gate_destroy(process->gate[d], event->reclaim);
		engine->gates--;
	}
	engine->process[process->index] = NULL;
	free(process);
	return 0;
}
