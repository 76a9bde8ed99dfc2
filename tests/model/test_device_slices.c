/* SPDX-License-Identifier: Apache-2.0 */
/* Processes without MPS: turns in slices, the cost of a change, idle hold, and never two at once. */

#include "device_support.h"

static struct model *model;
static uint64_t seen_busy[MODEL_MAX_PROCS], seen_ns, turns[64], turn_count;
static int seen_proc;

static void start(uint64_t slice_ns, uint64_t switch_ns, uint64_t hold_ns)
{
	struct model_desc desc = device_desc(4, false);

	desc.slice_ns = slice_ns;
	desc.switch_ns = switch_ns;
	desc.idle_hold_ns = hold_ns;
	free(model);
	model = device_create(&desc);
	memset(seen_busy, 0, sizeof(seen_busy));
	seen_ns = turn_count = 0;
	seen_proc = -1;
}

/* From one event to the next at most one process got anywhere. Notes whose turn it was. */
static void watch(struct model *m)
{
	uint64_t elapsed = m->now_ns - seen_ns;
	int ran = -1;

	for (uint32_t p = 0; p < MODEL_MAX_PROCS; p++) {
		uint64_t busy = model_proc_busy_ns(m, p), got = busy - seen_busy[p];

		seen_busy[p] = busy;
		if (!got)
			continue;
		ck_assert_msg(ran < 0, "%u and %d both ran before %lu", p, ran, m->now_ns);
		ck_assert_uint_le(got, elapsed);
		ran = (int)p;
	}
	seen_ns = m->now_ns;
	if (ran >= 0 && ran != seen_proc && turn_count < 64)
		turns[turn_count++] = (uint64_t)ran;
	if (ran >= 0)
		seen_proc = ran;
	device_check(m);
}

