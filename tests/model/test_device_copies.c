/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, order between streams, memory, and what processes leave behind. */

#include <errno.h>

#include "device_support.h"

static struct model *model;
static uint32_t one, two, a, b, c;

static void start(uint32_t engines, bool mps)
{
	struct model_desc desc = device_desc(4, mps);

	desc.copy_engines = engines;
	desc.context_bytes = 1 << 20;
	free(model);
	model = device_create(&desc);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, one, 0);
	c = device_stream(model, two, 0);
}

START_TEST(copies_run_beside_kernels_of_any_process)
{
	uint64_t kernel, copy, other;

	start(2, false);
	kernel = device_submit(model, 0, a, kernel_of(4, 1000));
	copy = device_submit(model, 100, b, copy_of(MODEL_COPY_H2D, 300));
	other = device_submit(model, 200, c, copy_of(MODEL_COPY_D2H, 300)); /* has no slice */
	ck_assert_uint_eq(model_next_ns(model, two), 500);
	model_advance(model, 2000);
	device_expect(model, one, copy, 100, 400);
	device_expect(model, one, kernel, 0, 1000);
	device_expect(model, two, other, 200, 500);
	ck_assert_uint_eq(model_proc_busy_ns(model, one), 1000);
	ck_assert_uint_eq(model_proc_busy_ns(model, two), 300);
}
END_TEST

START_TEST(one_engine_serves_in_order)
{
	uint64_t in, out, next, inside;

	start(1, false);
	in = device_submit(model, 0, a, copy_of(MODEL_COPY_H2D, 100));
	out = device_submit(model, 10, c, copy_of(MODEL_COPY_D2H, 100));
	next = device_submit(model, 20, b, copy_of(MODEL_COPY_H2D, 100));
	inside = device_submit(model, 20, a, copy_of(MODEL_COPY_D2D, 50));
	model_advance(model, 1000);
	device_expect(model, one, in, 0, 100);
	device_expect(model, one, inside, 100, 150); /* not the link's engine */
	device_expect(model, two, out, 100, 200);
	device_expect(model, one, next, 200, 300);
}
END_TEST

START_TEST(two_engines_serve_one_direction_each)
{
	uint64_t in, out, next;

	start(2, false);
	in = device_submit(model, 0, a, copy_of(MODEL_COPY_H2D, 100));
	out = device_submit(model, 10, c, copy_of(MODEL_COPY_D2H, 100));
	next = device_submit(model, 20, b, copy_of(MODEL_COPY_H2D, 100));
	model_advance(model, 1000);
	device_expect(model, one, in, 0, 100);
	device_expect(model, one, next, 100, 200);
	device_expect(model, two, out, 10, 110);
}
END_TEST

START_TEST(engines_of_one_direction_share_its_bandwidth)
{
	uint64_t first, second, third;

	start(5, false); /* three in, two out */
	first = device_submit(model, 0, a, copy_of(MODEL_COPY_H2D, 900));
	second = device_submit(model, 300, b, copy_of(MODEL_COPY_H2D, 300));
	third = device_submit(model, 500, c, copy_of(MODEL_COPY_H2D, 100));
	device_check(model);
	/*
	 * first alone to 300: 600 left. In halves to 500: 500 and 200 left. In thirds until third's
	 * 100 are done at 800: 400 and 100 left. In halves to 1000: 300 left, alone to 1300.
	 */
	model_advance(model, 5000);
	device_expect(model, two, third, 500, 800);
	device_expect(model, one, second, 300, 1000);
	device_expect(model, one, first, 0, 1300);
}
END_TEST

