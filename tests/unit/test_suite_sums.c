/* SPDX-License-Identifier: Apache-2.0 */
/* Results of made-up runs, put together: what the report says of them. */

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/suites/report.h"
#include "plan/suites/scenes.h"
#include "plan/suites/sums.h"

static struct suite suite;
static struct suite_job jobs[256];
static struct suite_result results[256];

static void setup(void)
{
	memset(&suite, 0, sizeof(suite));
	memset(results, 0, sizeof(results));
	suite.job = jobs;
	suite.result = results;
	suite.rows = suite_rows(suite.row, false);
}

static struct suite_result *add(enum suite_kind kind, const char *row, enum suite_use use,
				enum suite_mode mode, uint32_t lc, uint32_t be)
{
	uint32_t index = suite_find_row(&suite, row, use);

	ck_assert_uint_ne(index, UINT32_MAX);
	jobs[suite.jobs] =
		(struct suite_job){.kind = kind, .row = index, .mode = mode, .lc = lc, .be = be};
	return &results[suite.jobs++];
}

/* A result whose seeds all say the same. */
static void say(struct suite_result *result, double a, double s, double be)
{
	result->seeds = SUITE_SEEDS;
	for (int i = 0; i < SUITE_SEEDS; i++) {
		result->a[i] = a;
		result->s[i] = s;
		result->be[i] = be;
		result->load[i] = 0.5;
	}
	result->a_low = a - 0.01;
	result->a_high = a + 0.01;
}

START_TEST(every_row_names_a_policy_and_its_options)
{
	for (uint32_t i = 0; i < suite.rows; i++) {
		const struct plan_policy *policy;
		uint64_t values[PLAN_MAX_OPTIONS];

		ck_assert_int_eq(suite_row_values(&suite.row[i], &policy, values), 0);
		for (uint32_t k = 0; k < 4 && suite.row[i].setting[k].name; k++)
			ck_assert_uint_eq(
				values[plan_policy_option(policy, suite.row[i].setting[k].name)],
				suite.row[i].setting[k].value);
	}
	suite.row[0].setting[0].name = "no such thing";
	{
		const struct plan_policy *policy;
		uint64_t values[PLAN_MAX_OPTIONS];

		ck_assert_int_eq(suite_row_values(&suite.row[0], &policy, values), -2);
	}
}
END_TEST

START_TEST(the_subset_has_twelve_pairs_and_all_workloads)
{
	uint32_t pairs = 0, of_be[SUITE_BE] = {0};

	for (uint32_t lc = 0; lc < SUITE_LC; lc++) {
		uint32_t of_lc = 0;

		for (uint32_t be = 0; be < SUITE_BE; be++) {
			of_lc += suite_in_subset(lc, be);
			of_be[be] += suite_in_subset(lc, be);
		}
		ck_assert_uint_eq(of_lc, 2);
		pairs += of_lc;
	}
	ck_assert_uint_eq(pairs, 12);
	for (uint32_t be = 0; be < SUITE_BE; be++)
		ck_assert_uint_ge(of_be[be], 2);
}
END_TEST

START_TEST(a_row_is_the_mean_of_its_pairs)
{
	struct suite_sum sum;

	say(add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_MPS, 0, 0), 0.01, 0.1, 0.48);
	say(add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_MPS, 0, 1), 0.05, 0.2, 0.50);
	say(add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_TIME, 0, 0), 9, 9, 9);
	add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_MPS, 0, 2)->error = -5;
	suite_sum_row(&suite, jobs[0].row, SUITE_MPS, false, &sum);
	ck_assert_uint_eq(sum.pairs, 2);
	ck_assert_uint_eq(sum.failed, 1);
	ck_assert_double_eq_tol(sum.a_mean, 0.03, 1e-9);
	ck_assert_double_eq_tol(sum.a_worst, 0.05, 1e-9);
	ck_assert_double_eq_tol(sum.s_mean, 0.15, 1e-9);
	ck_assert_double_eq_tol(sum.be_mean, 0.49, 1e-9);
	ck_assert_double_eq_tol(sum.be_least, 0.48, 1e-9);
	ck_assert_double_eq_tol(sum.be_of_idle, 0.98, 1e-9);
	suite_sum_row(&suite, jobs[0].row, SUITE_MPS, true, &sum);
	ck_assert_uint_eq(sum.pairs, 1);
}
END_TEST

static void sweep(uint32_t nth, double a, double be)
{
	uint32_t row = 0;

	for (; row < suite.rows; row++) {
		if (suite.row[row].use == SUITE_SWEEP && !strcmp(suite.row[row].name, "orion") &&
		    !nth--)
			break;
	}
	jobs[suite.jobs] = (struct suite_job){.kind = SUITE_PAIR, .row = row, .mode = SUITE_MPS};
	say(&results[suite.jobs++], a, 0, be);
}

