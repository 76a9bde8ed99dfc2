/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/sums.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/metrics.h"
#include "plan/suites/report.h"
#include "plan/suites/scenes.h"

double suite_mean(const struct suite_result *result, const double *value)
{
	double sum = 0;

	for (uint32_t i = 0; i < result->seeds; i++)
		sum += value[i];
	return result->seeds ? sum / result->seeds : 0;
}

/* A setting counts as a peer's best only if it keeps A within this. */
#define BEST_A 0.10

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* Means over pairs by seed, for the interval over seeds. */
struct by_seed {
	double a[SUITE_SEEDS], s[SUITE_SEEDS], be[SUITE_SEEDS];
};

static void add_pair(struct suite_sum *sum, struct by_seed *by_seed,
		     const struct suite_result *result)
{
	double a = suite_mean(result, result->a), s = suite_mean(result, result->s);
	double be = suite_mean(result, result->be), load = suite_mean(result, result->load);

	sum->a_worst = sum->pairs ? larger(sum->a_worst, a) : a;
	sum->s_worst = sum->pairs ? larger(sum->s_worst, s) : s;
	sum->be_least = sum->pairs && sum->be_least < be ? sum->be_least : be;
	sum->s_added_worst_ns =
		larger(sum->s_added_worst_ns, suite_mean(result, result->s_added_ns));
	sum->a_mean += a;
	sum->a_p50_mean += suite_mean(result, result->a_p50);
	sum->s_mean += s;
	sum->be_mean += be;
	sum->be_of_idle += be / (1 - load);
	sum->load += load;
	sum->unstable += result->unstable;
	sum->pairs++;
	for (uint32_t i = 0; i < result->seeds; i++) {
		by_seed->a[i] += result->a[i];
		by_seed->s[i] += result->s[i];
		by_seed->be[i] += result->be[i];
	}
}

static double half_of(const double *sums, uint32_t pairs, uint32_t seeds)
{
	double mean[SUITE_SEEDS];
	struct metrics_interval interval;

	for (uint32_t i = 0; i < seeds; i++)
		mean[i] = sums[i] / pairs;
	metrics_over_seeds(mean, seeds, &interval);
	return interval.half;
}

static void divide(struct suite_sum *sum, const struct by_seed *by_seed, uint32_t seeds)
{
	double n = sum->pairs;

	sum->a_mean /= n;
	sum->a_p50_mean /= n;
	sum->s_mean /= n;
	sum->be_mean /= n;
	sum->be_of_idle /= n;
	sum->load /= n;
	sum->a_half = half_of(by_seed->a, sum->pairs, seeds);
	sum->s_half = half_of(by_seed->s, sum->pairs, seeds);
	sum->be_half = half_of(by_seed->be, sum->pairs, seeds);
}

void suite_sum_row(const struct suite *suite, uint32_t row, enum suite_mode mode, bool subset,
		   struct suite_sum *ret_sum)
{
	struct by_seed by_seed = {0};

	*ret_sum = (struct suite_sum){0};
	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];

		if (job->kind != SUITE_PAIR || job->row != row || job->mode != mode ||
		    (subset && !suite_in_subset(job->lc, job->be)))
			continue;
		if (suite->result[i].error)
			ret_sum->failed++;
		else
			add_pair(ret_sum, &by_seed, &suite->result[i]);
	}
	if (ret_sum->pairs)
		divide(ret_sum, &by_seed, suite->row[row].seeds);
}

uint32_t suite_best_of(const struct suite *suite, const char *name, enum suite_mode mode)
{
	uint32_t best = UINT32_MAX;
	struct suite_sum best_sum = {0};

	for (uint32_t row = 0; row < suite->rows; row++) {
		struct suite_sum sum;
		bool fits, better;

		if (suite->row[row].use != SUITE_SWEEP || suite->row[row].what_if ||
		    strcmp(suite->row[row].name, name) || !(suite->row[row].modes & (1u << mode)))
			continue;
		suite_sum_row(suite, row, mode, true, &sum);
		if (!sum.pairs)
			continue;
		fits = best_sum.a_mean <= BEST_A;
		better = sum.a_mean <= BEST_A ? !fits || sum.be_mean > best_sum.be_mean
					      : !fits && sum.a_mean < best_sum.a_mean;
		if (best == UINT32_MAX || better) {
			best = row;
			best_sum = sum;
		}
	}
	return best;
}

