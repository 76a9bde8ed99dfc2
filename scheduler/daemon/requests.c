/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/requests.h"

#include "daemon/why.h"

/* A best-effort gate meets a request soon after it: its record is among the last. */
#define ARRIVALS_LOOKED_AT 64u
#define REQUESTS_LOOKED_AT 64u /* of another's, for one that ran beside */

static struct sluice_request_ring *request_ring(const struct process *process, uint32_t local)
{
	return &process_channel(process)->request[local];
}

/*
 * Copies the record, if it was not written over meanwhile. Everything in it is a claim: the core
 * takes only what can have been.
 */
static bool request_copy(struct sluice_request_ring *ring, uint64_t number,
			 struct sluice_request_record *ret_record)
{
	uint64_t head;

	memcpy(ret_record, &ring->record[number % SLUICE_REQUEST_RECORDS], sizeof(*ret_record));
	atomic_thread_fence(memory_order_acquire);
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	return head - number < SLUICE_REQUEST_RECORDS;
}

/* Nothing of it runs, nor did at the last look, or since start_ns. */
static bool gate_rests(struct process *process, uint32_t local, uint64_t start_ns)
{
	const struct local_device *own = &process->local[local];
	const struct sluice_counters *counters = &process_page(process, local)->counters;
	/* Before what was launched: what is launched meanwhile makes it less. */
	uint64_t completed_ns = atomic_load_explicit(&counters->completed_ns, memory_order_acquire);
	uint64_t at_ns = atomic_load_explicit(&counters->completed_at_ns, memory_order_relaxed);
	uint64_t launched_ns = reading_launched_ns(process, local);

	return completed_ns >= launched_ns &&
	       (launched_ns == own->rest_launched_ns || at_ns <= start_ns);
}

/* What that best-effort process had in flight when it met the request; UINT64_MAX: it did not say. */
static uint64_t met_of(struct process *process, uint32_t local, uint64_t start_ns)
{
	struct sluice_arrival_ring *ring = &process_channel(process)->arrival[local];
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	for (uint32_t i = 1; i <= ARRIVALS_LOOKED_AT && i <= head; i++) {
		struct sluice_arrival_record record;

		memcpy(&record, &ring->record[(head - i) % SLUICE_ARRIVAL_RECORDS], sizeof(record));
		if (record.busy_since_ns == start_ns)
			return record.in_flight_ns;
		if (record.busy_since_ns < start_ns)
			break;
	}
	return gate_rests(process, local, start_ns) ? 0 : UINT64_MAX;
}

/* Of all best-effort processes on the device. */
static uint64_t met_in_flight(const struct arbiter *arbiter, uint32_t device, uint64_t start_ns)
{
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];
		int local = process && !process->latency ? process_local(process, device) : -1;
		uint64_t met_ns;

		if (local < 0)
			continue;
		met_ns = met_of(process, (uint32_t)local, start_ns);
		if (met_ns == UINT64_MAX || __builtin_add_overflow(sum_ns, met_ns, &sum_ns))
			return UINT64_MAX;
	}
	return sum_ns;
}

/* Was that latency process at work then? Of what is long over its ring tells the rest. */
static bool was_at_work(const struct process *process, uint32_t local, uint64_t start_ns,
			uint64_t end_ns)
{
	struct sluice_request_ring *ring = request_ring(process, local);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);

	if (activity_overlaps(process, local, start_ns, end_ns))
		return true;
	for (uint32_t i = 1; i <= REQUESTS_LOOKED_AT && i <= head; i++) {
		struct sluice_request_record record;

		if (!request_copy(ring, head - i, &record) || record.end_ns < start_ns)
			return false;
		if (record.start_ns <= end_ns)
			return true;
	}
	return false;
}

/* A tenant's own other processes are its own affair. */
static bool is_beside_another(const struct process *own, uint32_t device, uint64_t start_ns,
			      uint64_t end_ns)
{
	const struct arbiter *arbiter = own->arbiter;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];
		int local = process && process->latency && process->tenant != own->tenant
				    ? process_local(process, device)
				    : -1;

		if (local >= 0 && was_at_work(process, (uint32_t)local, start_ns, end_ns))
			return true;
	}
	return false;
}

static void request_feed(struct process *process, uint32_t local,
			 const struct sluice_request_record *record)
{
	struct arbiter *arbiter = process->arbiter;
	uint32_t device = process->local[local].device;
	struct event event = {
		.kind = EVENT_REQUEST,
		.process = process->index,
		.device = device,
		.request = {.arrival_ns = record->arrival_ns,
			    .start_ns = record->start_ns,
			    .end_ns = record->end_ns,
			    .kind = record->kind,
			    .be_in_flight_ns = met_in_flight(arbiter, device, record->start_ns),
			    .alone = record->flags & SLUICE_REQUEST_ALONE,
			    .beside = is_beside_another(process, device, record->start_ns,
							record->end_ns),
			    .range = record->flags & SLUICE_REQUEST_RANGE}};

	(void)arbiter_feed(arbiter, &event);
	why_request(process, local, record);
}

static void requests_read(struct process *process, uint32_t local)
{
	struct sluice_request_ring *ring = request_ring(process, local);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t *seen = &process->local[local].requests_seen;

	for (*seen = process_ring_from(head, *seen, SLUICE_REQUEST_RECORDS - 1); *seen < head;
	     ++*seen) {
		struct sluice_request_record record;

		if (request_copy(ring, *seen, &record))
			request_feed(process, local, &record);
	}
}

void requests_take(struct process *process)
{
	for (uint32_t local = 0; process->latency && local < SLUICE_MAX_DEVICES; local++) {
		if (process->local[local].used)
			requests_read(process, local);
	}
}

void requests_tick(struct arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		if (arbiter->process[i])
			requests_take(arbiter->process[i]);
	}
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];

		for (uint32_t local = 0; process && !process->latency && local < SLUICE_MAX_DEVICES;
		     local++) {
			if (process->local[local].used)
				process->local[local].rest_launched_ns =
					reading_launched_ns(process, local);
		}
	}
}