START_TEST(shares_lose_less_than_a_ns_at_an_end)
{
	uint64_t op[3];

	start(5, false);
	op[0] = device_submit(model, 0, a, copy_of(MODEL_COPY_D2D, 0));
	model_advance(model, 0);
	device_expect(model, one, op[0], 0, 0);
	op[0] = device_submit(model, 0, a, copy_of(MODEL_COPY_H2D, 1000));
	op[1] = device_submit(model, 1, b, copy_of(MODEL_COPY_H2D, 1000));
	op[2] = device_submit(model, 2, c, copy_of(MODEL_COPY_H2D, 1000));
	/* 3000 of work: an end that is not at a whole ns costs part of one, no more. */
	for (uint64_t now = 0; now < 2998; now += 7)
		model_advance(model, now);
	ck_assert_uint_eq(model_next_ns(model, two), 2998); /* when the others' share grows */
	model_advance(model, 2998);
	ck_assert(model_is_done(model, op[0]) && !model_is_done(model, op[1]));
	ck_assert_uint_eq(model_next_ns(model, two), 3000);
	model_advance(model, 3000);
	ck_assert(model_is_done(model, op[1]) && !model_is_done(model, op[2]));
	ck_assert_uint_eq(model_next_ns(model, two), 3001);
	model_advance(model, 3001);
	ck_assert(model_is_done(model, op[2]));
}
END_TEST

START_TEST(unknown_copies)
{
	struct model_op_desc copy = copy_of(MODEL_COPY_H2D, MODEL_UNKNOWN);
	struct model_done done;
	uint64_t op, next;

	start(2, false);
	copy.functional = 1;
	op = device_submit(model, 100, a, copy);
	next = device_submit(model, 100, b, copy_of(MODEL_COPY_H2D, 50));
	model_functional_done(model, 300, op, 500);
	device_check(model);
	model_advance(model, 2000);
	done = device_take(model, one, op);
	ck_assert_uint_eq(done.end_ns, 600);
	ck_assert_uint_eq(done.late, 0);
	device_expect(model, one, next, 600, 650);
	op = device_submit(model, 2000, a, copy);
	model_functional_done(model, 2501, op, 500);
	done = device_take(model, one, op);
	ck_assert_uint_eq(done.end_ns, 2501);
	ck_assert_uint_eq(done.late, 1);
}
END_TEST

START_TEST(waits_for_operations_of_other_streams)
{
	struct model_op_desc wait = {.kind = MODEL_WAIT_OP};
	uint64_t slow, mark, waited, after, again, done_already;

	start(2, true);
	slow = device_submit(model, 0, a, kernel_of(1, 500));
	mark = device_submit(model, 0, a, (struct model_op_desc){.kind = MODEL_MARK, .cookie = 9});
	wait.wait_op = mark;
	waited = device_submit(model, 10, b, wait);
	after = device_submit(model, 10, b, kernel_of(1, 100));
	again = device_submit(model, 20, c, wait); /* another process, same target */
	device_check(model);
	model_advance(model, 499);
	ck_assert(!model_is_done(model, mark) && !model_is_done(model, waited));
	model_advance(model, 1000);
	device_expect(model, one, slow, 0, 500);
	ck_assert_uint_eq(device_take(model, one, mark).cookie, 9);
	device_expect(model, one, waited, 10, 500);
	device_expect(model, one, after, 500, 600);
	device_expect(model, two, again, 20, 500);
	done_already = device_submit(model, 1000, b, wait);
	device_expect(model, one, done_already, 1000, 1000);
	wait.wait_op = 12345 << MODEL_SLOT_BITS;
	done_already = device_submit(model, 1000, b, wait);
	device_expect(model, one, done_already, 1000, 1000);
}
END_TEST

START_TEST(host_functions_take_what_they_take)
{
	struct model_counters counters;
	uint64_t host, kernel, early;

	start(2, false);
	host = device_submit(model, 0, a, (struct model_op_desc){.kind = MODEL_HOST});
	kernel = device_submit(model, 0, a, kernel_of(1, 100));
	early = device_submit(model, 0, a, (struct model_op_desc){.kind = MODEL_HOST});
	ck_assert_uint_eq(model_next_ns(model, one), MODEL_NEVER);
	model_functional_done(model, 10, early, 0); /* before its turn */
	model_functional_done(model, 700, host, 0);
	model_advance(model, 2000);
	device_expect(model, one, host, 0, 700);
	device_expect(model, one, kernel, 700, 800);
	device_expect(model, one, early, 800, 800);
	model_get_counters(model, &counters);
	ck_assert_uint_eq(counters.late_ops, 0);
	ck_assert_uint_eq(counters.ops, 3);
}
END_TEST

