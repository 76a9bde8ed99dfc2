/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ESTIMATES_H
#define DAEMON_ESTIMATES_H

/*
 * What processes have measured of their kernels, kept over runs: one table a user, so that nobody
 * can make another user's estimates wrong; one file each in the state folder. Tables are bounded:
 * where one is full, what no run has seen for longest makes room. A file is written as a whole and
 * renamed; one that is not ours, of another version or damaged is ignored with one warning, and
 * written over in time. Nothing here ever stops a process from running. Single thread.
 */

#include <stdint.h>
#include <sys/types.h>

#include "daemon/log.h"
#include "daemon/pages.h"
#include "sluice/estimate.h"

#define ESTIMATES_SLOTS 16384u		    /* of a table; a power of two */
#define ESTIMATES_MAX (ESTIMATES_SLOTS / 2) /* records of one user */
#define ESTIMATES_USERS 64u		    /* that are kept in memory */
#define ESTIMATES_SAVE_NS 10000000000ull    /* between two writes of one file */

struct estimates;

/* folder: made if it is not there; NULL: nothing outlives the arbiter. NULL: no memory. */
struct estimates *estimates_create(const char *folder);
/* Writes what has changed. */
void estimates_destroy(struct estimates *estimates);

/* Takes what the ring holds beyond *seen, for that user. The ring is the user's to write. */
void estimates_take(struct estimates *estimates, uid_t uid, const struct sluice_estimate_ring *ring,
		    uint64_t *seen);

/* Another process of the user begins: what it sees again counts as newer than what it does not. */
void estimates_run(struct estimates *estimates, uid_t uid);

/* What is known for the user, as a sealed page with a reader's descriptor. 0, or -errno; -ENOENT:
 * nothing is. */
int estimates_page(struct estimates *estimates, uid_t uid, struct page *ret_page);

/* Writes the files that have been due. */
void estimates_tick(struct estimates *estimates, uint64_t now_ns);

#endif
