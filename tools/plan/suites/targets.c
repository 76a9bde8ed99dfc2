/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's rows beside the best fixed settings. */

#include "plan/suites/report.h"
#include "plan/suites/sums.h"

#define OVER_BY 0.005

const char *const suite_target_name[SUITE_TARGETS] = {"p3", "p10", "p20"};
const uint32_t suite_target_permille[SUITE_TARGETS] = {30, 100, 200};

static const struct suite_result *searched(const struct suite *suite, const struct suite_job *like)
{
	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];

		if (job->kind == SUITE_SEARCH && job->mode == like->mode && job->lc == like->lc &&
		    job->be == like->be && !suite->result[i].error)
			return &suite->result[i];
	}
	return NULL;
}

/* Against the best fixed setting, where one was searched for and found. */
static void compare(struct suite_target_sum *sum, const struct suite_result *best, uint32_t target,
		    double be, uint32_t *compared)
{
	double ratio;

	if (!best)
		return;
	if (best->best_be[target] <= 0) {
		sum->unreachable++;
		return;
	}
	ratio = be / best->best_be[target];
	sum->be_of_best_fixed += ratio;
	if (!*compared || ratio < sum->be_of_best_fixed_worst)
		sum->be_of_best_fixed_worst = ratio;
	(*compared)++;
}

void suite_sum_target(const struct suite *suite, uint32_t target, enum suite_mode mode,
		      struct suite_target_sum *ret_sum)
{
	uint32_t row = suite_find_row(suite, suite_target_name[target], SUITE_TARGET), compared = 0;
	double most = suite_target_permille[target] / 1000.0 + OVER_BY;

	*ret_sum = (struct suite_target_sum){0};
	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		const struct suite_result *result = &suite->result[i];
		double a = suite_mean(result, result->a), be = suite_mean(result, result->be);

		if (job->kind != SUITE_PAIR || job->row != row || job->mode != mode)
			continue;
		if (result->error) {
			ret_sum->failed++;
			continue;
		}
		if (!ret_sum->pairs || a > ret_sum->reached_worst)
			ret_sum->reached_worst = a;
		ret_sum->reached_a += a;
		ret_sum->be_mean += be;
		ret_sum->pairs_over += result->a_high > most;
		ret_sum->pairs_mean_over += a > most;
		ret_sum->pairs++;
		compare(ret_sum, searched(suite, job), target, be, &compared);
	}
	if (ret_sum->pairs) {
		ret_sum->reached_a /= ret_sum->pairs;
		ret_sum->be_mean /= ret_sum->pairs;
	}
	if (compared)
		ret_sum->be_of_best_fixed /= compared;
}
