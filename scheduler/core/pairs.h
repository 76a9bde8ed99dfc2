/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PAIRS_H
#define CORE_PAIRS_H

/*
 * Side by side, or in turns? Where processes overlap (MPS), two tenants that get in each other's
 * way may together do less than one after the other. Of each tenant on a device the core keeps how
 * fast it is: predicted time completed in a time of the clock, alone and beside each of a few
 * partners. The slowdown xi is the first over the second; as long as nothing was seen alone,
 * predictions are taken for it, and no verdict is given. After Luo et al. 2024 (SJF-BSBF): its pair test, and one for turns.
 *
 * What counts, look by look (pairs.c): a stretch in which a tenant ran all the time, and exactly
 * one other did (beside) or none (alone), from one completion that was seen to another. So what is
 * seen late, and work in flight, changes nothing. A stretch ends, and what it has so far counts,
 * - where the tenant, or the other, had nothing in flight and was held: the guard, a credit, its
 *   turn's end (a pause closes the gate: nothing is in flight);
 * - where a second partner, a latency tenant under `slo`, or a tenant that bypasses had work;
 * - where somebody began, stopped or was not read, or LOOK_MAX passed between two looks.
 *
 * Lifetime: a set belongs to its share. Bounded: PAIRS_PARTNERS others a tenant and device.
 * Units: speeds in millionths, slowdowns in permille.
 */

#include <stdbool.h>
#include <stdint.h>

#include "engine.h"

#define PAIRS_PARTNERS 8u
#define PAIRS_SAMPLE_NS 10000000ull /* a stretch, or several, make a sample of that length */
#define PAIRS_MOST_SAMPLES 64u	    /* a mean forgets as if it were of so many */
#define PAIRS_LEAST_ALONE 4u	    /* fewer are not believed */
#define PAIRS_LEAST_BESIDE 16u
#define PAIRS_XI_MAX 20000u

struct engine;
struct device;
struct gate;
struct share;
struct pair_set; /* pairs_impl.h */

/* Which tenants the present verdict is about, and what is done. */
enum pairs_phase { PAIRS_BESIDE, PAIRS_TRIAL, PAIRS_STAY };

struct pairs_device {
	enum pairs_phase phase;
	uint32_t a, b;	     /* tenants, a < b */
	uint64_t looked_ns;  /* last look */
	uint64_t counts_ns;  /* looks before that are no evidence */
	uint64_t entered_ns; /* the phase */
	uint64_t stay_ns;    /* the present one, or the last */
	uint64_t rest_ns;    /* between the last two trials, and ... */
	uint64_t trial_ns;   /* ... when there may be another */
	uint64_t renew_ns;   /* a verdict to share is tried again then */
	uint32_t look;	     /* number of the last look */
	bool retested;	     /* beside after a stay, for a moment */
};

/* ---- pure ------------------------------------------------------------------------------------ */

/* What two do together side by side, permille of what one alone does: 1/xi_a + 1/xi_b. In turns it
 * is 1000, less what turns cost. */
uint32_t pairs_progress_permille(uint32_t xi_a, uint32_t xi_b);
/*
 * The paper's test: is the mean time to completion shorter side by side than one after the other?
 * Remaining times 0: not known, and the more slowed one is taken to outlast the other.
 */
bool pairs_completes_sooner(uint32_t xi_a, uint64_t left_a_ns, uint32_t xi_b, uint64_t left_b_ns);
/* The same question of a latency tenant: is its target still met? */
bool pairs_meets_target(uint32_t xi, uint64_t alone_ns, uint64_t target_ns);
/* Side by side under `test`? `waited`: not so until now, which takes more to change. */
bool pairs_shares(enum pairs_test test, uint32_t xi_a, uint32_t xi_b, bool waited);

/* ---- for policies and the engine --------------------------------------------------------------- */

/* Learns from the readings since the last look. `member`: who is scheduled side by side. */
void pairs_look(struct engine *engine, struct device *device,
		bool (*member)(const struct gate *gate), uint64_t now_ns);
/* Are those who compete now to take turns? */
bool pairs_take_turns(struct engine *engine, struct device *device, uint64_t now_ns);
bool pairs_are_in_turns(const struct device *device);
/* After turns_decide: asks for looks while they are evidence, and lets nobody measure durations
 * while another's work drains. */
void pairs_watch(struct device *device, uint64_t now_ns);

/* Its processes are others than before: what is known of it is not believed any more. */
void pairs_changed(struct share *share);
void pairs_forget(struct share *share);				  /* all that it knows */
void pairs_forget_tenant(struct engine *engine, uint32_t tenant); /* as a partner of others */

#endif
