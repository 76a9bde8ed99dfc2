/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How well launches are predicted after twenty sightings, in virtual time, on a model of what is
 * measured. A launch takes its kernel's time give or take 3 % (8 % for a quarter of the kernels,
 * as memory-bound ones do). What a pair of events shows of it is never less: 0.3-1.5 us of the
 * events' own, 2-8 us more in a fifth of the cases (the stream was empty, and the host had still to
 * launch), and in one of twenty other work of 100 us at the mean that nothing told of.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

#define KERNELS 66
#define SIGHTINGS 20
#define JUDGED 40 /* launches of each kernel, from there on */
#define ROUNDS 400
#define US 1000.0

static struct predict predict;
static uint64_t random_state;

static double draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static double draw_normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += draw();
	return sum;
}

/* ---- programs -------------------------------------------------------------------------------------- */

/* Durations of published inference and training steps, by deciles. */
static const double decile_us[] = {3, 5, 8, 12, 20, 35, 60, 100, 180, 335, 900};

struct kernel {
	double base_ns;
	double noise;
	uint32_t seen;
	bool is_judged; /* its errors count */
};

struct launch {
	uint32_t kernel;
	double work; /* times the kernel's base */
	uint32_t scalar;
};

struct program {
	struct kernel kernel[KERNELS];
	struct launch order[512];
	uint32_t launches;
	uint32_t judged_to; /* launch of a kernel */
	/* Changes the order between two rounds; NULL: every round is alike. */
	void (*next)(struct program *program, uint32_t round);
};

static void program_setup(struct program *program)
{
	memset(&predict, 0, sizeof(predict));
	memset(program, 0, sizeof(*program));
	program->judged_to = SIGHTINGS + JUDGED;
	for (uint32_t i = 0; i < KERNELS; i++) {
		program->kernel[i].base_ns = decile_us[i % 11] * US * (0.8 + 0.4 * draw());
		program->kernel[i].noise = i % 4 ? 0.03 : 0.08;
		program->kernel[i].is_judged = true;
	}
}

static void add(struct program *program, uint32_t kernel, double work)
{
	program->order[program->launches++] =
		(struct launch){.kernel = kernel, .work = work, .scalar = (uint32_t)(work * 1024)};
}

static double observed_ns(double took_ns)
{
	took_ns += (0.3 + 1.2 * draw()) * US;
	if (draw() < 0.2)
		took_ns += (2 + 6 * draw()) * US;
	if (draw() < 0.05)
		took_ns += -log(1 - draw()) * 100 * US;
	return took_ns;
}

/* ---- the shim's way with a launch ------------------------------------------------------------------- */

static uint32_t before, countdown;

static struct predict_entry *entry_of(const struct launch *launch)
{
	uint64_t tag = predict_kernel_tag(&predict + launch->kernel, 1, 1, 1, 32, 1, 1, 0);
	struct predict_entry *whole = predict_find(&predict, tag, PREDICT_KERNEL_NS), *part;
	const uint64_t pointer = 0x7f0000000000u + (uint64_t)(draw() * 1e6);
	void *const params[] = {(void *)(uintptr_t)&pointer, (void *)(uintptr_t)&launch->scalar};
	struct predict_context context = {.before = before, .params = params};

	part = predict_resolve(&predict, whole, &context);
	if (predict_needs_scalars(&predict, part)) {
		predict_set_scalars(&predict, part, 1u << 1, 1u << 0);
		part = predict_resolve(&predict, whole, &context);
	}
	before = predict_number(&predict, whole);
	return part;
}

static bool is_sampled(struct predict_entry *entry)
{
	if (predict_offer(&predict, entry))
		return true;
	if (countdown--)
		return false;
	countdown = 64;
	return predict_is_known(&predict, entry);
}

/* Relative errors of the launches that follow a kernel's twentieth. */
static double error[KERNELS * ROUNDS];
static uint32_t errors;

