/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LAUNCH_FAST_H
#define SHIM_LAUNCH_FAST_H

/*
 * The admitted launch: a few loads and compares before a tail call. It reads the seat (which stream
 * was it), the lane (what may it do), the grant's epoch, the activity word and the estimate; it
 * writes the slot and the stream's count. No clock, no call, no lock.
 *
 * It does not mark the thread busy: a driver that called its own exported launch entries from
 * inside would be counted twice.
 */

#include <stdbool.h>
#include <stdint.h>

#include "activity.h"
#include "gate.h"
#include "predict.h"
#include "shim.h"
#include "stream_state.h"

#define LAUNCH_RECENT 16u /* launches that a thread remembers; a power of two */
#define LAUNCH_SEATS 16u  /* streams that a thread remembers; a power of two */

struct launch_seat {
	CUstream key; /* 0: empty; a key never is */
	struct stream_state *stream;
	struct lane *lane;
};

struct launch_thread {
	struct launch_seat seat[LAUNCH_SEATS];
	uint32_t number; /* of the slot, from 1; 0: not asked for yet */
	uint32_t tid;
	uint32_t countdown;		/* slow paths until one is sampled unasked */
	uint32_t recents;		/* launches noted in `recent`, ever */
	uint32_t recent[LAUNCH_RECENT]; /* predict_number of each, the latest at recents - 1 */
};

extern _Thread_local struct launch_thread launch_thread __attribute__((tls_model("initial-exec")));
extern struct predict launch_predict;

static inline uint32_t launch_seat_of(CUstream key)
{
	return (uint32_t)((uintptr_t)key * 0x9e3779b97f4a7c15ull >> 60) & (LAUNCH_SEATS - 1);
}

/* Two places for each key: its own, and the one beside. */
static inline struct launch_seat *launch_seat(CUstream key)
{
	struct launch_seat *seat = &launch_thread.seat[launch_seat_of(key)];

	if (unlikely(seat->key != key))
		seat = &launch_thread.seat[launch_seat_of(key) ^ 1];
	return seat;
}

static inline uint64_t launch_watched(const struct lane *lane)
{
	uint64_t moved = atomic_load_explicit(lane->watch[0].word, memory_order_acquire) ^
			 lane->watch[0].seen;

	for (uint32_t i = 1; unlikely(i < lane->watch_count); i++)
		moved |= atomic_load_explicit(lane->watch[i].word, memory_order_acquire) ^
			 lane->watch[i].seen;
	return moved;
}

/* No arbiter, or a tenant that bypasses: nothing is ever looked at. */
static inline bool launch_is_inert(void)
{
	return unlikely(shim_flags() & SHIM_PASSTHROUGH);
}

/* The first launch of a request shuts the gates before all else. What a capture launches raises
 * nothing; what the driver itself launches inside a hook is seen, and lowered again, only after:
 * the thread's own state is two cold pages away. */
static inline __attribute__((always_inline)) void launch_raise(void)
{
	if (atomic_load_explicit(&shim.flags, memory_order_acquire) != SHIM_IDLE)
		return;
	activity_raise();
	if (unlikely(shim_thread.busy) && shim_thread.is_raised)
		activity_lower();
}

/* Of entries in C. True: the first launch of a request; it is raised, and must be looked at. */
static inline bool launch_raise_first(void)
{
	if (likely(!(shim_flags() & SHIM_IDLE)))
		return false;
	launch_raise();
	return true;
}

static inline void launch_remember(uint32_t number)
{
	launch_thread.recent[launch_thread.recents++ & (LAUNCH_RECENT - 1)] = number;
}

/* The last looks, and the books. False: nothing was noted. */
static inline __attribute__((always_inline)) bool launch_note(struct stream_state *stream,
							      struct lane *lane,
							      uint64_t launched_ns, uint32_t raw_ns,
							      uint32_t number)
{
	struct sluice_slot *slot = lane->slot;

	/* Acquire: pairs with the arbiter's release. The activity comes last, before the call. */
	if (unlikely((atomic_load_explicit(&lane->grant->epoch, memory_order_acquire) ^
		      lane->epoch) |
		     launch_watched(lane)))
		return false;
	/* See request.h: first the add, then `quiet`. */
	atomic_fetch_add_explicit(&stream->launched_ns, raw_ns, memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(&stream->quiet, memory_order_seq_cst))) {
		atomic_fetch_sub_explicit(&stream->launched_ns, raw_ns, memory_order_seq_cst);
		return false;
	}
	atomic_store_explicit(&slot->launched_ns, launched_ns, memory_order_relaxed);
	atomic_store_explicit(&slot->launches,
			      atomic_load_explicit(&slot->launches, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	launch_remember(number);
	return true;
}

/*
 * May this launch go, and has it been noted? No call in here, so that the caller's admitted path
 * needs no frame: what is not in its first place is looked up by launch_begin.
 */
static inline __attribute__((always_inline)) bool launch_fast(uint64_t tag, CUstream key)
{
	struct predict_entry *entry;
	struct launch_seat *seat;
	struct lane *lane;
	uint64_t launched_ns;
	uint32_t raw_ns;

	/* The tag first and alone: with a launch's eleven arguments alive there are few registers,
	 * and what is spilt in between costs more than what is computed. */
	__asm__("" : "+r"(tag));
	entry = predict_home(&launch_predict, tag);
	if (unlikely(shim_thread.busy | shim_flags()))
		return false;
	if (unlikely(atomic_load_explicit(&entry->tag, memory_order_acquire) != tag))
		return false;
	raw_ns = predict_raw_ns(entry);
	seat = launch_seat(key);
	/* The state may have been given to another stream since. */
	if (unlikely(seat->key != key) || unlikely(seat->stream->handle != key))
		return false;
	lane = seat->lane;
	launched_ns = atomic_load_explicit(&lane->slot->launched_ns, memory_order_relaxed) + raw_ns;
	if (unlikely(launched_ns > atomic_load_explicit(&lane->stop_at_ns, memory_order_relaxed)))
		return false;
	return launch_note(seat->stream, lane, launched_ns, raw_ns,
			   predict_number(&launch_predict, entry));
}

#endif
