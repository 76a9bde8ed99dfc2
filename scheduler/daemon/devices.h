/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DEVICES_H
#define DAEMON_DEVICES_H

/*
 * The GPUs that processes have registered, by UUID. A record comes from a process and is not
 * proven: where NVML knows the GPU its memory size wins, and processes overlap (MPS) only as long
 * as every process on the GPU says so.
 */

#include "daemon/arbiter.h"

/* Index of the device, entered if new. -EINVAL and why. */
int devices_enter(struct arbiter *arbiter, const struct sluice_msg_device *message, uid_t uid,
		  const char **ret_why);
/* One process less; the last one takes the record with it. */
void devices_leave(struct arbiter *arbiter, uint32_t index);
/* The record goes, if nobody and nothing is on the device any more. */
void devices_settle(struct arbiter *arbiter, uint32_t index);
/* Memory of the smallest GPU that root, our own user or NVML knows; 0: none is known. */
uint64_t devices_least_bytes(const struct arbiter *arbiter);

/* Slow tick: keeps what the driver says of its processes fresh. */
void devices_poll(struct arbiter *arbiter);

#endif
