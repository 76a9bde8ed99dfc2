/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_TICKS_H
#define DAEMON_TICKS_H

/*
 * What the clock brings: the core's own timer, and the slow tick (heartbeats, readings of all
 * gates, stale activity, memory of the dead). No process there: no tick.
 */

#include "daemon/arbiter.h"

/* Handlers of the two time sources; userdata is the arbiter. */
int ticks_on_timer(struct sd_event_source *source, uint64_t usec, void *userdata);
int ticks_on_tick(struct sd_event_source *source, uint64_t usec, void *userdata);

/* The core's word: from now on the gate is watched, or no longer. */
struct process;
void ticks_watch(struct process *process, uint32_t local, bool on);

/* Reads the watched gates: before every WANT and TIMER. */
void ticks_read_watched(struct arbiter *arbiter);
/* Starts the slow tick when there is something to tick for. */
void ticks_arm(struct arbiter *arbiter);

#endif
