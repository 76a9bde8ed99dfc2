/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WHY_H
#define DAEMON_WHY_H

/*
 * Why requests were late: the late ones of the last minutes, and what best-effort gates said they
 * had in flight when a busy period of the latency tenant began. Both are kept in rings of fixed
 * size, made at the first latency process, and joined when somebody asks. What pages say is a
 * claim: times that cannot have been are left out, names are made printable. Single thread.
 */

#include <stdint.h>

#include "daemon/process.h"

#define WHY_LATE 1024u	   /* late requests kept, of all tenants */
#define WHY_ARRIVALS 4096u /* arrivals that gates told of */
#define WHY_SHOWN 512u	   /* late requests in one answer: the newest */
#define WHY_CAUSES 8u	   /* of one request in an answer */

struct why;

/* A request of the process has ended. */
void why_request(struct process *process, uint32_t local,
		 const struct sluice_request_record *record);

/* Takes what the best-effort process's gates have told. At each slow tick, and at its end. */
void why_take(struct process *process);

void why_destroy(struct why *why);

/* Queues the answer to a tool that asks about the tenant named in the message; `value`: of so many
 * minutes. 0 or -errno. */
int why_send(struct connection *connection, const struct sluice_msg_set *message);

#endif
