/* SPDX-License-Identifier: Apache-2.0 */
/* From hand-made traces to workloads. */

#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "plan/fold.h"
#include "plan/workload.h"

#define US 1000u

static struct fold fold;
static uint64_t clock_ns, number;

static void put(uint64_t key, uint32_t cost_ns, uint32_t blocks, uint32_t per_sm, uint32_t kind)
{
	struct sluice_trace_record record = {.at_ns = clock_ns += 5 * US,
					     .key = key,
					     .cost_ns = cost_ns,
					     .blocks = blocks,
					     .per_sm = per_sm,
					     .what = 7u << 8 | kind};

	ck_assert_int_eq(fold_add(&fold, number++, &record, 1), 0);
}

static void drain(void)
{
	clock_ns += 100 * US;
	put(0, 0, 0, 0, SLUICE_TRACE_DRAINED);
}

static void begin(void)
{
	fold = (struct fold){0};
	clock_ns = number = 0;
}

static struct workload *make(bool latency, struct fold_result *ret)
{
	struct fold_terms terms = {
		.name = "case", .source = "test", .device_sms = 132, .latency = latency};
	struct workload *workload;

	ck_assert_int_eq(fold_make(&fold, &terms, &workload, ret), 0);
	return workload;
}

/* The first step has been under way already; one request is of another kind. */
START_TEST(test_a_server)
{
	struct fold_result result;
	struct workload *workload;

	begin();
	put(100, 50 * US, 640, 4, SLUICE_TRACE_KERNEL);
	for (uint32_t i = 0; i < 6; i++) {
		drain();
		if (i == 3) {
			put(300, 90 * US, 10, 1, SLUICE_TRACE_KERNEL);
			continue;
		}
		put(200, 12 * US, 16, 0, SLUICE_TRACE_COPY_TO_DEVICE);
		put(100, (50 + i) * US, 641, 4, SLUICE_TRACE_KERNEL);
		put(101, 70 * US, 9, 0, SLUICE_TRACE_KERNEL);
		put(100, 50 * US, 641, 4, SLUICE_TRACE_KERNEL);
	}
	drain();
	workload = make(true, &result);
	ck_assert_uint_eq(result.steps, 6);
	ck_assert_uint_eq(result.used, 5);
	ck_assert_uint_eq(result.period, 1);
	ck_assert_uint_eq(result.launch_gap_ns, 5 * US);
	ck_assert_uint_eq(result.turn_gap_ns, 5 * US);
	ck_assert(workload->has_gaps);
	ck_assert_uint_eq(workload->device_sms, 132);
	ck_assert_uint_eq(workload->n_ops, 4);
	ck_assert_uint_eq(workload->ops[0].kind, WORKLOAD_COPY_H2D);
	ck_assert_uint_eq(workload->ops[0].bytes, 16 << 10);
	/* 50, 51, 52, 54, 55 */
	ck_assert_uint_eq(workload->ops[1].ns, 52 * US);
	ck_assert_uint_eq(workload->ops[1].sms, 161);
	ck_assert_uint_eq(workload->ops[2].sms, 132);
	ck_assert_uint_eq(workload->ops[3].key, workload->ops[1].key);
	ck_assert_uint_ne(workload->ops[2].key, workload->ops[1].key);
	workload_free(workload);
	fold_finish(&fold);
}
END_TEST

/* Forward, backward, update, each with a synchronisation: an iteration of a loop is all three. */
START_TEST(test_a_loop_of_several_steps)
{
	struct fold_result result;
	struct workload *workload;

	begin();
	for (uint32_t i = 0; i < 8; i++) {
		for (uint32_t step = 0; step < 3; step++) {
			drain();
			put(10 + step, 100 * US, 8, 1, SLUICE_TRACE_KERNEL);
			put(20, 40 * US, 8, 1, SLUICE_TRACE_KERNEL);
		}
	}
	drain();
	workload = make(false, &result);
	ck_assert_uint_eq(result.period, 3);
	ck_assert_uint_eq(result.used, 24);
	ck_assert_uint_eq(result.work_permille, 1000);
	ck_assert_uint_eq(workload->n_ops, 6);
	ck_assert_uint_eq(workload->step_ns, 3 * 140 * US);
	workload_free(workload);
	/* The same trace of a server: each synchronisation ends a service. */
	workload = make(true, &result);
	ck_assert_uint_eq(result.period, 1);
	ck_assert_uint_eq(workload->n_ops, 2);
	workload_free(workload);
	fold_finish(&fold);
}
END_TEST

