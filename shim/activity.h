/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_ACTIVITY_H
#define SHIM_ACTIVITY_H

/*
 * Activity pages, both sides. A reader has one page-sized place per (device, slot) for the whole
 * life of the process: a page that comes or goes is mapped over it in one step, so that a fast path
 * which still looks there never faults. A page counts only while its generation stands in the
 * reader's grant. The owner's page is mapped read-write, one for all its devices.
 *
 * Threads: maps under link's lock; looks from any thread; marks and clears under gate->lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shim.h"
#include "sluice/pages.h"
#include "sluice/wire.h"

struct gate;
struct gate_view;

/* ---- reader ---- */

/* Maps the page of `fd` read-only at the message's device and slot (the caller closes fd). 0 or
 * -errno; drop undoes it. */
int activity_see(const struct sluice_msg_activity *about, int fd);
void activity_drop(const struct sluice_msg_activity *about);

/* Fills gate->watch with the pages that count now. With gate->lock. */
void activity_refresh(struct gate *gate);

/* Fills in the view's active, is_still, activity, wake, idle_since_ns, drain_ns, busy_since_ns.
 * With gate->lock. */
void activity_look(const struct gate *gate, uint64_t now_ns, struct gate_view *view);

/* Of the page that a view's activity lies in. */
uint32_t activity_generation(const struct sluice_activity_device *activity);

/* ---- owner ---- */

/* Maps the page of `fd` read-write (the caller closes fd); work that is marked now is marked in
 * the new page as well. 0 or -errno. */
int activity_own(const struct sluice_msg_activity *about, int fd);

/* Before all else of a launch that meets SHIM_IDLE: every gate is shut by the one line that this
 * touches, and whoever is held by it waits for activity_mark to say more. No lock. Afterwards
 * shim_thread.is_raised says whether activity_settle must follow. */
static inline __attribute__((always_inline)) void activity_raise(void)
{
	struct sluice_activity_device *device =
		atomic_load_explicit(&shim.idle, memory_order_relaxed);
	uint64_t old = atomic_load_explicit(&device->word, memory_order_relaxed);
	uint64_t new = (uint64_t)(sluice_activity_epoch(old) + 1) << 32 | SLUICE_ACTIVITY_RAISED;

	if (!sluice_activity_active(old) &&
	    atomic_compare_exchange_strong_explicit(&device->word, &old, new, memory_order_acq_rel,
						    memory_order_relaxed))
		shim_thread.is_raised = 1;
}

/* Takes back what this thread has raised, unless it has been marked since. No lock. */
void activity_lower(void);

/* After the launch: lowers what was raised and never marked. Takes the lock. */
void activity_settle(void);

/* One more stream has work; the first of a request is expected to end at drain_ns (0: unknown). */
void activity_mark(struct gate *gate, uint64_t now_ns, uint64_t drain_ns);

/* One stream less; idle since now if that was the last. */
void activity_clear(struct gate *gate, uint64_t now_ns);

/* Whether the tenant's requests are marked has changed. With gate->lock. */
void activity_tracked(struct gate *gate);

/* A call that will show a drain is about to wait: what the clear touches is fetched. */
void activity_warm(const struct gate *gate);

/* Forgets all mappings, which a child of fork does not have. */
void activity_forked(void);

/* No activity: what a lane that watches nothing points at. */
extern const _Atomic uint64_t activity_none;

#endif
