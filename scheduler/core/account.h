/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ACCOUNT_H
#define CORE_ACCOUNT_H

/*
 * GPU time used and time held, from the shims' own counters. Those are predictions, and hostile
 * at worst: a process is never charged more than the wall time in which it could run, and what it
 * claims to have completed is charged only as that time passes. Nanoseconds throughout.
 */

#include <stdbool.h>
#include <stdint.h>

#define ACCOUNT_RING 16 /* readings kept: more than a second of slow ticks */

/* Of one gate. */
struct gate_account {
	uint64_t owed_ns;  /* completed, not charged yet: the wall time for it is missing */
	uint64_t allow_ns; /* wall time that it could run, not charged yet */
};

/* Of one tenant on one device. */
struct account {
	uint64_t used_ns;
	uint64_t ring_at_ns[ACCOUNT_RING], ring_used_ns[ACCOUNT_RING];
	uint32_t ring_next;
};

/*
 * Pressure as in PSI (`some`): share of time in which at least one launch or allocation was held.
 * Of several processes held in one stretch the longest counts: a lower bound of their union.
 */
struct pressure {
	uint64_t total_ns;
	uint64_t window_start_ns, window_held_ns; /* averages move every 2 s */
	uint64_t stretch_start_ns, stretch_held_ns;
	uint64_t avg_q11[3]; /* 10, 60, 300 s: permille, 11 fraction bits */
};

/*
 * `wall_ns` have passed, in which the gate could run or not; `completed_ns` more was seen
 * complete. Returns what to charge.
 */
uint64_t gate_account_charge(struct gate_account *account, uint64_t wall_ns, bool could_run,
			     uint64_t completed_ns);

/* Notes the total for the share over the last second; at every slow tick. */
void account_tick(struct account *account, uint64_t now_ns);
uint32_t account_used_permille(const struct account *account, uint64_t now_ns);

/* Brings one process's held time of the stretch that ends now. */
void pressure_held(struct pressure *pressure, uint64_t held_ns);
/* Ends the stretch. */
void pressure_tick(struct pressure *pressure, uint64_t now_ns);

#endif
