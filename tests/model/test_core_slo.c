/* SPDX-License-Identifier: Apache-2.0 */

/* Policy `slo` around a GPU in virtual time: who is held, by what, and what is left over. */

#include "core_world.h"

static struct world world;
static struct world_proc *chat;

#define assert_near(value, want, tolerance) \
	ck_assert_msg((value) + (tolerance) >= (want) && (value) <= (want) + (tolerance), \
		      "%llu is not %llu +- %llu", (unsigned long long)(value), \
		      (unsigned long long)(want), (unsigned long long)(tolerance))

/* Requests of 5 ms, and as long a rest after each; best-effort tenants 2 and 3 beside. */
static void begin(bool mps, uint32_t best_effort)
{
	world_begin(&world, &policy_slo, mps);
	for (uint32_t t = 1; t <= 3; t++)
		world_tenant(&world, t, world_plain(t == 2 ? 300 : 100));
	chat = world_join(&world, 1, true, 50000);
	chat->burst_ns = 5 * WORLD_MS;
	chat->rest_ns = 5 * WORLD_MS;
	for (uint32_t i = 0; i < best_effort; i++)
		world_join(&world, 2 + i, false, 100000);
}

START_TEST(test_level)
{
	for (int mps = 0; mps < 2; mps++) {
		begin(mps, 2);
		world_run(&world, 200 * WORLD_MS);
		ck_assert_uint_eq(world.proc[1].grant.guard_ns, 60000);
		ck_assert_uint_eq(world.proc[1].grant.window_ns, 300000);
		ck_assert_uint_eq(chat->grant.flags, SLUICE_GRANT_MANAGED | SLUICE_GRANT_LATENCY |
							     SLUICE_GRANT_EXCLUSIVE |
							     SLUICE_GRANT_WAITERS);
		ck_assert(chat->grant.open);
		ck_assert_uint_eq(chat->grant.credit_ns, CORE_NO_LIMIT);
		ck_assert_uint_eq(chat->grant.window_ns, CORE_NO_LIMIT);
		/* It is not held by that: a shorter gap does not end a busy period. */
		ck_assert_uint_eq(chat->grant.guard_ns, 60000);
		world_end(&world);
	}
}
END_TEST

/* Without MPS one best-effort process at a time (asserted at every step), by weight. */
START_TEST(test_turns_of_best_effort)
{
	begin(false, 2);
	world_run(&world, 4 * WORLD_S);
	assert_near(world.proc[1].done_ns * 1000 / (world.proc[1].done_ns + world.proc[2].done_ns),
		    750ull, 20);
	world_end(&world);
}
END_TEST

/* The latency tenant gets what it gets alone, and the others nearly all the rest. */
START_TEST(test_latency_is_not_held)
{
	uint64_t alone_ns, rest_ns;

	begin(false, 0);
	world_run(&world, 2 * WORLD_S);
	alone_ns = chat->done_ns;
	world_end(&world);
	begin(false, 1);
	world_run(&world, 2 * WORLD_S);
	/* One best-effort window at each arrival is all that may be in the way. */
	ck_assert_uint_ge(chat->done_ns * 100, alone_ns * 94);
	rest_ns = 2 * WORLD_S - chat->done_ns;
	ck_assert_uint_ge(world.proc[1].done_ns * 100, rest_ns * 94);
	/* Nobody competes with it for a turn: no timer runs. */
	ck_assert_uint_eq(world.timers, 0);
	world_end(&world);
}
END_TEST

START_TEST(test_no_latency_process_is_share)
{
	world_begin(&world, &policy_slo, false);
	world_tenant(&world, 2, world_plain(300));
	world_tenant(&world, 3, world_plain(100));
	world_join(&world, 2, false, 100000);
	world_join(&world, 3, false, 100000);
	world_run(&world, 4 * WORLD_S);
	for (int i = 0; i < 2; i++) {
		if (world.proc[i].grant.open)
			ck_assert_uint_eq(world.proc[i].grant.window_ns, 2 * WORLD_MS);
		ck_assert_uint_eq(world.proc[i].grant.guard_ns, 0);
	}
	assert_near(world.proc[0].done_ns * 1000 / (world.proc[0].done_ns + world.proc[1].done_ns),
		    750ull, 15);
	/* And when one comes, the level is there at once. */
	world_tenant(&world, 1, world_plain(100));
	world_join(&world, 1, true, 50000)->cost_ns = 0;
	world_run(&world, WORLD_STEP_NS);
	for (int i = 0; i < 2; i++) {
		if (world.proc[i].grant.open)
			ck_assert_uint_eq(world.proc[i].grant.window_ns, 300000);
	}
	world_end(&world);
}
END_TEST

