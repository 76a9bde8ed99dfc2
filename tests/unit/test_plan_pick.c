/* SPDX-License-Identifier: Apache-2.0 */
/* Orders from papers among processes that overlap: the rule, and the gate around it. */

#include <check.h>
#include <stdlib.h>

#include "plan/arrivals.h"
#include "plan/pick.h"
#include "plan/policy.h"
#include "plan/workload.h"
#include "plan/world.h"

#define MS 1000000ull
#define SLACK_NS (4 * MS)

/* Used: first least, then a little more, then much more. */
static struct pick_ready ready[3] = {
	{.sms = 80, .bw_class = WORKLOAD_MEMORY, .left_ns = 3 * MS, .virtual_ns = 10 * MS},
	{.sms = 40, .bw_class = WORKLOAD_COMPUTE, .left_ns = 2 * MS, .virtual_ns = 12 * MS},
	{.sms = 60, .bw_class = WORKLOAD_COMPUTE, .left_ns = 1 * MS, .virtual_ns = 20 * MS},
};

static void run_beside(uint32_t bw_class, uint32_t kernels)
{
	for (int i = 0; i < 3; i++) {
		ready[i].beside = (struct pick_beside){.procs = kernels};
		ready[i].beside.of_class[bw_class] = kernels;
	}
}

START_TEST(another_class_goes_first)
{
	run_beside(WORKLOAD_MEMORY, 0);
	ck_assert_uint_eq(pick_next(PICK_CLASS, ready, 3, SLACK_NS), 0);
	run_beside(WORKLOAD_MEMORY, 1);
	ck_assert_uint_eq(pick_next(PICK_CLASS, ready, 3, SLACK_NS), 1);
	ck_assert_uint_eq(pick_next(PICK_FAIR, ready, 3, SLACK_NS), 0);
	/* Where there is no other, the same: the device is not left idle. */
	ck_assert_uint_eq(pick_next(PICK_CLASS, ready, 1, SLACK_NS), 0);
	/* A class that nobody knows is none. */
	run_beside(WORKLOAD_UNKNOWN, 3);
	ck_assert_uint_eq(pick_next(PICK_CLASS, ready, 3, SLACK_NS), 0);
}
END_TEST

START_TEST(nobody_is_passed_over_for_ever)
{
	run_beside(WORKLOAD_MEMORY, 1);
	ck_assert_uint_eq(pick_next(PICK_CLASS, ready, 3, 2 * MS - 1), 0);
	ck_assert_uint_eq(pick_next(PICK_CLASS, ready, 3, 2 * MS), 1);
}
END_TEST

START_TEST(narrow_or_least_left)
{
	run_beside(WORKLOAD_UNKNOWN, 0);
	ck_assert_uint_eq(pick_next(PICK_NARROW, ready, 3, 0), 1);
	ck_assert_uint_eq(pick_next(PICK_SHORTEST, ready, 3, 0), 2);
	ready[2].sms = 40; /* of two equally narrow, who has least left */
	ck_assert_uint_eq(pick_next(PICK_NARROW, ready, 3, 0), 2);
	ready[2].sms = 60;
}
END_TEST

START_TEST(the_load_says_which_of_the_two)
{
	ck_assert_int_eq(pick_now(PICK_BY_LOAD, 599, 600), PICK_NARROW);
	ck_assert_int_eq(pick_now(PICK_BY_LOAD, 600, 600), PICK_SHORTEST);
	ck_assert_int_eq(pick_now(PICK_CLASS, 0, 600), PICK_CLASS);
}
END_TEST

/* 20 of 80 SMs for 3 ms, then all for 1 ms: 7/16 in a window of 4 ms. */
START_TEST(load_is_busy_sms_over_a_window)
{
	struct pick_load load = {0};

	pick_load_note(&load, 20, 80, 4 * MS, 0);
	pick_load_note(&load, 200, 80, 4 * MS, 3 * MS);
	ck_assert_uint_eq(load.permille, 0);
	pick_load_note(&load, 0, 80, 4 * MS, 4 * MS);
	ck_assert_uint_eq(load.permille, 437);
	pick_load_note(&load, 0, 80, 4 * MS, 8 * MS);
	ck_assert_uint_eq(load.permille, 437 * 3 / 4);
}
END_TEST

/* ---- played ---- */

#define LOOPS 3

static struct world_record record[LOOPS];
static struct workload *loop[2];

static void begin(enum pick_order order, uint64_t together, uint64_t slack_ns,
		  struct world **ret_world)
{
	const struct plan_policy *policy = plan_policy_find("pick");
	uint64_t values[PLAN_MAX_OPTIONS];
	struct world_config config;

	for (uint32_t i = 0; i < plan_policy_options(policy); i++)
		values[i] = policy->options[i].preset;
	values[plan_policy_option(policy, "order")] = order;
	values[plan_policy_option(policy, "together")] = together;
	values[plan_policy_option(policy, "ahead")] = 16000;
	values[plan_policy_option(policy, "slack")] = slack_ns;
	world_config_preset(&config);
	config.device = (struct model_desc){.sms = 80,
					    .blocks_per_sm = 32,
					    .copy_engines = 1,
					    .mps = 1,
					    .saturation_sms = {0, 40, 0},
					    .slice_ns = 2 * MS,
					    .launch_latency_ns = 4000,
					    .kernel_gap_ns = 1000,
					    .memory_bytes = 1ull << 33};
	config.warmup_ns = 1;
	config.warmup_requests = 0;
	ck_assert_int_eq(world_create(&config, policy, values, ret_world), 0);
}

