/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PAIRS_IMPL_H
#define CORE_PAIRS_IMPL_H

/* What the files of pairs share among themselves. */

#include <stddef.h>

#include "pairs.h"
#include "state.h"

/* Predicted time completed in a time of the clock. */
struct pair_speed {
	uint64_t wall_ns, done_ns; /* of the sample in the making */
	uint32_t millionths;	   /* mean; 0: nothing yet */
	uint32_t samples;	   /* in it, since it was begun afresh */
	uint32_t total;		   /* ever, for status */
};

struct pair_partner {
	uint32_t tenant;
	uint64_t seen_ns;
	struct pair_speed beside;
};

/* Of a tenant's gates together. */
struct pair_sums {
	uint64_t launched_ns, completed_ns, completed_at_ns, held_ns;
	bool in_flight, wants;
};

#define PAIR_ALONE UINT32_MAX
#define PAIR_NOBODY (UINT32_MAX - 1) /* nothing counts */

struct pair_set {
	struct pair_speed alone;
	struct pair_partner partner[PAIRS_PARTNERS];
	uint32_t partners;
	uint32_t look; /* the last one that it was in */
	bool changed;  /* since then: nothing to compare with */
	struct pair_sums last, now;
	/* The present stretch: beside whom, and its first and last completion; 0: none yet. */
	uint32_t with;
	uint64_t from_ns, from_done_ns, to_ns, to_done_ns;
};

static inline struct pair_set *pair_set_of(const struct engine *engine, uint32_t device,
					   uint32_t tenant)
{
	return engine->tenant[tenant] ? engine->tenant[tenant]->on[device].pairs : NULL;
}

struct pair_partner *pair_find(struct pair_set *set, uint32_t tenant); /* NULL: not known */
/* Evidence begins anew; what was believed is shown until there is enough. */
void pair_restart_alone(struct pair_set *set);
void pair_restart_beside(struct pair_set *set, uint32_t tenant);
/* Slowdown of `tenant` beside `partner`, 0: nothing is known. *ret_sure: both speeds were seen
 * often enough; else, it may be, against predictions. */
uint32_t pair_xi(const struct engine *engine, uint32_t device, uint32_t tenant, uint32_t partner,
		 bool *ret_sure);
/* By the engine's test, or the one for turns where it has none. */
enum pair_verdict pair_judge(const struct engine *engine, const struct device *device, uint32_t a,
			     uint32_t b, bool waited);

#endif
