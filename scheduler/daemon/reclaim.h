/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_RECLAIM_H
#define DAEMON_RECLAIM_H

/*
 * Memory of the dead that the driver has not freed yet: it counts as reclaiming until NVML does not
 * show the process any more, without NVML for a second. A simulated GPU sees who is dead before it
 * refuses anything: there it is free at once. A tenant that some is counted for keeps its place, a device its record.
 */

#include "daemon/arbiter.h"

struct process;

/* False: there is no room to remember it. The core counts it already. */
bool reclaim_later(struct arbiter *arbiter, struct tenant_entry *tenant, pid_t pid, uint32_t device,
		   uint32_t units);
/* Does a GPU's memory count as reclaiming when its holder dies? */
bool reclaim_is_needed(const struct arbiter *arbiter, uint32_t device);
/* All that a dead process holds. False: it counts as free at once. */
bool reclaim_process(struct process *process);
/* Slow tick: has the driver freed it? */
void reclaim_tick(struct arbiter *arbiter);
bool reclaim_is_on(const struct arbiter *arbiter, uint32_t device);

#endif
