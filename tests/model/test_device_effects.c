/* SPDX-License-Identifier: Apache-2.0 */
/* How long blocks take beside others: every effect by exact figures, and none where it is off. */

#include <errno.h>

#include "device_support.h"

static struct model *model;
static uint32_t proc[2], stream[2];

static void start_with(struct model_desc desc)
{
	free(model);
	model = device_create(&desc);
	for (int i = 0; i < 2; i++) {
		proc[i] = device_proc(model);
		stream[i] = device_stream(model, proc[i], 0);
	}
}

static void run_to(uint64_t now_ns)
{
	model_advance(model, now_ns);
	device_check(model);
}

static struct model_op_desc kernel_in(enum model_class bw_class, uint32_t blocks, uint64_t block_ns)
{
	struct model_op_desc kernel = kernel_of(blocks, block_ns);

	kernel.bw_class = bw_class;
	return kernel;
}

/* ---- bandwidth ---- */

/* The device of the study: 80 SMs; memory saturates at 60, unknown at 100, compute at 200. */
static struct model_desc study_desc(void)
{
	struct model_desc desc = device_desc(80, true);

	desc.saturation_sms[MODEL_CLASS_MEMORY] = 60;
	desc.saturation_sms[MODEL_CLASS_UNKNOWN] = 100;
	desc.saturation_sms[MODEL_CLASS_COMPUTE] = 200;
	return desc;
}

