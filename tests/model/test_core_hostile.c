/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Processes that lie in their pages, or have been stopped, beside honest ones: what they waste is
 * their own tenant's. In virtual time; exact claims.
 */

#include "core_world.h"

static struct world world;

static const struct policy *const policies[] = {&policy_share, &policy_slo};

static const enum world_lie lies[] = {WORLD_WANTS_ONLY, WORLD_DRIPS, WORLD_CLAIMS_ALL, WORLD_CREEPS,
				      WORLD_BLINKS};

/* Tenant 1 is honest and always has work; tenant 2's process lies. */
static void begin(const struct policy *policy, bool mps, enum world_lie lie)
{
	world_begin(&world, policy, mps);
	world.turns_checked = false;
	world_tenant(&world, 1, world_plain(100));
	world_tenant(&world, 2, world_plain(100));
	world_join(&world, 1, false, 100000);
	world_join(&world, 2, false, 0)->lie = lie;
}

/* A latency tenant with requests as long as its rests. */
static void begin_beside_chat(bool mps, uint64_t request_ns)
{
	struct world_proc *chat;

	world_begin(&world, &policy_slo, mps);
	world_tenant(&world, 1, world_plain(300));
	world_tenant(&world, 2, world_plain(100));
	world_tenant(&world, 3, world_plain(100));
	chat = world_join(&world, 3, true, 50000);
	chat->burst_ns = chat->rest_ns = request_ns;
}

/* Of equal weight: the honest one has its half (less a tenth, side by side), whatever the other
 * says. */
START_TEST(test_half_is_left)
{
	for (int policy = 0; policy < 2; policy++) {
		for (int mps = 0; mps < 2; mps++) {
			for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
				begin(policies[policy], mps, lies[i]);
				world_run(&world, 4 * WORLD_S);
				ck_assert_msg(
					world.proc[0].done_ns >= 4 * WORLD_S * 45 / 100,
					"policy %s, mps %d, lie %d: %llu ms of 4 s",
					policies[policy]->name, mps, (int)lies[i],
					(unsigned long long)(world.proc[0].done_ns / WORLD_MS));
				world_end(&world);
			}
		}
	}
}
END_TEST

/* Beside a latency tenant that takes half of the time: a quarter is left, less what gaps cost. */
START_TEST(test_half_of_what_is_left)
{
	for (int mps = 0; mps < 2; mps++) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			begin_beside_chat(mps, 10 * WORLD_MS);
			world_tenant(&world, 1, world_plain(100));
			world.turns_checked = false;
			world_join(&world, 1, false, 100000);
			world_join(&world, 2, false, 0)->lie = lies[i];
			world_run(&world, 4 * WORLD_S);
			ck_assert_msg(world.proc[1].done_ns >= WORLD_S * (mps ? 50 : 75) / 100,
				      "mps %d, lie %d: %llu ms of 1 s", mps, (int)lies[i],
				      (unsigned long long)(world.proc[1].done_ns / WORLD_MS));
			/* Who is latency-critical sees no difference. */
			ck_assert_uint_ge(world.proc[0].done_ns, 4 * WORLD_S * 45 / 100);
			world_end(&world);
		}
	}
}
END_TEST

/* Time that a latency tenant took is held against nobody: weights stay what they are. */
START_TEST(test_bursts_cost_nobody_a_turn)
{
	static const uint64_t request_ms[] = {3, 10, 30, 100};

	for (int mps = 0; mps < 2; mps++) {
		for (size_t i = 0; i < sizeof(request_ms) / sizeof(request_ms[0]); i++) {
			uint64_t a_ns, b_ns;

			begin_beside_chat(mps, request_ms[i] * WORLD_MS);
			world_join(&world, 1, false, 100000);
			world_join(&world, 2, false, 100000);
			world_run(&world, 8 * WORLD_S);
			a_ns = world.proc[1].done_ns;
			b_ns = world.proc[2].done_ns;
			ck_assert_msg(a_ns * 1000 / (a_ns + b_ns) >= 725 &&
					      a_ns * 1000 / (a_ns + b_ns) <= 775,
				      "mps %d, requests of %llu ms: %llu permille", mps,
				      (unsigned long long)request_ms[i],
				      (unsigned long long)(a_ns * 1000 / (a_ns + b_ns)));
			world_end(&world);
		}
	}
}
END_TEST

