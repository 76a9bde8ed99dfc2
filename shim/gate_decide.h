/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_GATE_DECIDE_H
#define SHIM_GATE_DECIDE_H

/*
 * May a launch go? Pure: a view and a time in, a reason out, so that tests run it in virtual time.
 * Times are CLOCK_MONOTONIC ns, work is predicted ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sluice/pages.h"

/* A copy between host and device of so many bytes is a large one: it keeps a copy engine busy, and
 * no SM, for longer than a change of turn takes. */
#define GATE_LARGE_COPY_BYTES (1u << 20)

/* What a decision is made of. */
struct gate_view {
	uint32_t gate_word, flags; /* of the grant */
	uint64_t credit_ns, window_ns, guard_ns, progress_ns;
	uint64_t launched_ns;  /* sum of the slots */
	uint64_t drawn_ns;     /* what other lanes may still add without asking */
	uint64_t in_flight_ns; /* launched, not seen complete */
	uint64_t done_ns;      /* expected end of the work in flight */
	uint64_t was_done_ns;  /* the same, before what has completed was looked at */
	uint64_t moved_ns;
	bool is_large_copy; /* what asks is one */
	bool active;	    /* a latency tenant has work */
	bool is_told;	    /* active: what else the page says is of this request already */
	/* The one to wait for; where none is active, the last that was */
	const struct sluice_activity_device *activity;
	uint32_t wake;		/* its futex word, read before its activity was */
	uint64_t idle_since_ns; /* the latest, where none is active; 0: none ever was */
	uint64_t drain_ns;	/* when the active one is expected to end; 0: unknown */
	bool is_still;		/* active, and the arbiter sees nothing of it move */
	uint64_t busy_since_ns; /* the latest busy period's beginning */
	/* Of the grant: beside an active tenant, so long from there; and an arrival is expected */
	uint32_t cap_sms;
	uint64_t busy_limit_ns;
	uint64_t quiet_from_ns, quiet_until_ns;
};

enum gate_reason {
	GATE_OPEN,   /* go */
	GATE_FORCED, /* go: what is in flight, here or in the active process, may wait for it */
	GATE_CLOSED,
	GATE_CREDIT,
	GATE_ACTIVE,
	GATE_GUARD,
	GATE_QUIET, /* it would run into an arrival that is expected */
	GATE_WINDOW,
};

/* until_ns: the predicted opening; 0: unknown. held_since_ns 0: not held so far. */
enum gate_reason gate_decide(const struct gate_view *view, uint64_t cost_ns, uint64_t held_since_ns,
			     uint64_t now_ns, uint64_t *ret_until_ns);

/* What a request that began at arrival_ns met of this process's, in flight or complete since. */
uint64_t gate_met_ns(const struct gate_view *view, uint64_t arrival_ns);

/* How far a lane that has just been admitted may go on without asking: predicted ns from where
 * it now is. `view` is of before the admission. */
uint64_t gate_allowance(const struct gate_view *view, uint64_t cost_ns, uint32_t lanes);

#endif
