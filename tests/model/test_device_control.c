/* SPDX-License-Identifier: Apache-2.0 */
/* What policies do to kernels: order among processes, limits while they run, progress. */

#include <errno.h>

#include "device_support.h"

static struct model *model;
static uint32_t proc[3], stream[3];

static void start_with(struct model_desc desc)
{
	free(model);
	model = device_create(&desc);
	for (int i = 0; i < 3; i++) {
		proc[i] = device_proc(model);
		stream[i] = device_stream(model, proc[i], 0);
	}
}

static void start(void)
{
	start_with(device_desc(4, true));
}

static void run_to(uint64_t now_ns)
{
	model_advance(model, now_ns);
	device_check(model);
}

START_TEST(sms_go_to_the_process_with_the_lowest_priority_number)
{
	uint64_t first, low, high;

	start();
	ck_assert_int_eq(model_set_priority(model, 0, proc[2], -1), 0);
	first = device_submit(model, 0, stream[0], kernel_of(4, 10 * US));
	low = device_submit(model, 1000, stream[1], kernel_of(4, 10 * US));
	high = device_submit(model, 2000, stream[2], kernel_of(4, 10 * US));
	run_to(40 * US);
	device_expect(model, proc[0], first, 0, 10 * US);
	device_expect(model, proc[2], high, 10 * US, 20 * US);
	device_expect(model, proc[1], low, 20 * US, 30 * US);
}
END_TEST

START_TEST(process_priority_comes_before_that_of_streams)
{
	uint64_t running, urgent, high;
	uint32_t raised;

	start();
	raised = device_stream(model, proc[1], -5);
	ck_assert_int_eq(model_set_priority(model, 0, proc[2], -1), 0);
	running = device_submit(model, 0, stream[0], kernel_of(4, 10 * US));
	urgent = device_submit(model, 1000, raised, kernel_of(4, 10 * US));
	high = device_submit(model, 2000, stream[2], kernel_of(4, 10 * US));
	run_to(40 * US);
	device_expect(model, proc[0], running, 0, 10 * US);
	device_expect(model, proc[2], high, 10 * US, 20 * US);
	device_expect(model, proc[1], urgent, 20 * US, 30 * US);
}
END_TEST

START_TEST(priority_changes_for_kernels_that_wait_but_blocks_that_run_stay)
{
	uint64_t running, other, waiting;

	start();
	running = device_submit(model, 0, stream[0], kernel_of(8, 10 * US));
	other = device_submit(model, 1000, stream[1], kernel_of(4, 10 * US));
	waiting = device_submit(model, 2000, stream[2], kernel_of(4, 10 * US));
	ck_assert_int_eq(model_set_priority(model, 5000, proc[2], -8), 0);
	ck_assert_int_eq(model_set_priority(model, 5000, proc[1], -3), 0);
	run_to(50 * US);
	device_expect(model, proc[2], waiting, 10 * US, 20 * US);
	device_expect(model, proc[1], other, 20 * US, 30 * US);
	device_expect(model, proc[0], running, 0, 40 * US);
}
END_TEST

START_TEST(priorities_have_bounds)
{
	start();
	ck_assert_int_eq(model_set_priority(model, 0, proc[0], 7), 0);
	ck_assert_int_eq(model_set_priority(model, 0, proc[0], 8), -EINVAL);
	ck_assert_int_eq(model_set_priority(model, 0, proc[0], -8), 0);
	ck_assert_int_eq(model_set_priority(model, 0, proc[0], -9), -EINVAL);
	ck_assert_int_eq(model_set_priority(model, 0, 9, 0), -EINVAL);
	ck_assert_int_eq(model_set_priority(model, 0, MODEL_MAX_PROCS, 0), -EINVAL);
}
END_TEST

/* A queue of kernels behind one that runs is older by number than what comes in meanwhile. */
static void submit_two_of_one_then_other(uint64_t ret[3])
{
	ret[0] = device_submit(model, 0, stream[0], kernel_of(4, 10 * US));
	ret[1] = device_submit(model, 0, stream[0], kernel_of(4, 10 * US));
	ret[2] = device_submit(model, 5 * US, stream[1], kernel_of(4, 10 * US));
}

START_TEST(age_from_submission)
{
	uint64_t op[3];

	start();
	submit_two_of_one_then_other(op);
	run_to(40 * US);
	device_expect(model, proc[0], op[0], 0, 10 * US);
	device_expect(model, proc[0], op[1], 10 * US, 20 * US);
	device_expect(model, proc[1], op[2], 20 * US, 30 * US);
}
END_TEST

START_TEST(age_from_when_it_could_start)
{
	struct model_desc desc = device_desc(4, true);
	uint64_t op[3];

	desc.age_from_ready = 1;
	start_with(desc);
	submit_two_of_one_then_other(op);
	run_to(40 * US);
	device_expect(model, proc[0], op[0], 0, 10 * US);
	device_expect(model, proc[1], op[2], 10 * US, 20 * US);
	device_expect(model, proc[0], op[1], 20 * US, 30 * US);
}
END_TEST

