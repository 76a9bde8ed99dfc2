/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "plan/random.h"

#define ONE 4294967296.0

START_TEST(logarithm_agrees_with_libm)
{
	for (double x = 1e-6; x < 1e9; x *= 1.37) {
		double want = log(floor(x * ONE) / ONE);

		ck_assert_double_eq_tol((double)random_ln_q32((uint64_t)(x * ONE)) / ONE, want,
					2e-9);
	}
	ck_assert_int_eq(random_ln_q32(1ull << 32), 0);
}
END_TEST

START_TEST(exponential_function_agrees_with_libm)
{
	for (double x = -18; x < 20; x += 0.0371) {
		double got = (double)random_exp_q32((int64_t)(x * ONE)) / ONE;

		ck_assert_double_eq_tol(got, exp(x), exp(x) * 1e-8 + 1e-9);
	}
	ck_assert_uint_eq(random_exp_q32(-30 * (1ll << 32)), 0);
	ck_assert_uint_eq(random_exp_q32(40ll << 32), UINT64_MAX);
}
END_TEST

START_TEST(same_seed_same_numbers)
{
	struct random a, b, fork;

	random_seed(&a, 7);
	random_seed(&b, 7);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(random_next(&a), random_next(&b));
	/* A published value of splitmix64: seed 1234567, the first number. */
	random_seed(&a, 1234567);
	ck_assert_uint_eq(random_next(&a), 6457827717110365317ull);
	/* A fork neither moves its origin nor repeats it. */
	random_fork(&b, 1, &fork);
	a = b;
	ck_assert_uint_ne(random_next(&fork), random_next(&a));
	ck_assert_uint_eq(random_next(&b), (random_seed(&a, 7), ({
						    for (int i = 0; i < 100; i++)
							    (void)random_next(&a);
						    random_next(&a);
					    })));
}
END_TEST

START_TEST(below_reaches_every_value_alike)
{
	unsigned int seen[10] = {0};
	struct random random;

	random_seed(&random, 3);
	for (int i = 0; i < 100000; i++)
		seen[random_below(&random, 10)]++;
	for (int i = 0; i < 10; i++)
		ck_assert_uint_ge(seen[i], 9500);
}
END_TEST

/* 200,000 draws: the mean's standard error is 0.0022, the tails' below 3 % of their size. */
START_TEST(exponential_draws_have_their_mean_and_tail)
{
	struct random random;
	double sum = 0;
	int over = 0, n = 200000;

	random_seed(&random, 11);
	for (int i = 0; i < n; i++) {
		double x = (double)random_exponential_q32(&random) / ONE;

		sum += x;
		over += x > 3;
	}
	ck_assert_double_eq_tol(sum / n, 1, 0.01);
	ck_assert_double_eq_tol((double)over / n, exp(-3), 0.002);
}
END_TEST

START_TEST(normal_draws_have_their_moments)
{
	struct random random;
	double sum = 0, squares = 0;
	int over = 0, n = 200000;

	random_seed(&random, 5);
	for (int i = 0; i < n; i++) {
		double x = (double)random_normal_q32(&random) / ONE;

		sum += x;
		squares += x * x;
		over += x > 2;
	}
	ck_assert_double_eq_tol(sum / n, 0, 0.01);
	ck_assert_double_eq_tol(squares / n, 1, 0.015);
	ck_assert_double_eq_tol((double)over / n, 0.02275, 0.0015);
}
END_TEST

START_TEST(scaling_rounds_and_saturates)
{
	ck_assert_uint_eq(random_scale_q32(1000, 3ull << 31), 1500);
	ck_assert_uint_eq(random_scale_q32(1, 1ull << 31), 1);
	ck_assert_uint_eq(random_scale_q32(1, (1ull << 31) - 1), 0);
	ck_assert_uint_eq(random_scale_q32(UINT64_MAX, 2ull << 32), UINT64_MAX);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_random");
	TCase *tcase = tcase_create("random");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, logarithm_agrees_with_libm);
	tcase_add_test(tcase, exponential_function_agrees_with_libm);
	tcase_add_test(tcase, same_seed_same_numbers);
	tcase_add_test(tcase, below_reaches_every_value_alike);
	tcase_add_test(tcase, exponential_draws_have_their_mean_and_tail);
	tcase_add_test(tcase, normal_draws_have_their_moments);
	tcase_add_test(tcase, scaling_rounds_and_saturates);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
