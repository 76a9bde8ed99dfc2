/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of hand-made records. */

#include <check.h>
#include <stdlib.h>

#include "plan/metrics.h"

#define MS 1000000ull

START_TEST(test_quantile_is_by_rank)
{
	uint64_t value[100];

	for (uint64_t i = 0; i < 100; i++)
		value[i] = (i * 37) % 100 + 1; /* 1 .. 100, mixed up */
	ck_assert_uint_eq(metrics_quantile(value, 100, 990), 99);
	ck_assert_uint_eq(metrics_quantile(value, 100, 500), 50);
	ck_assert_uint_eq(metrics_quantile(value, 100, 999), 100);
	ck_assert_uint_eq(metrics_quantile(value, 100, 0), 1);
	ck_assert_uint_eq(metrics_quantile(value, 1, 990), 1);
	ck_assert_uint_eq(metrics_quantile(value, 0, 990), 0);
}
END_TEST

/* Ten requests, two of them warm-up, each of two steps; one more has begun and not ended. */
START_TEST(test_tails_leave_warmup_out)
{
	struct world_request request[11] = {0};
	struct world_service service[21] = {0};
	struct world_record record = {
		.request = request, .requests = 10, .service = service, .services = 21};
	struct metrics_tail tail;

	for (uint32_t i = 0; i < 10; i++) {
		uint64_t arrival_ns = i * 100 * MS;

		request[i] = (struct world_request){.arrival_ns = arrival_ns,
						    .start_ns = arrival_ns + MS,
						    .end_ns = arrival_ns + (i < 2 ? 90 : i) * MS};
		service[2 * i] = (struct world_service){
			.request = i, .start_ns = arrival_ns, .end_ns = arrival_ns + MS};
		service[2 * i + 1] =
			(struct world_service){.request = i,
					       .step = 1,
					       .start_ns = arrival_ns + 2 * MS,
					       .end_ns = arrival_ns + (i < 2 ? 80 : 4) * MS};
	}
	service[20] = (struct world_service){.request = 10, .end_ns = 999 * MS};
	ck_assert_int_eq(metrics_arrival(&record, 2, &tail), 0);
	ck_assert_uint_eq(tail.count, 8);
	ck_assert_uint_eq(tail.p99_ns, 9 * MS);
	ck_assert_uint_eq(tail.p50_ns, 5 * MS);
	ck_assert_int_eq(metrics_service(&record, 2, &tail), 0);
	ck_assert_uint_eq(tail.count, 16);
	ck_assert_uint_eq(tail.p50_ns, 1 * MS);
	ck_assert_uint_eq(tail.p99_ns, 2 * MS);
	ck_assert_int_eq(metrics_arrival(&record, 10, &tail), 0);
	ck_assert_uint_eq(tail.count, 0);
	ck_assert_uint_eq(tail.p99_ns, 0);
}
END_TEST

START_TEST(test_over_and_throughput)
{
	struct world_record shared = {.done_ns = 300, .measured_ns = 1000};
	struct world_record alone = {.done_ns = 900, .measured_ns = 1500}, nothing = {0};

	ck_assert_double_eq_tol(metrics_over(110, 100), 0.1, 1e-12);
	ck_assert_double_eq(metrics_over(110, 0), 0);
	ck_assert_double_eq_tol(metrics_throughput(&shared, &alone), 0.5, 1e-12);
	ck_assert_double_eq(metrics_throughput(&shared, &nothing), 0);
	ck_assert_double_eq(metrics_throughput(&nothing, &alone), 0);
}
END_TEST

/* Weights 3 and 1. Samples every 100 ms; of the windows of 200 ms from the first full sample on,
 * one is as it should be, one off by a quarter, one empty, one at 0.9 instead of 0.75. */
START_TEST(test_share_error)
{
	uint64_t first[] = {0, 50, 80, 110, 135, 160, 160, 160, 205, 250};
	uint64_t second[] = {0, 50, 60, 70, 95, 120, 120, 120, 125, 130};
	struct world_record record[2] = {{.progress_ns = first, .samples = 10},
					 {.progress_ns = second, .samples = 10}};
	uint32_t weight[2] = {300, 100};
	struct metrics_shares shares;

	ck_assert_int_eq(metrics_share_error(record, weight, 2, 100, 200, 50, &shares), 0);
	ck_assert_uint_eq(shares.windows, 3);
	ck_assert_double_eq_tol(shares.worst, 0.25, 1e-9);
	ck_assert_double_eq_tol(shares.p95, 0.25, 1e-9);
	ck_assert_double_eq_tol(shares.mean, (0 + 0.25 + 0.15) / 3, 1e-9);
	ck_assert_int_lt(metrics_share_error(record, weight, 2, 100, 250, 0, &shares), 0);
	ck_assert_int_eq(metrics_share_error(record, weight, 2, 100, 200, 5000, &shares), 0);
	ck_assert_uint_eq(shares.windows, 0);
}
END_TEST

START_TEST(test_replay)
{
	uint64_t arrival_ns[] = {100, 103, 104, 200, 210, 211}, latency_ns[6];

	/* 10 each, 2 between queued ones: the second starts at 112, the third at 124; the fourth
	 * meets nobody; the fifth arrives just as that ends, and queues. */
	metrics_replay(arrival_ns, 6, 10, 2, latency_ns);
	ck_assert_uint_eq(latency_ns[0], 10);
	ck_assert_uint_eq(latency_ns[1], 122 - 103);
	ck_assert_uint_eq(latency_ns[2], 134 - 104);
	ck_assert_uint_eq(latency_ns[3], 10);
	ck_assert_uint_eq(latency_ns[4], 222 - 210);
	ck_assert_uint_eq(latency_ns[5], 234 - 211);
}
END_TEST

START_TEST(test_interval_over_seeds)
{
	double value[] = {1, 2, 3, 4, 5};
	struct metrics_interval interval;

	metrics_over_seeds(value, 5, &interval);
	ck_assert_double_eq(interval.mean, 3);
	ck_assert_double_eq(interval.least, 1);
	ck_assert_double_eq(interval.most, 5);
	/* t(4) = 2.776, standard error sqrt(2.5 / 5) */
	ck_assert_double_eq_tol(interval.half, 2.776 * 0.70710678, 1e-6);
	metrics_over_seeds(value, 1, &interval);
	ck_assert_double_eq(interval.half, 0);
	metrics_over_seeds(value, 0, &interval);
	ck_assert_uint_eq(interval.count, 0);
}
END_TEST

static Suite *metrics_suite(void)
{
	Suite *suite = suite_create("plan_metrics");
	TCase *tcase = tcase_create("metrics");

	tcase_add_test(tcase, test_quantile_is_by_rank);
	tcase_add_test(tcase, test_tails_leave_warmup_out);
	tcase_add_test(tcase, test_over_and_throughput);
	tcase_add_test(tcase, test_share_error);
	tcase_add_test(tcase, test_replay);
	tcase_add_test(tcase, test_interval_over_seeds);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(metrics_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
