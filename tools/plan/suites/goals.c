/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the design's goals the simulated figures reach, at their pass figures. A goal whose runs
 * were left out is left out here.
 */

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "plan/suites/report.h"
#include "plan/suites/scenes.h"
#include "plan/suites/sums.h"

struct goals {
	const struct suite *suite;
	json_t *summary, *notes;
};

__attribute__((format(printf, 4, 5))) static void note(struct goals *goals, const char *name,
						       bool reached, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	json_object_set_new(goals->summary, name, json_boolean(reached));
	if (reached)
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	json_object_set_new(goals->notes, name, json_string(text));
}

/* ---- A and S over alone ---- */

static const struct {
	const char *a_name, *s_name;
	double a_mean, a_worst, be_of_idle, s_mean;
} tail_goal[SUITE_MODES] = {
	[SUITE_TIME] = {"A_time", "S_time", 0.02, 0.07, 0.94, 0.20},
	[SUITE_MPS] = {"A_mps", "S_mps", 0.01, 0.04, 0.96, 0.11},
};

#define LEVELS_ROOM 700

/* The search for S: every level that was tried, and on how many pairs and seeds. */
static void levels_tried(const struct suite *suite, enum suite_mode mode, char *ret_text)
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (uint32_t i = 0; i < suite->rows && used < LEVELS_ROOM; i++) {
		const struct suite_row *row = &suite->row[i];
		struct suite_sum sum;

		if (row->use != SUITE_SWEEP || strcmp(row->name, "sluice"))
			continue;
		suite_sum_row(suite, i, mode, false, &sum);
		if (!sum.pairs)
			continue;
		used += (size_t)snprintf(
			ret_text + used, LEVELS_ROOM - used,
			"%s %.1f: %.4f at %.3f (%u pairs, %u seed%s)", used ? ";" : "",
			(double)(int64_t)row->setting[0].value / 1000, sum.s_mean, sum.be_of_idle,
			sum.pairs, row->seeds, row->seeds == 1 ? "" : "s");
	}
}

static void tails(struct goals *goals, enum suite_mode mode)
{
	uint32_t row = suite_find_row(goals->suite, "sluice", SUITE_MAIN);
	struct suite_sum all, subset;
	char levels[LEVELS_ROOM];
	bool a = true, s = true;

	if (row == UINT32_MAX)
		return;
	suite_sum_row(goals->suite, row, mode, false, &all);
	suite_sum_row(goals->suite, row, mode, true, &subset);
	if (!all.pairs)
		return;
	for (int i = 0; i < 2; i++) {
		const struct suite_sum *sum = i ? &subset : &all;

		a = a && !sum->failed && sum->a_mean <= tail_goal[mode].a_mean &&
		    sum->a_worst <= tail_goal[mode].a_worst &&
		    sum->be_of_idle >= tail_goal[mode].be_of_idle;
		s = s && !sum->failed && sum->s_mean <= tail_goal[mode].s_mean;
	}
	note(goals, tail_goal[mode].a_name, a,
	     "A over alone, mean / worst: %.4f / %.4f on %u pairs, %.4f / %.4f on %u; best-effort "
	     "of "
	     "idle %.4f / %.4f. Wanted: %.2f / %.2f at %.2f.",
	     all.a_mean, all.a_worst, all.pairs, subset.a_mean, subset.a_worst, subset.pairs,
	     all.be_of_idle, subset.be_of_idle, tail_goal[mode].a_mean, tail_goal[mode].a_worst,
	     tail_goal[mode].be_of_idle);
	levels_tried(goals->suite, mode, levels);
	note(goals, tail_goal[mode].s_name, s,
	     "S over alone, mean: %.4f on %u pairs, %.4f on %u, %u seeds. Wanted: %.2f. The floor "
	     "is one launch unit of the loop: at worst %.2f ms are added. Fixed levels, S at "
	     "best-effort of idle (%s wants %.2f):%s.",
	     all.s_mean, all.pairs, subset.s_mean, subset.pairs, goals->suite->row[row].seeds,
	     tail_goal[mode].s_mean, all.s_added_worst_ns / 1e6, tail_goal[mode].a_name,
	     tail_goal[mode].be_of_idle, *levels ? levels : " none tried");
}

/* ---- decode loop, shares ---- */

