/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on an order: what its figures make of it. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "plan/suites/orders.h"

enum { GAIN, GUARD, SHOWN };

static const struct order_scene scene = {
	.name = "scene",
	.figure = {{"completion_ms", ORDER_GAIN, true, 50},
		   {"work", ORDER_GUARD, false, 20},
		   {"shown", ORDER_SHOWN, false, 0}},
};

static struct order_values seeds[3];

static void reset(void)
{
	for (int i = 0; i < 3; i++)
		seeds[i] = (struct order_values){{{100, 1, 1}, {90, 1, 0.1}}};
}

static struct order_verdict judge(uint32_t count, uint32_t failed)
{
	struct order_verdict verdict;

	order_judge(&scene, seeds, count, failed, &verdict);
	return verdict;
}

START_TEST(it_wins_with_every_seed_or_not)
{
	reset();
	ck_assert(judge(3, 0).wins);
	ck_assert_double_eq_tol(judge(3, 0).value[ORDER_WITH][GAIN], 90, 1e-9);
	/* One seed gains 4 % of the 5 that are wanted, though the mean gains more. */
	seeds[1].of[ORDER_WITH][GAIN] = 96;
	ck_assert(!judge(3, 0).wins);
	ck_assert_double_eq_tol(judge(3, 0).value[ORDER_WITH][GAIN], 92, 1e-9);
}
END_TEST

START_TEST(less_of_what_should_be_more_is_no_gain)
{
	struct order_scene more = scene;
	struct order_verdict verdict;

	reset();
	more.figure[GAIN].less_is_better = false;
	order_judge(&more, seeds, 3, 0, &verdict);
	ck_assert(!verdict.wins);
	/* Nothing gained is no win, whatever is wanted. */
	more.figure[GAIN].permille = 0;
	for (int i = 0; i < 3; i++)
		seeds[i].of[ORDER_WITH][GAIN] = 100;
	order_judge(&more, seeds, 3, 0, &verdict);
	ck_assert(!verdict.wins);
}
END_TEST

START_TEST(a_guard_is_kept_in_the_mean)
{
	reset();
	seeds[0].of[ORDER_WITH][GUARD] = 0.95;
	ck_assert(judge(3, 0).wins); /* 1.7 % of 2 */
	seeds[1].of[ORDER_WITH][GUARD] = 0.95;
	ck_assert(!judge(3, 0).wins);
}
END_TEST

START_TEST(what_was_not_played_wins_nothing)
{
	reset();
	ck_assert(!judge(0, 0).wins);
	ck_assert(!judge(2, 1).wins);
	ck_assert_uint_eq(judge(2, 1).failed, 1);
}
END_TEST

START_TEST(every_scene_says_what_the_report_needs)
{
	uint32_t i = 0;

	for (const struct order_scene *at; (at = order_at(i)); i++) {
		bool gain = false;

		ck_assert(at->play && at->source && at->about && at->why && *at->why);
		ck_assert_ptr_null(at->figure[ORDER_MOST_FIGURES].name);
		for (uint32_t k = 0; at->figure[k].name; k++)
			gain |= at->figure[k].use == ORDER_GAIN;
		ck_assert_msg(gain, "%s promises nothing", at->name);
		for (uint32_t k = 0; k < i; k++)
			ck_assert_str_ne(order_at(k)->name, at->name);
	}
	ck_assert_uint_gt(i, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("orders");
	TCase *tcase = tcase_create("verdict");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, it_wins_with_every_seed_or_not);
	tcase_add_test(tcase, less_of_what_should_be_more_is_no_gain);
	tcase_add_test(tcase, a_guard_is_kept_in_the_mean);
	tcase_add_test(tcase, what_was_not_played_wins_nothing);
	tcase_add_test(tcase, every_scene_says_what_the_report_needs);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
