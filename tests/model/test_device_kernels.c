/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of one process, and of several with MPS: waves, overlap, priorities, unknown costs. */

#include "device_support.h"

static struct model *model;

static void start(uint32_t sms, bool mps)
{
	struct model_desc desc = device_desc(sms, mps);

	free(model);
	model = device_create(&desc);
}

static void run_to(uint64_t now_ns)
{
	model_advance(model, now_ns);
	device_check(model);
}

START_TEST(waves_of_blocks)
{
	static const struct {
		uint32_t blocks, per_sm, max_sms, waves;
	} cases[] = {{1, 1, 0, 1},     {132, 1, 0, 1}, {133, 1, 0, 2},	{264, 1, 0, 2},
		     {265, 1, 0, 3},   {264, 2, 0, 1}, {1056, 8, 0, 1}, {1057, 8, 0, 2},
		     {133, 1, 10, 14}, {20, 2, 10, 1}, {21, 2, 10, 2}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct model_op_desc kernel = kernel_of(cases[i].blocks, 10 * US);
		uint32_t proc, stream;
		uint64_t op;

		start(132, false);
		proc = device_proc(model);
		stream = device_stream(model, proc, 0);
		kernel.blocks_per_sm = cases[i].per_sm;
		kernel.max_sms = cases[i].max_sms;
		op = device_submit(model, 1000, stream, kernel);
		run_to(1000 + cases[i].waves * 10 * US - 1);
		ck_assert(!model_is_done(model, op));
		run_to(1000 + cases[i].waves * 10 * US);
		ck_assert(model_is_done(model, op));
		device_expect(model, proc, op, 1000, 1000 + cases[i].waves * 10 * US);
	}
}
END_TEST

START_TEST(latency_and_gap)
{
	struct model_desc desc = device_desc(4, false);
	uint32_t proc, stream;
	uint64_t first, second, mark, third, late;

	desc.launch_latency_ns = 4000;
	desc.kernel_gap_ns = 1000;
	free(model);
	model = device_create(&desc);
	proc = device_proc(model);
	stream = device_stream(model, proc, 0);
	first = device_submit(model, 100, stream, kernel_of(1, 10000));
	second = device_submit(model, 200, stream, kernel_of(1, 10000));
	mark = device_submit(model, 300, stream, (struct model_op_desc){.kind = MODEL_MARK});
	third = device_submit(model, 400, stream, copy_of(MODEL_COPY_H2D, 500));
	run_to(100000);
	device_expect(model, proc, first, 4100, 14100);
	device_expect(model, proc, second, 15100, 25100);
	device_expect(model, proc, mark, 25100, 25100);
	device_expect(model, proc, third, 26100, 26600);
	late = device_submit(model, 100000, stream, kernel_of(1, 7));
	run_to(200000);
	device_expect(model, proc, late, 104000, 104007);
}
END_TEST

START_TEST(streams_of_one_process_overlap)
{
	uint32_t proc, a, b;
	uint64_t first, second, third;

	start(4, false);
	proc = device_proc(model);
	a = device_stream(model, proc, 0);
	b = device_stream(model, proc, 0);
	first = device_submit(model, 0, a, kernel_of(3, 100));
	second = device_submit(model, 10, b, kernel_of(2, 100)); /* one SM is free */
	third = device_submit(model, 20, a, kernel_of(1, 50));
	run_to(1000);
	device_expect(model, proc, first, 0, 100);
	device_expect(model, proc, third, 100, 150);
	device_expect(model, proc, second, 10, 200); /* its second block from 100 on */
}
END_TEST

START_TEST(priority_gets_free_sms_and_never_those_in_use)
{
	uint32_t proc, low, high;
	uint64_t batch, urgent, later;

	start(4, false);
	proc = device_proc(model);
	low = device_stream(model, proc, 0);
	high = device_stream(model, proc, -5);
	batch = device_submit(model, 0, low, kernel_of(12, 100)); /* three waves */
	urgent = device_submit(model, 50, high, kernel_of(4, 30));
	later = device_submit(model, 60, high, kernel_of(2, 30));
	run_to(1000);
	device_expect(model, proc, urgent, 100, 130);
	/* Two SMs go to `later` at 130, two to the batch: its waves end at 230, 260, 330, 360. */
	device_expect(model, proc, later, 130, 160);
	device_expect(model, proc, batch, 0, 360);
}
END_TEST

