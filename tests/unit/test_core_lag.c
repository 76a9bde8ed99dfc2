/* SPDX-License-Identifier: Apache-2.0 */

/* How far tenants are behind their shares, and how long a turn that makes up for it is. */

#include <check.h>
#include <stdlib.h>

#include "core/lag.h"

#define MS 1000000ull
#define TENANTS 4

static struct engine *engine;
static struct device *device;

/* Shares 0.4 to 0.1 of all, each with so much of the GPU's time used. */
static void begin(const uint64_t used_ns[TENANTS])
{
	engine = calloc(1, sizeof(*engine));
	device = calloc(1, sizeof(*device));
	ck_assert(engine && device);
	engine->tenants = TENANTS;
	device->virtual_ns = 5 * MS;
	for (uint32_t t = 0; t < TENANTS; t++) {
		struct share *share;

		engine->tenant[t] = calloc(1, sizeof(*engine->tenant[t]));
		ck_assert_ptr_nonnull(engine->tenant[t]);
		share = &engine->tenant[t]->on[0];
		share->busy = true;
		share->entitled_permille = 100 * (4 - t);
		share->virtual_ns = 5 * MS + entitle_virtual_ns(share, used_ns[t]);
	}
}

static void end(void)
{
	for (uint32_t t = 0; t < TENANTS; t++)
		free(engine->tenant[t]);
	free(engine);
	free(device);
}

static struct share *share_of(uint32_t tenant)
{
	return &engine->tenant[tenant]->on[0];
}

START_TEST(lags_are_gpu_time_and_sum_to_zero)
{
	/* Of 10 ms the shares are 4, 3, 2, 1. */
	static const uint64_t used_ns[TENANTS] = {6 * MS, 3 * MS, 1 * MS, 0};
	static const int64_t behind_ns[TENANTS] = {-2000000, 0, 1000000, 1000000};
	struct lag lag;

	begin(used_ns);
	lag = lag_survey(engine, device);
	ck_assert_uint_eq(lag.weight, 1000);
	for (uint32_t t = 0; t < TENANTS; t++)
		ck_assert_int_eq(lag_ns(&lag, share_of(t), 0), behind_ns[t]);
	ck_assert_int_eq(lag_ns(&lag, share_of(2), MS / 2), 500000);
	/* Who does not compete counts for nobody: 7 ms are the others', in parts of 4 : 2 : 1. */
	share_of(1)->busy = false;
	lag = lag_survey(engine, device);
	ck_assert_uint_eq(lag.weight, 700);
	ck_assert_int_eq(lag_ns(&lag, share_of(0), 0), -2000000);
	ck_assert_int_eq(lag_ns(&lag, share_of(3), 0), 1000000);
	end();
}
END_TEST

/* A turn ends as far ahead as one may be, what was gone over before taken off. */
START_TEST(a_turn_ends_ahead_by_as_much)
{
	static const uint64_t used_ns[TENANTS] = {5 * MS, 2 * MS, 2 * MS, 1 * MS};
	uint64_t quantum_ns;
	struct lag lag;

	begin(used_ns);
	device->left = 1 << 20;
	lag = lag_survey(engine, device);
	for (uint32_t t = 0; t < TENANTS; t++) {
		struct share *share = share_of(t);
		uint64_t before_ns = share->virtual_ns;
		struct lag after;

		quantum_ns = lag_quantum_ns(&lag, device, share);
		share->virtual_ns += entitle_virtual_ns(share, quantum_ns);
		after = lag_survey(engine, device);
		ck_assert_int_le(llabs(lag_ns(&after, share, 0) + (int64_t)LAG_AHEAD_NS), 10);
		share->virtual_ns = before_ns;
	}
	end();
}
END_TEST

START_TEST(a_turn_has_a_least_and_a_most)
{
	static const uint64_t used_ns[TENANTS] = {100 * MS, 0, 0, 0};
	struct lag lag;

	begin(used_ns);
	device->left = 1 << 20;
	lag = lag_survey(engine, device);
	/* The first had a hundred milliseconds: that is not made up for in one turn. */
	ck_assert_uint_eq(lag_quantum_ns(&lag, device, share_of(1)), 4 * LAG_AHEAD_NS * 1000 / 700);
	ck_assert_uint_eq(lag_quantum_ns(&lag, device, share_of(0)), LAG_AHEAD_NS / 2 * 1000 / 600);
	for (uint32_t t = 1; t < TENANTS; t++)
		share_of(t)->busy = false;
	lag = lag_survey(engine, device);
	ck_assert_uint_eq(lag_quantum_ns(&lag, device, share_of(0)), 0);
	end();
}
END_TEST

/* Whatever was charged: sums of it are numbers still. */
START_TEST(far_away_is_far_enough)
{
	static const uint64_t used_ns[TENANTS] = {0};
	struct lag lag;

	begin(used_ns);
	device->left = 1 << 20;
	for (uint32_t t = 0; t < 3; t++)
		share_of(t)->virtual_ns = (uint64_t)INT64_MAX - t;
	lag = lag_survey(engine, device);
	ck_assert_int_gt(lag_ns(&lag, share_of(3), 0), 0);
	for (uint32_t t = 0; t < 3; t++)
		ck_assert_int_lt(lag_ns(&lag, share_of(t), 0), 0);
	ck_assert_uint_eq(lag_quantum_ns(&lag, device, share_of(3)), 4 * LAG_AHEAD_NS * 1000 / 900);
	end();
}
END_TEST

static bool is_member(const struct gate *gate)
{
	return !gate->process->latency;
}

/* Half of the time is a latency process's: a quarter as far ahead. */
START_TEST(the_less_is_left_the_shorter)
{
	static const uint64_t used_ns[TENANTS] = {0};
	struct process process = {.latency = true};
	struct gate gate = {.process = &process};
	uint64_t now_ns = 1000 * MS;

	begin(used_ns);
	device->gates = 1;
	device->gate[0] = &gate;
	lag_look(device, is_member, now_ns);
	ck_assert_uint_eq(lag_ahead_ns(device), LAG_AHEAD_NS);
	for (int i = 0; i < 2000; i++) {
		now_ns += MS;
		gate.used_ns += MS / 2;
		lag_look(device, is_member, now_ns);
	}
	ck_assert_uint_ge(lag_ahead_ns(device), LAG_AHEAD_NS / 4);
	ck_assert_uint_le(lag_ahead_ns(device), LAG_AHEAD_NS / 4 + LAG_AHEAD_NS / 50);
	for (int i = 0; i < 2000; i++) {
		now_ns += MS;
		gate.used_ns += MS;
		lag_look(device, is_member, now_ns);
	}
	ck_assert_uint_eq(lag_ahead_ns(device), LAG_LEAST_NS);
	/* Nobody looked for long: as at first. */
	lag_look(device, is_member, now_ns + 5000 * MS);
	ck_assert_uint_eq(lag_ahead_ns(device), LAG_AHEAD_NS);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core lag");
	TCase *tcase = tcase_create("lag");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, lags_are_gpu_time_and_sum_to_zero);
	tcase_add_test(tcase, a_turn_ends_ahead_by_as_much);
	tcase_add_test(tcase, a_turn_has_a_least_and_a_most);
	tcase_add_test(tcase, far_away_is_far_enough);
	tcase_add_test(tcase, the_less_is_left_the_shorter);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