bool suite_add_best_row(struct suite *suite, uint32_t sweep, enum suite_mode mode)
{
	struct suite_row *row = &suite->row[suite->rows];
	struct suite_sum sum;

	if (suite->rows == SUITE_MOST_ROWS)
		return false;
	*row = suite->row[sweep];
	(void)snprintf(row->best_name, sizeof(row->best_name), "%s_best", row->name);
	row->name = row->best_name;
	row->use = SUITE_MAIN;
	row->modes = 1u << mode;
	row->seeds = SUITE_SEEDS;
	suite_sum_row(suite, sweep, mode, true, &sum);
	row->note =
		sum.a_mean <= BEST_A
			? "the best setting of the sweep: most best-effort work with A within "
			  "10 % there"
			: "no setting of the sweep keeps A within 10 %: the one with the least A";
	suite->rows++;
	return true;
}

void suite_sum_scenes(const struct suite *suite, enum suite_mode mode,
		      struct suite_scenes *ret_scenes)
{
	uint32_t decodes = 0, shares = 0;

	*ret_scenes = (struct suite_scenes){0};
	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		const struct suite_result *result = &suite->result[i];

		if (job->mode != mode || (job->kind != SUITE_DECODE && job->kind != SUITE_SHARES))
			continue;
		ret_scenes->jobs++;
		if (result->error) {
			ret_scenes->failed++;
		} else if (job->kind == SUITE_DECODE) {
			double s = suite_mean(result, result->s);

			ret_scenes->step_p99_worst =
				decodes ? larger(ret_scenes->step_p99_worst, s) : s;
			ret_scenes->step_p99 += s;
			ret_scenes->be += suite_mean(result, result->be);
			decodes++;
		} else {
			ret_scenes->err_1s = larger(ret_scenes->err_1s, result->err_1s);
			ret_scenes->err_100ms_p95 =
				larger(ret_scenes->err_100ms_p95, result->err_100ms_p95);
			ret_scenes->shares_a =
				larger(ret_scenes->shares_a, suite_mean(result, result->a));
			ret_scenes->shares_be += suite_mean(result, result->be);
			shares++;
		}
	}
	ret_scenes->step_p99 /= decodes ? decodes : 1;
	ret_scenes->be /= decodes ? decodes : 1;
	ret_scenes->shares_be /= shares ? shares : 1;
}

/* ---- settling ---- */

#define SMOOTH_S 2u
#define WITHIN 0.15

/* Sums over all runs. */
struct course {
	uint32_t bins;
	double with_target[SUITE_BINS], fixed[SUITE_BINS];
};

static void add_runs(const struct suite *suite, uint32_t row, enum suite_mode mode,
		     struct course *ret_course)
{
	uint32_t runs = 0;

	*ret_course = (struct course){.bins = SUITE_BINS};
	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_result *result = &suite->result[i];

		if (suite->job[i].kind != SUITE_SETTLE || suite->job[i].row != row ||
		    suite->job[i].mode != mode)
			continue;
		if (result->error) {
			ret_course->bins = 0;
			return;
		}
		if (result->bins < ret_course->bins)
			ret_course->bins = result->bins;
		for (uint32_t b = 0; b < result->bins; b++) {
			ret_course->with_target[b] += result->bin[b];
			ret_course->fixed[b] += result->fixed_bin[b];
		}
		runs++;
	}
	if (!runs)
		ret_course->bins = 0;
}

/* Of what a fixed level gives on the same arrivals: so the arrivals' own noise drops out. */
static double share_of(const struct course *course, uint32_t from, uint32_t to)
{
	double sum = 0, fixed = 0;

	for (uint32_t b = from; b < to; b++) {
		sum += course->with_target[b];
		fixed += course->fixed[b];
	}
	return fixed > 0 ? sum / fixed : 0;
}

/* After the step at bin `from`: the end of the last stretch that is off, as seconds. */
static double settled_after(const struct course *course, uint32_t from, uint32_t to)
{
	uint32_t width = SMOOTH_S * SETTLE_BINS_A_SECOND, last = from;
	double final = share_of(course, from + (to - from) / 2, to);

	for (uint32_t b = from; b + width <= to; b++) {
		if (fabs(share_of(course, b, b + width) - final) > WITHIN * final)
			last = b + 1;
	}
	return (double)(last - from) / SETTLE_BINS_A_SECOND;
}

void suite_sum_settle(const struct suite *suite, uint32_t target, enum suite_mode mode,
		      double ret_s[2])
{
	uint32_t phase = suite_settle_phase_s(suite) * SETTLE_BINS_A_SECOND;
	struct course course;

	add_runs(suite, suite_find_row(suite, suite_target_name[target], SUITE_TARGET), mode,
		 &course);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t from = (i + 1) * phase;
		uint32_t to = from + phase < course.bins ? from + phase : course.bins;

		ret_s[i] = to > from + phase / 2 ? settled_after(&course, from, to) : -1;
	}
}
