/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "plan/random.h"
#include "plan/suites/paired.h"

#define N 4000

static uint64_t shared[N], alone[N];

static void draw(uint64_t seed)
{
	struct random random;

	random_seed(&random, seed);
	for (int i = 0; i < N; i++)
		alone[i] = 1000000 + random_scale_q32(1000000, random_exponential_q32(&random));
}

START_TEST(a_constant_factor_is_found_exactly)
{
	struct suite_paired paired;

	draw(1);
	for (int i = 0; i < N; i++)
		shared[i] = alone[i] + alone[i] / 4;
	ck_assert_int_eq(suite_paired_p99(shared, alone, N, 1, &paired), 0);
	ck_assert_double_eq_tol(paired.over, 0.25, 1e-6);
	ck_assert_double_eq_tol(paired.low, 0.25, 1e-6);
	ck_assert_double_eq_tol(paired.high, 0.25, 1e-6);
	ck_assert_int_eq(suite_paired_p99(shared, alone, 0, 1, &paired), -EINVAL);
}
END_TEST

/* The p99 of 4,000 values is the 41st from above. */
START_TEST(the_tail_is_the_hundredth_part)
{
	struct suite_paired paired;

	for (int i = 0; i < N; i++) {
		alone[i] = (uint64_t)i + 1;
		shared[i] = i >= N - 40 ? 1000000 : (uint64_t)i + 1;
	}
	ck_assert_int_eq(suite_paired_p99(shared, alone, N, 1, &paired), 0);
	ck_assert_double_eq_tol(paired.over, 0, 1e-9);
	shared[N - 41] = 1000000;
	ck_assert_int_eq(suite_paired_p99(shared, alone, N, 1, &paired), 0);
	ck_assert_double_eq_tol(paired.over, 1000000.0 / (N - 40) - 1, 1e-9);
}
END_TEST

/* Random delays of a tenth: the truth lies between the bounds in most of 40 tries. */
START_TEST(the_interval_covers_and_pairing_narrows_it)
{
	int covered = 0;

	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct suite_paired paired;
		struct random random;

		draw(seed);
		random_seed(&random, seed + 100);
		for (int i = 0; i < N; i++)
			shared[i] = alone[i] * (1050 + random_below(&random, 101)) / 1000;
		ck_assert_int_eq(suite_paired_p99(shared, alone, N, seed, &paired), 0);
		/* +10 % of the mean, a little more in the tail, which picks the larger delays. */
		covered += paired.low <= 0.105 && paired.high >= 0.095;
		ck_assert_double_le(paired.low, paired.over);
		ck_assert_double_ge(paired.high, paired.over);
		/* Unpaired, the p99 of 4,000 such requests is off by 5 % of itself either way,
		 * and so is the other. */
		ck_assert_double_lt(paired.high - paired.low, 0.08);
	}
	ck_assert_int_ge(covered, 36);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suite_paired");
	TCase *tcase = tcase_create("paired");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_constant_factor_is_found_exactly);
	tcase_add_test(tcase, the_tail_is_the_hundredth_part);
	tcase_add_test(tcase, the_interval_covers_and_pairing_narrows_it);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