/* Two loops of one class, one of the other: what each gets done in 100 ms. */
static uint64_t play(enum pick_order order, uint64_t slack_ns)
{
	struct world *world;
	uint64_t sum = 0;

	begin(order, 2, slack_ns, &world);
	for (uint32_t i = 0; i < LOOPS; i++) {
		struct world_tenant tenant = {.name = "loop",
					      .weight = 100,
					      .gpu_max_permille = 1000,
					      .workload = loop[i == 2]};

		ck_assert_int_eq(world_add(world, &tenant, NULL), 0);
	}
	ck_assert_int_eq(world_run(world, 0, 100 * MS), 0);
	for (uint32_t i = 0; i < LOOPS; i++) {
		world_get_record(world, i, &record[i]);
		sum += record[i].done_ns;
	}
	world_destroy(world);
	return sum;
}

static void make_loop(uint8_t bw_class, struct workload **ret)
{
	struct workload_op op[20];

	for (uint32_t i = 0; i < 20; i++)
		op[i] = (struct workload_op){.kind = WORKLOAD_KERNEL,
					     .ns = 100000,
					     .sms = 40,
					     .key = 1,
					     .bw_class = bw_class};
	ck_assert_int_eq(workload_create("loop", "test", 80, op, 20, ret), 0);
}

/* Two memory-bound kernels at once take twice as long; the rule pairs each with the other loop. */
START_TEST(the_gate_pairs_classes_and_starves_nobody)
{
	uint64_t fair_ns, class_ns;

	make_loop(WORKLOAD_MEMORY, &loop[0]);
	make_loop(WORKLOAD_COMPUTE, &loop[1]);
	fair_ns = play(PICK_FAIR, 0);
	class_ns = play(PICK_CLASS, 1000 * MS);
	ck_assert_uint_gt(class_ns, fair_ns + fair_ns / 10);
	for (uint32_t i = 0; i < LOOPS; i++)
		ck_assert_uint_gt(record[i].done_ns, class_ns / 10);
	workload_free(loop[0]);
	workload_free(loop[1]);
}
END_TEST

/* Finite work, one process at a time: a wide one of 2 ms every 10 ms, a narrow one of 3 ms, and a wide
 * one of 0.4 ms every 2 ms. The mean time to completion of each, in us. */
static void play_finite(enum pick_order order, uint64_t *ret_us)
{
	static const struct {
		uint32_t kernels, sms;
		uint64_t period_ns;
	} finite[] = {{20, 80, 10 * MS}, {30, 20, 10 * MS}, {4, 80, 2 * MS}};
	struct workload *work[3];
	struct arrivals arrivals[3];
	struct world *world;

	begin(order, 1, 0, &world);
	for (uint32_t i = 0; i < 3; i++) {
		struct arrivals_desc desc = {
			.kind = ARRIVALS_PERIODIC, .mean_ns = finite[i].period_ns, .seed = i + 1};
		struct world_tenant tenant = {.name = "finite",
					      .latency = true,
					      .weight = 100,
					      .gpu_max_permille = 1000,
					      .arrivals = &arrivals[i]};
		struct workload_op op[30];

		for (uint32_t k = 0; k < finite[i].kernels; k++)
			op[k] = (struct workload_op){.kind = WORKLOAD_KERNEL,
						     .ns = 100000,
						     .sms = finite[i].sms,
						     .key = 1};
		ck_assert_int_eq(
			workload_create("finite", "test", 80, op, finite[i].kernels, &work[i]), 0);
		ck_assert_int_eq(arrivals_init(&arrivals[i], &desc), 0);
		tenant.workload = work[i];
		ck_assert_int_eq(world_add(world, &tenant, NULL), 0);
	}
	ck_assert_int_eq(world_run(world, 0, 300 * MS), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct world_record served;

		world_get_record(world, i, &served);
		ck_assert_uint_gt(served.requests, 20);
		ret_us[i] = 0;
		for (uint32_t k = 0; k < served.requests; k++)
			ret_us[i] += served.request[k].end_ns - served.request[k].arrival_ns;
		ret_us[i] /= 1000ull * served.requests;
	}
	world_destroy(world);
	for (uint32_t i = 0; i < 3; i++)
		workload_free(work[i]);
}

START_TEST(the_gate_lets_the_narrow_or_the_short_finish)
{
	uint64_t fair_us[3], narrow_us[3], shortest_us[3];

	play_finite(PICK_FAIR, fair_us);
	play_finite(PICK_NARROW, narrow_us);
	play_finite(PICK_SHORTEST, shortest_us);
	ck_assert_uint_lt(narrow_us[1], fair_us[1]);
	ck_assert_uint_lt(narrow_us[1], shortest_us[1]);
	ck_assert_uint_lt(shortest_us[2], fair_us[2]);
	ck_assert_uint_lt(shortest_us[2], narrow_us[2]);
	ck_assert_uint_lt(shortest_us[0] + shortest_us[1] + 5 * shortest_us[2],
			  fair_us[0] + fair_us[1] + 5 * fair_us[2]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pick");
	TCase *tcase = tcase_create("orders");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, another_class_goes_first);
	tcase_add_test(tcase, nobody_is_passed_over_for_ever);
	tcase_add_test(tcase, narrow_or_least_left);
	tcase_add_test(tcase, the_load_says_which_of_the_two);
	tcase_add_test(tcase, load_is_busy_sms_over_a_window);
	tcase_add_test(tcase, the_gate_pairs_classes_and_starves_nobody);
	tcase_add_test(tcase, the_gate_lets_the_narrow_or_the_short_finish);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
