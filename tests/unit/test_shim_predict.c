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
	ck_assert(predict_raw_ns(entry) & PREDICT_LOOK);
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

	while ((predict_raw_ns(entry) & PREDICT_LOOK) && offers < 100000) {
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
		ck_assert(predict_raw_ns(entry) & PREDICT_LOOK);
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

START_TEST(a_kernel_that_varies_costs_its_median_and_is_gated_on_its_most)
{
	static const uint64_t took_ns[] = {100000, 900000, 110000, 880000,
					   120000, 870000, 130000, 860000};
	struct predict_entry *entry = entry_of(1);

	for (size_t i = 0; i < 8; i++)
		predict_sample(&predict, entry, took_ns[i], true);
	ck_assert_uint_eq(predict_cost_ns(entry), 130000);
	ck_assert_uint_eq(predict_gate_ns(&predict, entry), 880000);
	ck_assert(predict_raw_ns(entry) & PREDICT_LOOK);
}
END_TEST

/* Teaches the entry of the launch that this context belongs to. */
static struct predict_entry *teach(struct predict_entry *whole, struct predict_context context,
				   uint64_t took_ns)
{
	struct predict_entry *entry = predict_resolve(&predict, whole, &context);

	for (int i = 0; i < 8; i++)
		predict_sample(&predict, entry, took_ns, true);
	return entry;
}

static struct predict_entry *varying(uint64_t tag)
{
	struct predict_entry *entry = entry_of(tag);

	for (uint64_t i = 0; i < 8; i++)
		predict_sample(&predict, entry, i % 2 ? 900000 : 100000, true);
	return entry;
}

START_TEST(launches_of_one_key_are_told_apart_by_what_went_before)
{
	struct predict_entry *whole = varying(1);
	struct predict_context after_2 = {.before = 2}, after_3 = {.before = 3};
	struct predict_entry *part = predict_resolve(&predict, whole, &after_2);

	ck_assert_ptr_ne(part, whole);
	/* Until it has samples of its own, what is known of all. */
	ck_assert(predict_is_known(&predict, part));
	ck_assert_uint_eq(predict_cost_ns(part), predict_cost_ns(whole));
	teach(whole, after_2, 100000);
	teach(whole, after_3, 900000);
	ck_assert_ptr_eq(predict_resolve(&predict, whole, &after_2), part);
	ck_assert_uint_eq(predict_raw_ns(part), 100000);
	ck_assert_uint_eq(predict_raw_ns(predict_resolve(&predict, whole, &after_3)), 900000);
}
END_TEST

START_TEST(then_by_their_scalars)
{
	struct predict_entry *whole = varying(1), *part;
	uint64_t pointer = 0x7f0000001000;
	uint32_t depth = 64;
	void *const params[] = {&pointer, &depth};
	struct predict_context context = {.before = 2, .params = params};

	part = predict_resolve(&predict, whole, &context);
	for (uint64_t i = 0; i < 8; i++)
		predict_sample(&predict, part, i % 2 ? 900000 : 100000, true);
	ck_assert(predict_needs_scalars(&predict, part));
	ck_assert_ptr_eq(predict_resolve(&predict, whole, &context), part);
	predict_set_scalars(&predict, part, 1u << 1, 1u << 0);
	ck_assert(!predict_needs_scalars(&predict, part));
	teach(whole, context, 100000);
	depth = 512;
	teach(whole, context, 900000);
	/* An address says nothing. */
	pointer = 0x7f0000002000;
	ck_assert_uint_eq(predict_raw_ns(predict_resolve(&predict, whole, &context)), 900000);
	depth = 64;
	ck_assert_uint_eq(predict_raw_ns(predict_resolve(&predict, whole, &context)), 100000);
}
END_TEST

START_TEST(an_entry_has_so_many_parts_and_no_more)
{
	struct predict_entry *whole = varying(1);
	struct predict_context context;
	uint32_t used;

	for (uint32_t i = 1; i <= PREDICT_BRANCHES; i++) {
		context = (struct predict_context){.before = i};
		ck_assert_ptr_ne(predict_resolve(&predict, whole, &context), whole);
	}
	used = predict.used;
	context = (struct predict_context){.before = PREDICT_BRANCHES + 1};
	ck_assert_ptr_eq(predict_resolve(&predict, whole, &context), whole);
	ck_assert_uint_eq(predict.used, used);
}
END_TEST

START_TEST(a_forgotten_entry_has_no_parts)
{
	struct predict_entry *whole = varying(1), *part;
	struct predict_context context = {.before = 2};

	part = teach(whole, context, 100000);
	predict_forget(&predict, 1, 777);
	ck_assert_ptr_eq(predict_resolve(&predict, whole, &context), whole);
	varying(1);
	ck_assert_ptr_ne(predict_resolve(&predict, whole, &context), part);
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
	ck_assert_uint_eq(predict_raw_ns(entry), 123 | PREDICT_LOOK);
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
	tcase_add_test(tcase, a_kernel_that_varies_costs_its_median_and_is_gated_on_its_most);
	tcase_add_test(tcase, launches_of_one_key_are_told_apart_by_what_went_before);
	tcase_add_test(tcase, then_by_their_scalars);
	tcase_add_test(tcase, an_entry_has_so_many_parts_and_no_more);
	tcase_add_test(tcase, a_forgotten_entry_has_no_parts);
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