/* Above its gpu.max the latency tenant is gated like the others, and its activity is not seen. */
START_TEST(test_excess)
{
	struct event_tenant set = world_plain(100);
	bool excess = false;

	begin(false, 1);
	set.gpu_max_permille = 400;
	world_tenant(&world, 1, set);
	chat->burst_ns = 0;
	for (int i = 0; i < 100000; i++) {
		world_step(&world);
		if (chat->grant.flags & SLUICE_GRANT_EXCESS) {
			excess = true;
			world_assert(!chat->counts);
		} else {
			world_assert(chat->counts);
		}
	}
	ck_assert(excess);
	world_run(&world, 2 * WORLD_S);
	assert_near(world_used(&world, 1), 400ull, 25);
	ck_assert_uint_ge(world_used(&world, 2), 530);
	world_end(&world);
}
END_TEST

/* A best-effort tenant's gpu.min stands against a latency tenant that is always active. */
START_TEST(test_floor_against_latency)
{
	struct event_tenant set = world_plain(100);

	begin(false, 1);
	set.gpu_min_permille = 300;
	world_tenant(&world, 2, set);
	chat->burst_ns = 0;
	world_run(&world, 3 * WORLD_S);
	ck_assert_uint_ge(world_used(&world, 2), 280);
	ck_assert_uint_ge(world_used(&world, 1), 650);
	/* Nobody waits any more: nothing is kept from the latency tenant. */
	world_leave(&world, &world.proc[1]);
	world_run(&world, 1500 * WORLD_MS);
	ck_assert_uint_ge(world_used(&world, 1), 980);
	world_end(&world);
}
END_TEST

/*
 * A latency process whose activity takes the GPU from others, whatever it launches: it launches two
 * of each five milliseconds and never waits for the end, or launches nothing and writes into its
 * page. Others have their gpu.min, and it has its gpu.max. An honest one beside is not concerned.
 */
static void check_activity(enum world_activity activity, bool launches, bool mps)
{
	struct event_tenant set = world_plain(100);

	begin(mps, 1);
	chat->activity = activity;
	chat->burst_ns = launches ? 2 * WORLD_MS : 0;
	chat->rest_ns = 3 * WORLD_MS;
	chat->cost_ns = launches ? 50000 : 0;
	world_run(&world, 2 * WORLD_S);
	ck_assert_uint_le(world_used(&world, 2), 20);
	set.gpu_min_permille = 300;
	world_tenant(&world, 2, set);
	world_run(&world, 3 * WORLD_S);
	assert_near(world_used(&world, 2), 300ull, 25);
	ck_assert_uint_eq(chat->launched_ns > 0, launches);
	if (launches)
		ck_assert_uint_ge(world_used(&world, 1), 260);
	/* Its own limit holds likewise. */
	world_tenant(&world, 2, world_plain(100));
	set = world_plain(100);
	set.gpu_max_permille = 500;
	world_tenant(&world, 1, set);
	world_run(&world, 3 * WORLD_S);
	assert_near(world_used(&world, 2), 500ull, 25);
	world_end(&world);
}

START_TEST(test_activity_without_an_end)
{
	check_activity(WORLD_ALWAYS, true, false);
	check_activity(WORLD_ALWAYS, true, true);
}
END_TEST

START_TEST(test_activity_without_launches)
{
	check_activity(WORLD_ALWAYS, false, false);
	check_activity(WORLD_FLICKERS, false, false);
	check_activity(WORLD_FRESH, false, false);
	check_activity(WORLD_FLICKERS, false, true);
}
END_TEST

/* Its requests are open for half the time: neither a gpu.min of 0.3 nor a gpu.max of 0.7 concerns it,
 * and nobody who wants nothing is kept out. */
