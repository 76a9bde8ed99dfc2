/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

static struct predict predict;

static void setup(void)
{
	memset(&predict, 0, sizeof(predict));
}

static struct predict_entry *entry_of(uint64_t tag)
{
	return predict_find(&predict, tag, PREDICT_KERNEL_NS);
}

START_TEST(a_new_entry_costs_the_guess_and_wants_a_sample)
{
	struct predict_entry *entry = entry_of(7);

	ck_assert_uint_eq(predict_cost_ns(entry), PREDICT_KERNEL_NS);
	ck_assert(predict_raw_ns(entry) & PREDICT_WANT);
	ck_assert(!predict_is_known(&predict, entry));
	ck_assert_ptr_eq(entry_of(7), entry);
	ck_assert_ptr_ne(entry_of(8), entry);
}
END_TEST

START_TEST(the_tag_depends_on_every_part)
{
	uint64_t tag = predict_kernel_tag(&predict, 1, 2, 3, 4, 5, 6, 7);

	ck_assert_uint_ne(tag, predict_kernel_tag(&tag, 1, 2, 3, 4, 5, 6, 7));
	ck_assert_uint_ne(tag, predict_kernel_tag(&predict, 2, 1, 3, 4, 5, 6, 7));
	ck_assert_uint_ne(tag, predict_kernel_tag(&predict, 1, 3, 2, 4, 5, 6, 7));
	ck_assert_uint_ne(tag, predict_kernel_tag(&predict, 1, 2, 3, 5, 4, 6, 7));
	ck_assert_uint_ne(tag, predict_kernel_tag(&predict, 1, 2, 3, 4, 6, 5, 7));
	ck_assert_uint_ne(tag, predict_kernel_tag(&predict, 1, 2, 3, 4, 5, 6, 8));
	ck_assert_uint_ne(predict_graph_tag(&predict), predict_graph_tag(&tag));
}
END_TEST

START_TEST(the_first_launch_is_never_offered)
{
	struct predict_entry *entry = entry_of(1);

	ck_assert(!predict_offer(&predict, entry));
	ck_assert(predict_offer(&predict, entry));
}
END_TEST

START_TEST(an_entry_that_gets_no_sample_stops_asking)
{
	struct predict_entry *entry = entry_of(1);
	unsigned int offers = 0;

	while ((predict_raw_ns(entry) & PREDICT_WANT) && offers < 100000) {
		predict_offer(&predict, entry);
		offers++;
	}
	ck_assert_uint_lt(offers, 1000);
	ck_assert_uint_eq(predict_raw_ns(entry), PREDICT_KERNEL_NS);
}
END_TEST

START_TEST(four_clean_samples_are_enough)
{
	struct predict_entry *entry = entry_of(1);

	for (int i = 0; i < 3; i++) {
		predict_sample(&predict, entry, 20000, true);
		ck_assert(predict_raw_ns(entry) & PREDICT_WANT);
	}
	predict_sample(&predict, entry, 20000, true);
	ck_assert_uint_eq(predict_raw_ns(entry), 20000);
	ck_assert(predict_is_known(&predict, entry));
}
END_TEST

/* Queueing and other work only ever add to a measured time. */
START_TEST(the_estimate_is_a_low_quantile)
{
	static const uint64_t took_ns[] = {30000, 21000, 22000, 31000, 23000, 24000, 25000, 26000};
	struct predict_entry *entry = entry_of(1);

	for (size_t i = 0; i < 8; i++)
		predict_sample(&predict, entry, took_ns[i], true);
	ck_assert_uint_eq(predict_cost_ns(entry), 23000);
}
END_TEST

START_TEST(a_dispersed_kernel_costs_its_high_quantile)
{
	static const uint64_t took_ns[] = {100000, 900000, 110000, 880000,
					   120000, 870000, 130000, 860000};
	struct predict_entry *entry = entry_of(1);

	for (size_t i = 0; i < 8; i++)
		predict_sample(&predict, entry, took_ns[i], true);
	ck_assert_uint_eq(predict_cost_ns(entry), 880000);
}
END_TEST

START_TEST(samples_beside_other_work_count_until_there_are_clean_ones)
{
	struct predict_entry *entry = entry_of(1);

	predict_sample(&predict, entry, 2000000, false);
	predict_sample(&predict, entry, 90000, false);
	ck_assert_uint_eq(predict_cost_ns(entry), 90000);
	predict_sample(&predict, entry, 40000, true);
	ck_assert_uint_eq(predict_cost_ns(entry), 40000);
	predict_sample(&predict, entry, 10000, false);
	ck_assert_uint_eq(predict_cost_ns(entry), 40000);
}
END_TEST

