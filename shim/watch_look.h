/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_WATCH_LOOK_H
#define SHIM_WATCH_LOOK_H

/*
 * What the watch thread sees when it looks. Apart from the thread, so that a test can look without
 * one. With watch's lock (watch_exclude); times are CLOCK_MONOTONIC ns.
 */

#include "gate.h"
#include "sync.h"

/* Does the gate have an open request? Without its lock. */
bool watch_is_busy(struct gate *gate);

/* When the thread is to look by itself, having looked at looked_ns last; 0: not. */
uint64_t watch_due_ns(struct gate *gate, uint64_t looked_ns);

/* The streams that have work of a request, as far as is known, if all of them are empty now. How much
 * later they must be so still; 0: they are not. */
uint64_t watch_find(struct gate *gate, struct sync_point *ret_point);

/* Those of them that are empty still, and were given nothing since, had drained at found_ns.
 * is_judged: if that ends the request, the application has not shown it. */
void watch_take(struct gate *gate, const struct sync_point *point, uint64_t found_ns,
		bool is_judged);

#endif
