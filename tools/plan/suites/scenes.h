/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_SCENES_H
#define PLAN_SUITES_SCENES_H

/* What the scenes are made of, for those who run them and those who read their results. */

#include <stdint.h>

#include "plan/arrivals.h"

struct suite;

#define DECODE_REQUESTS 60u
#define SCENE_REQUESTS 1500u /* of the others */

/* Load 0.3, then 0.8, then 0.3, each so long; the loop is suite_be_name[SETTLE_BE]. Quick runs
 * are one short one: of no worth, but a figure. */
#define SETTLE_LOW 300u
#define SETTLE_HIGH 800u
#define SETTLE_PHASE_S 60u
#define SETTLE_QUICK_S 6u
#define SETTLE_BINS_A_SECOND 2u
#define SETTLE_TARGETS 2u /* the first so many: on time slices +10 % leaves the level at its top */
#define SETTLE_BE 0u
#define SETTLE_LC 1u   /* of suite_lc_name: fast enough to learn from in seconds */
#define SETTLE_RUNS 8u /* seeds: one run's share is too noisy to see 15 % in it */

uint32_t suite_settle_phase_s(const struct suite *suite);

#define SHARE_CASES 2u
struct suite_share_case {
	const char *name;
	uint32_t loops;
	uint32_t be[4], weight[4];
};
extern const struct suite_share_case suite_share_case[SHARE_CASES];

/* Arrivals that are no Poisson's; the loop is suite_be_name[GAPS_BE]. */
#define GAP_CASES 3u
#define GAPS_BE 1u
struct suite_gap_case {
	const char *name;
	enum arrivals_kind kind;
	uint32_t jitter_permille, sigma_permille;
};
extern const struct suite_gap_case suite_gap_case[GAP_CASES];

#endif