START_TEST(a_sample_is_clamped)
{
	struct predict_entry *entry = entry_of(1);

	predict_sample(&predict, entry, 1000000000000ull, true);
	ck_assert_uint_eq(predict_cost_ns(entry), PREDICT_MAX_NS);
	predict_forget(&predict, 1, 777);
	predict_sample(&predict, entry, 0, true);
	ck_assert_uint_eq(predict_cost_ns(entry), 1);
}
END_TEST

START_TEST(a_forgotten_entry_is_measured_anew)
{
	struct predict_entry *entry = entry_of(1);

	for (int i = 0; i < 5; i++)
		predict_sample(&predict, entry, 20000, true);
	predict_forget(&predict, 1, 123);
	ck_assert_uint_eq(predict_raw_ns(entry), 123 | PREDICT_WANT);
	ck_assert(!predict_is_known(&predict, entry));
	ck_assert(!predict_offer(&predict, entry));
}
END_TEST

START_TEST(a_full_table_still_answers)
{
	struct predict_entry *entry = NULL;

	for (uint64_t i = 1; i <= PREDICT_STATS; i++)
		entry = entry_of(predict_mix(i, 0, 0, 0));
	ck_assert_ptr_ne(entry, &predict.spill);
	entry = entry_of(predict_mix(PREDICT_STATS + 1, 0, 0, 0));
	ck_assert_ptr_eq(entry, &predict.spill);
	ck_assert_uint_eq(predict_raw_ns(entry), PREDICT_KERNEL_NS);
	ck_assert(!predict_offer(&predict, entry));
	predict_sample(&predict, entry, 1, true);
	predict_forget(&predict, predict_mix(PREDICT_STATS + 2, 0, 0, 0), 1);
	ck_assert_uint_eq(predict.used, PREDICT_STATS);
}
END_TEST

/* Two tags of one home slot: the second probes on and is found again. */
START_TEST(colliding_tags_are_told_apart)
{
	uint64_t a = 5ull << 40 | 1, b = 5ull << 40 | 2;
	struct predict_entry *first = entry_of(a), *second = entry_of(b);

	ck_assert_ptr_eq(second, first + 1);
	predict_sample(&predict, second, 4000, true);
	ck_assert_ptr_eq(entry_of(b), second);
	ck_assert_uint_eq(predict_cost_ns(entry_of(a)), PREDICT_KERNEL_NS);
}
END_TEST

START_TEST(sizes_fall_into_classes_of_a_quarter_octave)
{
	uint32_t guess_ns, larger_ns;
	uint64_t tag = predict_bytes_tag(PREDICT_COPY_TO_DEVICE, 1 << 20, &guess_ns);

	ck_assert_uint_eq(tag,
			  predict_bytes_tag(PREDICT_COPY_TO_DEVICE, (1 << 20) + 4096, &larger_ns));
	ck_assert_uint_gt(larger_ns, guess_ns);
	ck_assert_uint_ne(tag, predict_bytes_tag(PREDICT_COPY_TO_DEVICE, 1310720, &larger_ns));
	ck_assert_uint_ne(tag, predict_bytes_tag(PREDICT_COPY_TO_HOST, 1 << 20, &larger_ns));
	predict_bytes_tag(PREDICT_MEMSET, UINT64_MAX / 2048, &larger_ns);
	ck_assert_uint_eq(larger_ns, PREDICT_MAX_NS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_predict");
	TCase *tcase = tcase_create("predict");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_new_entry_costs_the_guess_and_wants_a_sample);
	tcase_add_test(tcase, the_tag_depends_on_every_part);
	tcase_add_test(tcase, the_first_launch_is_never_offered);
	tcase_add_test(tcase, an_entry_that_gets_no_sample_stops_asking);
	tcase_add_test(tcase, four_clean_samples_are_enough);
	tcase_add_test(tcase, the_estimate_is_a_low_quantile);
	tcase_add_test(tcase, a_dispersed_kernel_costs_its_high_quantile);
	tcase_add_test(tcase, samples_beside_other_work_count_until_there_are_clean_ones);
	tcase_add_test(tcase, a_sample_is_clamped);
	tcase_add_test(tcase, a_forgotten_entry_is_measured_anew);
	tcase_add_test(tcase, a_full_table_still_answers);
	tcase_add_test(tcase, colliding_tags_are_told_apart);
	tcase_add_test(tcase, sizes_fall_into_classes_of_a_quarter_octave);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
