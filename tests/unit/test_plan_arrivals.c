/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/arrivals.h"

#define MS 1000000ull
#define N 40000

static uint64_t gap[N];

/* Draws N gaps. */
static void draw(const struct arrivals_desc *desc)
{
	struct arrivals arrivals;
	uint64_t last = 0, at;

	ck_assert_int_eq(arrivals_init(&arrivals, desc), 0);
	for (int i = 0; i < N; i++) {
		arrivals_next(&arrivals, &at);
		ck_assert_uint_ge(at, last);
		gap[i] = at - last;
		last = at;
	}
}

static double mean(void)
{
	double sum = 0;

	for (int i = 0; i < N; i++)
		sum += (double)gap[i];
	return sum / N;
}

static double variation(void)
{
	double m = mean(), squares = 0;

	for (int i = 0; i < N; i++)
		squares += ((double)gap[i] - m) * ((double)gap[i] - m);
	return sqrt(squares / N) / m;
}

START_TEST(poisson_has_its_rate_and_no_memory)
{
	int over = 0;

	draw(&(struct arrivals_desc){.kind = ARRIVALS_POISSON, .mean_ns = 10 * MS, .seed = 1});
	ck_assert_double_eq_tol(mean(), 10e6, 0.2e6);
	ck_assert_double_eq_tol(variation(), 1, 0.02);
	for (int i = 0; i < N; i++)
		over += gap[i] > 20 * MS;
	ck_assert_double_eq_tol((double)over / N, exp(-2), 0.007);
}
END_TEST

START_TEST(periodic_stays_within_its_jitter)
{
	uint64_t least = UINT64_MAX, most = 0;

	draw(&(struct arrivals_desc){
		.kind = ARRIVALS_PERIODIC, .mean_ns = 10 * MS, .jitter_permille = 25, .seed = 2});
	for (int i = 0; i < N; i++) {
		least = gap[i] < least ? gap[i] : least;
		most = gap[i] > most ? gap[i] : most;
	}
	ck_assert_uint_ge(least, 9750000);
	ck_assert_uint_le(least, 9751000);
	ck_assert_uint_le(most, 10250000);
	ck_assert_uint_ge(most, 10249000);
	ck_assert_double_eq_tol(mean(), 10e6, 1e4);

	draw(&(struct arrivals_desc){.kind = ARRIVALS_PERIODIC, .mean_ns = 777, .seed = 2});
	for (int i = 0; i < N; i++)
		ck_assert_uint_eq(gap[i], 777);
}
END_TEST

START_TEST(lognormal_keeps_its_mean_and_has_its_median)
{
	int under = 0;

	draw(&(struct arrivals_desc){
		.kind = ARRIVALS_LOGNORMAL, .mean_ns = 10 * MS, .sigma_permille = 1000, .seed = 3});
	ck_assert_double_eq_tol(mean(), 10e6, 0.3e6);
	for (int i = 0; i < N; i++)
		under += (double)gap[i] < 10e6 * exp(-0.5);
	ck_assert_double_eq_tol((double)under / N, 0.5, 0.01);
}
END_TEST

START_TEST(recorded_gaps_come_in_order_and_again)
{
	static const uint64_t gaps[] = {1 * MS, 2 * MS, 3 * MS, 6 * MS};
	struct arrivals_desc desc = {.kind = ARRIVALS_RECORDED, .gaps = gaps, .n_gaps = 4};
	uint32_t first = 0;

	draw(&desc);
	while (gaps[first] != gap[0])
		first++;
	for (uint32_t i = 0; i < N; i++)
		ck_assert_uint_eq(gap[i], gaps[(first + i) % 4]);
	/* Scaled: the same shape at another rate. */
	desc.mean_ns = 30 * MS;
	draw(&desc);
	for (uint32_t i = 0; i < N; i++)
		ck_assert_uint_eq(gap[i], gaps[(first + i) % 4] * 10);
}
END_TEST

START_TEST(closed_loop_waits_for_the_last_request)
{
	struct arrivals arrivals;
	uint64_t at;

	ck_assert_int_eq(arrivals_init(&arrivals, &(struct arrivals_desc){.kind = ARRIVALS_CLOSED,
									  .mean_ns = 500}),
			 0);
	arrivals_next(&arrivals, &at);
	ck_assert_uint_eq(at, 500);
	arrivals_next(&arrivals, &at);
	ck_assert_uint_eq(at, UINT64_MAX);
	arrivals_done(&arrivals, 10000);
	arrivals_next(&arrivals, &at);
	ck_assert_uint_eq(at, 10500);
}
END_TEST

