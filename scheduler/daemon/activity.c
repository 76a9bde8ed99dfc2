/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "daemon/process.h"

#define STOPPED_AFTER_NS SLUICE_NS_PER_S
#define NO_REQUEST_AFTER_NS (10 * SLUICE_NS_PER_S)

static struct sluice_activity_device *activity_page(const struct process *owner, uint32_t local)
{
	return &((struct sluice_activity *)owner->activity.base)->device[local];
}

int activity_create(struct process *process)
{
	struct sluice_activity *page;
	int r = page_create(&process->activity, "sluice-activity", sizeof(*page));

	if (r)
		return r;
	r = page_make_reader(&process->activity);
	if (r)
		return r;
	page = (struct sluice_activity *)process->activity.base;
	page->magic = SLUICE_ACTIVITY_MAGIC;
	page->version = SLUICE_PAGES_VERSION;
	process->generation = ++process->arbiter->generation;
	page->generation = process->generation;
	return 0;
}

/*
 * Does the owner's activity close that reader's gate? It is named as soon as the page is handed out,
 * and counts once the reader has mapped it: at its next launch, which takes the mail before it looks.
 * Were it named at the reader's answer only, an idle process's first launch would go.
 */
static void activity_show(struct process *reader, uint32_t local, uint32_t slot)
{
	const struct watch_slot *watch = &reader->local[local].slot[slot];
	const struct local_device *source = &watch->owner->local[watch->owner_local];
	bool counts = watch->sent && !watch->refused && source->counts && !source->stale;

	grant_set_activity(reader, local, slot, counts ? watch->owner->generation : 0,
			   source->still_epoch);
}

/* Hands the owner's page to the reader. Later, at a tick, where the socket is full. */
static void activity_send(struct process *reader, uint32_t local, uint32_t slot)
{
	struct watch_slot *watch = &reader->local[local].slot[slot];
	struct sluice_msg_activity message = {.slot = slot,
					      .generation = watch->owner->generation,
					      .device = local,
					      .owner_device = watch->owner_local};

	if (!reader->connection)
		return;
	sluice_wire_head(&message, SLUICE_MSG_ACTIVITY_SEE, sizeof(message), 0, 0);
	if (connection_send_fds(reader->connection, &message, &watch->owner->activity.read_fd, 1))
		return;
	watch->sent = true;
	activity_show(reader, local, slot);
	grant_bump_mail(reader);
}

static void activity_share(struct process *reader, uint32_t local, struct process *owner,
			   uint32_t owner_local)
{
	struct local_device *own = &reader->local[local];
	int free_slot = -1;

	for (uint32_t i = 0; i < SLUICE_MAX_ACTIVITY; i++) {
		if (own->slot[i].owner == owner)
			return;
		if (!own->slot[i].owner && free_slot < 0)
			free_slot = (int)i;
	}
	/* Status says so (status.c): the reader is not held by that process. */
	if (free_slot < 0)
		return;
	own->slot[free_slot] = (struct watch_slot){.owner = owner, .owner_local = owner_local};
	activity_send(reader, local, (uint32_t)free_slot);
}

/* Every best-effort process on the owner's device. */
static void activity_share_all(struct process *owner, uint32_t owner_local)
{
	struct arbiter *arbiter = owner->arbiter;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *reader = arbiter->process[i];
		int local;

		if (!reader || reader->latency)
			continue;
		local = process_local(reader, owner->local[owner_local].device);
		if (local >= 0)
			activity_share(reader, (uint32_t)local, owner, owner_local);
	}
}

static void activity_send_own(struct process *process)
{
	struct sluice_msg_activity message = {.generation = process->generation};

	sluice_wire_head(&message, SLUICE_MSG_ACTIVITY_OWN, sizeof(message), 0, 0);
	if (connection_send_fds(process->connection, &message, &process->activity.fd, 1))
		log_limited(&process->arbiter->log_peers, LOG_LEVEL_WARNING,
			    process->arbiter->now_ns,
			    "tenant %s (pid %d): the activity page could not be sent",
			    process->tenant->conf.name, (int)process->identity.pid);
	grant_bump_mail(process);
}

