/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_BATCH_H
#define SHIM_BATCH_H

/*
 * What a latency process shows drained wakes whoever is held by it, mostly on its own CPU, and a
 * thread that has slept for long runs there at once: for as long as it looks, and spins through the
 * guard, the server is kept from the request that is already queued. Of scheduling class SCHED_BATCH a
 * thread waits, when it is woken, until its CPU has nobody else or somewhere else is room.
 *
 * For the calling thread; one of another class than SCHED_OTHER is left alone, and so is everything
 * else of it (its nice value, its slice). Keeps errno.
 */

#include "shim.h"

void batch_begin(void); /* again: nothing */
void batch_leave(void);

/* The launch has been made: as before. */
static inline void batch_end(void)
{
	if (unlikely(shim_thread.is_batch))
		batch_leave();
}

#endif