START_TEST(the_best_setting_gives_most_within_the_bound)
{
	uint32_t best;

	sweep(0, 0.30, 0.60);
	sweep(1, 0.20, 0.59);
	best = suite_best_of(&suite, "orion", SUITE_MPS);
	ck_assert_uint_eq(best, jobs[1].row); /* none fits: the least A */
	sweep(2, 0.05, 0.50);
	sweep(3, 0.09, 0.55);
	sweep(4, 0.02, 0.45);
	best = suite_best_of(&suite, "orion", SUITE_MPS);
	ck_assert_uint_eq(best, jobs[3].row);
	ck_assert_uint_eq(suite_best_of(&suite, "orion", SUITE_TIME), UINT32_MAX);
	ck_assert(suite_add_best_row(&suite, best, SUITE_MPS));
	ck_assert_str_eq(suite.row[suite.rows - 1].name, "orion_best");
	ck_assert_ptr_nonnull(strstr(suite.row[suite.rows - 1].note, "most best-effort work"));
	ck_assert(suite_add_best_row(&suite, jobs[0].row, SUITE_MPS)); /* as if none were better */
	ck_assert_ptr_nonnull(strstr(suite.row[suite.rows - 1].note, "no setting"));
	ck_assert_uint_eq(suite.row[suite.rows - 1].seeds, SUITE_SEEDS);
}
END_TEST

START_TEST(targets_are_held_against_the_best_fixed_setting)
{
	struct suite_target_sum sum;
	struct suite_result *best;

	say(add(SUITE_PAIR, "p10", SUITE_TARGET, SUITE_MPS, 0, 0), 0.08, 0, 0.50);
	say(add(SUITE_PAIR, "p10", SUITE_TARGET, SUITE_MPS, 0, 2), 0.098, 0, 0.54);
	say(add(SUITE_PAIR, "p10", SUITE_TARGET, SUITE_MPS, 1, 1), 0.11, 0, 0.30);
	best = add(SUITE_SEARCH, "level", SUITE_FIXED, SUITE_MPS, 0, 0);
	best->best_be[1] = 0.50;
	best = add(SUITE_SEARCH, "level", SUITE_FIXED, SUITE_MPS, 0, 2);
	best->best_be[1] = 0.60;
	add(SUITE_SEARCH, "level", SUITE_FIXED, SUITE_MPS, 1, 1); /* found nothing */
	suite_sum_target(&suite, 1, SUITE_MPS, &sum);
	ck_assert_uint_eq(sum.pairs, 3);
	ck_assert_uint_eq(sum.pairs_over, 2); /* by their bounds: 0.108 and 0.12 */
	ck_assert_uint_eq(sum.pairs_mean_over, 1);
	ck_assert_uint_eq(sum.unreachable, 1);
	ck_assert_double_eq_tol(sum.be_of_best_fixed, 0.95, 1e-9);
	ck_assert_double_eq_tol(sum.be_of_best_fixed_worst, 0.90, 1e-9);
	ck_assert_double_eq_tol(sum.reached_worst, 0.11, 1e-9);
}
END_TEST

/* Of the fixed level's share: all up to the step, then half for 3 s, then all again, however the
 * arrivals change the fixed level's own; the other way without delay. */
START_TEST(settling_is_the_end_of_the_last_stretch_that_is_off)
{
	struct suite_result *result = add(SUITE_SETTLE, "p10", SUITE_TARGET, SUITE_MPS, 1, 0);
	uint32_t phase = SETTLE_PHASE_S * SETTLE_BINS_A_SECOND;
	double settled[2];

	result->bins = 3 * phase;
	for (uint32_t b = 0; b < result->bins; b++) {
		result->fixed_bin[b] = (b / phase == 1 ? 0.2f : 0.7f) + 0.02f * (float)(b % 7);
		result->bin[b] = result->fixed_bin[b];
	}
	for (uint32_t b = phase; b < phase + 3 * SETTLE_BINS_A_SECOND; b++)
		result->bin[b] /= 2;
	suite_sum_settle(&suite, 1, SUITE_MPS, settled);
	ck_assert_double_ge(settled[0], 1.5);
	ck_assert_double_le(settled[0], 3);
	ck_assert_double_eq(settled[1], 0);
	suite_sum_settle(&suite, 1, SUITE_TIME, settled);
	ck_assert_double_lt(settled[0], 0);
	suite_sum_settle(&suite, 0, SUITE_MPS, settled); /* p3 */
	ck_assert_double_lt(settled[0], 0);
}
END_TEST

