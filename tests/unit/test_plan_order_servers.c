/* SPDX-License-Identifier: Apache-2.0 */
/* Several servers on one device: who goes on by each rule, and who is brought in where not all
 * fit. */

#include <check.h>
#include <stdlib.h>

#include "plan/arrivals.h"
#include "plan/order.h"
#include "plan/residency.h"
#include "plan/workload.h"
#include "plan/world.h"

#define US 1000ull
#define MS 1000000ull

#define SERVERS 3u

/* What comes before and after a request's kernels, and the gap between two of them. */
#define LAUNCH_NS (4 * US)
#define GAP_NS (1 * US)
#define SYNC_NS (8 * US)
#define WAKE_NS (8 * US)

struct rig {
	struct world_config config;
	struct workload *workload[SERVERS];
	struct arrivals arrivals[SERVERS];
	struct world *world;
	struct world_record record[SERVERS];
	uint32_t servers;
};

static struct rig rig;

static void setup(void)
{
	rig = (struct rig){0};
	world_config_preset(&rig.config);
	rig.config.device = (struct model_desc){.name = "test",
						.sms = 40,
						.copy_engines = 2,
						.slice_ns = 2 * MS,
						.launch_latency_ns = LAUNCH_NS,
						.kernel_gap_ns = GAP_NS,
						.memory_bytes = 16ull << 30};
	rig.config.gap_least_ns = rig.config.gap_most_ns = 6 * US;
	rig.config.warmup_requests = 0;
	rig.config.warmup_ns = 0;
}

static void teardown(void)
{
	world_destroy(rig.world);
	for (uint32_t i = 0; i < SERVERS; i++)
		workload_free(rig.workload[i]);
}

static struct workload *make_workload(uint32_t kernels, uint64_t ns, uint32_t sms)
{
	struct workload_op *ops = calloc(kernels, sizeof(*ops));
	struct workload *workload;

	ck_assert_ptr_nonnull(ops);
	for (uint32_t i = 0; i < kernels; i++)
		ops[i] = (struct workload_op){.ns = ns, .key = i + 1, .sms = sms};
	ck_assert_int_eq(workload_create("made", "test", 80, ops, kernels, &workload), 0);
	free(ops);
	return workload;
}

static void make_world(const char *name, const char *const *option, const uint64_t *value)
{
	const struct plan_policy *policy = plan_policy_find(name);
	uint64_t values[PLAN_MAX_OPTIONS];

	ck_assert_ptr_nonnull(policy);
	for (uint32_t i = 0; i < plan_policy_options(policy); i++)
		values[i] = policy->options[i].preset;
	for (uint32_t i = 0; option[i]; i++)
		values[plan_policy_option(policy, option[i])] = value[i];
	ck_assert_int_eq(world_create(&rig.config, policy, values, &rig.world), 0);
}

/* Its first request comes at first_ns, and then one every first_ns. */
static void add_server(uint64_t first_ns, struct workload *workload, uint64_t target_ns)
{
	struct arrivals_desc desc = {.kind = ARRIVALS_PERIODIC, .mean_ns = first_ns, .seed = 1};
	uint32_t i = rig.servers++;
	struct world_tenant tenant = {.name = "serve",
				      .latency = true,
				      .weight = 100,
				      .gpu_max_permille = 1000,
				      .target = {.p99_ns = target_ns, .from_arrival = true},
				      .workload = workload,
				      .arrivals = &rig.arrivals[i]};

	rig.workload[i] = workload;
	ck_assert_int_eq(arrivals_init(&rig.arrivals[i], &desc), 0);
	ck_assert_int_eq(world_add(rig.world, &tenant, NULL), 0);
}

static void run(uint64_t end_ns)
{
	ck_assert_int_eq(world_run(rig.world, 0, end_ns), 0);
	for (uint32_t i = 0; i < rig.servers; i++)
		world_get_record(rig.world, i, &rig.record[i]);
}

/* When the server's first request was done. */
static uint64_t end_of(uint32_t server)
{
	ck_assert_uint_ge(rig.record[server].requests, 1);
	return rig.record[server].request[0].end_ns;
}

/* A long request at 100 ms, a short one 3 ms later. */
static void play_two(uint32_t rule, uint64_t long_target_ns, uint64_t short_target_ns)
{
	make_world("order", (const char *[]){"rule", NULL}, (uint64_t[]){rule});
	add_server(100 * MS, make_workload(10, 1 * MS, 40), long_target_ns);
	add_server(103 * MS, make_workload(2, 1 * MS, 40), short_target_ns);
	run(150 * MS);
}

#define LONG_ALONE_NS (LAUNCH_NS + 10 * MS + 9 * GAP_NS + SYNC_NS)
#define SHORT_ALONE_NS (LAUNCH_NS + 2 * MS + GAP_NS + SYNC_NS)

