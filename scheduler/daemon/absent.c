/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/absent.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "daemon/reclaim.h"
#include "sluice/clock.h"

/* A process of an earlier arbiter. */
struct absent {
	struct absent *next;
	struct arbiter *arbiter;
	struct ledger_entry *entry; /* its place in the ledger is kept */
	struct tenant_entry *tenant;
	struct sd_event_source *death_source;
	int pidfd;
	bool counted[SLUICE_MAX_DEVICES];    /* by the entry's index: the core knows of it ... */
	uint32_t device[SLUICE_MAX_DEVICES]; /* ... on this device */
};

static void tell(struct arbiter *arbiter, enum event_kind kind, const struct tenant_entry *tenant,
		 uint32_t device, uint32_t units)
{
	struct event event = {.kind = kind,
			      .tenant = (uint32_t)(tenant - arbiter->tenant),
			      .device = device,
			      .units = units};

	(void)arbiter_feed(arbiter, &event);
}

/* ---- processes of an earlier arbiter -------------------------------------------------------------- */

static void uncount(struct absent *absent, uint32_t i)
{
	if (absent->counted[i])
		tell(absent->arbiter, EVENT_MEM_RECLAIMED, absent->tenant, absent->device[i],
		     absent->entry->account[i].units);
	absent->counted[i] = false;
}

/* Takes it out of the list. */
static void absent_free(struct absent *absent)
{
	struct absent **at = &absent->arbiter->absent;

	while (*at != absent)
		at = &(*at)->next;
	*at = absent->next;
	sd_event_source_unref(absent->death_source);
	close(absent->pidfd);
	free(absent);
}

static void absent_end(struct absent *absent)
{
	struct arbiter *arbiter = absent->arbiter;
	struct tenant_entry *tenant = absent->tenant;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		uncount(absent, i);
	ledger_drop(absent->entry);
	absent_free(absent);
	reload_unhold(arbiter, tenant);
}

/* The driver frees what the dead held, and is asked whether it has. */
static int on_death(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct absent *absent = userdata;
	struct arbiter *arbiter = absent->arbiter;

	arbiter_now(arbiter);
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (!absent->counted[i] || !reclaim_is_needed(arbiter, absent->device[i]))
			continue;
		/* It stays counted, by another name. */
		absent->counted[i] =
			!reclaim_later(arbiter, absent->tenant, absent->entry->pid,
				       absent->device[i], absent->entry->account[i].units);
	}
	absent_end(absent);
	return 0;
}

static int absent_add(struct arbiter *arbiter, struct ledger_entry *entry)
{
	struct absent *absent = calloc(1, sizeof(*absent));
	int r;

	if (!absent)
		return -ENOMEM;
	absent->arbiter = arbiter;
	absent->entry = entry;
	absent->pidfd = (int)syscall(SYS_pidfd_open, entry->pid, 0);
	r = absent->pidfd < 0 ? -errno
			      : sd_event_add_io(arbiter->loop, &absent->death_source, absent->pidfd,
						EPOLLIN, on_death, absent);
	if (r < 0) {
		if (absent->pidfd >= 0)
			close(absent->pidfd);
		free(absent);
		return r;
	}
	/* Of a tenant that is no more: it will come back as one of the default tenant. */
	absent->tenant = reload_find(arbiter, entry->tenant);
	if (!absent->tenant)
		absent->tenant = &arbiter->tenant[0];
	absent->tenant->holds++;
	absent->next = arbiter->absent;
	arbiter->absent = absent;
	return 0;
}

void absent_load(struct arbiter *arbiter)
{
	int r = ledger_open(&arbiter->ledger, arbiter->socket_path);
	struct ledger_entry *entry;
	uint32_t at = 0, count = 0;

	if (r)
		log_warning("%s" LEDGER_SUFFIX ": %s; should this arbiter be killed, the next one "
			    "will not know what memory is granted",
			    arbiter->socket_path, strerror(-r));
	while ((entry = ledger_next(&arbiter->ledger, &at))) {
		r = absent_add(arbiter, entry);
		if (r == -ESRCH)
			ledger_drop(entry);
		else if (r)
			log_error("memory of process %d, of an earlier arbiter, is not counted: %s",
				  (int)entry->pid, strerror(-r));
		else
			count++;
	}
	if (count)
		log_info("%u processes of an earlier arbiter are waited for; their memory stays "
			 "counted",
			 count);
}

void absent_finish(struct arbiter *arbiter)
{
	while (arbiter->absent)
		absent_free(arbiter->absent);
	ledger_close(&arbiter->ledger);
}

void absent_device(struct arbiter *arbiter, uint32_t device)
{
	const uint8_t *uuid = arbiter->device[device].record.uuid;

	for (struct absent *absent = arbiter->absent; absent; absent = absent->next) {
		for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
			const struct ledger_account *account = &absent->entry->account[i];

			if (!account->used || absent->counted[i] ||
			    memcmp(account->uuid, uuid, sizeof(account->uuid)) != 0)
				continue;
			absent->counted[i] = true;
			absent->device[i] = device;
			tell(arbiter, EVENT_MEM_HELD, absent->tenant, device, account->units);
		}
	}
}

void absent_device_gone(struct arbiter *arbiter, uint32_t device)
{
	for (struct absent *absent = arbiter->absent; absent; absent = absent->next) {
		for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
			if (absent->device[i] == device)
				absent->counted[i] = false;
		}
	}
}

static bool holds_any(const struct absent *absent)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (absent->entry->account[i].used)
			return true;
	}
	return false;
}

static void absent_comes_back(struct absent *absent, const uint8_t *uuid)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		struct ledger_account *account = &absent->entry->account[i];

		if (!account->used || memcmp(account->uuid, uuid, sizeof(account->uuid)) != 0)
			continue;
		uncount(absent, i);
		account->used = 0;
	}
	if (!holds_any(absent))
		absent_end(absent);
}

/* More than one entry may be of one process: an arbiter was killed between its hello and the
 * registration of its device. */
void absent_registered(struct arbiter *arbiter, pid_t pid, const uint8_t *uuid)
{
	struct absent *next;

	for (struct absent *absent = arbiter->absent; absent; absent = next) {
		next = absent->next;
		if (absent->entry->pid == pid)
			absent_comes_back(absent, uuid);
	}
}

void absent_forget(struct arbiter *arbiter, pid_t pid)
{
	struct absent *next;

	for (struct absent *absent = arbiter->absent; absent; absent = next) {
		next = absent->next;
		if (absent->entry->pid == pid)
			absent_end(absent);
	}
}

const struct ledger_entry *absent_at(const struct arbiter *arbiter, uint32_t number)
{
	const struct absent *absent = arbiter->absent;

	while (absent && number--)
		absent = absent->next;
	return absent ? absent->entry : NULL;
}
