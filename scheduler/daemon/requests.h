/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_REQUESTS_H
#define DAEMON_REQUESTS_H

/*
 * Latency processes' requests, from the rings in their channels to the core: at every slow tick,
 * before the core decides. The rings are the tenants' to write: at most a ring's worth is taken at
 * a time, and the core is told what the best-effort gates say that a request met.
 */

#include "daemon/process.h"

/* Of one process: its last ones, when it ends. */
void requests_take(struct process *process);
void requests_tick(struct arbiter *arbiter);

#endif