/* To the end of what came first; the other wakes when that is seen, and pays for nothing else. */
START_TEST(oldest_first_to_its_end)
{
	play_two((uint32_t)_i, 500 * MS, 500 * MS);
	ck_assert_uint_ge(end_of(0), 100 * MS + LONG_ALONE_NS);
	ck_assert_uint_le(end_of(0), 100 * MS + LONG_ALONE_NS + 10 * 9 * US);
	ck_assert_uint_ge(end_of(1), end_of(0) + SHORT_ALONE_NS);
	ck_assert_uint_le(end_of(1), end_of(0) + WAKE_NS + SHORT_ALONE_NS + 20 * US);
}
END_TEST

/* Its kernel ends, then the short one goes, and the long one after it: nobody works for nothing. */
START_TEST(shortest_remaining_goes_between_kernels)
{
	play_two(ORDER_SLO, 500 * MS, 500 * MS);
	ck_assert_uint_le(end_of(1), 103 * MS + 1 * MS + SHORT_ALONE_NS + 50 * US);
	ck_assert_uint_ge(end_of(0), 100 * MS + LONG_ALONE_NS + 2 * MS);
	ck_assert_uint_le(end_of(0), 100 * MS + LONG_ALONE_NS + 2 * MS + 200 * US);
	ck_assert_uint_gt(rig.record[0].held_ns, 2 * MS);
}
END_TEST

START_TEST(earliest_deadline_first)
{
	play_two(ORDER_EDF, 500 * MS, 5 * MS);
	ck_assert_uint_lt(end_of(1), 107 * MS);
	teardown();
	setup();
	play_two(ORDER_EDF, 8 * MS, 6 * MS);
	ck_assert_uint_lt(end_of(0), end_of(1));
}
END_TEST

/* The long one's deadline is the earlier, and cannot be had. Earliest deadline first makes both
 * late for it. */
START_TEST(what_cannot_be_had_is_held)
{
	play_two(ORDER_EDF, 5 * MS, 4 * MS);
	ck_assert_uint_gt(end_of(0) - 100 * MS, 5 * MS);
	ck_assert_uint_gt(end_of(1) - 103 * MS, 4 * MS);
	teardown();
	setup();
	play_two(ORDER_SHED, 5 * MS, 4 * MS);
	ck_assert_uint_le(end_of(1) - 103 * MS, 4 * MS);
	ck_assert_uint_gt(end_of(0), end_of(1));
	ck_assert_uint_le(end_of(0), 100 * MS + LONG_ALONE_NS + 2 * MS + 200 * US);
}
END_TEST

/* On half of the SMs that its profile is of, the long one takes twice as long as it says: by its
 * profile 5 ms are left when the other's 8 come, by what was measured 10. */
static void play_slow(uint64_t correct)
{
	make_world("order", (const char *[]){"rule", "correct", NULL},
		   (uint64_t[]){ORDER_SLO, correct});
	add_server(100 * MS, make_workload(10, 1 * MS, 80), 500 * MS);
	add_server(109500 * US, make_workload(8, 1 * MS, 40), 500 * MS);
	run(150 * MS);
}

START_TEST(profile_is_corrected)
{
	play_slow(0);
	ck_assert_uint_lt(end_of(0), end_of(1));
	teardown();
	setup();
	play_slow(1);
	ck_assert_uint_gt(end_of(0), end_of(1));
	ck_assert_uint_le(end_of(1), 109500 * US + 2 * MS + 8 * MS + 200 * US);
}
END_TEST

/* Under MPS two requests of half the device each take no longer than one, if both may go. */
START_TEST(two_at_once)
{
	rig.config.device.mps = 1;
	make_world("order", (const char *[]){"at_once", NULL}, (uint64_t[]){(uint64_t)_i});
	add_server(100 * MS, make_workload(10, 1 * MS, 20), 500 * MS);
	add_server(101 * MS, make_workload(10, 1 * MS, 20), 500 * MS);
	run(150 * MS);
	if (_i == 1) {
		ck_assert_uint_ge(end_of(1), 120 * MS);
	} else {
		ck_assert_uint_le(end_of(0), 111 * MS);
		ck_assert_uint_le(end_of(1), 112 * MS);
	}
}
END_TEST

/* With time slices the next one waits until what the last one launched has ended: its kernels are
 * never cut by a slice, nor do they pay for a change twice. */
START_TEST(turns_change_on_a_drained_device)
{
	uint64_t switches = 2;

	rig.config.device.switch_ns = 300 * US;
	make_world("order", (const char *[]){"window", "group", NULL},
		   (uint64_t[]){2 * MS, 2 * MS});
	add_server(100 * MS, make_workload(50, 200 * US, 40), 500 * MS);
	add_server(103 * MS, make_workload(10, 200 * US, 40), 500 * MS);
	run(150 * MS);
	/* To the short one and back; the first is the long one's own. */
	ck_assert_uint_le(end_of(0), 100 * MS + 300 * US + 12 * MS + 60 * GAP_NS +
					     switches * (300 * US + WAKE_NS + LAUNCH_NS) + 60 * US);
	ck_assert_uint_lt(end_of(1), end_of(0));
}
END_TEST