static void activity_attached_latency(struct process *process, uint32_t local)
{
	process->local[local].alive_ns = process->local[local].request_ns =
		process->arbiter->now_ns;
	if (process->mapped)
		activity_share_all(process, local);
	else
		activity_send_own(process);
}

void activity_resumed(struct process *process)
{
	bool any = false;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		any |= process->local[i].used;
	if (any && process->latency && !process->mapped)
		activity_send_own(process);
}

void activity_attached(struct process *process, uint32_t local)
{
	struct arbiter *arbiter = process->arbiter;

	if (process->latency) {
		activity_attached_latency(process, local);
		return;
	}
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *owner = arbiter->process[i];
		int owner_local;

		if (!owner || !owner->latency || !owner->mapped)
			continue;
		owner_local = process_local(owner, process->local[local].device);
		if (owner_local >= 0)
			activity_share(process, local, owner, (uint32_t)owner_local);
	}
}

/* Its mapping is the last writable one: from here on even root cannot make another. */
int activity_mapped(struct process *process, int32_t status)
{
	int r;

	if (!process->latency)
		return -EBADMSG;
	if (status) {
		log_limited(
			&process->arbiter->log_peers, LOG_LEVEL_WARNING, process->arbiter->now_ns,
			"tenant %s (pid %d): could not map its activity page: %s; it holds nobody",
			process->tenant->conf.name, (int)process->identity.pid,
			strerror(status < 0 && status > -4096 ? -status : EINVAL));
		return 0;
	}
	if (process->mapped)
		return 0;
	r = page_seal(&process->activity);
	if (r)
		log_warning("activity page: sealing failed (%s); root tenants could write to it",
			    strerror(-r));
	process->mapped = true;
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (process->local[i].used)
			activity_share_all(process, i);
	}
	return 0;
}

int activity_seen(struct process *process, const struct sluice_msg_activity *message)
{
	struct watch_slot *watch;

	if (process->latency || message->device >= SLUICE_MAX_DEVICES ||
	    message->slot >= SLUICE_MAX_ACTIVITY || !process->local[message->device].used)
		return -EBADMSG;
	watch = &process->local[message->device].slot[message->slot];
	/* Mapped, as expected, or of a page that has gone meanwhile. */
	if (!message->header.status || !watch->owner || !watch->sent ||
	    watch->owner->generation != message->generation)
		return 0;
	watch->refused = true;
	activity_show(process, message->device, message->slot);
	return 0;
}

/* Tells every reader of the owner's device anew. */
static void activity_show_readers(struct process *owner, uint32_t owner_local)
{
	struct arbiter *arbiter = owner->arbiter;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *reader = arbiter->process[i];

		for (uint32_t local = 0; reader && local < SLUICE_MAX_DEVICES; local++) {
			for (uint32_t slot = 0; slot < SLUICE_MAX_ACTIVITY; slot++) {
				struct watch_slot *watch = &reader->local[local].slot[slot];

				if (watch->owner == owner && watch->owner_local == owner_local)
					activity_show(reader, local, slot);
			}
		}
	}
}

/* Tells them, and wakes who sleeps on the page. */
static void activity_show_all(struct process *owner, uint32_t owner_local)
{
	activity_show_readers(owner, owner_local);
	syscall(SYS_futex, &activity_page(owner, owner_local)->wake, FUTEX_WAKE, INT_MAX, NULL,
		NULL, 0);
}

void activity_count(struct process *owner, uint32_t local, bool counts)
{
	if (!owner->latency || owner->local[local].counts == counts)
		return;
	owner->local[local].counts = counts;
	activity_show_all(owner, local);
}

