/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ABSENT_H
#define DAEMON_ABSENT_H

/*
 * Live processes that an earlier arbiter granted memory to (ledger.h): it counts, as reclaiming, until
 * they register again or die, since they may use it. A tenant that some is counted for keeps its
 * place.
 */

#include "daemon/arbiter.h"

/* At the start: what the ledger says. Without a ledger there is nothing, and a line in the log. */
void absent_load(struct arbiter *arbiter);
void absent_finish(struct arbiter *arbiter);

/* A GPU is known now, or is not any more: what absent processes hold on it counts, or waits. */
void absent_device(struct arbiter *arbiter, uint32_t device);
void absent_device_gone(struct arbiter *arbiter, uint32_t device);
/* The process says itself what it holds on the GPU. */
void absent_registered(struct arbiter *arbiter, pid_t pid, const uint8_t *uuid);
/* Another program runs in it. */
void absent_forget(struct arbiter *arbiter, pid_t pid);

/* The ledger's word about absent process number 0, 1, ...; NULL: there are no more. */
const struct ledger_entry *absent_at(const struct arbiter *arbiter, uint32_t number);

#endif