/* A loop goes when no request does, and not beside one. */
START_TEST(best_effort_work_fills_in)
{
	struct workload *loop = make_workload(4, 500 * US, 40);
	struct world_tenant tenant = {
		.name = "train", .weight = 100, .gpu_max_permille = 1000, .workload = loop};
	struct world_record record;

	make_world("order", (const char *[]){NULL}, NULL);
	add_server(20 * MS, make_workload(10, 1 * MS, 40), 500 * MS);
	ck_assert_int_eq(world_add(rig.world, &tenant, NULL), 0);
	run(200 * MS);
	world_get_record(rig.world, 1, &record);
	for (uint32_t i = 0; i < rig.record[0].requests; i++) {
		const struct world_request *request = &rig.record[0].request[i];

		ck_assert_uint_le(request->end_ns - request->arrival_ns,
				  LONG_ALONE_NS + 500 * US + 150 * US);
	}
	ck_assert_uint_ge(rig.record[0].requests, 9);
	ck_assert_uint_ge(record.done_ns, 90 * MS);
	ck_assert_uint_le(record.done_ns, 110 * MS);
	world_destroy(rig.world);
	rig.world = NULL;
	workload_free(loop);
}
END_TEST

/* ---- residency ---- */

static void play_models(uint64_t rule, uint64_t room)
{
	make_world("residency", (const char *[]){"rule", "room", "swap", NULL},
		   (uint64_t[]){rule, room, 5 * MS});
	add_server(10 * MS, make_workload(1, 1 * MS, 40), 0);
	add_server(47 * MS, make_workload(1, 1 * MS, 40), 0);
	run(1000 * MS);
}

#define MODEL_ALONE_NS (LAUNCH_NS + 1 * MS + SYNC_NS)

START_TEST(what_fits_comes_once)
{
	play_models((uint64_t)_i, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct world_request *request = rig.record[i].request;

		ck_assert_uint_eq(rig.record[i].copies_in, 1);
		ck_assert_uint_eq(request[0].end_ns - request[0].arrival_ns,
				  MODEL_ALONE_NS + 5 * MS + GAP_NS);
		ck_assert_uint_eq(request[1].end_ns - request[1].arrival_ns, MODEL_ALONE_NS);
	}
}
END_TEST

/* Where one fits, in order of arrival each request of the rare one throws the other out. */
START_TEST(swaps_by_arrival)
{
	play_models(RESIDENCY_ARRIVAL, 1);
	ck_assert_uint_eq(rig.record[1].requests, 21);
	ck_assert_uint_eq(rig.record[1].copies_in, 21);
	ck_assert_uint_ge(rig.record[0].copies_in, 20);
}
END_TEST

/* The rare one waits until that is worth a swap of the other, and is served all the same. */
START_TEST(swaps_by_gain)
{
	uint64_t longest_ns = 0;

	play_models(RESIDENCY_GAIN, 1);
	ck_assert_uint_ge(rig.record[1].requests, 20);
	ck_assert_uint_le(rig.record[1].copies_in, 21);
	for (uint32_t i = 0; i < rig.record[1].requests; i++) {
		const struct world_request *request = &rig.record[1].request[i];
		uint64_t took_ns = request->end_ns - request->arrival_ns;

		longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
	}
	/* 6 ms, in which 0.6 requests of the other come, each to be late by 5: after 3 ms. */
	ck_assert_uint_ge(longest_ns, 3 * MS + MODEL_ALONE_NS + 5 * MS);
	ck_assert_uint_le(longest_ns, 5 * MS + MODEL_ALONE_NS + 5 * MS + 5 * MS);
	ck_assert_uint_ge(rig.record[0].requests, 98);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_order_servers");
	TCase *tcase = tcase_create("order");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, oldest_first_to_its_end, ORDER_FIFO, ORDER_SHORTEST + 1);
	tcase_add_test(tcase, shortest_remaining_goes_between_kernels);
	tcase_add_test(tcase, earliest_deadline_first);
	tcase_add_test(tcase, what_cannot_be_had_is_held);
	tcase_add_test(tcase, profile_is_corrected);
	tcase_add_test(tcase, turns_change_on_a_drained_device);
	tcase_add_loop_test(tcase, two_at_once, 1, 3);
	tcase_add_test(tcase, best_effort_work_fills_in);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("residency");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, what_fits_comes_once, 0, 3);
	tcase_add_test(tcase, swaps_by_arrival);
	tcase_add_test(tcase, swaps_by_gain);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
