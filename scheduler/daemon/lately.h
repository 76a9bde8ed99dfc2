/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_LATELY_H
#define DAEMON_LATELY_H

/*
 * A latency tenant's latencies of the last minute or two in which it had requests: what its processes have
 * counted since the arbiter began, less what they had counted then. After a new version of a server
 * has come, or the load has changed, the sum over hours says little. Single thread.
 */

#include <stdint.h>

#include "daemon/tally.h"

struct arbiter;
struct tenant_entry;

/* Each slow tick. */
void lately_tick(struct arbiter *arbiter);

/* Takes from *sums, a tenant's on the device (UINT32_MAX: on all), what is older. */
void lately_take(const struct tenant_entry *entry, uint32_t device, struct tally *sums);

/* Nothing is old any more. */
void lately_forget(struct tenant_entry *entry, uint32_t device);

#endif