START_TEST(a_step_changes_the_rate_at_its_time)
{
	struct arrivals_desc desc = {.kind = ARRIVALS_PERIODIC,
				     .mean_ns = 1000,
				     .steps = {{2500, 2000}, {4000, 500}},
				     .n_steps = 2};
	/* 1000, 2000; half of the third gap passes up to 2500, the other half at double rate. */
	static const uint64_t want[] = {1000, 2000, 2750, 3250, 3750, 5000, 7000, 9000};
	struct arrivals arrivals;
	uint64_t at;

	ck_assert_int_eq(arrivals_init(&arrivals, &desc), 0);
	for (unsigned int i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		arrivals_next(&arrivals, &at);
		ck_assert_uint_eq(at, want[i]);
	}
	/* From the beginning on. */
	desc.steps[0] = (struct arrivals_step){0, 4000};
	desc.n_steps = 1;
	ck_assert_int_eq(arrivals_init(&arrivals, &desc), 0);
	arrivals_next(&arrivals, &at);
	ck_assert_uint_eq(at, 250);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
	static const uint64_t zero[] = {0, 0};
	const struct arrivals_desc bad[] = {
		{.kind = ARRIVALS_POISSON},
		{.kind = ARRIVALS_RECORDED},
		{.kind = ARRIVALS_RECORDED, .gaps = zero, .n_gaps = 2},
		{.kind = ARRIVALS_PERIODIC, .mean_ns = 1, .jitter_permille = 1000},
		{.kind = ARRIVALS_LOGNORMAL, .mean_ns = 1, .sigma_permille = 3001},
		{.kind = ARRIVALS_POISSON, .mean_ns = 1, .steps = {{5, 0}}, .n_steps = 1},
		{.kind = ARRIVALS_POISSON, .mean_ns = 1, .steps = {{5, 1}, {5, 2}}, .n_steps = 2},
	};
	struct arrivals arrivals;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(arrivals_init(&arrivals, &bad[i]), -EINVAL);
}
END_TEST

static int load(const char *text, uint64_t **ret_gaps, uint32_t *ret_n, int *reterr_line)
{
	char path[] = "/tmp/sluice-gaps-XXXXXX";
	int fd = mkstemp(path), r;
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	r = arrivals_load_gaps(path, ret_gaps, ret_n, reterr_line);
	unlink(path);
	return r;
}

START_TEST(gaps_are_read_from_a_file)
{
	uint64_t *gaps;
	uint32_t n;
	int line;

	ck_assert_int_eq(load("# one\ngap_s\n0.012\n\n2\n.000000001\n", &gaps, &n, &line), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_uint_eq(gaps[0], 12 * MS);
	ck_assert_uint_eq(gaps[1], 2000 * MS);
	ck_assert_uint_eq(gaps[2], 1);
	free(gaps);
	ck_assert_int_eq(load("0.1\n0.2x\n", &gaps, &n, &line), -EINVAL);
	ck_assert_int_eq(line, 2);
	ck_assert_int_eq(load("# nothing\n", &gaps, &n, &line), -EINVAL);
	ck_assert_int_eq(arrivals_load_gaps("/nowhere/at/all", &gaps, &n, &line), -ENOENT);

	ck_assert_int_eq(
		arrivals_load_gaps("tools/plan/suites/pairs/gaps-recorded.txt", &gaps, &n, &line),
		0);
	ck_assert_uint_eq(n, 21);
	free(gaps);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_arrivals");
	TCase *tcase = tcase_create("arrivals");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, poisson_has_its_rate_and_no_memory);
	tcase_add_test(tcase, periodic_stays_within_its_jitter);
	tcase_add_test(tcase, lognormal_keeps_its_mean_and_has_its_median);
	tcase_add_test(tcase, recorded_gaps_come_in_order_and_again);
	tcase_add_test(tcase, closed_loop_waits_for_the_last_request);
	tcase_add_test(tcase, a_step_changes_the_rate_at_its_time);
	tcase_add_test(tcase, what_makes_no_sense_is_refused);
	tcase_add_test(tcase, gaps_are_read_from_a_file);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
