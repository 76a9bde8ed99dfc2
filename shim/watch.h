/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_WATCH_H
#define SHIM_WATCH_H

/*
 * The watch thread of a latency process, which asks the driver whether a request has ended that the
 * application does not show the end of. It sleeps, without a deadline, on a word of the channel page
 * until the arbiter or the process itself wants it to look; while the application is assisted
 * (request.h), to the next look.
 *
 * It takes no signal, makes no context, and asks nothing once the process ends: whatever it does when
 * it is awake is under a lock that the exit waits for (100 ms at most: a driver call that hangs does not
 * keep a process from its end), and that keeps contexts from going meanwhile.
 * Order of locks: that one, gate->lock, a stream's. A child of fork has none until it attaches.
 */

#include "sluice/pages.h"

struct gate;

/* The process's activity holds others from now on: the thread is made if it is not there. Keeps
 * errno. */
void watch_start(void);

/* Any thread, a callback of the driver's too. */
void watch_wake(void);
/* The channel page has been replaced. */
void watch_wake_at(struct sluice_channel *old);

/* A callback has shown one stream drained; others have work, which the application would not show by
 * itself. */
void watch_ask(struct gate *gate);

/* A context, or a device's primary one, may go until watch_admit, which takes the answer: none is
 * asked meanwhile. Not under gate->lock; the thread cannot be cancelled between the two. */
int watch_exclude(void);
void watch_admit(int cancel);

/* The process ends. */
void watch_end(void);

void watch_forked(void);

#endif
