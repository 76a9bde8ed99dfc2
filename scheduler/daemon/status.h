/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

/*
 * What status shows to whom, and its notes: each says one thing that is configured or expected and
 * not enforced, and why. `all`: the peer may see every tenant. Others than administrators see their
 * own processes, and the tenants that these are in or that a match by user, group or cgroup admits
 * them to.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct arbiter;
struct connection;
struct tally;
struct tenant_entry;

bool status_shows_uid(const struct connection *connection, bool all, uid_t uid);
bool status_shows_tenant(const struct connection *connection, bool all,
			 const struct tenant_entry *tenant);

/* Sends a row for each two that were seen at work together on the device; 0 or -errno. */
int status_pairs(struct connection *connection, bool all, uint32_t device, uint32_t seq);

/* Adds up what the tenant's processes have counted on the device (UINT32_MAX: where nobody uses any),
 * ended ones too; requests over a relative target are among the late. */
void status_sums(const struct arbiter *arbiter, uint32_t tenant, uint32_t device,
		 struct tally *sums);

/* Walks the notes: *at starts at 0. */
bool status_next_note(struct connection *connection, bool all, uint32_t *at, char *ret_note,
		      size_t room);

#endif
