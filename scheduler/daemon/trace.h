/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_TRACE_H
#define DAEMON_TRACE_H

/*
 * `sluice plan --record`: a tool asks again and again for what a tenant's process has launched
 * since. Each question has the process note its launches for a while longer; when no more comes,
 * it stops. The ring lies in a page that the process writes: whatever is in it is passed on as it
 * is, to its owner or an administrator.
 */

#include "daemon/process.h"

/* 0, or -errno: close. */
int trace_message(struct connection *connection, const struct sluice_packet *packet);
/* Slow tick: processes that nobody asks about any more. */
void trace_tick(struct arbiter *arbiter);

#endif