static void launch_make(struct program *program, const struct launch *launch)
{
	struct kernel *kernel = &program->kernel[launch->kernel];
	double took_ns =
		kernel->base_ns * launch->work * fmax(0.5, 1 + kernel->noise * draw_normal());
	struct predict_entry *entry = entry_of(launch);

	kernel->seen++;
	if (kernel->is_judged && kernel->seen > SIGHTINGS && kernel->seen <= program->judged_to)
		error[errors++] = fabs(predict_cost_ns(entry) - took_ns) / took_ns;
	if (is_sampled(entry))
		predict_sample(&predict, entry, (uint64_t)observed_ns(took_ns), true);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_error(struct program *program, uint32_t rounds)
{
	errors = before = 0;
	countdown = 64;
	for (uint32_t round = 0; round < rounds; round++) {
		if (program->next)
			program->next(program, round);
		for (uint32_t i = 0; i < program->launches; i++)
			launch_make(program, &program->order[i]);
	}
	ck_assert_uint_ge(errors, 300);
	qsort(error, errors, sizeof(error[0]), by_size);
	printf("median error %.3f, p90 %.3f of %u launches; %u entries\n", error[errors / 2],
	       error[errors * 9 / 10], errors, predict.used);
	return error[errors / 2];
}

/* The mean over seeds: one number to hold to. */
static double mean_over_seeds(void (*build)(struct program *program), uint32_t rounds)
{
	static struct program program;
	double sum = 0;

	for (uint64_t seed = 1; seed <= 5; seed++) {
		random_state = seed * 0x9e3779b97f4a7c15ull;
		program_setup(&program);
		build(&program);
		sum += median_error(&program, rounds);
	}
	return sum / 5;
}

/* ---- what is launched ----------------------------------------------------------------------------------- */

static void build_steady(struct program *program)
{
	for (uint32_t i = 0; i < KERNELS; i++)
		add(program, i, 1);
}

START_TEST(steady_kernels_are_predicted)
{
	ck_assert_double_le(mean_over_seeds(build_steady, 60), 0.10);
}
END_TEST

/* Layers: the same few kernels again and again, each at two or three depths of the product. */
static void build_layers(struct program *program)
{
	for (uint32_t i = 22; i < KERNELS; i++)
		program->kernel[i].is_judged = false;
	for (uint32_t layer = 0; layer < 5; layer++) {
		for (uint32_t i = 0; i < 22; i++) {
			add(program, i, i % 3 ? 1 : 4);
			add(program, 22 + i, 1);
			add(program, i, i % 3 ? 2.5 : 1);
			add(program, 44 + i, 1);
		}
	}
}

START_TEST(work_that_varies_with_its_place_is_predicted)
{
	ck_assert_double_le(mean_over_seeds(build_layers, 40), 0.10);
}
END_TEST

/* A server: each request is of one of five lengths, drawn anew, and the grid does not say it. */
static void next_request(struct program *program, uint32_t round)
{
	static const double length[] = {0.25, 0.5, 1, 2, 4};
	double work = length[(uint32_t)(draw() * 5)];

	program->launches = 0;
	for (uint32_t i = 0; i < KERNELS; i++)
		add(program, i, work);
}

static void build_requests(struct program *program)
{
	program->next = next_request;
}

START_TEST(work_that_varies_with_an_argument_is_predicted)
{
	ck_assert_double_le(mean_over_seeds(build_requests, 150), 0.10);
}
END_TEST

/* A decode loop: attention grows with each token; 1000 tokens double it. */
static void next_token(struct program *program, uint32_t round)
{
	for (uint32_t i = 0; i < program->launches; i++) {
		if (i % 3 == 0)
			program->order[i].work = 1 + round / 1000.0;
	}
}

static void build_decode(struct program *program)
{
	build_steady(program);
	program->judged_to = ROUNDS;
	for (uint32_t i = 0; i < KERNELS; i++)
		program->kernel[i].is_judged = i % 3 == 0;
	program->next = next_token;
}

START_TEST(work_that_grows_slowly_is_followed)
{
	ck_assert_double_le(mean_over_seeds(build_decode, ROUNDS), 0.10);
}
END_TEST

/* Data alone decides: one in seven, by up to a half. */
static void next_data(struct program *program, uint32_t round)
{
	for (uint32_t i = 0; i < program->launches; i++) {
		if (i % 7 == 0)
			program->order[i] =
				(struct launch){.kernel = i, .work = exp(0.3 * draw_normal())};
	}
}

static void build_data(struct program *program)
{
	build_steady(program);
	program->next = next_data;
}

START_TEST(work_that_the_data_decides_spoils_nothing_else)
{
	ck_assert_double_le(mean_over_seeds(build_data, 100), 0.10);
}
END_TEST

START_TEST(a_change_for_good_is_learned_in_a_few_samples)
{
	struct estimate estimate;

	estimate_reset(&estimate, 1);
	for (int i = 0; i < 8; i++)
		estimate_add(&estimate, 100000, true);
	ck_assert(!estimate.asks);
	estimate_add(&estimate, 200000, true);
	ck_assert(estimate.asks);
	ck_assert_uint_eq(estimate.cost_ns, 100000);
	for (int i = 0; i < 3; i++)
		estimate_add(&estimate, 200000 + 1000u * (unsigned int)i, true);
	ck_assert_uint_ge(estimate.cost_ns, 200000);
	ck_assert(!estimate.asks);
	ck_assert(!estimate.varies);
}
END_TEST

START_TEST(one_disturbed_sample_changes_nothing)
{
	struct estimate estimate;

	estimate_reset(&estimate, 1);
	for (int i = 0; i < 8; i++)
		estimate_add(&estimate, 100000, true);
	estimate_add(&estimate, 900000, true);
	for (int i = 0; i < 3; i++)
		estimate_add(&estimate, 100000, true);
	ck_assert_uint_eq(estimate.cost_ns, 100000);
	ck_assert_uint_eq(estimate.high_ns, 100000);
	ck_assert(!estimate.asks);
}
END_TEST

START_TEST(a_seed_holds_until_there_are_samples_enough)
{
	struct estimate estimate;

	estimate_reset(&estimate, 1);
	estimate_seed(&estimate, 70000, 70000, 20);
	ck_assert(estimate_is_known(&estimate));
	ck_assert(estimate.asks);
	estimate_add(&estimate, 900000, false);
	estimate_add(&estimate, 90000, true);
	estimate_add(&estimate, 90000, true);
	estimate_add(&estimate, 90000, true);
	ck_assert_uint_eq(estimate.cost_ns, 70000);
	estimate_add(&estimate, 90000, true);
	ck_assert_uint_eq(estimate.cost_ns, 90000);
	ck_assert_uint_eq(estimate.sightings, 25);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_estimate");
	TCase *tcase = tcase_create("estimate");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, steady_kernels_are_predicted);
	tcase_add_test(tcase, work_that_varies_with_its_place_is_predicted);
	tcase_add_test(tcase, work_that_varies_with_an_argument_is_predicted);
	tcase_add_test(tcase, work_that_grows_slowly_is_followed);
	tcase_add_test(tcase, work_that_the_data_decides_spoils_nothing_else);
	tcase_add_test(tcase, a_change_for_good_is_learned_in_a_few_samples);
	tcase_add_test(tcase, one_disturbed_sample_changes_nothing);
	tcase_add_test(tcase, a_seed_holds_until_there_are_samples_enough);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
