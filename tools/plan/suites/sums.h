/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_SUMS_H
#define PLAN_SUITES_SUMS_H

/*
 * Results put together: what a row comes to in a mode, over pairs. A pair's figure is the mean of its
 * seeds; `worst` is the worst pair. Failed jobs are counted, and in no figure.
 */

#include "plan/suites/suite.h"

struct suite_sum {
	uint32_t pairs, failed, unstable;
	double a_mean, a_worst, a_p50_mean, a_half; /* half: of the 95 % interval over seeds */
	double s_mean, s_worst, s_half, s_added_worst_ns;
	double be_mean, be_least, be_half;
	double be_of_idle;
	double load; /* realised */
};

/* subset: only the pairs that every row runs. */
void suite_sum_row(const struct suite *suite, uint32_t row, enum suite_mode mode, bool subset,
		   struct suite_sum *ret_sum);

/* Mean over a result's seeds of the array given. */
double suite_mean(const struct suite_result *result, const double *value);

/* The setting of the sweep of `name` that gives most best-effort work with A within 10 %; if there
 * is none, the one with the least A. UINT32_MAX: no sweep was run. */
uint32_t suite_best_of(const struct suite *suite, const char *name, enum suite_mode mode);
/* Makes a main row NAME_best, in this mode, of a sweep's row. False: no room. */
bool suite_add_best_row(struct suite *suite, uint32_t sweep, enum suite_mode mode);

/* The scenes of a mode. The decode loop's figures are means over the loops beside it, as those of
 * rows are over pairs; shares are the worst over cases: their worst second, the p95 of 100 ms. */
struct suite_scenes {
	uint32_t jobs, failed;
	double step_p99, step_p99_worst, be;
	double err_1s, err_100ms_p95, shares_a, shares_be;
};
void suite_sum_scenes(const struct suite *suite, enum suite_mode mode,
		      struct suite_scenes *ret_scenes);

/* Seconds after each of the two steps until the best-effort share, of all runs together over 2 s and
 * in shares of what a fixed level gives on the same arrivals, stays within 15 % of its final one;
 * negative: no run, or one failed. */
void suite_sum_settle(const struct suite *suite, uint32_t target, enum suite_mode mode,
		      double ret_s[2]);

#endif
