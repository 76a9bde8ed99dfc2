/* SPDX-License-Identifier: Apache-2.0 */

/* Policy `share` around a GPU in virtual time: shares, limits, turns. Exact claims. */

#include "core_world.h"

static struct world world;

#define assert_near(value, want, tolerance) \
	ck_assert_msg((value) + (tolerance) >= (want) && (value) <= (want) + (tolerance), \
		      "%llu is not %llu +- %llu", (unsigned long long)(value), \
		      (unsigned long long)(want), (unsigned long long)(tolerance))

static void two_tenants(bool mps, uint32_t weight_a, uint32_t weight_b)
{
	world_begin(&world, &policy_share, mps);
	world_tenant(&world, 1, world_plain(weight_a));
	world_tenant(&world, 2, world_plain(weight_b));
	world_join(&world, 1, false, 100000);
	world_join(&world, 2, false, 100000);
}

START_TEST(test_weights_in_turns)
{
	two_tenants(false, 300, 100);
	world_run(&world, 4 * WORLD_S);
	assert_near(world_used(&world, 1), 750 * (WORLD_S - world.idle_ns / 4) / WORLD_S, 15);
	assert_near(world.proc[0].done_ns, 3 * world.proc[1].done_ns, 4 * WORLD_S / 66);
	/* Changing turns costs less than 5 %. */
	ck_assert_uint_lt(world.idle_ns, 4 * WORLD_S / 20);
	world_end(&world);
}
END_TEST