START_TEST(goals_are_left_out_where_nothing_ran_and_explained_where_missed)
{
	json_t *summary = json_object(), *notes = json_object();

	ck_assert_int_eq(suite_goals(&suite, summary, notes), 0);
	ck_assert_uint_eq(json_object_size(summary), 0);
	say(add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_MPS, 0, 0), 0.005, 0.1, 0.49);
	ck_assert_int_eq(suite_goals(&suite, summary, notes), 0);
	ck_assert(json_is_true(json_object_get(summary, "A_mps")));
	ck_assert(json_is_true(json_object_get(summary, "S_mps")));
	ck_assert_ptr_null(json_object_get(summary, "A_time"));
	ck_assert_uint_eq(json_object_size(notes), 0);
	say(add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_MPS, 0, 2), 0.045, 0.1, 0.49);
	ck_assert_int_eq(suite_goals(&suite, summary, notes), 0);
	ck_assert(json_is_false(json_object_get(summary, "A_mps")));
	ck_assert_ptr_nonnull(strstr(json_string_value(json_object_get(notes, "A_mps")), "0.0450"));
	json_decref(summary);
	json_decref(notes);
}
END_TEST

/* Everything missed, runs failed: `name` and its reason are both there. */
START_TEST(a_goal_that_is_missed_says_why)
{
	static const char *const names[] = {
		"A_time",     "A_mps",	     "S_time",	   "S_mps",	  "decode_time",
		"decode_mps", "shares_time", "shares_mps", "targets_met", "settled"};
	json_t *summary = json_object(), *notes = json_object();

	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		say(add(SUITE_PAIR, "sluice", SUITE_MAIN, mode, 0, 0), 9, 9, 0.1);
		say(add(SUITE_PAIR, "sluice", SUITE_SWEEP, mode, 0, 0), 9, 9, 0.1);
		say(add(SUITE_PAIR, "p10", SUITE_TARGET, mode, 0, 0), 9, 9, 0.1);
		add(SUITE_DECODE, "sluice", SUITE_MAIN, mode, 0, 0)->error = -5;
		add(SUITE_SHARES, "sluice", SUITE_MAIN, mode, 0, 0)->error = -5;
		add(SUITE_SETTLE, "p10", SUITE_TARGET, mode, 1, 0)->error = -5;
	}
	ck_assert_int_eq(suite_goals(&suite, summary, notes), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *why = json_string_value(json_object_get(notes, names[i]));

		ck_assert_msg(json_is_false(json_object_get(summary, names[i])), "%s", names[i]);
		ck_assert_msg(why && strstr(why, "Wanted: "), "%s: %s", names[i], why);
	}
	ck_assert_uint_eq(json_object_size(summary), sizeof(names) / sizeof(names[0]));
	ck_assert_uint_eq(json_object_size(notes), json_object_size(summary));
	json_decref(summary);
	json_decref(notes);
}
END_TEST

static bool is_settled(void)
{
	json_t *summary = json_object(), *notes = json_object();
	bool settled;

	ck_assert_int_eq(suite_goals(&suite, summary, notes), 0);
	settled = json_is_true(json_object_get(summary, "settled"));
	json_decref(summary);
	json_decref(notes);
	return settled;
}

static void steady(struct suite_result *result)
{
	result->bins = 3 * SETTLE_PHASE_S * SETTLE_BINS_A_SECOND;
	for (uint32_t b = 0; b < result->bins; b++)
		result->bin[b] = result->fixed_bin[b] = 0.5f;
}

/* One target in one mode is enough to spoil it. */
START_TEST(a_load_step_that_failed_or_drifts_has_not_settled)
{
	struct suite_result *result = NULL;

	for (uint32_t i = 0; i < SETTLE_TARGETS * SUITE_MODES; i++) {
		result = add(SUITE_SETTLE, suite_target_name[i / SUITE_MODES], SUITE_TARGET,
			     i % SUITE_MODES, 1, 0);
		steady(result);
	}
	ck_assert(is_settled());
	result->error = -5;
	ck_assert(!is_settled());
	result->error = 0;
	for (uint32_t b = result->bins / 3; b < result->bins * 2 / 3; b++)
		result->bin[b] = 0.6f - 0.002f * (float)(b % (result->bins / 3));
	ck_assert(!is_settled());
}
END_TEST

