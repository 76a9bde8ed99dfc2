/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_REPORT_H
#define PLAN_SUITES_REPORT_H

/*
 * What is shown of the results: build/plan/report.json (report.c), a table for people (table.c), and
 * which of the design's goals are reached (goals.c). All figures come from the runs.
 */

#include <jansson.h>
#include <stdio.h>

#include "plan/suites/suite.h"

/* How the controller did with one target in one mode. */
struct suite_target_sum {
	uint32_t pairs, failed;
	double reached_a, reached_worst, be_mean;
	double be_of_best_fixed, be_of_best_fixed_worst;
	/* Pairs whose 95 % bound, or whose mean, is above the target by more than 0.005. */
	uint32_t pairs_over, pairs_mean_over;
	uint32_t unreachable; /* pairs that no fixed setting satisfies */
};
void suite_sum_target(const struct suite *suite, uint32_t target, enum suite_mode mode,
		      struct suite_target_sum *ret_sum);

/* Of a row of that name and use; UINT32_MAX: none. */
uint32_t suite_find_row(const struct suite *suite, const char *name, enum suite_use use);

int suite_report_write(const struct suite *suite, const char *path);
void suite_table_print(const struct suite *suite, FILE *out);

/* Fills "summary" and "summary_notes" of what was run. */
int suite_goals(const struct suite *suite, json_t *summary, json_t *notes);

#endif
