/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/trace.h"

#include <errno.h>

#define TRACE_FOR_NS (2 * SLUICE_NS_PER_S) /* after a question */

static int trace_refuse(struct connection *connection, uint32_t seq, int32_t status,
			const char *format, const char *what)
{
	return connection_send_text(connection, SLUICE_MSG_REFUSED, seq, status, format, what);
}

/* The registered GPU on which it has launched most; -1: none. */
static int trace_busiest(struct process *process)
{
	uint64_t most_ns = 0;
	int best = -1;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		uint64_t launched_ns;

		if (!process->local[i].used)
			continue;
		launched_ns = reading_launched_ns(process, i);
		if (best >= 0 && launched_ns <= most_ns)
			continue;
		most_ns = launched_ns;
		best = (int)i;
	}
	return best;
}

/* The tenant's process of that pid; pid 0: the one that has launched most. */
static struct process *trace_pick(struct arbiter *arbiter, const struct tenant_entry *tenant,
				  uint32_t pid, uint32_t *ret_processes)
{
	struct process *best = NULL;
	uint64_t most_ns = 0;

	*ret_processes = 0;
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];
		int local = process && process->tenant == tenant ? trace_busiest(process) : -1;
		uint64_t launched_ns;

		if (local < 0)
			continue;
		++*ret_processes;
		if (pid && (uint32_t)process->identity.pid != pid)
			continue;
		launched_ns = reading_launched_ns(process, (uint32_t)local);
		if (best && launched_ns <= most_ns)
			continue;
		most_ns = launched_ns;
		best = process;
	}
	return best;
}

/* Copies what is still there of the records from *seen on; 0: no more. */
static uint32_t trace_copy(const struct sluice_channel_device *page, uint64_t head, uint64_t *seen,
			   uint64_t *lost, struct sluice_msg_trace *message)
{
	uint64_t from = process_ring_from(head, *seen, SLUICE_TRACE_RECORDS - 1), after;

	*lost += from - *seen;
	*seen = from;
	message->count = 0;
	message->first = *seen;
	while (message->count < SLUICE_TRACE_PACKET && *seen < head)
		message->record[message->count++] = page->trace[(*seen)++ % SLUICE_TRACE_RECORDS];
	/* What was written over while it was copied is not what it was. */
	atomic_thread_fence(memory_order_acquire);
	after = atomic_load_explicit(&page->trace_head, memory_order_relaxed);
	if (after - message->first >= SLUICE_TRACE_RECORDS) {
		*lost += message->count;
		message->count = 0;
	}
	return message->count;
}

static int trace_send(struct connection *connection, struct process *process, uint32_t local,
		      const struct sluice_msg_record *question, struct sluice_msg_trace_end *end)
{
	const struct sluice_channel_device *page = process_page(process, local);
	uint64_t head = atomic_load_explicit(&page->trace_head, memory_order_acquire);
	/* Beyond the head: a lie, or another page. From here on. */
	uint64_t seen = question->from_now || question->seen > head ? head : question->seen;
	struct sluice_msg_trace message = {0};
	int r = 0;

	while (!r && seen < head) {
		if (!trace_copy(page, head, &seen, &end->lost, &message))
			continue;
		sluice_wire_head(&message, SLUICE_MSG_TRACE, sizeof(message), question->header.seq,
				 0);
		r = connection_send(connection, &message);
	}
	end->seen = seen;
	return r;
}

static int trace_answer(struct connection *connection, struct process *process,
			const struct sluice_msg_record *question, uint32_t processes)
{
	struct arbiter *arbiter = connection->arbiter;
	uint32_t local = (uint32_t)trace_busiest(process);
	const struct known_device *device = &arbiter->device[process->local[local].device];
	struct sluice_msg_trace_end end = {.pid = (uint32_t)process->identity.pid,
					   .tenant_class = process->latency,
					   .sms = device->record.sms,
					   .simulated = device->record.simulated,
					   .processes = processes};
	int r;

	process->local[local].trace_until_ns = arbiter->now_ns + TRACE_FOR_NS;
	grant_set_trace(process, local, true);
	r = trace_send(connection, process, local, question, &end);
	if (r)
		return r;
	sluice_wire_text(end.device, sizeof(end.device), device->record.name);
	sluice_wire_text(end.program, sizeof(end.program), process->program);
	sluice_wire_head(&end, SLUICE_MSG_TRACE_END, sizeof(end), question->header.seq, 0);
	return connection_send(connection, &end);
}

int trace_message(struct connection *connection, const struct sluice_packet *packet)
{
	struct arbiter *arbiter = connection->arbiter;
	struct sluice_msg_record question;
	struct tenant_entry *tenant;
	struct process *process;
	uint32_t processes, seq;

	if (packet->length < sizeof(question))
		return -EBADMSG;
	sluice_wire_copy(packet, &question, sizeof(question));
	if (!sluice_wire_is_text(question.tenant, sizeof(question.tenant)))
		return -EBADMSG;
	seq = question.header.seq;
	tenant = reload_find(arbiter, question.tenant);
	if (!tenant)
		return trace_refuse(connection, seq, -ENOENT,
				    "there is no tenant %s; `sluice status` lists them",
				    question.tenant);
	if (!tenant->conf.managed)
		return trace_refuse(connection, seq, -EINVAL,
				    "tenant %s bypasses Sluice (managed = false): its launches "
				    "are not seen",
				    question.tenant);
	process = trace_pick(arbiter, tenant, question.pid, &processes);
	if (!process)
		return trace_refuse(connection, seq, -ESRCH,
				    question.pid ? "the recorded process of tenant %s has ended"
						 : "tenant %s has no process on a GPU now: start "
						   "it, then record",
				    question.tenant);
	if (!connection_is_admin(connection) && connection->identity.uid != process->identity.uid)
		return trace_refuse(connection, seq, -EPERM,
				    "only root, the arbiter's own user, the members of "
				    "admin_group and the owner of the process may record it%s",
				    "");
	return trace_answer(connection, process, &question, processes);
}

void trace_tick(struct arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];

		for (uint32_t local = 0; process && local < SLUICE_MAX_DEVICES; local++) {
			if (process->local[local].trace &&
			    process->local[local].trace_until_ns <= arbiter->now_ns)
				grant_set_trace(process, local, false);
		}
	}
}