START_TEST(oldest_first_among_equals)
{
	uint32_t proc, stream[3];
	uint64_t op[3];

	start(4, false);
	proc = device_proc(model);
	for (int i = 0; i < 3; i++)
		stream[i] = device_stream(model, proc, 0);
	op[2] = device_submit(model, 0, stream[2], kernel_of(4, 100));
	op[1] = device_submit(model, 1, stream[1], kernel_of(4, 100));
	op[0] = device_submit(model, 2, stream[0], kernel_of(4, 100));
	run_to(1000);
	device_expect(model, proc, op[2], 0, 100);
	device_expect(model, proc, op[1], 100, 200);
	device_expect(model, proc, op[0], 200, 300);
}
END_TEST

START_TEST(processes_overlap_with_mps)
{
	uint32_t one, two, a, b;
	uint64_t first, second;

	start(4, true);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	first = device_submit(model, 0, a, kernel_of(2, 100));
	second = device_submit(model, 10, b, kernel_of(2, 100));
	run_to(50);
	ck_assert_uint_eq(model_next_ns(model, one), 100);
	ck_assert_uint_eq(model_next_ns(model, two), 110);
	run_to(1000);
	device_expect(model, one, first, 0, 100);
	device_expect(model, two, second, 10, 110);
	ck_assert_uint_eq(model_proc_busy_ns(model, one), 100);
	ck_assert_uint_eq(model_proc_busy_ns(model, two), 100);
}
END_TEST

START_TEST(priority_across_processes_with_mps)
{
	uint32_t one, two, low, high;
	uint64_t batch, urgent;

	start(4, true);
	one = device_proc(model);
	two = device_proc(model);
	low = device_stream(model, one, 0);
	high = device_stream(model, two, -1);
	batch = device_submit(model, 0, low, kernel_of(16, 100));
	urgent = device_submit(model, 150, high, kernel_of(6, 20));
	/* All SMs are taken: the first chance is at 200, and then its shortest wave. */
	ck_assert_uint_eq(model_next_ns(model, two), 220);
	run_to(1000);
	device_expect(model, two, urgent, 200, 240);
	device_expect(model, one, batch, 0, 440);
}
END_TEST

START_TEST(unknown_cost_in_time)
{
	struct model_op_desc kernel = kernel_of(8, MODEL_UNKNOWN);
	uint32_t proc, stream;
	uint64_t op, next;
	struct model_done done;

	start(4, false);
	proc = device_proc(model);
	stream = device_stream(model, proc, 0);
	kernel.functional = 1;
	op = device_submit(model, 100, stream, kernel);
	next = device_submit(model, 110, stream, kernel_of(1, 10));
	ck_assert_uint_eq(model_next_ns(model, proc), MODEL_NEVER);
	run_to(1600);
	/* 1500 ns on: the first wave of 1000 is over, the second half way. */
	model_functional_done(model, 1600, op, 1000);
	device_check(model);
	ck_assert_uint_eq(model_next_ns(model, proc), 2100);
	run_to(5000);
	done = device_take(model, proc, op);
	ck_assert_uint_eq(done.start_ns, 100);
	ck_assert_uint_eq(done.end_ns, 2100);
	ck_assert_uint_eq(done.late, 0);
	device_expect(model, proc, next, 2100, 2110);
}
END_TEST

START_TEST(unknown_cost_too_late)
{
	struct model_op_desc kernel = kernel_of(8, MODEL_UNKNOWN);
	struct model_counters counters;
	uint32_t proc, stream;
	uint64_t op;
	struct model_done done;

	kernel.functional = 1;
	for (int late = 0; late < 2; late++) {
		start(4, false);
		proc = device_proc(model);
		stream = device_stream(model, proc, 0);
		op = device_submit(model, 100, stream, kernel);
		/* Two waves of 1000 end at 2100: in time at 2100, late at 2101. */
		model_functional_done(model, 2100 + late, op, 1000);
		device_check(model);
		done = device_take(model, proc, op);
		ck_assert_uint_eq(done.end_ns, 2100 + late);
		ck_assert_uint_eq(done.late, late);
		model_get_counters(model, &counters);
		ck_assert_uint_eq(counters.late_ops, late);
	}
}
END_TEST

START_TEST(unknown_cost_with_sms_that_came_later)
{
	struct model_op_desc kernel = kernel_of(12, MODEL_UNKNOWN);
	uint32_t proc, a, b;
	uint64_t other, op;

	start(4, false);
	proc = device_proc(model);
	a = device_stream(model, proc, 0);
	b = device_stream(model, proc, 0);
	kernel.functional = 1;
	other = device_submit(model, 0, a, kernel_of(2, 500));
	op = device_submit(model, 0, b, kernel); /* two SMs from 0 on, four from 500 on */
	run_to(2250);
	device_expect(model, proc, other, 0, 500);
	/* Blocks of 1000: 4 by 2000 on two SMs, 2 by 1500 on the others; 4 run, 2 are left. */
	model_functional_done(model, 2250, op, 1000);
	device_check(model);
	run_to(9000);
	device_expect(model, proc, op, 0, 3500);
}
END_TEST