/* How much of the GPU the first process has in the next 200 ms beside one that always has work. */
static uint64_t permille_beside(uint32_t other)
{
	uint64_t before_ns = world.proc[0].done_ns;

	world.proc[other].burst_ns = world.proc[other].rest_ns = 0;
	world.proc[0].burst_ns = world.proc[0].rest_ns = 0;
	world_run(&world, 200 * WORLD_MS);
	return (world.proc[0].done_ns - before_ns) * 1000 / (200 * WORLD_MS);
}

/* What one did not use while nobody else wanted it is not held against it ... */
START_TEST(test_time_alone_costs_nothing)
{
	for (int policy = 0; policy < 2; policy++) {
		for (int mps = 0; mps < 2; mps++) {
			uint64_t permille;

			begin(policies[policy], mps, WORLD_HONEST);
			/* A third of the time, and never long without a launch. */
			world.proc[0].burst_ns = 100000;
			world.proc[0].rest_ns = 200000;
			world_run(&world, 5 * WORLD_S);
			world.proc[1].cost_ns = 100000;
			permille = permille_beside(1);
			ck_assert_msg(permille >= 400, "policy %s, mps %d: %llu permille",
				      policies[policy]->name, mps, (unsigned long long)permille);
			world_end(&world);
		}
	}
}
END_TEST

/* ... and is not saved up: of who used little, and then wants all. */
START_TEST(test_little_use_saves_nothing)
{
	for (int policy = 0; policy < 2; policy++) {
		for (int mps = 0; mps < 2; mps++) {
			uint64_t permille;

			begin(policies[policy], mps, WORLD_HONEST);
			world.proc[1].cost_ns = 100000;
			world.proc[1].burst_ns = 200000;
			world.proc[1].rest_ns = WORLD_MS;
			world_run(&world, 5 * WORLD_S);
			permille = permille_beside(1);
			ck_assert_msg(permille >= 400, "policy %s, mps %d: %llu permille",
				      policies[policy]->name, mps, (unsigned long long)permille);
			world_end(&world);
		}
	}
}
END_TEST

/* A limited tenant's claims, however large and many, do not add up to a small sum. */
START_TEST(test_claims_do_not_wrap)
{
	struct event_tenant set = world_plain(100);

	set.gpu_max_permille = 300;
	world_begin(&world, &policy_share, true);
	world.turns_checked = false;
	world_tenant(&world, 1, set);
	world_join(&world, 1, false, 100000);
	for (int i = 0; i < 4; i++)
		world_join(&world, 1, false, 0)->lie = WORLD_CLAIMS_ALL;
	world_run(&world, WORLD_S);
	ck_assert_uint_le(world.proc[0].launched_ns, 31 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* Its turns end early, and what it left in flight runs beside others': all the same it has its part
 * and no more. */
START_TEST(test_copies_that_are_none_gain_nothing)
{
	for (int bursts = 0; bursts < 2; bursts++) {
		struct world_proc *liar;

		begin(&policy_share, false, WORLD_HONEST);
		liar = &world.proc[1];
		world_tenant(&world, 3, world_plain(100));
		world_join(&world, 3, false, 100000);
		liar->lie = WORLD_CLAIMS_COPIES;
		liar->cost_ns = 100000;
		liar->burst_ns = bursts ? 1000000 : 0;
		world_run(&world, 6 * WORLD_S);
		for (uint32_t i = 0; i < 3; i += 2)
			ck_assert_msg(world.proc[i].done_ns >= 6 * WORLD_S * 31 / 100,
				      "bursts %d: %llu ms of 6 s", bursts,
				      (unsigned long long)(world.proc[i].done_ns / WORLD_MS));
		ck_assert_uint_le(liar->done_ns, 6 * WORLD_S * 34 / 100);
		world_end(&world);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core hostile");
	TCase *tcase = tcase_create("virtual time");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_half_is_left);
	tcase_add_test(tcase, test_half_of_what_is_left);
	tcase_add_test(tcase, test_bursts_cost_nobody_a_turn);
	tcase_add_test(tcase, test_time_alone_costs_nothing);
	tcase_add_test(tcase, test_little_use_saves_nothing);
	tcase_add_test(tcase, test_claims_do_not_wrap);
	tcase_add_test(tcase, test_copies_that_are_none_gain_nothing);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