/* There the cost table says what a kernel is, whatever its grid. */
START_TEST(test_a_simulated_kernel_takes_the_device)
{
	struct fold_terms terms = {.name = "case",
				   .source = "test",
				   .device_sms = 132,
				   .latency = true,
				   .simulated = true};
	struct fold_result result;
	struct workload *workload;

	begin();
	for (uint32_t i = 0; i < 3; i++) {
		drain();
		put(1, 50 * US, 1, 8, SLUICE_TRACE_KERNEL);
		put(2, 50 * US, 6400, 4, SLUICE_TRACE_KERNEL);
		put(3, 50 * US, 16, 0, SLUICE_TRACE_COPY_TO_HOST);
	}
	drain();
	ck_assert_int_eq(fold_make(&fold, &terms, &workload, &result), 0);
	ck_assert_uint_eq(workload->n_ops, 3);
	ck_assert_uint_eq(workload->ops[0].sms, 132);
	ck_assert_uint_eq(workload->ops[1].sms, 132);
	ck_assert_uint_eq(workload->ops[2].bytes, 16 << 10);
	workload_free(workload);
	fold_finish(&fold);
}
END_TEST

START_TEST(test_a_graph_is_one_launch)
{
	struct fold_result result;
	struct workload *workload;
	uint64_t sum_ns = 0;

	begin();
	for (uint32_t i = 0; i < 3; i++) {
		drain();
		put(1, 950 * US, 0, 0, SLUICE_TRACE_GRAPH);
	}
	drain();
	workload = make(true, &result);
	ck_assert_uint_eq(workload->ops[0].kind, WORKLOAD_GRAPH);
	ck_assert_uint_eq(workload->ops[0].nodes, 10);
	ck_assert_uint_eq(workload->n_ops, 11);
	for (uint32_t i = 1; i <= 10; i++)
		sum_ns += workload->ops[i].ns;
	ck_assert_uint_eq(sum_ns, 950 * US);
	workload_free(workload);
	fold_finish(&fold);
}
END_TEST

/* Steps around lost records are left out, and so are drains of a stream that has little to do. */
START_TEST(test_losses_and_other_streams)
{
	struct sluice_trace_record other = {.what = 8u << 8 | SLUICE_TRACE_DRAINED};
	struct fold_result result;
	struct workload *workload;

	begin();
	for (uint32_t i = 0; i < 6; i++) {
		drain();
		put(1, 50 * US, 4, 1, SLUICE_TRACE_KERNEL);
		if (i == 2)
			number += 10;
		ck_assert_int_eq(fold_add(&fold, number++, &other, 1), 0);
		put(2, 50 * US, 4, 1, SLUICE_TRACE_KERNEL);
	}
	drain();
	workload = make(true, &result);
	ck_assert_uint_eq(result.steps, 5);
	ck_assert_uint_eq(result.used, 5);
	ck_assert_uint_eq(workload->n_ops, 2);
	workload_free(workload);
	fold_finish(&fold);
}
END_TEST

START_TEST(test_nothing_to_fold)
{
	struct fold_terms terms = {.name = "case", .source = "test", .device_sms = 132};
	struct fold_result result;
	struct workload *workload;

	begin();
	ck_assert_int_eq(fold_make(&fold, &terms, &workload, &result), -ENODATA);
	put(1, 50 * US, 4, 1, SLUICE_TRACE_KERNEL);
	drain();
	put(1, 50 * US, 4, 1, SLUICE_TRACE_KERNEL);
	ck_assert_int_eq(fold_make(&fold, &terms, &workload, &result), -ENODATA);
	fold_finish(&fold);
}
END_TEST

START_TEST(test_gaps_between_requests)
{
	uint64_t *gaps;
	uint32_t count;

	begin();
	for (uint32_t i = 0; i < 5; i++) {
		drain();
		put(1, 50 * US, 4, 1, SLUICE_TRACE_KERNEL);
		clock_ns += i * 1000 * US;
	}
	drain();
	ck_assert_int_eq(fold_gaps(&fold, &gaps, &count), 0);
	ck_assert_uint_eq(count, 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(gaps[i], (i * 1000 + 100 + 10) * US);
	free(gaps);
	fold_finish(&fold);
}
END_TEST

static Suite *fold_suite(void)
{
	Suite *suite = suite_create("plan_fold");
	TCase *tcase = tcase_create("fold");

	tcase_add_test(tcase, test_a_server);
	tcase_add_test(tcase, test_a_loop_of_several_steps);
	tcase_add_test(tcase, test_a_simulated_kernel_takes_the_device);
	tcase_add_test(tcase, test_a_graph_is_one_launch);
	tcase_add_test(tcase, test_losses_and_other_streams);
	tcase_add_test(tcase, test_nothing_to_fold);
	tcase_add_test(tcase, test_gaps_between_requests);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(fold_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