START_TEST(test_weights_side_by_side)
{
	two_tenants(true, 300, 100);
	world_run(&world, 4 * WORLD_S);
	assert_near(world.proc[0].done_ns * 1000 / (4 * WORLD_S), 750ull, 15);
	assert_near(world_used(&world, 1), 750ull, 15);
	/* Both always have work: the GPU never idles after the start. */
	ck_assert_uint_lt(world.idle_ns, 10 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* In any 100 ms the error stays below one turn. */
START_TEST(test_short_term_share)
{
	uint64_t before, worst = 0;

	two_tenants(false, 300, 100);
	world_run(&world, WORLD_S);
	for (int i = 0; i < 20; i++) {
		uint64_t share;

		before = world.proc[1].done_ns;
		world_run(&world, 100 * WORLD_MS);
		share = world.proc[1].done_ns - before;
		share = share > 25 * WORLD_MS ? share - 25 * WORLD_MS : 25 * WORLD_MS - share;
		worst = share > worst ? share : worst;
	}
	ck_assert_uint_le(worst, 7 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* Of four a round of all their turns is as short, whatever they are entitled to. */
START_TEST(test_short_term_share_of_four)
{
	uint64_t before[4], worst = 0;

	world_begin(&world, &policy_share, false);
	for (uint32_t i = 0; i < 4; i++) {
		world_tenant(&world, i + 1, world_plain(100 * (4 - i)));
		world_join(&world, i + 1, false, 50000 + 200000 * i);
	}
	world_run(&world, WORLD_S);
	for (int window = 0; window < 100; window++) {
		for (uint32_t i = 0; i < 4; i++)
			before[i] = world.proc[i].done_ns;
		world_run(&world, 30 * WORLD_MS);
		for (uint32_t i = 0; i < 4; i++) {
			uint64_t got = world.proc[i].done_ns - before[i];
			uint64_t share = 3 * WORLD_MS * (4 - i);
			uint64_t error = got > share ? got - share : share - got;

			worst = error > worst ? error : worst;
		}
	}
	ck_assert_uint_le(worst, 6 * WORLD_MS);
	world_end(&world);
}
END_TEST

START_TEST(test_four_tenants)
{
	for (int mps = 0; mps < 2; mps++) {
		uint64_t sum = 0;

		world_begin(&world, &policy_share, mps);
		for (uint32_t i = 0; i < 4; i++) {
			world_tenant(&world, i + 1, world_plain(100 * (4 - i)));
			world_join(&world, i + 1, false, 50000 + 40000 * i);
		}
		world_run(&world, 5 * WORLD_S);
		for (uint32_t i = 0; i < 4; i++)
			sum += world.proc[i].done_ns;
		for (uint32_t i = 0; i < 4; i++)
			assert_near(world.proc[i].done_ns * 1000 / sum, 100ull * (4 - i), 15);
		world_end(&world);
	}
}
END_TEST

/* Two processes of one tenant have its share between them, and half each. */
START_TEST(test_processes_of_a_tenant)
{
	for (int mps = 0; mps < 2; mps++) {
		two_tenants(mps, 100, 100);
		world_join(&world, 1, false, 100000);
		world_run(&world, 4 * WORLD_S);
		assert_near((world.proc[0].done_ns + world.proc[2].done_ns), world.proc[1].done_ns,
			    4 * WORLD_S / 50);
		assert_near(world.proc[0].done_ns, world.proc[2].done_ns, 4 * WORLD_S / 50);
		world_end(&world);
	}
}
END_TEST

START_TEST(test_cap_of_a_lone_tenant)
{
	struct event_tenant set = world_plain(100);

	set.gpu_max_permille = 300;
	for (int mps = 0; mps < 2; mps++) {
		world_begin(&world, &policy_share, mps);
		world_tenant(&world, 1, set);
		world_join(&world, 1, false, 100000);
		world_run(&world, 3 * WORLD_S);
		assert_near(world.proc[0].done_ns, 900 * WORLD_MS, 31 * WORLD_MS);
		assert_near(world_used(&world, 1), 300ull, 5);
		world_end(&world);
	}
}
END_TEST

/* A launch longer than what is left of the period is paid for later. */
START_TEST(test_cap_counts_what_is_overdrawn)
{
	struct event_tenant set = world_plain(100);

	set.gpu_max_permille = 100;
	world_begin(&world, &policy_share, false);
	world_tenant(&world, 1, set);
	world_join(&world, 1, false, 35 * WORLD_MS);
	world_run(&world, 7 * WORLD_S);
	assert_near(world.proc[0].done_ns, 700 * WORLD_MS, 40 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* What a capped tenant may not use, another gets. */
START_TEST(test_cap_beside_another)
{
	struct event_tenant set = world_plain(900);

	set.gpu_max_permille = 200;
	for (int mps = 0; mps < 2; mps++) {
		world_begin(&world, &policy_share, mps);
		world_tenant(&world, 1, set);
		world_tenant(&world, 2, world_plain(100));
		world_join(&world, 1, false, 100000);
		world_join(&world, 2, false, 100000);
		world_run(&world, 3 * WORLD_S);
		assert_near(world_used(&world, 1), 200ull, 15);
		ck_assert_uint_ge(world_used(&world, 2), 750);
		world_end(&world);
	}
}
END_TEST

START_TEST(test_floor)
{
	struct event_tenant set = world_plain(10);

	set.gpu_min_permille = 400;
	for (int mps = 0; mps < 2; mps++) {
		world_begin(&world, &policy_share, mps);
		world_tenant(&world, 1, set);
		world_tenant(&world, 2, world_plain(1000));
		world_join(&world, 1, false, 100000);
		world_join(&world, 2, false, 100000);
		world_run(&world, 4 * WORLD_S);
		assert_near(world.proc[0].done_ns * 1000 /
				    (world.proc[0].done_ns + world.proc[1].done_ns),
			    400ull, 15);
		world_end(&world);
	}
}
END_TEST

START_TEST(test_idle_share_is_lent_and_taken_back)
{
	uint64_t before;

	for (int mps = 0; mps < 2; mps++) {
		two_tenants(mps, 100, 100);
		world.proc[1].cost_ns = 0;
		world_run(&world, WORLD_S);
		ck_assert_uint_ge(world.proc[0].done_ns, 990 * WORLD_MS);
		/* Back: it waits no longer than what was in flight, and the change. */
		world.proc[1].cost_ns = 100000;
		world_run(&world, 3 * WORLD_MS);
		ck_assert_uint_gt(world.proc[1].launched_ns, 0);
		/* And what it did not use is not owed to it: half, not all. */
		world_run(&world, 100 * WORLD_MS);
		before = world.proc[0].done_ns;
		world_run(&world, 200 * WORLD_MS);
		ck_assert_uint_ge(world.proc[0].done_ns - before, 85 * WORLD_MS);
		world_end(&world);
	}
}
END_TEST

/* A holder with nothing to launch gives way at once, over and over. */
START_TEST(test_idle_holder_gives_way)
{
	two_tenants(false, 100, 100);
	world.proc[0].burst_ns = 1 * WORLD_MS;
	world.proc[0].rest_ns = 9 * WORLD_MS;
	world_run(&world, 2 * WORLD_S);
	/* The light one gets all it wants, the other nearly all of the rest. */
	ck_assert_uint_ge(world.proc[0].done_ns, 150 * WORLD_MS);
	ck_assert_uint_ge(world.proc[0].done_ns + world.proc[1].done_ns, 1800 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* Side by side nobody waits for a tenant that does not want its share. */
START_TEST(test_light_tenant_holds_nobody)
{
	two_tenants(true, 100, 100);
	world.proc[0].burst_ns = 200000;
	world.proc[0].rest_ns = 5 * WORLD_MS;
	world_run(&world, 2 * WORLD_S);
	ck_assert_uint_ge(world.proc[1].done_ns, 1700 * WORLD_MS);
	ck_assert_uint_lt(world.idle_ns, 100 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* Death of the holder: the next one opens in the same event. */
START_TEST(test_death_frees_the_turn)
{
	two_tenants(false, 100, 100);
	world_run(&world, 100 * WORLD_MS);
	while (!world.proc[0].grant.open || !world.proc[1].asked_at_ns)
		world_step(&world);
	ck_assert(!world.proc[1].grant.open);
	world_leave(&world, &world.proc[0]);
	ck_assert(world.proc[1].grant.open);
	world_run(&world, 100 * WORLD_MS);
	world_end(&world);
}
END_TEST

/* A stopped holder says nothing any more: its turn ends by the clock. */
START_TEST(test_stopped_holder_loses_its_turn)
{
	two_tenants(false, 100, 100);
	world_run(&world, 100 * WORLD_MS);
	while (!world.proc[0].grant.open || !world.proc[1].asked_at_ns)
		world_step(&world);
	world.proc[0].stopped = true;
	/* Twice the window that it had in flight, a quantum by the wall at most. */
	world_run(&world, 30 * WORLD_MS);
	ck_assert(world.proc[1].grant.open);
	ck_assert_uint_gt(world.proc[1].launched_ns, 0);
	world_end(&world);
}
END_TEST

/* Under turns, a gate opens only when what the last one launched is complete. */
START_TEST(test_drained_before_change)
{
	uint64_t changes = 0;

	two_tenants(false, 100, 100);
	for (int i = 0; i < 200000; i++) {
		bool open[2] = {world.proc[0].grant.open, world.proc[1].grant.open};

		world_step(&world);
		world_assert(!(world.proc[0].grant.open && world.proc[1].grant.open));
		for (int p = 0; p < 2; p++) {
			struct world_proc *other = &world.proc[!p];

			if (open[p] || !world.proc[p].grant.open)
				continue;
			changes++;
			world_assert(other->launched_ns == other->done_ns);
		}
	}
	ck_assert_uint_gt(changes, 100);
	world_end(&world);
}
END_TEST

START_TEST(test_lone_process_is_free)
{
	world_begin(&world, &policy_share, false);
	world_tenant(&world, 1, world_plain(100));
	world_join(&world, 1, false, 100000);
	world_run(&world, WORLD_S);
	ck_assert_uint_eq(world.proc[0].grant.window_ns, CORE_NO_LIMIT);
	ck_assert_uint_eq(world.proc[0].grant.credit_ns, CORE_NO_LIMIT);
	ck_assert(world.proc[0].grant.flags & SLUICE_GRANT_EXCLUSIVE);
	/* Told once, and nobody's timer ran. */
	ck_assert_uint_eq(world.proc[0].grants, 1);
	ck_assert_uint_eq(world.timers, 0);
	world_end(&world);
}
END_TEST

START_TEST(test_many_processes)
{
	uint64_t least = UINT64_MAX, most = 0;

	world_begin(&world, &policy_share, false);
	world_tenant(&world, 1, world_plain(100));
	for (int i = 0; i < 16; i++)
		world_join(&world, 1, false, 80000);
	world_run(&world, 4 * WORLD_S);
	for (int i = 0; i < 16; i++) {
		least = world.proc[i].done_ns < least ? world.proc[i].done_ns : least;
		most = world.proc[i].done_ns > most ? world.proc[i].done_ns : most;
		/* Nobody starves: a round of turns and a little. */
		ck_assert_uint_lt(world.proc[i].longest_wait_ns, 16 * 6 * WORLD_MS);
	}
	assert_near(most, least, 12 * WORLD_MS);
	world_end(&world);
}
END_TEST

START_TEST(test_pause_and_bypass)
{
	struct event_tenant set = world_plain(100);

	two_tenants(false, 100, 100);
	world_run(&world, 50 * WORLD_MS);
	ck_assert_int_eq(
		world_event(&world, (struct event){.kind = EVENT_PAUSE, .tenant = 1, .on = true}),
		0);
	world_run(&world, 10 * WORLD_MS);
	uint64_t before = world.proc[0].launched_ns;

	world_run(&world, 100 * WORLD_MS);
	ck_assert_uint_eq(world.proc[0].launched_ns, before);
	ck_assert(world.proc[0].grant.flags & SLUICE_GRANT_PAUSED);
	ck_assert(!world.proc[0].grant.open);
	ck_assert(world.proc[1].grant.open);
	world_event(&world, (struct event){.kind = EVENT_PAUSE, .tenant = 1, .on = false});
	world_run(&world, 100 * WORLD_MS);
	ck_assert_uint_gt(world.proc[0].launched_ns, before);
	/* managed = false: open, and out of the turns. */
	set.managed = false;
	world.turns_checked = false;
	world_tenant(&world, 1, set);
	ck_assert(world.proc[0].grant.open);
	ck_assert_uint_eq(world.proc[0].grant.flags, 0);
	world_run(&world, 50 * WORLD_MS);
	ck_assert(world.proc[0].grant.open && world.proc[1].grant.open);
	world_end(&world);
}
END_TEST

/* A latency-critical process is one of many here: nobody holds for it. */
START_TEST(test_latency_counts_for_nothing)
{
	two_tenants(false, 100, 100);
	world_tenant(&world, 3, world_plain(100));
	world_join(&world, 3, true, 100000);
	world.turns_checked = false;
	world_run(&world, 3 * WORLD_S);
	for (int i = 0; i < 3; i++)
		assert_near(world.proc[i].done_ns, WORLD_S, 60 * WORLD_MS);
	ck_assert(!world.proc[2].counts);
	ck_assert(!(world.proc[2].grant.flags & SLUICE_GRANT_LATENCY));
	world_end(&world);
}
END_TEST

START_TEST(test_pressure)
{
	struct engine_report report;

	two_tenants(false, 100, 100);
	world_run(&world, 21 * WORLD_S);
	ck_assert(engine_report(world.engine, 1, 0, &report));
	/* A backlogged process is always held by something: window, credit or turn. */
	ck_assert_uint_ge(report.avg10_permille, 840);
	ck_assert_uint_le(report.avg10_permille, 1000);
	ck_assert_uint_lt(report.avg300_permille, report.avg60_permille);
	ck_assert_uint_lt(report.avg60_permille, report.avg10_permille);
	ck_assert_uint_ge(report.held_total_ns, 20 * WORLD_S);
	ck_assert_uint_le(report.held_total_ns, 21 * WORLD_S);
	ck_assert_uint_eq(report.entitled_permille, 500);
	world_end(&world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core share");
	TCase *tcase = tcase_create("virtual time");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_weights_in_turns);
	tcase_add_test(tcase, test_weights_side_by_side);
	tcase_add_test(tcase, test_short_term_share);
	tcase_add_test(tcase, test_short_term_share_of_four);
	tcase_add_test(tcase, test_four_tenants);
	tcase_add_test(tcase, test_processes_of_a_tenant);
	tcase_add_test(tcase, test_cap_of_a_lone_tenant);
	tcase_add_test(tcase, test_cap_counts_what_is_overdrawn);
	tcase_add_test(tcase, test_cap_beside_another);
	tcase_add_test(tcase, test_floor);
	tcase_add_test(tcase, test_idle_share_is_lent_and_taken_back);
	tcase_add_test(tcase, test_idle_holder_gives_way);
	tcase_add_test(tcase, test_light_tenant_holds_nobody);
	tcase_add_test(tcase, test_death_frees_the_turn);
	tcase_add_test(tcase, test_stopped_holder_loses_its_turn);
	tcase_add_test(tcase, test_drained_before_change);
	tcase_add_test(tcase, test_lone_process_is_free);
	tcase_add_test(tcase, test_many_processes);
	tcase_add_test(tcase, test_pause_and_bypass);
	tcase_add_test(tcase, test_latency_counts_for_nothing);
	tcase_add_test(tcase, test_pressure);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
