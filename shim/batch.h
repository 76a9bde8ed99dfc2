/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_BATCH_H
#define SHIM_BATCH_H

/*
 * What a latency process shows drained wakes whoever is held by it, mostly on its own CPU, and a
 * thread that has slept for long runs there at once: for as long as it looks, and spins through the
 * guard, the server is kept from the request that is already queued. One of class SCHED_BATCH preempts
 * nobody when it is woken: it runs once the thread there sleeps or has had its slice, or on another CPU
 * that is free.
 *
 * For one sleep of the calling thread. A thread of another class than SCHED_OTHER is left alone, and so
 * is all else of it (its nice value, its slice). Under a seccomp filter nothing is done: some kill whoever
 * calls what they do not list. Changes errno.
 */

#include <stdbool.h>

/* False: nothing was changed, and nothing is to be ended. */
bool batch_begin(void);
void batch_end(void);

#endif