START_TEST(a_limit_of_none_stops_a_kernel_where_its_blocks_end)
{
	struct model_progress progress;
	uint64_t op, other;

	start();
	op = device_submit(model, 0, stream[0], kernel_of(12, 10 * US));
	model_limit(model, 5 * US, op, 0);
	device_check(model);
	ck_assert(model_get_progress(model, op, &progress));
	ck_assert_uint_eq(progress.start_ns, 0);
	ck_assert_uint_eq(progress.blocks, 12);
	ck_assert_uint_eq(progress.blocks_left, 8);
	ck_assert_uint_eq(progress.sms, 4);
	run_to(10 * US);
	ck_assert(model_get_progress(model, op, &progress));
	ck_assert_uint_eq(progress.blocks_left, 8);
	ck_assert_uint_eq(progress.blocks_done, 4);
	ck_assert_uint_eq(progress.sms, 0);
	other = device_submit(model, 30 * US, stream[1], kernel_of(4, 10 * US));
	model_limit(model, 35 * US, op, UINT32_MAX);
	run_to(60 * US);
	device_expect(model, proc[1], other, 30 * US, 40 * US);
	device_expect(model, proc[0], op, 0, 60 * US);
	ck_assert(!model_get_progress(model, op, &progress));
}
END_TEST

START_TEST(a_limit_narrows_and_widens_at_block_boundaries)
{
	struct model_op_desc kernel = kernel_of(12, 10 * US);
	struct model_progress progress;
	uint64_t op;

	start();
	kernel.max_sms = 3;
	op = device_submit(model, 0, stream[0], kernel);
	model_limit(model, 5 * US, op, 1);
	run_to(15 * US); /* 3 are done, the fourth runs */
	ck_assert(model_get_progress(model, op, &progress));
	ck_assert_uint_eq(progress.sms, 1);
	ck_assert_uint_eq(progress.blocks_left, 8);
	model_limit(model, 15 * US, op, 100); /* no more than it was submitted with */
	device_check(model);
	ck_assert(model_get_progress(model, op, &progress));
	ck_assert_uint_eq(progress.sms, 3);
	run_to(100 * US);
	/* The eight that were left begin at 15, 15, 20, 25, 25, 30, 35, 35. */
	device_expect(model, proc[0], op, 0, 45 * US);
}
END_TEST

START_TEST(a_limit_before_the_start_holds_the_stream)
{
	struct model_desc desc = device_desc(4, false);
	uint64_t op, next, other;

	desc.idle_hold_ns = 0;
	start_with(desc);
	op = device_submit(model, 0, stream[0], kernel_of(4, 10 * US));
	next = device_submit(model, 0, stream[0], kernel_of(4, 10 * US));
	model_limit(model, 0, next, 0);
	other = device_submit(model, 1 * US, stream[1], kernel_of(4, 10 * US));
	run_to(200 * US);
	device_expect(model, proc[0], op, 0, 10 * US);
	/* A kernel that may hold nothing is no work that keeps a time slice. */
	device_expect(model, proc[1], other, 110 * US, 120 * US);
	model_limit(model, 300 * US, next, 2);
	run_to(500 * US);
	device_expect(model, proc[0], next, 400 * US, 420 * US);
}
END_TEST

START_TEST(limits_ignore_what_is_no_kernel)
{
	struct model_progress progress;
	uint64_t copy;

	start();
	copy = device_submit(model, 0, stream[0], copy_of(MODEL_COPY_H2D, 10 * US));
	model_limit(model, 1 * US, copy, 0);
	model_limit(model, 1 * US, 12345678, 0);
	ck_assert(!model_get_progress(model, copy, &progress));
	ck_assert(!model_get_progress(model, 0, &progress));
	run_to(20 * US);
	device_expect(model, proc[0], copy, 0, 10 * US);
}
END_TEST

START_TEST(running_stops_where_something_is_done)
{
	uint64_t first, second;

	start();
	first = device_submit(model, 0, stream[1], kernel_of(12, 10 * US));
	second = device_submit(model, 0, stream[2], copy_of(MODEL_COPY_H2D, 45 * US));
	ck_assert_uint_eq(model_procs_done(model), 0);
	ck_assert_uint_eq(model_run(model, 20 * US), 20 * US);
	ck_assert_uint_eq(model_run(model, 100 * US), 30 * US);
	ck_assert_uint_eq(model_procs_done(model), 1ull << proc[1]);
	ck_assert_uint_eq(model_run(model, 100 * US), 30 * US); /* until it is collected */
	device_expect(model, proc[1], first, 0, 30 * US);
	ck_assert_uint_eq(model_procs_done(model), 0);
	ck_assert_uint_eq(model_run(model, 100 * US), 45 * US);
	device_expect(model, proc[2], second, 0, 45 * US);
	ck_assert_uint_eq(model_run(model, 100 * US), 100 * US);
	device_check(model);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, sms_go_to_the_process_with_the_lowest_priority_number);
	tcase_add_test(tcase, process_priority_comes_before_that_of_streams);
	tcase_add_test(tcase, priority_changes_for_kernels_that_wait_but_blocks_that_run_stay);
	tcase_add_test(tcase, priorities_have_bounds);
	tcase_add_test(tcase, age_from_submission);
	tcase_add_test(tcase, age_from_when_it_could_start);
	tcase_add_test(tcase, a_limit_of_none_stops_a_kernel_where_its_blocks_end);
	tcase_add_test(tcase, a_limit_narrows_and_widens_at_block_boundaries);
	tcase_add_test(tcase, a_limit_before_the_start_holds_the_stream);
	tcase_add_test(tcase, limits_ignore_what_is_no_kernel);
	tcase_add_test(tcase, running_stops_where_something_is_done);
}

int main(void)
{
	return device_main("device control", add);
}