START_TEST(memory_is_one_for_all_and_never_over)
{
	struct model_desc desc = device_desc(4, false);
	uint64_t total = desc.memory_bytes, context = 1 << 20;
	uint32_t three;

	start(2, false);
	ck_assert_uint_eq(model_mem_used(model, UINT32_MAX), 2 * context);
	ck_assert_int_eq(model_mem_take(model, one, total - 2 * context - 10), 0);
	ck_assert_int_eq(model_mem_take(model, two, 11), -ENOMEM);
	ck_assert_int_eq(model_mem_take(model, two, UINT64_MAX), -ENOMEM);
	ck_assert_int_eq(model_mem_take(model, two, 10), 0);
	ck_assert_int_eq(model_mem_take(model, 60, 1), -EINVAL);
	ck_assert_uint_eq(model_mem_used(model, two), context + 10);
	ck_assert_int_eq(model_attach(model, 0, 7, 7, &three), -ENOMEM);
	model_mem_give(model, two, 10);
	ck_assert_uint_eq(model_mem_used(model, UINT32_MAX), total - 10);
	model_detach(model, 0, one); /* a killed process's memory is back */
	ck_assert_uint_eq(model_mem_used(model, UINT32_MAX), context);
	ck_assert_uint_eq(model_mem_used(model, one), 0);
	ck_assert_int_eq(model_attach(model, 0, 7, 7, &three), 0);
	device_check(model);
}
END_TEST

START_TEST(a_process_that_leaves_takes_its_work_along)
{
	struct model_op_desc wait = {.kind = MODEL_WAIT_OP};
	uint64_t copy, waited, next;
	uint32_t pid;
	uint64_t key;

	start(1, true);
	device_submit(model, 0, a, kernel_of(8, 1000));
	wait.wait_op = device_submit(model, 0, a, kernel_of(8, 1000));
	device_submit(model, 0, b, copy_of(MODEL_COPY_H2D, 5000));
	device_submit(model, 0, b, wait); /* on its own */
	waited = device_submit(model, 0, c, wait);
	next = device_submit(model, 0, c, kernel_of(4, 10));
	copy = device_submit(model, 0, device_stream(model, two, 0), copy_of(MODEL_COPY_D2H, 10));
	model_detach(model, 300, one);
	device_check(model);
	ck_assert(!model_get_proc(model, one, &pid, &key));
	ck_assert(model_get_proc(model, two, &pid, &key));
	ck_assert_uint_eq(key, pid * 3ull);
	ck_assert(model_is_done(model, wait.wait_op));
	model_advance(model, 1000);
	/* Its SMs and its engine were free at 300, and nobody waits for it any more. */
	device_expect(model, two, waited, 0, 300);
	ck_assert_uint_eq(model->op[copy & (MODEL_MAX_OPS - 1)].end_ns, 310);
	ck_assert_uint_eq(model->op[next & (MODEL_MAX_OPS - 1)].end_ns, 310);
	ck_assert_uint_eq(model_proc_busy_ns(model, two), 10);
}
END_TEST

START_TEST(a_destroyed_stream_ends_with_its_work)
{
	uint64_t op;
	uint32_t again;
	struct model_op_desc kernel = kernel_of(1, 100);

	start(2, false);
	op = device_submit(model, 0, a, kernel_of(1, 100));
	model_stream_destroy(model, 10, a);
	ck_assert_int_eq(model_submit(model, 10, a, &kernel, &op), -EINVAL);
	model_advance(model, 500);
	device_expect(model, one, op, 0, 100);
	again = device_stream(model, two, 0);
	ck_assert_uint_eq(again, a); /* its place is free */
	model_stream_destroy(model, 500, again);
	model_stream_destroy(model, 500, again); /* twice is nothing */
	device_check(model);
}
END_TEST