static void scenes(struct goals *goals)
{
	static const struct {
		const char *decode, *shares;
		double step_p99, err_1s, err_100ms;
	} goal[SUITE_MODES] = {
		[SUITE_TIME] = {"decode_time", "shares_time", 0.03, 0.015, 0.07},
		[SUITE_MPS] = {"decode_mps", "shares_mps", 0.01, 0.015, 0.05},
	};

	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		struct suite_scenes sums;

		suite_sum_scenes(goals->suite, mode, &sums);
		if (!sums.jobs)
			continue;
		note(goals, goal[mode].decode, !sums.failed && sums.step_p99 <= goal[mode].step_p99,
		     "p99 of a step over alone: %.4f, on the worst loop %.4f, at best-effort %.3f. "
		     "Wanted: %.2f.",
		     sums.step_p99, sums.step_p99_worst, sums.be, goal[mode].step_p99);
		note(goals, goal[mode].shares,
		     !sums.failed && sums.err_1s <= goal[mode].err_1s &&
			     sums.err_100ms_p95 <= goal[mode].err_100ms,
		     "share error, worst of the cases: %.4f in the worst second, p95 %.4f in 100 "
		     "ms. "
		     "Wanted: %.3f, %.2f.",
		     sums.err_1s, sums.err_100ms_p95, goal[mode].err_1s, goal[mode].err_100ms);
	}
}

/* ---- targets ---- */

#define BEST_FIXED 0.92

static void targets(struct goals *goals)
{
	char text[900] = "";
	uint32_t seen = 0;
	bool met = true;

	for (uint32_t i = 0; i < SUITE_TARGETS * SUITE_MODES; i++) {
		uint32_t target = i / SUITE_MODES, mode = i % SUITE_MODES;
		size_t used = strlen(text);
		struct suite_target_sum sum;

		suite_sum_target(goals->suite, target, mode, &sum);
		if (!sum.pairs)
			continue;
		seen++;
		met = met && !sum.failed && !sum.pairs_over && sum.be_of_best_fixed >= BEST_FIXED;
		(void)snprintf(text + used, sizeof(text) - used,
			       "%s %s: reached %.3f, %.3f of the best fixed, %u of %u pairs above "
			       "(%u by their mean). ",
			       suite_target_name[target], suite_mode_name[mode], sum.reached_a,
			       sum.be_of_best_fixed, sum.pairs_over, sum.pairs,
			       sum.pairs_mean_over);
	}
	if (seen)
		note(goals, "targets_met", met, "%sWanted: %.2f, none above by more than 0.005.",
		     text, BEST_FIXED);
}

static bool has_job(const struct suite *suite, enum suite_kind kind)
{
	for (uint32_t i = 0; i < suite->jobs; i++) {
		if (suite->job[i].kind == kind)
			return true;
	}
	return false;
}

static void settled(struct goals *goals)
{
	const struct suite *suite = goals->suite;
	double request_s = (double)suite->catalog.lc_service_ns[SETTLE_LC] / 1e9;
	double allowed_up = fmax(5, 500 * request_s * 1000 / SETTLE_HIGH);
	double allowed_down = fmax(5, 500 * request_s * 1000 / SETTLE_LOW);
	char text[300] = "";
	bool in_time = true;

	if (!has_job(suite, SUITE_SETTLE))
		return;
	for (uint32_t i = 0; i < SETTLE_TARGETS * SUITE_MODES; i++) {
		uint32_t target = i / SUITE_MODES, mode = i % SUITE_MODES;
		size_t used = strlen(text);
		double got[2];

		suite_sum_settle(suite, target, mode, got);
		in_time = in_time && got[0] >= 0 && got[0] <= allowed_up && got[1] >= 0 &&
			  got[1] <= allowed_down;
		(void)snprintf(text + used, sizeof(text) - used, "%s %s: %.1f / %.1f s. ",
			       suite_target_name[target], suite_mode_name[mode], got[0], got[1]);
	}
	note(goals, "settled", in_time,
	     "after 0.3 -> 0.8 / 0.8 -> 0.3: %sNegative: a run failed. Wanted: %.1f / %.1f s.",
	     text, allowed_up, allowed_down);
}

int suite_goals(const struct suite *suite, json_t *summary, json_t *notes)
{
	struct goals goals = {suite, summary, notes};

	tails(&goals, SUITE_TIME);
	tails(&goals, SUITE_MPS);
	scenes(&goals);
	targets(&goals);
	settled(&goals);
	return 0;
}