START_TEST(the_note_on_s_says_on_how_many_pairs_and_seeds_the_search_was)
{
	json_t *summary = json_object(), *notes = json_object();
	const char *note;

	say(add(SUITE_PAIR, "sluice", SUITE_MAIN, SUITE_MPS, 0, 0), 0.005, 0.2, 0.49);
	say(add(SUITE_PAIR, "sluice", SUITE_SWEEP, SUITE_MPS, 0, 0), 0.005, 0.15, 0.45);
	say(add(SUITE_PAIR, "sluice", SUITE_SWEEP, SUITE_MPS, 0, 1), 0.005, 0.17, 0.47);
	ck_assert_int_eq(suite_goals(&suite, summary, notes), 0);
	note = json_string_value(json_object_get(notes, "S_mps"));
	ck_assert_ptr_nonnull(note);
	ck_assert_ptr_nonnull(strstr(note, " -0.5: 0.1600 at 0.920 (2 pairs, 3 seeds)."));
	for (uint32_t i = 0; i < suite.rows; i++) {
		const struct suite_row *row = &suite.row[i];

		if (row->use == SUITE_SWEEP && row->all_pairs)
			ck_assert_uint_eq(row->seeds, SUITE_SEEDS);
	}
	json_decref(summary);
	json_decref(notes);
}
END_TEST

static json_t *written(void)
{
	char path[] = "/tmp/test_suite_sums.XXXXXX";
	int fd = mkstemp(path);
	json_t *report;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(suite_report_write(&suite, path), 0);
	report = json_load_file(path, 0, NULL);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_ptr_nonnull(report);
	return report;
}

static void has_settings(const json_t *report, const char *policy, const char *mode,
			 const char *wanted)
{
	const json_t *of = json_object_get(json_object_get(report, "policies"), policy);
	char *text = json_dumps(json_object_get(json_object_get(of, mode), "settings"),
				JSON_COMPACT | JSON_SORT_KEYS);

	ck_assert_ptr_nonnull(text);
	ck_assert_str_eq(text, wanted);
	ck_assert_ptr_null(json_object_get(of, "settings"));
	free(text);
}

/* Sweeps bear the names of the rows whose sweeps they are; the best is another in each mode. */
START_TEST(a_row_shows_the_settings_that_it_ran_with)
{
	uint32_t row = suite_find_row(&suite, "xsched", SUITE_SWEEP), first = suite.rows;
	json_t *report;

	say(add(SUITE_PAIR, "xsched", SUITE_MAIN, SUITE_TIME, 0, 0), 0.2, 0.6, 0.49);
	say(add(SUITE_PAIR, "xsched", SUITE_SWEEP, SUITE_TIME, 0, 0), 0.2, 0.6, 0.49);
	say(add(SUITE_PAIR, "sluice_sliced", SUITE_MAIN, SUITE_MPS, 0, 0), 0.2, 0.6, 0.49);
	ck_assert(suite_add_best_row(&suite, row, SUITE_TIME));
	ck_assert(suite_add_best_row(&suite, row + 1, SUITE_MPS));
	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		struct suite_result *result =
			add(SUITE_PAIR, "xsched_best", SUITE_MAIN, mode, 0, 0);

		jobs[suite.jobs - 1].row = first + mode;
		say(result, 0.1, 0.3, 0.5);
	}
	report = written();
	has_settings(report, "xsched", "time", "{}");
	has_settings(report, "xsched_best", "time", "{\"batch\":1,\"threshold\":1}");
	has_settings(report, "xsched_best", "mps", "{\"batch\":1,\"threshold\":2}");
	has_settings(report, "sluice_sliced", "mps", "{\"slice\":100000}");
	json_decref(report);
}
END_TEST

int main(void)
{
	Suite *all = suite_create("suite_sums");
	TCase *tcase = tcase_create("sums");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, every_row_names_a_policy_and_its_options);
	tcase_add_test(tcase, the_subset_has_twelve_pairs_and_all_workloads);
	tcase_add_test(tcase, a_row_is_the_mean_of_its_pairs);
	tcase_add_test(tcase, the_best_setting_gives_most_within_the_bound);
	tcase_add_test(tcase, targets_are_held_against_the_best_fixed_setting);
	tcase_add_test(tcase, settling_is_the_end_of_the_last_stretch_that_is_off);
	tcase_add_test(tcase, goals_are_left_out_where_nothing_ran_and_explained_where_missed);
	tcase_add_test(tcase, a_goal_that_is_missed_says_why);
	tcase_add_test(tcase, a_load_step_that_failed_or_drifts_has_not_settled);
	tcase_add_test(tcase, the_note_on_s_says_on_how_many_pairs_and_seeds_the_search_was);
	tcase_add_test(tcase, a_row_shows_the_settings_that_it_ran_with);
	suite_add_tcase(all, tcase);
	runner = srunner_create(all);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
