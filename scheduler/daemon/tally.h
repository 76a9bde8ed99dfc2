/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_TALLY_H
#define DAEMON_TALLY_H

/*
 * What processes have counted in their pages on one device, added up: of those alive when status is
 * asked, and of a tenant's dead ones for as long as the arbiter knows the tenant, so that a server
 * that was restarted keeps its latencies. Pages are tenant-written: texts are made printable, the
 * figures are claims. Single thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "sluice/pages.h"
#include "sluice/wire.h"

struct tally {
	struct sluice_hist service, in_flight;
	uint64_t requests, requests_late, forced, unpredicted;
	uint64_t longest_ns;
	char longest[SLUICE_NAME_MAX];
};

/* A tenant-written text of SLUICE_NAME_MAX bytes: printable, terminated, or empty. */
void tally_text(char *ret_field, size_t size, const char *hostile);

void tally_page(struct tally *tally, struct sluice_channel_device *page);
void tally_merge(struct tally *tally, const struct tally *from);

#endif
