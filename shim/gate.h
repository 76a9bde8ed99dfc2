/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_GATE_H
#define SHIM_GATE_H

/*
 * The gate of one managed GPU in this process: whether a launch may go now, and the wait if not.
 *
 * Each thread has a lane per gate: the few words that its fast path compares (launch.h). A lane is
 * written by its own thread, but for stop_at_ns and drawn_ns, by which others take back what it has
 * drawn and not used; it may be between compare and call then, which is one launch too many at
 * most. gate->lock guards the rest; it is never
 * held across a sleep or a driver call that can block. Lifetime: static, from the device's
 * registration on; a reconnection swaps `page` and bumps `page_number`, and lanes follow at their
 * next slow path. Units: CLOCK_MONOTONIC ns for times, predicted ns for work.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "futex.h"
#include "sluice/pages.h"

struct stream_state;
struct predict_entry;

#define GATE_STREAMS 512 /* streams that one gate follows */

struct gate_watch {
	const _Atomic uint64_t *word; /* a latency tenant's activity */
	uint64_t seen;		      /* as it was when a launch was last admitted: idle */
};

/* The first line is all that an admitted launch reads of it. */
struct lane {
	_Alignas(128) struct sluice_slot *slot;
	const struct sluice_grant *grant;
	_Atomic uint64_t stop_at_ns; /* of the slot's launched_ns: beyond it something must be
					looked at. Another thread may recall it to 0 */
	uint32_t epoch;		     /* the grant's, when a launch was last admitted */
	uint32_t watch_count;
	struct gate_watch watch[SLUICE_MAX_ACTIVITY];
	_Atomic uint64_t drawn_ns;    /* of the slot's launched_ns: may go so far without asking */
	_Atomic uint32_t page_number; /* the slot is in that page; 0: none yet */
	bool shared;		      /* the last slot: no fast path, atomic adds */
};

struct gate {
	struct futex_lock lock;
	_Atomic uint32_t ready;
	uint32_t ordinal;
	uint32_t index; /* in the pages' device[] */
	_Atomic uint32_t page_number;
	struct sluice_channel_device *page;
	uint64_t completed_ns;	 /* of this gate's streams, ever */
	uint64_t retired_ns;	 /* launched under earlier pages by lanes that have left them */
	uint64_t moved_ns;	 /* when something in flight last completed, or was admitted */
	uint64_t want_ns;	 /* when the arbiter was last told that a launch is held ... */
	uint32_t want_word;	 /* ... and what the gate's word was then */
	uint64_t arrival_ns;	 /* of the request that was last found at a launch */
	uint32_t holding;	 /* threads held now */
	uint32_t lanes;		 /* in use: the highest + 1 */
	_Atomic uint32_t marked; /* streams with work of a request (latency tenants) */
	_Atomic uint32_t spinning;
	/* Of an activity that was found idle after a sleep that its owner did not end, and how often
	 * in a row: see gate_wait.c. */
	_Atomic(const struct sluice_activity_device *) silent;
	_Atomic uint32_t silences;
	uint32_t watch_epoch; /* the grant's, when `watch` was made of it */
	bool watch_stale;     /* a page has come or gone since */
	uint32_t watch_count;
	const struct sluice_activity_device *watch[SLUICE_MAX_ACTIVITY];
	struct lane lane[SLUICE_MAX_SLOTS];
	uint32_t stream_count;
	struct stream_state *stream[GATE_STREAMS];
};

/* By the pages' index. */
struct gate *gate_at(uint32_t index);

/* The device has been registered, or has got a new page. */
void gate_rehome(uint32_t index, uint32_t ordinal, struct sluice_channel_device *page);

/* The lane of the calling thread's slot (0..SLUICE_MAX_SLOTS-1), bound to the present page.
 * shared: more threads than slots. */
struct lane *gate_lane(struct gate *gate, uint32_t slot, bool shared);

static inline bool gate_lane_is_bound(struct gate *gate, struct lane *lane)
{
	return atomic_load_explicit(&lane->page_number, memory_order_acquire) ==
	       atomic_load_explicit(&gate->page_number, memory_order_acquire);
}

#define GATE_MEASURED (1u << 0)	     /* its cost has been */
#define GATE_IS_LARGE_COPY (1u << 1) /* see gate_decide.h */

/* Waits until a launch that may take most_ns may go, then takes cost_ns for it. Keeps errno.
 * Returns the futex word on which the next may wait for the same, or NULL: to be woken when the
 * launch has been made. */
_Atomic uint32_t *gate_enter(struct gate *gate, struct lane *lane, struct stream_state *stream,
			     uint32_t cost_ns, uint32_t most_ns, uint32_t flags);

/* Takes cost_ns without asking, where gate_is_free: latency tenants, unmanaged devices. */
void gate_pass(struct gate *gate, struct lane *lane, struct stream_state *stream, uint32_t cost_ns);
bool gate_is_free(struct gate *gate);

/* A latency tenant's launch on a quiet stream: marked before anything else is done for it. key:
 * what is launched, for the request that it may open. */
void gate_raise(struct gate *gate, struct stream_state *stream, uint64_t key);

/* Predicted ns launched and not seen complete. With gate->lock. */
uint64_t gate_in_flight(const struct gate *gate);

/* Work has been seen complete: with gate->lock; publishes. */
void gate_completed(struct gate *gate, uint64_t done_ns, uint64_t now_ns);

/* In a child of fork: no page is mapped any more. */
void gate_forked(void);

#endif