START_TEST(bandwidth_that_is_asked_for_twice_stretches)
{
	static const struct {
		enum model_class first, second;
		uint32_t first_sms, second_sms;
		uint64_t must_ns;
	} cases[] = {
		{MODEL_CLASS_MEMORY, MODEL_CLASS_MEMORY, 40, 40, 13330},   /* 80 / 60 */
		{MODEL_CLASS_MEMORY, MODEL_CLASS_COMPUTE, 40, 40, 10000},  /* 40 / 60 + 40 / 200 */
		{MODEL_CLASS_MEMORY, MODEL_CLASS_COMPUTE, 60, 20, 11000},  /* 1 + 20 / 200 */
		{MODEL_CLASS_COMPUTE, MODEL_CLASS_MEMORY, 60, 20, 10000},  /* .3 + 20 / 60 */
		{MODEL_CLASS_UNKNOWN, MODEL_CLASS_MEMORY, 20, 60, 12000},  /* .2 + 1 */
		{MODEL_CLASS_UNKNOWN, MODEL_CLASS_UNKNOWN, 40, 40, 10000}, /* .8 */
		{MODEL_CLASS_COMPUTE, MODEL_CLASS_COMPUTE, 40, 40, 10000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t first, second;

		start_with(study_desc());
		first = device_submit(model, 0, stream[0],
				      kernel_in(cases[i].first, cases[i].first_sms, 100 * US));
		second = device_submit(model, 0, stream[1],
				       kernel_in(cases[i].second, cases[i].second_sms, 10 * US));
		run_to(200 * US);
		/* What ran before keeps its length. */
		device_expect(model, proc[0], first, 0, 100 * US);
		device_expect(model, proc[1], second, 0, cases[i].must_ns);
	}
}
END_TEST

START_TEST(bandwidth_leaves_a_kernel_alone_as_it_is)
{
	uint64_t op;

	start_with(study_desc());
	op = device_submit(model, 0, stream[0], kernel_in(MODEL_CLASS_MEMORY, 200, 10 * US));
	run_to(100 * US);
	device_expect(model, proc[0], op, 0, 30 * US);
}
END_TEST

START_TEST(bandwidth_that_a_kernel_lacks_alone_is_not_taken_twice)
{
	uint64_t small, wide;

	/* Alone on 80 SMs it asks for 80 / 60, which is in its length; beside another that takes
	 * 20 of the 80 SMs the two ask for just as much. */
	start_with(study_desc());
	small = device_submit(model, 0, stream[0], kernel_in(MODEL_CLASS_MEMORY, 20, 100 * US));
	wide = device_submit(model, 0, stream[1], kernel_in(MODEL_CLASS_MEMORY, 120, 10 * US));
	run_to(200 * US);
	device_expect(model, proc[0], small, 0, 100 * US);
	device_expect(model, proc[1], wide, 0, 20 * US);
}
END_TEST

START_TEST(bandwidth_is_of_the_moment_in_which_a_block_starts)
{
	struct model_op_desc kernel = kernel_in(MODEL_CLASS_MEMORY, 60, 10 * US);
	uint64_t other, op;

	/* 40 blocks beside 40 SMs of another, stretched by 80 / 60; then 20 alone. */
	start_with(study_desc());
	other = device_submit(model, 0, stream[0], kernel_in(MODEL_CLASS_MEMORY, 40, 10 * US));
	kernel.max_sms = 40;
	op = device_submit(model, 0, stream[1], kernel);
	run_to(100 * US);
	device_expect(model, proc[0], other, 0, 10 * US);
	device_expect(model, proc[1], op, 0, 23330);
}
END_TEST

START_TEST(a_later_block_may_end_before_an_earlier_one)
{
	uint64_t other, op;

	/* 20 of its blocks start beside 60 SMs of others and take 13.33 us; the rest, once the
	 * others have ended, 10. */
	start_with(study_desc());
	other = device_submit(model, 0, stream[0], kernel_in(MODEL_CLASS_MEMORY, 60, 3 * US));
	op = device_submit(model, 0, stream[1], kernel_in(MODEL_CLASS_MEMORY, 60, 10 * US));
	run_to(3 * US);
	device_expect(model, proc[0], other, 0, 3 * US);
	run_to(13 * US);
	ck_assert(!model_is_done(model, op));
	ck_assert_uint_eq(model->runq[0].free_sms, 60); /* the later 40 are done */
	run_to(13330);
	device_expect(model, proc[1], op, 0, 13330);
}
END_TEST

START_TEST(classes_that_do_not_exist_are_refused)
{
	struct model_op_desc kernel = kernel_of(1, 10);
	uint64_t op;

	start_with(study_desc());
	kernel.bw_class = MODEL_CLASSES;
	ck_assert_int_eq(model_submit(model, 0, stream[0], &kernel, &op), -EINVAL);
}
END_TEST

/* ---- co-running ---- */

START_TEST(corunning_lengthens_by_the_share_of_the_others)
{
	static const struct {
		uint32_t others;
		uint64_t must_ns;
	} cases[] = {{8, 10100}, {40, 10500}, {60, 10750}, {79, 10980}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model_desc desc = device_desc(80, true);
		uint64_t other, op;

		desc.corun_permille = 100;
		start_with(desc);
		other = device_submit(model, 0, stream[0], kernel_of(cases[i].others, 50 * US));
		op = device_submit(model, 0, stream[1], kernel_of(1, 10 * US));
		run_to(100 * US);
		device_expect(model, proc[0], other, 0, 50 * US);
		device_expect(model, proc[1], op, 0, cases[i].must_ns);
	}
}
END_TEST

START_TEST(corunning_is_of_kernels_not_of_blocks)
{
	struct model_desc desc = device_desc(80, true);
	uint64_t op;

	desc.corun_permille = 100;
	start_with(desc);
	op = device_submit(model, 0, stream[0], kernel_of(400, 10 * US));
	run_to(100 * US);
	device_expect(model, proc[0], op, 0, 50 * US);
}
END_TEST

START_TEST(corunning_comes_on_top_of_bandwidth)
{
	struct model_desc desc = study_desc();
	uint64_t op;

	desc.corun_permille = 100;
	start_with(desc);
	(void)device_submit(model, 0, stream[0], kernel_in(MODEL_CLASS_MEMORY, 40, 100 * US));
	op = device_submit(model, 0, stream[1], kernel_in(MODEL_CLASS_MEMORY, 40, 10 * US));
	run_to(50 * US);
	device_expect(model, proc[1], op, 0, 13996); /* 13,330 and 5 % */
}
END_TEST

START_TEST(nobody_coruns_in_time_slices)
{
	struct model_desc desc = study_desc();
	uint64_t first, second;

	desc.mps = 0;
	desc.corun_permille = 100;
	desc.slice_ns = 20 * US;
	desc.switch_ns = 5 * US;
	start_with(desc);
	first = device_submit(model, 0, stream[0], kernel_in(MODEL_CLASS_MEMORY, 40, 30 * US));
	second = device_submit(model, 0, stream[1], kernel_in(MODEL_CLASS_MEMORY, 40, 10 * US));
	run_to(200 * US);
	/* 20 us, a switch, the other and its idle hold to the slice's end, a switch, 10 us more */
	device_expect(model, proc[1], second, 25 * US, 35 * US);
	device_expect(model, proc[0], first, 0, 60 * US);
}
END_TEST

/* ---- stagger ---- */

static struct model_desc staggered_desc(uint32_t sms)
{
	struct model_desc desc = device_desc(sms, true);

	desc.stagger_permille = 120;
	return desc;
}

static void expect_free(uint64_t at_ns, uint32_t free_sms)
{
	run_to(at_ns);
	ck_assert_uint_eq(model->runq[0].free_sms, free_sms);
}

START_TEST(sms_of_several_waves_come_free_little_by_little)
{
	uint64_t op;

	/* First blocks end at 8.8, 9.6, 10.4 and 11.2 us; the second ones 10 us later. */
	start_with(staggered_desc(80));
	op = device_submit(model, 0, stream[0], kernel_of(160, 10 * US));
	expect_free(18799, 0);
	expect_free(18800, 20);
	expect_free(19599, 20);
	expect_free(19600, 40);
	expect_free(20400, 60);
	run_to(21200);
	device_expect(model, proc[0], op, 0, 21200);
}
END_TEST

START_TEST(others_get_the_sms_that_come_free_between_waves)
{
	uint64_t wide, narrow;

	start_with(staggered_desc(80));
	ck_assert_int_eq(model_set_priority(model, 0, proc[1], -1), 0);
	wide = device_submit(model, 0, stream[0], kernel_of(160, 10 * US));
	narrow = device_submit(model, 1 * US, stream[1], kernel_of(20, 5 * US));
	run_to(100 * US);
	device_expect(model, proc[1], narrow, 8800, 13800);
	/* 20 of the second blocks begin at 13.8 us instead of 8.8. */
	device_expect(model, proc[0], wide, 0, 23800);
}
END_TEST

START_TEST(a_part_of_a_wave_goes_to_the_sms_that_come_first)
{
	uint64_t op;

	start_with(staggered_desc(80));
	op = device_submit(model, 0, stream[0], kernel_of(100, 10 * US));
	run_to(100 * US);
	device_expect(model, proc[0], op, 0, 18800);
}
END_TEST

START_TEST(one_wave_is_not_staggered)
{
	uint64_t op;

	start_with(staggered_desc(80));
	op = device_submit(model, 0, stream[0], kernel_of(80, 10 * US));
	run_to(9999);
	ck_assert_uint_eq(model->runq[0].free_sms, 0);
	run_to(10 * US);
	device_expect(model, proc[0], op, 0, 10 * US);
}
END_TEST

START_TEST(few_sms_have_few_parts)
{
	static const struct {
		uint32_t sms;
		uint64_t must_ns;
	} cases[] = {{1, 20000}, {2, 21200}, {3, 21200}, {5, 21200}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t op;

		start_with(staggered_desc(cases[i].sms));
		op = device_submit(model, 0, stream[0], kernel_of(2 * cases[i].sms, 10 * US));
		run_to(100 * US);
		device_expect(model, proc[0], op, 0, cases[i].must_ns);
	}
}
END_TEST

/* ---- merging ---- */

START_TEST(short_waves_are_merged_into_as_much_time)
{
	static const struct {
		uint32_t blocks;
		uint64_t block_ns, must_ns;
		uint32_t played; /* blocks */
	} cases[] = {
		{800, 10 * US, 100 * US, 240}, /* 10 waves: 3 of 33.3 us */
		{810, 10 * US, 110 * US, 221}, /* 11, the last one of 10: 3, the last one of 61 */
		{160, 10 * US, 20 * US, 80},   /* 2 waves: one */
		{85, 14 * US, 28 * US, 43},    /* one, not all of it */
		{160, 30 * US, 60 * US, 160},  /* long enough */
		{80, 5 * US, 5 * US, 80},      /* one wave is no shorter than it is */
		{80000, 100, 100 * US, 240},   /* 1000 waves of 100 ns */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model_desc desc = device_desc(80, true);
		struct model_progress progress;
		struct model_done done;
		uint64_t op;

		desc.merge_ns = 30 * US;
		start_with(desc);
		op = device_submit(model, 0, stream[0],
				   kernel_of(cases[i].blocks, cases[i].block_ns));
		ck_assert(model_get_progress(model, op, &progress));
		ck_assert_uint_eq(progress.blocks, cases[i].played);
		run_to(200 * US);
		done = device_take(model, proc[0], op);
		ck_assert_uint_le(done.end_ns, cases[i].must_ns);
		ck_assert_uint_gt(done.end_ns + 3, cases[i].must_ns); /* a ns a wave is lost */
	}
}
END_TEST

START_TEST(an_unknown_length_is_not_merged)
{
	struct model_desc desc = device_desc(80, true);
	struct model_op_desc kernel = kernel_of(800, MODEL_UNKNOWN);
	struct model_progress progress;
	uint64_t op;

	desc.merge_ns = 30 * US;
	desc.stagger_permille = 120;
	start_with(desc);
	kernel.functional = 1;
	op = device_submit(model, 0, stream[0], kernel);
	ck_assert(model_get_progress(model, op, &progress));
	ck_assert_uint_eq(progress.blocks, 800);
	model_functional_done(model, 25 * US, op, 10 * US);
	run_to(200 * US);
	/* Staggered from the first wave that begins when its length is known. */
	device_expect(model, proc[0], op, 0, 101200);
}
END_TEST

/* ---- coalescing ---- */

START_TEST(blocks_that_end_close_to_others_end_with_them)
{
	static const struct {
		uint64_t other_ns, must_ns; /* when the SMs of the later blocks come free */
	} cases[] = {
		{1 * US, 10 * US}, /* would end 1 us after the others */
		{1001, 11001},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model_desc desc = device_desc(80, true);
		uint64_t op;

		desc.coalesce_ns = 2 * US;
		start_with(desc);
		(void)device_submit(model, 0, stream[0], kernel_of(20, cases[i].other_ns));
		op = device_submit(model, 0, stream[1], kernel_of(80, 10 * US));
		run_to(cases[i].must_ns - 1);
		ck_assert(!model_is_done(model, op));
		run_to(cases[i].must_ns);
		device_expect(model, proc[1], op, 0, cases[i].must_ns);
	}
}
END_TEST

START_TEST(blocks_wait_for_others_that_end_soon_after)
{
	struct model_desc desc = device_desc(80, true);
	uint64_t op;

	/* 20 blocks begin beside the 60 SMs of another and take 7.5 % longer; the 60 that begin
	 * when it ends, at 0.5 us, would end 0.25 us before them. */
	desc.coalesce_ns = 1 * US;
	desc.corun_permille = 100;
	start_with(desc);
	(void)device_submit(model, 0, stream[0], kernel_of(60, 500));
	op = device_submit(model, 0, stream[1], kernel_of(80, 10 * US));
	run_to(10749);
	ck_assert_uint_eq(model->runq[0].free_sms, 0);
	run_to(10750);
	device_expect(model, proc[1], op, 0, 10750);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, bandwidth_that_is_asked_for_twice_stretches);
	tcase_add_test(tcase, bandwidth_leaves_a_kernel_alone_as_it_is);
	tcase_add_test(tcase, bandwidth_that_a_kernel_lacks_alone_is_not_taken_twice);
	tcase_add_test(tcase, bandwidth_is_of_the_moment_in_which_a_block_starts);
	tcase_add_test(tcase, a_later_block_may_end_before_an_earlier_one);
	tcase_add_test(tcase, classes_that_do_not_exist_are_refused);
	tcase_add_test(tcase, corunning_lengthens_by_the_share_of_the_others);
	tcase_add_test(tcase, corunning_is_of_kernels_not_of_blocks);
	tcase_add_test(tcase, corunning_comes_on_top_of_bandwidth);
	tcase_add_test(tcase, nobody_coruns_in_time_slices);
	tcase_add_test(tcase, sms_of_several_waves_come_free_little_by_little);
	tcase_add_test(tcase, others_get_the_sms_that_come_free_between_waves);
	tcase_add_test(tcase, a_part_of_a_wave_goes_to_the_sms_that_come_first);
	tcase_add_test(tcase, one_wave_is_not_staggered);
	tcase_add_test(tcase, few_sms_have_few_parts);
	tcase_add_test(tcase, short_waves_are_merged_into_as_much_time);
	tcase_add_test(tcase, an_unknown_length_is_not_merged);
	tcase_add_test(tcase, blocks_that_end_close_to_others_end_with_them);
	tcase_add_test(tcase, blocks_wait_for_others_that_end_soon_after);
}

int main(void)
{
	return device_main("device effects", add);
}
