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
#include <stdint.h>

/* struct sched_attr of the kernel in its first version: what came later stays as it is. */
struct batch_attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* False: nothing was changed, and nothing is to be ended. */
bool batch_begin(struct batch_attributes *ret_before);
void batch_end(const struct batch_attributes *before);

#endif
