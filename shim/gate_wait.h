/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_GATE_WAIT_H
#define SHIM_GATE_WAIT_H

/*
 * How a held thread waits: on the futex word of what holds it, with a deadline (at most 1 ms near
 * a predicted opening, 10 ms otherwise), since a wake is only a hint. Where the opening is
 * predicted, it sleeps to shortly before and spins, one thread a gate, for at most twice as long.
 */

#include <stdint.h>

#include "gate.h"
#include "gate_decide.h"

struct gate_hold {
	enum gate_reason reason;
	uint64_t now_ns;   /* of the last look */
	uint64_t since_ns; /* 0: not held */
	uint64_t until_ns; /* the predicted opening; 0: unknown */
	bool counted;	   /* as held: not for the own window, which deprives nobody */
	bool waited_gate;
	bool is_large_copy; /* what is held */
	bool is_governed;   /* the reason is the grant's, not the fail mode's */
	const struct lane *lane;
	const struct sluice_activity_device *waited; /* the activity; NULL: none */
};

/* One wait; returns when something may have changed. Without gate->lock. */
void gate_wait(struct gate *gate, const struct gate_view *view, struct gate_hold *hold,
	       uint64_t now_ns);

/* The launch was admitted: the word on which the next of those who wait for the same may sleep,
 * other processes' threads included; NULL: none. With gate->lock. */
_Atomic uint32_t *gate_wait_next(struct gate *gate, const struct gate_hold *hold);

#endif
