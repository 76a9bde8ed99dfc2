/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "daemon/process.h"
#include "sluice/escrow.h"

/* Unused credit, as far as the process's word is believed: no more than was granted. */
static uint32_t memory_credit(const struct process *process, uint32_t local)
{
	uint64_t word = atomic_load_explicit(process_escrow(process, local), memory_order_acquire);
	uint32_t granted = engine_granted_units(process->arbiter->engine, process->index,
						process->local[local].device);
	uint32_t credit = sluice_escrow_credit(word);

	return credit < granted ? credit : granted;
}

uint64_t memory_used_bytes(const struct process *process, uint32_t local)
{
	uint32_t granted = engine_granted_units(process->arbiter->engine, process->index,
						process->local[local].device);

	return (uint64_t)(granted - memory_credit(process, local)) * SLUICE_ESCROW_UNIT;
}

uint64_t memory_tenant_used_bytes(const struct arbiter *arbiter, uint32_t tenant, uint32_t device)
{
	struct engine_report report;
	uint64_t used = 0;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		const struct process *process = arbiter->process[i];
		int local;

		if (!process || process->tenant != &arbiter->tenant[tenant])
			continue;
		local = process_local(process, device);
		if (local >= 0)
			used += memory_used_bytes(process, (uint32_t)local);
	}
	if (engine_report(arbiter->engine, tenant, device, &report))
		used += report.reclaiming_bytes;
	return used;
}

static int memory_answer(struct process *process, int32_t status)
{
	struct sluice_msg_mem answer = {.device = process->ask_local, .units = process->ask_units};

	process->asking = false;
	sluice_wire_head(&answer, SLUICE_MSG_MEM_ANSWER, sizeof(answer), process->ask_seq, status);
	return process->connection ? connection_send(process->connection, &answer) : 0;
}

int memory_request(struct process *process, const struct sluice_msg_mem *message)
{
	struct event event = {.kind = EVENT_MEM_REQUEST, .process = process->index};
	uint32_t credit;

	if (message->device >= SLUICE_MAX_DEVICES || !process->local[message->device].used ||
	    !message->units)
		return -EBADMSG;
	process->asking = true;
	process->ask_seq = message->header.seq;
	process->ask_local = message->device;
	process->ask_units = message->units;
	credit = memory_credit(process, message->device);
	/* Another of its threads has given back meanwhile. */
	if (credit >= message->units)
		return memory_answer(process, 0);
	event.device = process->local[message->device].device;
	event.units = message->units - credit;
	/* The answer is sent by memory_granted or memory_refused. */
	return arbiter_feed(process->arbiter, &event);
}

/* What the core says is granted, into the ledger. */
static void memory_note(struct process *process, uint32_t local, uint32_t granted)
{
	ledger_note(process->record, local,
		    process->arbiter->device[process->local[local].device].record.uuid, granted);
}

void memory_granted(struct process *process, uint32_t local, uint32_t units)
{
	/* Before it can be used. */
	memory_note(process, local,
		    engine_granted_units(process->arbiter->engine, process->index,
					 process->local[local].device));
	sluice_escrow_grant(process_escrow(process, local), units);
	if (process->asking && process->ask_local == local)
		(void)memory_answer(process, 0);
}

void memory_refused(struct process *process, uint32_t local, int32_t status)
{
	if (process->asking && process->ask_local == local)
		(void)memory_answer(process, status);
}

uint32_t memory_take_back(struct process *process, uint32_t local, uint32_t units)
{
	uint32_t credit = memory_credit(process, local);

	uint32_t granted = engine_granted_units(process->arbiter->engine, process->index,
						process->local[local].device);

	if (credit < units)
		units = credit;
	units = sluice_escrow_take_back(process_escrow(process, local), units);
	memory_note(process, local, granted - units);
	return units;
}

int memory_query(struct process *process, const struct sluice_msg_mem *message)
{
	struct arbiter *arbiter = process->arbiter;
	struct sluice_msg_mem_state state = {.device = message->device};

	if (message->device >= SLUICE_MAX_DEVICES || !process->local[message->device].used)
		return -EBADMSG;
	state.max_bytes = process->tenant->conf.memory_max_bytes;
	state.used_bytes =
		memory_tenant_used_bytes(arbiter, (uint32_t)(process->tenant - arbiter->tenant),
					 process->local[message->device].device);
	sluice_wire_head(&state, SLUICE_MSG_MEM_STATE, sizeof(state), message->header.seq, 0);
	return connection_send(process->connection, &state);
}
