/* SPDX-License-Identifier: Apache-2.0 */

/* GPU time, pressure and entitlement: the arithmetic of the core, by hand. */

#include <check.h>
#include <stdlib.h>

#include "core/account.h"
#include "core/entitle.h"

#define MS 1000000ull
#define S 1000000000ull

START_TEST(test_charge_is_what_completed)
{
	struct gate_account account = {0};

	ck_assert_uint_eq(gate_account_charge(&account, 10 * MS, true, 3 * MS), 3 * MS);
	ck_assert_uint_eq(gate_account_charge(&account, 10 * MS, true, 17 * MS), 17 * MS);
	/* 20 ms of wall time, 20 ms charged: nothing is left. */
	ck_assert_uint_eq(gate_account_charge(&account, 0, true, 5 * MS), 0);
	/* The rest is charged as the time for it passes. */
	ck_assert_uint_eq(gate_account_charge(&account, 2 * MS, true, 0), 2 * MS);
	ck_assert_uint_eq(gate_account_charge(&account, 20 * MS, true, 0), 3 * MS);
}
END_TEST

START_TEST(test_charge_never_exceeds_wall_time)
{
	struct gate_account account = {0};
	uint64_t charged = 0;

	for (int i = 0; i < 1000; i++)
		charged += gate_account_charge(&account, MS, true, 5 * MS);
	ck_assert_uint_eq(charged, 1000 * MS);
	/* Closed and drained: what was claimed beyond is not owed. */
	ck_assert_uint_eq(gate_account_charge(&account, MS, false, 0), 0);
	ck_assert_uint_eq(gate_account_charge(&account, MS, true, 0), 0);
}
END_TEST

START_TEST(test_idle_time_is_not_saved_for_ever)
{
	struct gate_account account = {0};

	gate_account_charge(&account, 100 * S, true, 0);
	ck_assert_uint_eq(gate_account_charge(&account, 0, true, 50 * S), S);
}
END_TEST

START_TEST(test_used_over_the_last_second)
{
	struct account account = {0};
	uint64_t now_ns = S;

	ck_assert_uint_eq(account_used_permille(&account, now_ns), 0);
	for (int i = 0; i < 40; i++) {
		account_tick(&account, now_ns);
		now_ns += 100 * MS;
		account.used_ns += i < 20 ? 90 * MS : 20 * MS;
	}
	ck_assert_uint_eq(account_used_permille(&account, now_ns), 200);
}
END_TEST

/* PSI's own averages: half of the time held, for long enough, is half. */
START_TEST(test_pressure_averages)
{
	struct pressure pressure = {0};
	uint64_t now_ns = S;

	pressure_tick(&pressure, now_ns);
	for (int i = 0; i < 600; i++) {
		now_ns += 100 * MS;
		pressure_held(&pressure, 20 * MS);
		pressure_held(&pressure, 50 * MS);
		pressure_held(&pressure, 10 * MS);
		pressure_tick(&pressure, now_ns);
	}
	ck_assert_uint_eq(pressure.total_ns, 600 * 50 * MS);
	ck_assert_uint_ge(pressure.avg_q11[0] >> 11, 497);
	ck_assert_uint_le(pressure.avg_q11[0] >> 11, 500);
	/* 60 s of a 60 s average: 1 - 1/e of it. */
	ck_assert_uint_ge(pressure.avg_q11[1] >> 11, 312);
	ck_assert_uint_le(pressure.avg_q11[1] >> 11, 318);
	/* More than all of a stretch cannot be held. */
	now_ns += 100 * MS;
	pressure_held(&pressure, 5 * S);
	pressure_tick(&pressure, now_ns);
	ck_assert_uint_eq(pressure.total_ns, 600 * 50 * MS + 100 * MS);
}
END_TEST

static struct entitle_member member_of(uint32_t weight, uint32_t min, uint32_t max)
{
	return (struct entitle_member){.weight = weight, .min_permille = min, .max_permille = max};
}

START_TEST(test_split_by_weight)
{
	struct entitle_member member[3] = {member_of(300, 0, 1000), member_of(100, 0, 1000),
					   member_of(100, 0, 1000)};

	entitle_split(member, 3);
	ck_assert_uint_eq(member[0].permille, 600);
	ck_assert_uint_eq(member[1].permille, 200);
	ck_assert_uint_eq(member[2].permille, 200);
	entitle_split(member, 1);
	ck_assert_uint_eq(member[0].permille, 1000);
	entitle_split(member, 0);
}
END_TEST

START_TEST(test_split_with_limits)
{
	struct entitle_member member[3] = {member_of(800, 0, 300), member_of(100, 0, 1000),
					   member_of(100, 500, 1000)};

	entitle_split(member, 3);
	ck_assert_uint_eq(member[0].permille, 300);
	ck_assert_uint_eq(member[1].permille, 200);
	ck_assert_uint_eq(member[2].permille, 500);
}
END_TEST

/* A minimum beats every weight, and minimums that do not fit are cut in proportion. */
START_TEST(test_split_minimums)
{
	struct entitle_member member[2] = {member_of(1, 400, 1000), member_of(10000, 0, 1000)};

	entitle_split(member, 2);
	ck_assert_uint_eq(member[0].permille, 400);
	ck_assert_uint_eq(member[1].permille, 600);
	member[0] = member_of(1, 900, 1000);
	member[1] = member_of(1, 900, 1000);
	entitle_split(member, 2);
	ck_assert_uint_eq(member[0].permille, 500);
	ck_assert_uint_eq(member[1].permille, 500);
}
END_TEST

/* Whatever is asked: nobody gets 0, minimums hold, maximums hold, and nothing is given twice. */
START_TEST(test_split_random)
{
	srand(7);
	for (int round = 0; round < 20000; round++) {
		struct entitle_member member[8];
		uint32_t count = 1 + (uint32_t)rand() % 8, sum = 0, minimums = 0;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t min = (uint32_t)rand() % 3 ? 0 : (uint32_t)rand() % (1000 / count);

			member[i] = member_of(1 + (uint32_t)rand() % 10000, min,
					      min + 1 + (uint32_t)rand() % (1000 - min));
			minimums += min;
		}
		entitle_split(member, count);
		for (uint32_t i = 0; i < count; i++) {
			sum += member[i].permille;
			if (!member[i].permille || member[i].permille < member[i].min_permille ||
			    member[i].permille > member[i].max_permille)
				ck_abort_msg("round %d, member %u: %u not in %u..%u", round, i,
					     member[i].permille, member[i].min_permille,
					     member[i].max_permille);
		}
		/* One permille each may be given to those who would have none. */
		if (sum > 1000 + count)
			ck_abort_msg("round %d: sum %u of %u members", round, sum, count);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core account");
	TCase *tcase = tcase_create("arithmetic");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, test_charge_is_what_completed);
	tcase_add_test(tcase, test_charge_never_exceeds_wall_time);
	tcase_add_test(tcase, test_idle_time_is_not_saved_for_ever);
	tcase_add_test(tcase, test_used_over_the_last_second);
	tcase_add_test(tcase, test_pressure_averages);
	tcase_add_test(tcase, test_split_by_weight);
	tcase_add_test(tcase, test_split_with_limits);
	tcase_add_test(tcase, test_split_minimums);
	tcase_add_test(tcase, test_split_random);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
