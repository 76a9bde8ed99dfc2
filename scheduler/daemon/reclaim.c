/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reclaim.h"

#include "daemon/devices.h"
#include "daemon/nvml.h"
#include "daemon/process.h"
#include "daemon/ticks.h"

#define RECLAIM_MAX_NS (60 * SLUICE_NS_PER_S)
/* Where nobody tells: a driver takes tenths of a second to free what a dead process held. */
#define RECLAIM_BLIND_NS SLUICE_NS_PER_S

bool reclaim_later(struct arbiter *arbiter, struct tenant_entry *tenant, pid_t pid, uint32_t device,
		   uint32_t units)
{
	if (arbiter->reclaims == MAX_RECLAIMS)
		return false;
	arbiter->reclaim[arbiter->reclaims++] = (struct reclaim){.pid = pid,
								 .tenant = tenant,
								 .device = device,
								 .units = units,
								 .since_ns = arbiter->now_ns};
	tenant->holds++;
	ticks_arm(arbiter);
	return true;
}

bool reclaim_is_needed(const struct arbiter *arbiter, uint32_t device)
{
	const struct sluice_msg_device *record = &arbiter->device[device].record;

	return !record->simulated || nvml_knows(arbiter->nvml, record->uuid);
}

/* Does it hold any of the GPU's memory, or can only it say so? */
static bool reclaim_is_due(struct process *process, uint32_t local)
{
	const struct arbiter *arbiter = process->arbiter;
	uint32_t device = process->local[local].device;

	if (!reclaim_is_needed(arbiter, device))
		return false;
	if (nvml_knows(arbiter->nvml, arbiter->device[device].record.uuid))
		return engine_granted_units(arbiter->engine, process->index, device) > 0;
	return memory_used_bytes(process, local) > 0;
}

bool reclaim_process(struct process *process)
{
	struct arbiter *arbiter = process->arbiter;
	bool any = false;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		any |= process->local[i].used && reclaim_is_due(process, i);
	any &= arbiter->reclaims + SLUICE_MAX_DEVICES <= MAX_RECLAIMS;
	for (uint32_t i = 0; any && i < SLUICE_MAX_DEVICES; i++) {
		uint32_t device = process->local[i].device;

		if (process->local[i].used)
			(void)reclaim_later(
				arbiter, process->tenant, process->identity.pid, device,
				engine_granted_units(arbiter->engine, process->index, device));
	}
	return any;
}

static bool is_reclaimed(struct arbiter *arbiter, const struct reclaim *reclaim)
{
	const uint8_t *uuid = arbiter->device[reclaim->device].record.uuid;
	const struct nvml_process *processes;
	uint32_t count;
	int r;

	if (arbiter->now_ns - reclaim->since_ns >= RECLAIM_MAX_NS) {
		log_warning("gpu %u: memory of dead process %d still shows after a minute; it "
			    "counts as free now",
			    reclaim->device, (int)reclaim->pid);
		return true;
	}
	if (!nvml_knows(arbiter->nvml, uuid))
		return arbiter->now_ns - reclaim->since_ns >= RECLAIM_BLIND_NS;
	/* One that lived shorter than answers are kept is in none of the old ones. */
	r = nvml_processes(arbiter->nvml, uuid, reclaim->since_ns, arbiter->now_ns, &processes,
			   &count);
	if (r)
		return r != -EAGAIN;
	for (uint32_t i = 0; i < count; i++) {
		if (processes[i].pid == reclaim->pid)
			return false;
	}
	return true;
}

void reclaim_tick(struct arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->reclaims;) {
		struct reclaim reclaim = arbiter->reclaim[i];
		struct event event = {.kind = EVENT_MEM_RECLAIMED,
				      .device = reclaim.device,
				      .units = reclaim.units};

		if (!is_reclaimed(arbiter, &reclaim)) {
			i++;
			continue;
		}
		arbiter->reclaim[i] = arbiter->reclaim[--arbiter->reclaims];
		event.tenant = (uint32_t)(reclaim.tenant - arbiter->tenant);
		(void)arbiter_feed(arbiter, &event);
		reload_unhold(arbiter, reclaim.tenant);
		devices_settle(arbiter, reclaim.device);
	}
}

bool reclaim_is_on(const struct arbiter *arbiter, uint32_t device)
{
	for (uint32_t i = 0; i < arbiter->reclaims; i++) {
		if (arbiter->reclaim[i].device == device)
			return true;
	}
	return false;
}