bool activity_overlaps(const struct process *process, uint32_t local, uint64_t start_ns,
		       uint64_t end_ns)
{
	const struct sluice_activity_device *page = activity_page(process, local);
	uint64_t busy_ns, idle_ns;
	bool is_active;

	is_active = sluice_activity_active(atomic_load_explicit(&page->word, memory_order_acquire));
	busy_ns = atomic_load_explicit(&page->busy_since_ns, memory_order_relaxed);
	idle_ns = atomic_load_explicit(&page->idle_since_ns, memory_order_relaxed);
	return busy_ns && busy_ns <= end_ns && (is_active || idle_ns >= start_ns);
}

void activity_reading(const struct process *process, uint32_t local, struct event_usage *usage)
{
	const struct local_device *own = &process->local[local];
	const struct sluice_activity_device *page = activity_page(process, local);

	if (!process->mapped || !own->counts || own->stale)
		return;
	usage->active = sluice_activity_active(
				atomic_load_explicit(&page->word, memory_order_acquire)) != 0;
	usage->idle_since_ns = atomic_load_explicit(&page->idle_since_ns, memory_order_relaxed);
}

/*
 * Active, and its launches do not move: hung past the lease, or stopped. Launches count as life,
 * since a busy process need not become idle for a long time; an epoch that moves without any does
 * not, but for the end of the request that was open at the last look.
 */
static bool activity_is_alive(const struct local_device *own, uint64_t word, uint64_t launched_ns)
{
	if (launched_ns != own->seen_launched_ns)
		return true;
	return !sluice_activity_active(word) &&
	       (own->seen_active || sluice_activity_epoch(word) == own->seen_epoch);
}

/* Active as at the last look, and neither launched nor completed anything since: it may wait for what
 * another process holds. Readers look by themselves every few milliseconds. */
static void activity_look_still(struct process *owner, uint32_t local, uint64_t word,
				uint64_t launched_ns)
{
	struct local_device *own = &owner->local[local];
	uint64_t completed_ns = atomic_load_explicit(
		&process_page(owner, local)->counters.completed_ns, memory_order_relaxed);
	uint32_t epoch = sluice_activity_epoch(word);
	bool still = sluice_activity_active(word) && own->seen_active && epoch == own->seen_epoch &&
		     launched_ns == own->seen_launched_ns && completed_ns == own->seen_completed_ns;

	own->seen_completed_ns = completed_ns;
	if (own->still_epoch == (still ? epoch : 0))
		return;
	own->still_epoch = still ? epoch : 0;
	activity_show_readers(owner, local);
}

/* Is a launch held by the owner's activity, or was at the last look? */
static bool activity_holds(const struct process *owner, uint32_t owner_local)
{
	const struct arbiter *arbiter = owner->arbiter;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		const struct process *reader = arbiter->process[i];

		for (uint32_t local = 0; reader && local < SLUICE_MAX_DEVICES; local++) {
			for (uint32_t slot = 0; slot < SLUICE_MAX_ACTIVITY; slot++) {
				const struct watch_slot *watch = &reader->local[local].slot[slot];

				if (watch->owner == owner && watch->owner_local == owner_local &&
				    watch->sent && !watch->refused && reader->local[local].wants)
					return true;
			}
		}
	}
	return false;
}

/* One and the same request holds others since the last look: whether it has ended may be known to
 * nobody that the shim sees, and its watch thread is asked to look. */
