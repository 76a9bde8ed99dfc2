/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RECLAIM_H
#define DAEMON_RECLAIM_H

/*
 * Memory of the dead that the driver has not freed yet: it counts as reclaiming until NVML does not
 * show the process any more. A tenant that some is counted for keeps its place, a device its record.
 */

#include "daemon/arbiter.h"

struct process;

/* False: there is no room to remember it. The core counts it already. */
bool reclaim_later(struct arbiter *arbiter, struct tenant_entry *tenant, pid_t pid, uint32_t device,
		   uint32_t units);
/* All that a dead process holds. False: it counts as free at once, since nobody can see it (no
 * NVML, or a simulated GPU). */
bool reclaim_process(struct process *process);
/* Slow tick: has the driver freed it? */
void reclaim_tick(struct arbiter *arbiter);
bool reclaim_is_on(const struct arbiter *arbiter, uint32_t device);

#endif