START_TEST(test_honest_activity_is_no_excess)
{
	struct event_tenant set = world_plain(100);

	begin(false, 1);
	set.gpu_min_permille = 300;
	world_tenant(&world, 2, set);
	set = world_plain(100);
	set.gpu_max_permille = 700;
	world_tenant(&world, 1, set);
	for (int i = 0; i < 300000; i++) {
		world_step(&world);
		world_assert(!(chat->grant.flags & SLUICE_GRANT_EXCESS));
	}
	assert_near(world_used(&world, 1), 500ull, 25);
	world.proc[1].cost_ns = 0;
	world_run(&world, WORLD_S);
	chat->activity = WORLD_ALWAYS;
	for (int i = 0; i < 100000; i++) {
		world_step(&world);
		world_assert(!(chat->grant.flags & SLUICE_GRANT_EXCESS));
	}
	world_end(&world);
}
END_TEST

/* Two latency tenants, each within what the floor leaves it, must not together break it; what one
 * leaves, the other may have. */
START_TEST(test_floor_against_two)
{
	struct event_tenant set = world_plain(100);
	struct world_proc *other;

	for (int mps = 0; mps < 2; mps++) {
		begin(mps, 1);
		set.gpu_min_permille = 300;
		world_tenant(&world, 2, set);
		chat->burst_ns = 0;
		/* Their periods begin at different times. */
		world_run(&world, 1049 * WORLD_MS);
		other = world_join(&world, 3, true, 50000);
		other->burst_ns = 0;
		world_run(&world, 3 * WORLD_S);
		ck_assert_uint_ge(world_used(&world, 2), 270);
		ck_assert_uint_ge(world_used(&world, 1), 200);
		ck_assert_uint_ge(world_used(&world, 3), 200);
		/* A floor of nothing more to one of them: the other has what is left. */
		other->activity = WORLD_TRUTH;
		other->cost_ns = 0;
		chat->burst_ns = 0;
		world_run(&world, 3 * WORLD_S);
		assert_near(world_used(&world, 2), 300ull, 30);
		ck_assert_uint_ge(world_used(&world, 1), 620);
		world_end(&world);
	}
}
END_TEST

START_TEST(test_exclusive)
{
	begin(false, 2);
	world_run(&world, 100 * WORLD_MS);
	/* The one that may run is alone of its class; side by side none is. */
	ck_assert((world.proc[1].grant.flags | world.proc[2].grant.flags) & SLUICE_GRANT_EXCLUSIVE);
	world_end(&world);
	begin(true, 2);
	world_run(&world, 100 * WORLD_MS);
	ck_assert(!((world.proc[1].grant.flags | world.proc[2].grant.flags) &
		    SLUICE_GRANT_EXCLUSIVE));
	world_leave(&world, &world.proc[2]);
	ck_assert(world.proc[1].grant.flags & SLUICE_GRANT_EXCLUSIVE);
	/* A second latency process: neither knows when it is alone. */
	world_join(&world, 1, true, 50000);
	ck_assert(!(chat->grant.flags & SLUICE_GRANT_EXCLUSIVE));
	world_end(&world);
}
END_TEST

START_TEST(test_paused_latency_holds_nobody)
{
	begin(false, 1);
	chat->burst_ns = 0;
	world_run(&world, 100 * WORLD_MS);
	ck_assert_uint_lt(world.proc[1].done_ns, WORLD_MS);
	world_event(&world, (struct event){.kind = EVENT_PAUSE, .tenant = 1, .on = true});
	ck_assert(!chat->counts);
	world_run(&world, 100 * WORLD_MS);
	ck_assert_uint_gt(world.proc[1].done_ns, 90 * WORLD_MS);
	world_end(&world);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core slo");
	TCase *tcase = tcase_create("virtual time");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_level);
	tcase_add_test(tcase, test_turns_of_best_effort);
	tcase_add_test(tcase, test_latency_is_not_held);
	tcase_add_test(tcase, test_no_latency_process_is_share);
	tcase_add_test(tcase, test_excess);
	tcase_add_test(tcase, test_floor_against_latency);
	tcase_add_test(tcase, test_activity_without_an_end);
	tcase_add_test(tcase, test_activity_without_launches);
	tcase_add_test(tcase, test_honest_activity_is_no_excess);
	tcase_add_test(tcase, test_floor_against_two);
	tcase_add_test(tcase, test_exclusive);
	tcase_add_test(tcase, test_paused_latency_holds_nobody);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