START_TEST(full_queues_say_so)
{
	struct model_op_desc kernel = kernel_of(1, 10);
	struct model_done done[64];
	uint32_t streams = 0, stream, got;
	uint64_t op, ops = 0;

	start(2, false);
	for (int i = 0; i < MODEL_STREAM_DEPTH; i++)
		device_submit(model, 0, a, kernel);
	ck_assert_int_eq(model_submit(model, 0, a, &kernel, &op), -EAGAIN);
	ck_assert_int_eq(model_submit(model, 10, a, &kernel, &op), 0); /* one has ended */
	device_check(model);
	while (model_stream_create(model, two, 0, &stream) == 0)
		streams++;
	ck_assert_uint_eq(streams, MODEL_MAX_STREAMS - 3);
	ck_assert_int_eq(model_stream_create(model, two, 0, &stream), -EAGAIN);
	for (uint32_t s = 3; s < MODEL_MAX_STREAMS; s++)
		while (ops < MODEL_MAX_OPS && model_submit(model, 10, s, &kernel, &op) == 0)
			ops++;
	ck_assert_uint_eq(model->op_top, MODEL_MAX_OPS);
	ck_assert_int_eq(model_submit(model, 10, c, &kernel, &op), -EAGAIN);
	device_check(model);
	/* Records that nobody collects are what fills it: collecting makes room. */
	got = model_collect(model, one, 64, done);
	ck_assert_uint_eq(got, 1);
	ck_assert_int_eq(model_submit(model, 10, c, &kernel, &op), 0);
	model_detach(model, 20, two);
	device_check(model);
	ck_assert_int_eq(model_stream_create(model, one, 0, &stream), 0);
}
END_TEST

START_TEST(nonsense_is_refused)
{
	static const struct model_op_desc bad[] = {
		{.kind = 0},
		{.kind = 8},
		{.kind = MODEL_KERNEL, .blocks = 0, .block_ns = 5},
		{.kind = MODEL_KERNEL, .blocks = 1, .block_ns = MODEL_UNKNOWN},
		{.kind = MODEL_KERNEL, .blocks = 1, .block_ns = (1ull << 50) + 1},
		{.kind = MODEL_COPY_D2D, .duration_ns = MODEL_UNKNOWN},
	};
	struct model_op_desc good = {.kind = MODEL_MARK};
	uint64_t op;

	start(2, false);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(model_submit(model, 0, a, &bad[i], &op), -EINVAL);
	ck_assert_int_eq(model_submit(model, 0, 3, &good, &op), -EINVAL);
	ck_assert_int_eq(model_submit(model, 0, UINT32_MAX, &good, &op), -EINVAL);
	ck_assert_int_eq(model_stream_create(model, 5, 0, &a), -EINVAL);
	model_functional_done(model, 0, 77, 5);
	model_stream_destroy(model, 0, 4000);
	model_detach(model, 0, 9);
	model_detach(model, 0, UINT32_MAX);
	ck_assert_uint_eq(model_collect(model, UINT32_MAX, 1, NULL), 0);
	ck_assert(model_is_done(model, 0) && model_is_done(model, UINT64_MAX));
	device_check(model);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, copies_run_beside_kernels_of_any_process);
	tcase_add_test(tcase, one_engine_serves_in_order);
	tcase_add_test(tcase, two_engines_serve_one_direction_each);
	tcase_add_test(tcase, engines_of_one_direction_share_its_bandwidth);
	tcase_add_test(tcase, shares_lose_less_than_a_ns_at_an_end);
	tcase_add_test(tcase, unknown_copies);
	tcase_add_test(tcase, waits_for_operations_of_other_streams);
	tcase_add_test(tcase, host_functions_take_what_they_take);
	tcase_add_test(tcase, memory_is_one_for_all_and_never_over);
	tcase_add_test(tcase, a_process_that_leaves_takes_its_work_along);
	tcase_add_test(tcase, a_destroyed_stream_ends_with_its_work);
	tcase_add_test(tcase, full_queues_say_so);
	tcase_add_test(tcase, nonsense_is_refused);
}

int main(void)
{
	int failed = device_main("device copies", add);

	free(model);
	return failed;
}
