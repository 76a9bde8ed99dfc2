/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "sluice/hist.h"

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

START_TEST(every_value_lies_in_its_bin)
{
	for (uint64_t ns = 0; ns < 1ull << 36; ns = ns < 4096 ? ns + 1 : ns + ns / 97) {
		unsigned int index = sluice_hist_index(ns);

		ck_assert_uint_lt(index, SLUICE_HIST_BINS);
		ck_assert_uint_ge(sluice_hist_upper(index), ns);
		if (index)
			ck_assert_uint_lt(sluice_hist_upper(index - 1), ns);
	}
	ck_assert_uint_eq(sluice_hist_index(UINT64_MAX), SLUICE_HIST_BINS - 1);
}
END_TEST

/* Against exact percentiles of the same values: never below, at most 1/16 above. */
START_TEST(quantiles_are_within_a_bin)
{
	static const unsigned int permille[] = {1, 250, 500, 900, 990, 999, 1000};
	enum { COUNT = 20000 };
	static uint64_t value[COUNT];
	static struct sluice_hist hist;
	unsigned int seed = 7;

	for (int i = 0; i < COUNT; i++) {
		value[i] = (uint64_t)rand_r(&seed) >> (rand_r(&seed) % 24);
		sluice_hist_add(&hist, value[i]);
	}
	qsort(value, COUNT, sizeof(value[0]), compare);
	for (size_t i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
		uint64_t exact = value[(COUNT * (size_t)permille[i] + 999) / 1000 - 1];
		uint64_t got = sluice_hist_quantile(&hist, permille[i]);

		ck_assert_uint_ge(got, exact);
		ck_assert_uint_le(got, exact + exact / 16 + 1);
	}
	ck_assert_uint_eq(sluice_hist_quantile(&hist, 1000), value[COUNT - 1]);
}
END_TEST

START_TEST(merged_is_as_if_added_to_one)
{
	static struct sluice_hist a, b, both;

	for (uint64_t ns = 1; ns < 100000; ns += 7) {
		sluice_hist_add(ns % 2 ? &a : &b, ns * 31);
		sluice_hist_add(&both, ns * 31);
	}
	sluice_hist_merge(&a, &b);
	ck_assert_uint_eq(a.count, both.count);
	ck_assert_uint_eq(a.max_ns, both.max_ns);
	for (unsigned int i = 0; i < SLUICE_HIST_BINS; i++)
		ck_assert_uint_eq(a.bin[i], both.bin[i]);
}
END_TEST

START_TEST(empty_and_huge)
{
	static struct sluice_hist hist;

	ck_assert_uint_eq(sluice_hist_quantile(&hist, 990), 0);
	sluice_hist_add(&hist, 1ull << 40);
	ck_assert_uint_eq(sluice_hist_quantile(&hist, 500), 1ull << 40);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hist");
	TCase *tcase = tcase_create("hist");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, every_value_lies_in_its_bin);
	tcase_add_test(tcase, quantiles_are_within_a_bin);
	tcase_add_test(tcase, merged_is_as_if_added_to_one);
	tcase_add_test(tcase, empty_and_huge);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
