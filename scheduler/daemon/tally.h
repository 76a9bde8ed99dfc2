/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_TALLY_H
#define DAEMON_TALLY_H

/*
 * What processes have counted in their pages on one device, added up: of those alive when status is
 * asked, and of a tenant's dead ones for as long as the arbiter knows the tenant, so that a server
 * that was restarted keeps its latencies. Pages are tenant-written: texts are made printable, the
 * figures are claims, believed for as long as they can be true. Single thread.
 */

#include <stdbool.h>
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

/* What a page said when it was last read. */
struct tally_seen {
	uint64_t came_ns; /* the page is there since then */
	uint64_t at_ns;
	uint64_t requests, requests_late, forced, unpredicted;
	uint64_t forced_at_ns;	     /* when `forced` was last seen to move; 0: never */
	uint64_t service, in_flight; /* values in the histograms */
};

/* Reads a page into *ret_tally. ranges: late are ranges, not requests. False: what it says cannot be
 * true; *seen is as it was. */
bool tally_page(struct tally *ret_tally, struct sluice_channel_device *page,
		struct tally_seen *seen, bool ranges, uint64_t now_ns);
void tally_merge(struct tally *tally, const struct tally *from);

#endif