START_TEST(cost_known_before_the_kernel_starts)
{
	struct model_op_desc kernel = kernel_of(4, MODEL_UNKNOWN);
	uint32_t proc, stream;
	uint64_t first, op;

	start(4, false);
	proc = device_proc(model);
	stream = device_stream(model, proc, 0);
	kernel.functional = 1;
	first = device_submit(model, 0, stream, kernel_of(4, 1000));
	op = device_submit(model, 0, stream, kernel);
	model_functional_done(model, 10, op, 300);
	run_to(5000);
	device_expect(model, proc, first, 0, 1000);
	device_expect(model, proc, op, 1000, 1300);
}
END_TEST

START_TEST(held_results_release_the_hardware)
{
	struct model_op_desc kernel = kernel_of(4, 100);
	struct model_counters counters;
	uint32_t proc, a, b;
	uint64_t held, next, other;
	struct model_done done;

	start(4, false);
	proc = device_proc(model);
	a = device_stream(model, proc, 0);
	b = device_stream(model, proc, 0);
	kernel.functional = 1;
	held = device_submit(model, 0, a, kernel);
	next = device_submit(model, 0, a, kernel_of(4, 100));
	other = device_submit(model, 0, b, kernel_of(4, 100));
	run_to(250);
	device_expect(model, proc, other, 100, 200); /* the SMs were free at 100 */
	ck_assert(!model_is_done(model, held));
	model_functional_done(model, 250, held, 0);
	device_check(model);
	done = device_take(model, proc, held);
	ck_assert_uint_eq(done.end_ns, 250);
	ck_assert_uint_eq(done.late, 1);
	run_to(1000);
	device_expect(model, proc, next, 250, 350);
	model_get_counters(model, &counters);
	ck_assert_uint_eq(counters.late_ops, 1);
	ck_assert_uint_eq(counters.kernels, 3);
	ck_assert_uint_eq(counters.busy_ns, 300);
}
END_TEST

START_TEST(results_in_time_are_not_late)
{
	struct model_op_desc kernel = kernel_of(4, 100);
	uint32_t proc, stream;

	start(4, false);
	proc = device_proc(model);
	stream = device_stream(model, proc, 0);
	kernel.functional = 1;
	for (uint64_t done_at = 99; done_at <= 101; done_at++) {
		uint64_t t0 = model->now_ns;
		uint64_t op = device_submit(model, t0, stream, kernel);
		struct model_done done;

		model_functional_done(model, t0 + done_at, op, 0);
		run_to(t0 + 200);
		done = device_take(model, proc, op);
		ck_assert_uint_eq(done.end_ns, t0 + (done_at > 100 ? done_at : 100));
		ck_assert_uint_eq(done.late, done_at > 100);
	}
}
END_TEST

START_TEST(many_waves_are_coarser)
{
	uint32_t proc, stream;
	uint64_t op;

	start(4, false);
	proc = device_proc(model);
	stream = device_stream(model, proc, 0);
	/* 2^22 blocks are 2^20 waves: played as 1024 waves of 1024 blocks each. */
	op = device_submit(model, 0, stream, kernel_of(1u << 22, 10));
	ck_assert_uint_le(model->op[op & (MODEL_MAX_OPS - 1)].blocks, 4 * MODEL_MAX_WAVES);
	run_to((1ull << 20) * 10);
	device_expect(model, proc, op, 0, (1ull << 20) * 10);
	/* One block more may cost a coarse wave, no more. */
	op = device_submit(model, model->now_ns, stream, kernel_of((1u << 22) + 1, 10));
	run_to(model->now_ns + (1ull << 20) * 10 + 20480);
	ck_assert(model_is_done(model, op));
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, waves_of_blocks);
	tcase_add_test(tcase, latency_and_gap);
	tcase_add_test(tcase, streams_of_one_process_overlap);
	tcase_add_test(tcase, priority_gets_free_sms_and_never_those_in_use);
	tcase_add_test(tcase, oldest_first_among_equals);
	tcase_add_test(tcase, processes_overlap_with_mps);
	tcase_add_test(tcase, priority_across_processes_with_mps);
	tcase_add_test(tcase, unknown_cost_in_time);
	tcase_add_test(tcase, unknown_cost_too_late);
	tcase_add_test(tcase, unknown_cost_with_sms_that_came_later);
	tcase_add_test(tcase, cost_known_before_the_kernel_starts);
	tcase_add_test(tcase, held_results_release_the_hardware);
	tcase_add_test(tcase, results_in_time_are_not_late);
	tcase_add_test(tcase, many_waves_are_coarser);
}

int main(void)
{
	int failed = device_main("device kernels", add);

	free(model);
	return failed;
}