START_TEST(two_processes_alternate)
{
	uint32_t one, two, a, b;
	uint64_t first, second;
	struct model_counters counters;

	start(1000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	first = device_submit(model, 0, a, kernel_of(4, 2500));
	second = device_submit(model, 10, b, kernel_of(4, 1500));
	/*
	 * one 0-1000, two 1100-2100, one 2200-3200, two 3300-3800 (its kernel ends, held to 3850),
	 * one 3950-4450 (ends).
	 */
	ck_assert_uint_eq(model_next_ns(model, one), 1000);
	for (uint64_t now = 0; now <= 5000; now += 50) {
		model_advance(model, now);
		watch(model);
	}
	device_expect(model, one, first, 0, 4450);
	device_expect(model, two, second, 1100, 3800);
	ck_assert_uint_eq(model_proc_busy_ns(model, one), 2500);
	ck_assert_uint_eq(model_proc_busy_ns(model, two), 1500);
	model_get_counters(model, &counters);
	ck_assert_uint_eq(counters.switches, 4);
	ck_assert_uint_eq(counters.busy_ns, 4000);
	ck_assert_uint_eq(turn_count, 5);
}
END_TEST

START_TEST(a_slice_ends_at_its_boundary_however_long_alone)
{
	uint32_t one, two, a, b;
	uint64_t first, second;

	start(1000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	first = device_submit(model, 300, a, kernel_of(4, 10000));
	/* Alone from 300 on, slices end at 1300, 2300, ... */
	second = device_submit(model, 4000, b, kernel_of(4, 10));
	ck_assert_uint_eq(model_next_ns(model, one), 4300);
	device_run(model, watch);
	/* two: 4400 to 4410, held to 4460; one goes on at 4560 with 6000 left. */
	ck_assert(model_is_done(model, first) && model_is_done(model, second));
	ck_assert_uint_eq(model->now_ns, 10560);
	ck_assert_uint_eq(model_proc_busy_ns(model, two), 10);
}
END_TEST

START_TEST(idle_process_keeps_its_context_for_the_hold)
{
	uint32_t one, two, a, b;
	uint64_t first, second, third;

	start(100000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	first = device_submit(model, 0, a, kernel_of(4, 1000));
	second = device_submit(model, 500, b, kernel_of(4, 10));
	/* Back within the hold: one goes on. */
	third = device_submit(model, 1049, a, kernel_of(4, 1000));
	model_advance(model, 10000);
	device_expect(model, one, first, 0, 1000);
	device_expect(model, one, third, 1049, 2049);
	/* Then it is idle: at 2099 two takes over. */
	device_expect(model, two, second, 2199, 2209);
	device_check(model);
}
END_TEST

START_TEST(after_the_hold_another_takes_over_at_once)
{
	uint32_t one, two, a, b;
	uint64_t op;

	start(100000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	op = device_submit(model, 0, a, kernel_of(4, 1000));
	model_advance(model, 1020);
	device_expect(model, one, op, 0, 1000);
	op = device_submit(model, 1020, b, kernel_of(4, 10)); /* in the hold: from 1050 */
	ck_assert_uint_eq(model_next_ns(model, two), 1050);
	model_advance(model, 2000);
	device_expect(model, two, op, 1150, 1160);
	op = device_submit(model, 2000, a, kernel_of(4, 10)); /* hold long over */
	ck_assert_uint_eq(model_next_ns(model, one), 2100);
	model_advance(model, 3000);
	device_expect(model, one, op, 2100, 2110);
	/* The context is still there: nothing to switch. */
	op = device_submit(model, 3000, a, kernel_of(4, 10));
	model_advance(model, 4000);
	device_expect(model, one, op, 3000, 3010);
}
END_TEST

START_TEST(a_kernel_is_cut_in_the_middle_of_its_blocks)
{
	uint32_t one, two, a, b, c;
	uint64_t wide, narrow, other;

	start(1000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	c = device_stream(model, one, 0);
	wide = device_submit(model, 0, a, kernel_of(6, 700));	/* waves end at 700 and 1400 */
	narrow = device_submit(model, 0, c, kernel_of(1, 100)); /* from 700 beside the second */
	other = device_submit(model, 1, b, kernel_of(4, 200));
	device_run(model, watch);
	ck_assert(model_is_done(model, wide) && model_is_done(model, other));
	ck_assert(model_is_done(model, narrow));
	/* one to 1000; two 1100-1300, held to 1350; one from 1450 with 400 left of the wave. */
	ck_assert_uint_eq(model->now_ns, 1850);
	ck_assert_uint_eq(model_proc_busy_ns(model, one), 1400);
}
END_TEST

START_TEST(turns_go_round_among_many)
{
	uint32_t proc[5];

	start(1000, 10, 0);
	for (int i = 0; i < 5; i++) {
		proc[i] = device_proc(model);
		device_submit(model, 0, device_stream(model, proc[i], 0), kernel_of(4, 2000));
	}
	device_run(model, watch);
	ck_assert_uint_eq(turn_count, 10);
	for (uint64_t i = 0; i < turn_count; i++)
		ck_assert_uint_eq(turns[i], proc[i % 5]);
	ck_assert_uint_eq(model->now_ns, 10 * 1000 + 9 * 10);
}
END_TEST

START_TEST(equal_shares_whatever_the_kernels)
{
	uint32_t one, two, a, b;

	start(2 * MS, 100 * US, 50 * US);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	for (int i = 0; i < 1000; i++) /* many short ones against few long ones: 100 ms each */
		device_submit(model, 0, a, kernel_of(4, 100 * US));
	for (int i = 0; i < 10; i++)
		device_submit(model, 0, b, kernel_of(4, 10 * MS));
	model_advance(model, 84 * MS); /* 40 turns and changes */
	device_check(model);
	ck_assert_uint_eq(model_proc_busy_ns(model, one), 40 * MS);
	ck_assert_uint_eq(model_proc_busy_ns(model, two), 40 * MS);
}
END_TEST

START_TEST(a_process_that_leaves_frees_its_slice)
{
	uint32_t one, two, a, b;
	uint64_t op;

	start(100000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	device_submit(model, 0, a, kernel_of(4, 50000));
	op = device_submit(model, 10, b, kernel_of(4, 10));
	model_detach(model, 1000, one);
	device_check(model);
	ck_assert_uint_eq(model_next_ns(model, two), 1100);
	model_advance(model, 2000);
	device_expect(model, two, op, 1100, 1110);
	/* One that is switched to when it dies. */
	one = device_proc(model);
	device_submit(model, 3000, device_stream(model, one, 0), kernel_of(4, 10));
	model_advance(model, 3050);
	model_detach(model, 3060, one);
	device_check(model);
	op = device_submit(model, 3070, b, kernel_of(4, 10));
	model_advance(model, 5000);
	device_expect(model, two, op, 3070, 3080);
}
END_TEST

START_TEST(unknown_cost_across_slices)
{
	struct model_op_desc kernel = kernel_of(4, MODEL_UNKNOWN);
	uint32_t one, two, a, b;
	uint64_t op;

	start(1000, 100, 50);
	one = device_proc(model);
	two = device_proc(model);
	a = device_stream(model, one, 0);
	b = device_stream(model, two, 0);
	kernel.functional = 1;
	op = device_submit(model, 0, a, kernel);
	device_submit(model, 0, b, kernel_of(4, 100));
	model_advance(model, 1050); /* it ran 1000 and is off the SMs */
	model_functional_done(model, 1050, op, 1500);
	device_check(model);
	/* two 1100-1200, held to 1250; one from 1350 with 500 left. */
	model_advance(model, 5000);
	device_expect(model, one, op, 0, 1850);
}
END_TEST

START_TEST(next_is_never_too_late_for_one_process)
{
	uint64_t seen[2] = {0}, expect[2] = {0};
	uint32_t proc[2], stream[2];

	/* Played twice: by all events, and only at the times that each process was told. */
	for (int way = 0; way < 2; way++) {
		uint64_t *ends = way ? seen : expect;
		uint64_t op[2];

		start(1000, 100, 50);
		for (int i = 0; i < 2; i++) {
			proc[i] = device_proc(model);
			stream[i] = device_stream(model, proc[i], 0);
			for (int n = 0; n < 7; n++)
				op[i] = device_submit(model, 0, stream[i],
						      kernel_of(5, 130 + 40 * i));
		}
		for (int i = 0; i < 2; i++)
			while (!model_is_done(model, op[i])) {
				struct model_done done;

				model_advance(model,
					      model_next_ns(model, way ? proc[i] : UINT32_MAX));
				while (model_collect(model, proc[0], 1, &done))
					if (done.op == op[0])
						ends[0] = done.end_ns;
				while (model_collect(model, proc[1], 1, &done))
					if (done.op == op[1])
						ends[1] = done.end_ns;
			}
	}
	ck_assert_uint_ne(expect[0], 0);
	ck_assert_uint_eq(seen[0], expect[0]);
	ck_assert_uint_eq(seen[1], expect[1]);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_test(tcase, two_processes_alternate);
	tcase_add_test(tcase, a_slice_ends_at_its_boundary_however_long_alone);
	tcase_add_test(tcase, idle_process_keeps_its_context_for_the_hold);
	tcase_add_test(tcase, after_the_hold_another_takes_over_at_once);
	tcase_add_test(tcase, a_kernel_is_cut_in_the_middle_of_its_blocks);
	tcase_add_test(tcase, turns_go_round_among_many);
	tcase_add_test(tcase, equal_shares_whatever_the_kernels);
	tcase_add_test(tcase, a_process_that_leaves_frees_its_slice);
	tcase_add_test(tcase, unknown_cost_across_slices);
	tcase_add_test(tcase, next_is_never_too_late_for_one_process);
}

int main(void)
{
	int failed = device_main("device slices", add);

	free(model);
	return failed;
}
