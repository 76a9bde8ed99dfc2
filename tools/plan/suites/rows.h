/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_ROWS_H
#define PLAN_SUITES_ROWS_H

/*
 * The rows of the suite: a policy with its settings, and on what it is run.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/policy.h"

#define SUITE_SEEDS 3
#define SUITE_REQUESTS 2000 /* that count, of a run */
#define SUITE_MOST_ROWS 128
#define SUITE_TARGETS 3 /* +3, +10, +20 % */

extern const char *const suite_target_name[SUITE_TARGETS];
extern const uint32_t suite_target_permille[SUITE_TARGETS];

enum suite_use {
	SUITE_MAIN,   /* a policy's row */
	SUITE_SWEEP,  /* one setting of a peer's sweep */
	SUITE_FIXED,  /* a fixed level, for the best fixed setting */
	SUITE_TARGET, /* the controller with a target */
};

struct suite_setting {
	const char *name;
	uint64_t value;
};

struct suite_row {
	const char *name; /* key of the report; a sweep's: of whose sweep it is */
	const char *policy;
	enum suite_use use;
	uint32_t modes;	   /* bits of enum suite_mode */
	bool no_priority;  /* MPS without client priorities */
	bool all_pairs;	   /* else the subset */
	bool what_if;	   /* of a sweep: other assumed costs, no setting that a peer has */
	bool not_credible; /* the model or the policy's premise fails; the note says why */
	uint32_t seeds, requests;
	uint64_t warmup_ns;
	uint32_t extra_permille; /* target: p99 of A over alone */
	struct suite_setting setting[4];
	const char *note;
	char best_name[32]; /* of a row made of a sweep */
};

uint32_t suite_rows(struct suite_row *ret_rows, bool quick);
/* Values for world_create, from presets and the row's settings. -ENOENT: no such policy or option,
 * after a complaint. */
int suite_row_values(const struct suite_row *row, const struct plan_policy **ret_policy,
		     uint64_t *ret_values);
/* Of a SUITE_FIXED row: thousandths of the ladder (scheduler/core/slo_ladder.h). */
void suite_level_set(struct suite_row *row, int32_t level);
bool suite_in_subset(uint32_t lc, uint32_t be);

#endif
