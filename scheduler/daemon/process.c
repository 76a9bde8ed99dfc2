/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/process.h"
#include "daemon/tally.h"

#include <errno.h>
#include <sys/random.h>
#include <systemd/sd-event.h>
#include <sys/epoll.h>

#include "daemon/absent.h"
#include "daemon/devices.h"
#include "daemon/estimates.h"
#include "daemon/reclaim.h"
#include "daemon/requests.h"
#include "daemon/ticks.h"
#include "daemon/why.h"
#include "sluice/escrow.h"

static int on_death(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	process_destroy((struct process *)userdata, "has ended");
	return 0;
}

static uint64_t new_session(void)
{
	uint64_t session = 0;

	while (!session) {
		if (getrandom(&session, sizeof(session), 0) != sizeof(session))
			session = 0;
	}
	return session;
}

void process_show_target(struct process *process)
{
	struct sluice_channel *channel = process_channel(process);
	const struct config_target *target = &process->tenant->conf.target;
	const char *range = strncmp(target->of, "range:", 6) ? "" : target->of + 6;

	atomic_store(&channel->target_ns, target->p99_ns);
	sluice_wire_text(channel->range, sizeof(channel->range), range);
}

static int make_pages(struct process *process)
{
	struct sluice_channel *channel;
	struct sluice_escrow *escrow;
	int r = page_create(&process->channel, "sluice-channel", sizeof(*channel));

	if (!r)
		r = page_create(&process->escrow, "sluice-escrow", sizeof(*escrow));
	if (!r && process->latency)
		r = activity_create(process);
	if (r)
		return r;
	channel = process_channel(process);
	channel->magic = SLUICE_CHANNEL_MAGIC;
	channel->version = SLUICE_PAGES_VERSION;
	channel->session = process->session;
	atomic_store(&channel->heartbeat_ns, process->arbiter->now_ns);
	process_show_target(process);
	escrow = (struct sluice_escrow *)process->escrow.base;
	escrow->magic = SLUICE_ESCROW_MAGIC;
	escrow->version = SLUICE_PAGES_VERSION;
	escrow->session = process->session;
	return 0;
}

static void free_pages(struct process *process)
{
	page_finish(&process->channel);
	page_finish(&process->escrow);
	page_finish(&process->activity);
}

static int free_index(const struct arbiter *arbiter)
{
	for (int i = 0; i < CORE_MAX_PROCESSES; i++) {
		if (!arbiter->process[i])
			return i;
	}
	return -EMFILE;
}

static struct process *allocate(struct connection *connection, const struct sluice_msg_hello *hello,
				uint32_t tenant)
{
	struct process *process = calloc(1, sizeof(*process));
	const char *program =
		*connection->identity.program ? connection->identity.program : hello->program;

	if (!process)
		return NULL;
	process->arbiter = connection->arbiter;
	process->tenant = &connection->arbiter->tenant[tenant];
	process->latency = process->tenant->conf.tenant_class == SLUICE_LATENCY_CRITICAL;
	process->session = new_session();
	process->channel = process->escrow = process->activity =
		(struct page){.fd = -1, .read_fd = -1};
	/* The connection keeps no pidfd of its own any more. */
	process->identity = connection->identity;
	connection->identity.pidfd = -1;
	sluice_wire_text(process->program, sizeof(process->program), program);
	return process;
}

static void release(struct process *process)
{
	sd_event_source_unref(process->death_source);
	free_pages(process);
	identity_finish(&process->identity);
	free(process);
}

int process_create(struct connection *connection, const struct sluice_msg_hello *hello,
		   uint32_t tenant, struct process **ret_process)
{
	struct arbiter *arbiter = connection->arbiter;
	struct event event = {.kind = EVENT_JOIN, .tenant = tenant};
	struct process *process;
	int index = free_index(arbiter), r;

	if (index < 0)
		return index;
	process = allocate(connection, hello, tenant);
	if (!process)
		return -ENOMEM;
	process->index = (uint32_t)index;
	r = make_pages(process);
	if (!r)
		r = sd_event_add_io(arbiter->loop, &process->death_source, process->identity.pidfd,
				    EPOLLIN, on_death, process);
	event.process = process->index;
	event.join.latency = process->latency;
	if (!r)
		r = arbiter_feed(arbiter, &event);
	if (r < 0) {
		release(process);
		return r;
	}
	/* A death comes before whatever else is ready: a turn is waiting for it. */
	(void)sd_event_source_set_priority(process->death_source, SD_EVENT_PRIORITY_IMPORTANT);
	arbiter->process[index] = process;
	if (arbiter->process_end <= process->index)
		arbiter->process_end = process->index + 1;
	process->tenant->processes++;
	process->record = ledger_take(&arbiter->ledger, process->identity.pid,
				      process->identity.uid, process->tenant->conf.name);
	process->connection = connection;
	connection->process = process;
	ticks_arm(arbiter);
	*ret_process = process;
	return 0;
}

