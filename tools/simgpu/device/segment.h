/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_SEGMENT_H
#define SIMGPU_SEGMENT_H

/*
 * One simulated GPU as several processes share it: a mapped file that holds the model (model.h),
 * its lock, who lives, and a word per process to sleep on. The file is
 * simgpu-UID-INSTANCE-ORDINAL under /dev/shm (or TMPDIR, where that has no room), mode 0600; the
 * last process that closes it removes it, and what a killed one left is taken over.
 *
 * Threads: all calls are thread-safe. Calls that say "with the lock" are made between
 * segment_lock and segment_unlock, and so is every call of the model; the others never are.
 * A process that dies with the lock costs nothing: the next holder repairs the model. A forked
 * child must not use the parent's segment; segment_close in it only unmaps.
 * Times: ns of CLOCK_MONOTONIC.
 *
 * The loop of a process's time keeper (one thread per process and device):
 *
 *	segment_lock(s);
 *	model_advance(segment_model(s), now);
 *	n = model_collect(segment_model(s), proc, ...);
 *	seen = segment_prepare_wait(s, proc, &deadline);
 *	segment_unlock(s);
 *	... hand out the n results; if there were none:
 *	segment_wait(s, proc, seen, min(deadline, now + 20 ms));
 *	segment_reap(s, now, false);
 *
 * Nobody has to know whom to wake: segment_unlock wakes each process, the caller's own included,
 * whose next event (model_next_ns) has come before the deadline that it was told to sleep to.
 */

#include <stdbool.h>
#include <stdint.h>

#include "device/model.h"

#define SEGMENT_ERROR_MAX 512

struct segment; /* this process's view; owned by who opened it */

/*
 * Creates the device or attaches to it, with the description `desc` where no live process has it
 * open; otherwise the description in force stays, and *ret_other_desc says whether it differs.
 * `instance`: letters, digits, '-', '_' and '.', at most 64. Errors: -errno, and one sentence with
 * the file and the remedy in ret_error.
 */
int segment_open(const char *instance, uint32_t ordinal, const struct model_desc *desc,
		 struct segment **ret_segment, bool *ret_other_desc,
		 char ret_error[SEGMENT_ERROR_MAX]);
/* Leaves first, where this process has joined. NULL is fine. */
void segment_close(struct segment *segment);
/* At the end of a process whose threads may still use the segment: removes the file if nobody else
 * lives in it, and leaves the rest to the death of the process, as if it had been killed. */
void segment_abandon(struct segment *segment);

/* Makes this process one of the model's, which takes context_bytes: for its first context. One at
 * a time per segment_open. -EAGAIN, -ENOMEM as model_attach, after reaping; -EBUSY: joined. */
int segment_join(struct segment *segment, uint32_t *ret_proc);
/* Drops its queued work and frees its memory. */
void segment_leave(struct segment *segment);

void segment_lock(struct segment *segment);
void segment_unlock(struct segment *segment);
/* With the lock; the pointer itself is good until segment_close. */
struct model *segment_model(struct segment *segment);
/* A copy of the description in force. */
void segment_get_desc(const struct segment *segment, struct model_desc *ret_desc);
/* The same for the same instance and ordinal, always. */
void segment_get_uuid(const struct segment *segment, uint8_t ret_uuid[16]);
const char *segment_path(const struct segment *segment);

/* With the lock, last thing before segment_unlock. The deadline is model_next_ns(proc): now or
 * earlier where something waits to be collected, MODEL_NEVER where nothing is scheduled. */
uint32_t segment_prepare_wait(struct segment *segment, uint32_t proc, uint64_t *ret_deadline_ns);
/* Sleeps until notified after segment_prepare_wait, or the deadline (MODEL_NEVER: none). May
 * return early; any number of threads may wait for one process. The kernel adds the thread's timer slack: PR_SET_TIMERSLACK. */
void segment_wait(struct segment *segment, uint32_t proc, uint32_t seen, uint64_t deadline_ns);
/* Ends that sleep in any case (to stop the thread). With or without the lock. */
void segment_notify(struct segment *segment, uint32_t proc);

/*
 * Detaches processes that are gone (a zombie is, and one that became another program by exec, which
 * it may have done without closing anything). Without the lock. Cheap: does nothing when any
 * process did it in the last 10 ms, and looks for zombies among a few processes a time;
 * `thorough` does all at once: for a call that failed for want of memory or room. Returns how
 * many it detached.
 */
uint32_t segment_reap(struct segment *segment, uint64_t now_ns, bool thorough);

#endif
