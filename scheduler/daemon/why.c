/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/why.h"

#include <stdlib.h>

#include "daemon/why_impl.h"
#include "sluice/unit.h"

#define LONGEST_NS 3600000000000ull /* a request that takes longer is a lie */

/* ---- taking ---------------------------------------------------------------------------------------- */

static struct why *why_of(struct arbiter *arbiter)
{
	if (!arbiter->why)
		arbiter->why = calloc(1, sizeof(*arbiter->why));
	return arbiter->why;
}

void why_destroy(struct why *why)
{
	free(why);
}

/* Over this a request is late: as its tenant's target says, and on its metric. 0: there is none, or
 * it is relative and alone is not known yet. */
static uint64_t limit_of(const struct process *process, uint32_t device)
{
	const struct config_target *target = &process->tenant->conf.target;
	struct arbiter *arbiter = process->arbiter;
	struct engine_slo slo;
	uint64_t alone_ns;

	if (target->p99_ns || !target->over_permille)
		return target->p99_ns;
	if (!engine_slo_report(arbiter->engine, (uint32_t)(process->tenant - arbiter->tenant),
			       device, &slo))
		return 0;
	alone_ns = why_is_arrival(target) ? slo.arrival_alone_ns : slo.service_alone_ns;
	return alone_ns / 1000 * (1000 + target->over_permille);
}

static bool can_have_been(const struct sluice_request_record *record, uint64_t now_ns)
{
	return record->start_ns && record->start_ns <= record->end_ns && record->end_ns <= now_ns &&
	       now_ns - record->start_ns < LONGEST_NS &&
	       (!record->arrival_ns || (record->arrival_ns <= record->end_ns &&
					record->end_ns - record->arrival_ns < LONGEST_NS));
}

/* Since when the tenant has been busy: what its own activity page said at the time. A range has no
 * busy period of its own. */
static uint64_t busy_since(struct local_device *own, const struct sluice_request_record *record)
{
	uint64_t guard_ns = own->grant.guard_ns ? own->grant.guard_ns : WHY_GUARD_NS;

	if (record->flags & SLUICE_REQUEST_RANGE)
		return own->why_busy_ns && own->why_busy_ns < record->start_ns ? own->why_busy_ns
									       : record->start_ns;
	if (!own->why_busy_ns || record->start_ns < own->why_end_ns ||
	    record->start_ns - own->why_end_ns >= guard_ns)
		own->why_busy_ns = record->start_ns;
	own->why_end_ns = record->end_ns;
	return own->why_busy_ns;
}

void why_request(struct process *process, uint32_t local,
		 const struct sluice_request_record *record)
{
	struct local_device *own = &process->local[local];
	struct arbiter *arbiter = process->arbiter;
	struct why *why = why_of(arbiter);
	bool is_range = record->flags & SLUICE_REQUEST_RANGE;
	uint64_t since_ns = is_range && record->arrival_ns ? record->arrival_ns : record->start_ns;
	uint64_t limit_ns, busy_ns;
	struct why_late *late;

	if (!why || !can_have_been(record, arbiter->now_ns))
		return;
	busy_ns = busy_since(own, record);
	if (is_range != why_is_arrival(&process->tenant->conf.target))
		return;
	limit_ns = limit_of(process, own->device);
	if (!limit_ns || record->end_ns - since_ns <= limit_ns)
		return;
	/* Over an absolute one its process counts them itself. */
	if (!process->tenant->conf.target.p99_ns)
		process->tenant->late[own->device]++;
	late = &why->late[why->lates++ % WHY_LATE];
	*late = (struct why_late){
		.device = own->device,
		.generation = process->generation,
		.launches = record->launches,
		.busy_ns = busy_ns,
		.since_ns = since_ns,
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.limit_ns = limit_ns,
		.own_ns = record->launched_ns,
	};
	sluice_wire_text(late->tenant, sizeof(late->tenant), process->tenant->conf.name);
}

/* The name that the process has for the key; empty: none. */
static void unit_name(struct process *process, uint64_t key, char *ret_name)
{
	struct sluice_unit *unit =
		key ? sluice_unit_look(process_channel(process)->units, key) : NULL;
	char text[SLUICE_NAME_MAX] = "";

	if (unit && atomic_load_explicit(&unit->key, memory_order_acquire) == key)
		memcpy(text, unit->name, sizeof(unit->name));
	tally_text(ret_name, SLUICE_NAME_MAX, text);
}

static void take_arrival(struct process *process, uint32_t local,
			 const struct sluice_arrival_record *record)
{
	struct arbiter *arbiter = process->arbiter;
	struct why *why = why_of(arbiter);
	struct why_arrival *arrival;

	if (!why || !record->in_flight_ns || record->in_flight_ns > LONGEST_NS ||
	    record->busy_since_ns > arbiter->now_ns)
		return;
	arrival = &why->arrival[why->arrivals++ % WHY_ARRIVALS];
	*arrival = (struct why_arrival){
		.device = process->local[local].device,
		.pid = (uint32_t)process->identity.pid,
		.generation = record->generation,
		.launches = record->launches,
		.busy_ns = record->busy_since_ns,
		.in_flight_ns = record->in_flight_ns,
		.unit_ns = record->unit_ns < record->in_flight_ns ? record->unit_ns
								  : record->in_flight_ns,
	};
	sluice_wire_text(arrival->tenant, sizeof(arrival->tenant), process->tenant->conf.name);
	unit_name(process, record->key, arrival->unit);
}

static void take_local(struct process *process, uint32_t local)
{
	struct sluice_arrival_ring *ring = &process_channel(process)->arrival[local];
	uint64_t *seen = &process->local[local].arrivals_seen;
	/* Pairs with the shim's release. */
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	for (*seen = process_ring_from(head, *seen, SLUICE_ARRIVAL_RECORDS / 2); *seen < head;
	     ++*seen) {
		struct sluice_arrival_record record = ring->record[*seen % SLUICE_ARRIVAL_RECORDS];

		take_arrival(process, local, &record);
	}
}

void why_take(struct process *process)
{
	for (uint32_t local = 0; !process->latency && local < SLUICE_MAX_DEVICES; local++) {
		if (process->local[local].used)
			take_local(process, local);
	}
}