static void activity_ask(struct process *owner, uint32_t local, uint64_t word)
{
	struct local_device *own = &owner->local[local];
	struct sluice_channel *channel = process_channel(owner);

	if (!own->seen_active || !sluice_activity_active(word) ||
	    sluice_activity_epoch(word) != own->seen_epoch || !activity_holds(owner, local))
		return;
	atomic_fetch_or_explicit(&channel->ask, 1u << local, memory_order_relaxed);
	atomic_fetch_add_explicit(&channel->look, 1, memory_order_seq_cst);
	syscall(SYS_futex, &channel->look, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void activity_look(struct process *owner, uint32_t local, uint64_t now_ns)
{
	struct local_device *own = &owner->local[local];
	uint64_t word =
		atomic_load_explicit(&activity_page(owner, local)->word, memory_order_acquire);
	uint64_t launched_ns = reading_launched_ns(owner, local), still_ns;
	bool stale;

	activity_look_still(owner, local, word, launched_ns);

	if (activity_is_alive(own, word, launched_ns))
		own->alive_ns = now_ns;
	activity_ask(owner, local, word);
	own->seen_active = sluice_activity_active(word) != 0;
	own->seen_epoch = sluice_activity_epoch(word);
	own->seen_launched_ns = launched_ns;
	still_ns = now_ns - own->alive_ns;
	stale = still_ns >= owner->arbiter->config.lease_ns ||
		(still_ns >= STOPPED_AFTER_NS &&
		 (own->stale || identity_is_stopped(owner->identity.pid)));
	if (stale == own->stale)
		return;
	own->stale = stale;
	log_limited(&owner->arbiter->log_peers, LOG_LEVEL_WARNING, now_ns, "tenant %s (pid %d): %s",
		    owner->tenant->conf.name, (int)owner->identity.pid,
		    stale ? "active without a sign of life: it no longer holds the others"
			  : "moves again: it holds the others when active");
	activity_show_all(owner, local);
}

/* Continuous batching shows no end of a request: there is no latency to report then. */
static void activity_look_requests(struct process *owner, uint32_t local, uint64_t now_ns)
{
	struct local_device *own = &owner->local[local];
	struct sluice_counters *counters = &process_page(owner, local)->counters;
	uint64_t requests = atomic_load_explicit(&counters->requests, memory_order_relaxed);
	uint64_t word =
		atomic_load_explicit(&activity_page(owner, local)->word, memory_order_relaxed);

	if (requests != own->seen_requests || !sluice_activity_active(word))
		own->request_ns = now_ns;
	own->seen_requests = requests;
	own->no_request = now_ns - own->request_ns >= NO_REQUEST_AFTER_NS;
}

void activity_tick(struct process *process, uint64_t now_ns)
{
	for (uint32_t local = 0; local < SLUICE_MAX_DEVICES; local++) {
		if (!process->local[local].used)
			continue;
		if (process->latency) {
			activity_look(process, local, now_ns);
			activity_look_requests(process, local, now_ns);
			continue;
		}
		for (uint32_t slot = 0; slot < SLUICE_MAX_ACTIVITY; slot++) {
			struct watch_slot *watch = &process->local[local].slot[slot];

			if (watch->owner && !watch->sent)
				activity_send(process, local, slot);
		}
	}
}

static void activity_drop(struct process *reader, uint32_t local, uint32_t slot)
{
	struct watch_slot *watch = &reader->local[local].slot[slot];
	struct sluice_msg_activity message = {
		.slot = slot, .generation = watch->owner->generation, .device = local};

	message.owner_device = watch->owner_local;
	*watch = (struct watch_slot){0};
	grant_set_activity(reader, local, slot, 0, 0);
	if (!reader->connection)
		return;
	sluice_wire_head(&message, SLUICE_MSG_ACTIVITY_DROP, sizeof(message), 0, 0);
	if (!connection_send(reader->connection, &message))
		grant_bump_mail(reader);
}

void activity_forget(struct process *process)
{
	struct arbiter *arbiter = process->arbiter;

	if (!process->latency || !process->activity.base)
		return;
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *reader = arbiter->process[i];

		for (uint32_t local = 0; reader && local < SLUICE_MAX_DEVICES; local++) {
			for (uint32_t slot = 0; slot < SLUICE_MAX_ACTIVITY; slot++) {
				if (reader->local[local].slot[slot].owner == process)
					activity_drop(reader, local, slot);
			}
		}
	}
	for (uint32_t local = 0; local < SLUICE_MAX_DEVICES; local++) {
		if (process->local[local].used)
			syscall(SYS_futex, &activity_page(process, local)->wake, FUTEX_WAKE,
				INT_MAX, NULL, NULL, 0);
	}
}