/* What it counted stays its tenant's; without memory for that it is lost, and nothing else is. */
static void process_keep_tally(struct process *process)
{
	struct tally tally;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		struct tally **past = &process->tenant->past[process->local[i].device];

		if (!process->local[i].used || process->local[i].device >= CORE_MAX_DEVICES ||
		    !reading_tally(process, i, &tally))
			continue;
		if (!*past)
			*past = calloc(1, sizeof(**past));
		if (*past)
			tally_merge(*past, &tally);
	}
}

void process_take_estimates(struct process *process)
{
	estimates_take(process->arbiter->estimates, process->identity.uid,
		       &process_channel(process)->estimates, &process->estimates_seen);
}

void process_destroy(struct process *process, const char *why)
{
	struct arbiter *arbiter = process->arbiter;
	struct event event = {.kind = EVENT_LEAVE, .process = process->index};
	struct tenant_entry *tenant = process->tenant;

	arbiter_now(arbiter);
	if (process->connection)
		process->connection->process = NULL;
	activity_forget(process);
	process_keep_tally(process);
	process_take_estimates(process);
	requests_take(process);
	why_take(process);
	event.reclaim = reclaim_process(process);
	arbiter->process[process->index] = NULL;
	(void)arbiter_feed(arbiter, &event);
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (process->local[i].used)
			devices_leave(arbiter, process->local[i].device);
	}
	if (!arbiter->ending)
		ledger_drop(process->record);
	log_limited(&arbiter->log_lives, LOG_LEVEL_INFO, arbiter->now_ns, "tenant %s (pid %d): %s",
		    tenant->conf.name, (int)process->identity.pid, why);
	release(process);
	reload_release(arbiter, tenant);
}

/* No more than the GPU has: the rest is a claim. The limit does not count: it may have been
 * lowered, and what is held above it must not be taken for free when it is given back. */
static uint32_t held_units(const struct known_device *device, uint64_t held_bytes)
{
	return sluice_escrow_units(held_bytes < device->record.memory_bytes
					   ? held_bytes
					   : device->record.memory_bytes);
}

int process_attach(struct process *process, const struct sluice_msg_device *message,
		   uint32_t *ret_local, const char **ret_why)
{
	struct arbiter *arbiter = process->arbiter;
	struct event event = {.kind = EVENT_ATTACH, .process = process->index};
	uint32_t local = 0;
	int device, r;

	*ret_why = "more GPUs than one process can register";
	while (local < SLUICE_MAX_DEVICES && process->local[local].used) {
		uint32_t known = process->local[local].device;

		if (!memcmp(arbiter->device[known].record.uuid, message->uuid, 16)) {
			*ret_local = local;
			return 0;
		}
		local++;
	}
	if (local == SLUICE_MAX_DEVICES)
		return -EINVAL;
	device = devices_enter(arbiter, message, process->identity.uid, ret_why);
	if (device < 0)
		return device;
	/* Closed until the core says otherwise: gate 1 is odd. */
	process->local[local] = (struct local_device){
		.used = true,
		.device = (uint32_t)device,
		.gate = 1,
		.told = {.came_ns = arbiter->now_ns, .at_ns = arbiter->now_ns}};
	atomic_store(&process_page(process, local)->grant.gate, 1);
	event.device = (uint32_t)device;
	event.attach.held_units = held_units(&arbiter->device[device], message->held_bytes);
	/* What it held is its own account now; nothing is granted between the two. */
	absent_registered(arbiter, process->identity.pid, message->uuid);
	ledger_note(process->record, local, message->uuid, event.attach.held_units);
	atomic_store(process_escrow(process, local), (uint64_t)event.attach.held_units << 32);
	r = arbiter_feed(arbiter, &event);
	if (r) {
		*ret_why = "more processes on this GPU than the arbiter can hold";
		process->local[local].used = false;
		ledger_note(process->record, local, message->uuid, 0);
		devices_leave(arbiter, (uint32_t)device);
		return r;
	}
	*ret_local = local;
	return 1;
}

int process_local(const struct process *process, uint32_t device)
{
	for (int i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (process->local[i].used && process->local[i].device == device)
			return i;
	}
	return -1;
}
