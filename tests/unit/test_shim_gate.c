/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's decision, in virtual time. */
#include <check.h>
#include <stdlib.h>

#include "gate_decide.h"

#define US 1000ull
#define MS 1000000ull
#define NOW (1000 * MS)

static struct gate_view view;
static uint64_t until_ns;

static void setup(void)
{
	view = (struct gate_view){.flags = SLUICE_GRANT_MANAGED,
				  .credit_ns = UINT64_MAX,
				  .window_ns = 300 * US,
				  .guard_ns = 60 * US,
				  .progress_ns = 20 * MS};
}

static enum gate_reason decide(uint64_t cost_ns)
{
	return gate_decide(&view, cost_ns, 0, NOW, &until_ns);
}

START_TEST(beside_an_active_tenant_only_at_the_beginning_and_with_little)
{
	view.active = true;
	view.idle_since_ns = NOW - 1;
	view.window_ns = 1000 * US;
	view.busy_since_ns = NOW - 100 * US;
	ck_assert_int_eq(decide(10), GATE_ACTIVE);
	view.cap_sms = 32;
	ck_assert_int_eq(decide(10), GATE_ACTIVE);
	view.busy_limit_ns = 100 * US;
	ck_assert_int_eq(decide(10), GATE_OPEN);
	ck_assert_uint_eq(gate_allowance(&view, 10, 1), 0);
	view.in_flight_ns = 300 * US;
	ck_assert_int_eq(decide(1), GATE_WINDOW);
	view.in_flight_ns = 0;
	view.busy_since_ns--;
	ck_assert_int_eq(decide(10), GATE_ACTIVE);
	view.busy_limit_ns = UINT64_MAX;
	ck_assert_int_eq(decide(10), GATE_OPEN);
}
END_TEST

START_TEST(nothing_runs_into_an_arrival_that_is_expected)
{
	view.busy_since_ns = NOW - 900 * US;
	view.quiet_from_ns = 1000 * US;
	view.quiet_until_ns = 1200 * US;
	view.in_flight_ns = 60 * US;
	ck_assert_int_eq(decide(40 * US), GATE_OPEN);
	ck_assert_uint_eq(gate_allowance(&view, 40 * US, 1), 0);
	ck_assert_int_eq(decide(40 * US + 1), GATE_QUIET);
	ck_assert_uint_eq(until_ns, NOW + 300 * US);
	view.in_flight_ns = 0;
	view.busy_since_ns = NOW - 1200 * US + 1;
	ck_assert_int_eq(decide(1), GATE_QUIET);
	view.busy_since_ns--;
	ck_assert_int_eq(decide(1), GATE_OPEN);
	view.busy_since_ns = 0;
	ck_assert_int_eq(decide(1), GATE_OPEN);
}
END_TEST

START_TEST(an_open_gate_admits)
{
	ck_assert_int_eq(decide(10 * US), GATE_OPEN);
}
END_TEST

START_TEST(an_odd_word_is_closed)
{
	view.gate_word = 7;
	ck_assert_int_eq(decide(10 * US), GATE_CLOSED);
	view.gate_word = 8;
	ck_assert_int_eq(decide(10 * US), GATE_OPEN);
}
END_TEST

START_TEST(a_pause_closes_an_open_gate)
{
	view.flags |= SLUICE_GRANT_PAUSED;
	ck_assert_int_eq(decide(1), GATE_CLOSED);
}
END_TEST

START_TEST(activity_holds_until_its_predicted_end)
{
	view.active = true;
	view.drain_ns = NOW + 5 * MS;
	ck_assert_int_eq(decide(1), GATE_ACTIVE);
	ck_assert_uint_eq(until_ns, NOW + 5 * MS);
}
END_TEST

START_TEST(the_guard_holds_to_the_nanosecond)
{
	view.idle_since_ns = NOW - 60 * US + 1;
	ck_assert_int_eq(decide(1), GATE_GUARD);
	ck_assert_uint_eq(until_ns, NOW + 1);
	view.idle_since_ns = NOW - 60 * US;
	ck_assert_int_eq(decide(1), GATE_OPEN);
}
END_TEST

START_TEST(a_tenant_that_never_was_active_has_no_guard)
{
	view.guard_ns = UINT64_MAX;
	ck_assert_int_eq(decide(1), GATE_OPEN);
}
END_TEST

START_TEST(credit_is_spent_to_its_end)
{
	view.credit_ns = 1000 * US;
	view.launched_ns = 1000 * US - 1;
	ck_assert_int_eq(decide(50 * US), GATE_OPEN);
	view.launched_ns = 1000 * US;
	ck_assert_int_eq(decide(1), GATE_CREDIT);
	view.launched_ns = 900 * US;
	view.drawn_ns = 100 * US;
	ck_assert_int_eq(decide(1), GATE_CREDIT);
}
END_TEST

START_TEST(the_window_is_exact)
{
	view.in_flight_ns = 200 * US;
	ck_assert_int_eq(decide(100 * US), GATE_OPEN);
	ck_assert_int_eq(decide(100 * US + 1), GATE_WINDOW);
	view.drawn_ns = 50 * US;
	ck_assert_int_eq(decide(50 * US), GATE_OPEN);
	ck_assert_int_eq(decide(50 * US + 1), GATE_WINDOW);
}
END_TEST

START_TEST(one_launch_always_enters_an_empty_pipe)
{
	ck_assert_int_eq(decide(900 * MS), GATE_OPEN);
	view.in_flight_ns = 1;
	ck_assert_int_eq(decide(900 * MS), GATE_WINDOW);
}
END_TEST

/* 250 us in flight end at done; 100 us more fit when 50 of them have ended. */
START_TEST(the_window_s_opening_is_predicted)
{
	view.in_flight_ns = 250 * US;
	view.done_ns = NOW + 250 * US;
	ck_assert_int_eq(decide(100 * US), GATE_WINDOW);
	ck_assert_uint_eq(until_ns, NOW + 50 * US);
	/* More than the window: only when all has ended. */
	ck_assert_int_eq(decide(400 * US), GATE_WINDOW);
	ck_assert_uint_eq(until_ns, NOW + 250 * US);
}
END_TEST

START_TEST(without_a_window_nothing_is_counted)
{
	view.window_ns = UINT64_MAX;
	view.in_flight_ns = UINT64_MAX / 2;
	view.drawn_ns = UINT64_MAX - 5;
	ck_assert_int_eq(decide(2000 * MS), GATE_OPEN);
}
END_TEST

static enum gate_reason held(uint64_t held_since_ns, uint64_t moved_ns, uint64_t in_flight_ns)
{
	view.gate_word = 1;
	view.moved_ns = moved_ns;
	view.in_flight_ns = in_flight_ns;
	return gate_decide(&view, 1, held_since_ns, NOW, &until_ns);
}

START_TEST(forward_progress_admits_one_when_nothing_moves)
{
	ck_assert_int_eq(held(NOW - 20 * MS, NOW - 21 * MS, 1), GATE_FORCED);
	ck_assert_int_eq(held(NOW - 20 * MS + 1, NOW - 21 * MS, 1), GATE_CLOSED);
	ck_assert_int_eq(held(NOW - 21 * MS, NOW - 20 * MS, 1), GATE_CLOSED);
	/* An empty pipe waits for nobody. */
	ck_assert_int_eq(held(NOW - 500 * MS, NOW - 500 * MS, 0), GATE_CLOSED);
	view.progress_ns = 0;
	ck_assert_int_eq(held(NOW - 20 * MS, NOW - 21 * MS, 1), GATE_FORCED);
	view.flags |= SLUICE_GRANT_PAUSED;
	ck_assert_int_eq(held(NOW - 20 * MS, NOW - 21 * MS, 1), GATE_CLOSED);
}
END_TEST

/* What is expected to take longer does not stand still for that. */
START_TEST(forward_progress_waits_for_a_long_unit)
{
	ck_assert_int_eq(held(NOW - 100 * MS, NOW - 100 * MS, 40 * MS), GATE_FORCED);
	ck_assert_int_eq(held(NOW - 100 * MS, NOW - 100 * MS + 1, 40 * MS), GATE_CLOSED);
	/* A prediction may be wrong. */
	ck_assert_int_eq(held(NOW - 520 * MS, NOW - 520 * MS, 3600000 * MS), GATE_FORCED);
	ck_assert_int_eq(held(NOW - 520 * MS, NOW - 520 * MS + 1, 3600000 * MS), GATE_CLOSED);
}
END_TEST

START_TEST(a_request_meets_what_ends_after_its_beginning)
{
	ck_assert_uint_eq(gate_met_ns(&view, NOW), 0);
	view.in_flight_ns = 70 * US;
	ck_assert_uint_eq(gate_met_ns(&view, NOW), 70 * US);
	/* All of it is complete by the time that this process looks. */
	view.in_flight_ns = 0;
	view.was_done_ns = NOW + 40 * MS;
	ck_assert_uint_eq(gate_met_ns(&view, NOW), 40 * MS);
	ck_assert_uint_eq(gate_met_ns(&view, NOW + 40 * MS), 0);
}
END_TEST

/* Nothing of its own in flight: what waits is another process's. */
START_TEST(forward_progress_admits_one_for_an_active_tenant_that_is_still)
{
	view.active = view.is_still = true;
	ck_assert_int_eq(held(NOW - 20 * MS, 0, 0), GATE_FORCED);
	ck_assert_int_eq(held(NOW - 20 * MS + 1, 0, 0), GATE_CLOSED);
	/* The one before it went less than so long ago. */
	ck_assert_int_eq(held(NOW - 500 * MS, NOW - 20 * MS + 1, 0), GATE_CLOSED);
	ck_assert_int_eq(held(NOW - 500 * MS, NOW - 20 * MS, 0), GATE_FORCED);
	/* A request that is predicted to take longer is not late. */
	view.drain_ns = NOW - 20 * MS + 1;
	ck_assert_int_eq(held(NOW - 500 * MS, 0, 0), GATE_CLOSED);
	view.drain_ns = NOW - 20 * MS;
	ck_assert_int_eq(held(NOW - 500 * MS, 0, 0), GATE_FORCED);
	view.is_still = false;
	ck_assert_int_eq(held(NOW - 500 * MS, 0, 0), GATE_CLOSED);
	view.is_still = true;
	view.flags |= SLUICE_GRANT_PAUSED;
	ck_assert_int_eq(held(NOW - 500 * MS, 0, 0), GATE_CLOSED);
}
END_TEST

START_TEST(an_allowance_is_what_is_left_of_the_window)
{
	view.in_flight_ns = 100 * US;
	ck_assert_uint_eq(gate_allowance(&view, 50 * US, 1), 150 * US);
	view.drawn_ns = 60 * US;
	ck_assert_uint_eq(gate_allowance(&view, 50 * US, 1), 90 * US);
	/* Several threads draw in chunks. */
	ck_assert_uint_eq(gate_allowance(&view, 50 * US, 4), 300 * US / 16);
	ck_assert_uint_eq(gate_allowance(&view, 500 * US, 1), 0);
	view.credit_ns = 70 * US;
	view.drawn_ns = 0;
	ck_assert_uint_eq(gate_allowance(&view, 50 * US, 1), 20 * US);
	view.credit_ns = view.window_ns = UINT64_MAX;
	ck_assert_uint_eq(gate_allowance(&view, 50 * US, 4), UINT64_MAX);
}
END_TEST

/* Nothing but the turn is passed by. */
START_TEST(a_large_copy_goes_through_a_gate_closed_for_a_turn)
{
	view.gate_word = 7;
	view.is_large_copy = true;
	ck_assert_int_eq(decide(10), GATE_CLOSED);
	view.flags |= SLUICE_GRANT_COPIES;
	ck_assert_int_eq(decide(10), GATE_OPEN);
	/* What comes behind it has to ask. */
	ck_assert_uint_eq(gate_allowance(&view, 10, 1), 0);
	view.in_flight_ns = 300 * US;
	ck_assert_int_eq(decide(10), GATE_WINDOW);
	view.in_flight_ns = 0;
	view.active = true;
	ck_assert_int_eq(decide(10), GATE_ACTIVE);
	view.active = false;
	view.idle_since_ns = NOW - 1;
	ck_assert_int_eq(decide(10), GATE_GUARD);
	view.idle_since_ns = 0;
	view.credit_ns = 0;
	ck_assert_int_eq(decide(10), GATE_CREDIT);
	view.credit_ns = UINT64_MAX;
	view.flags |= SLUICE_GRANT_PAUSED;
	ck_assert_int_eq(decide(10), GATE_CLOSED);
	view.flags = SLUICE_GRANT_MANAGED | SLUICE_GRANT_COPIES;
	view.is_large_copy = false;
	ck_assert_int_eq(decide(10), GATE_CLOSED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_gate");
	TCase *tcase = tcase_create("gate");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, an_open_gate_admits);
	tcase_add_test(tcase, an_odd_word_is_closed);
	tcase_add_test(tcase, beside_an_active_tenant_only_at_the_beginning_and_with_little);
	tcase_add_test(tcase, nothing_runs_into_an_arrival_that_is_expected);
	tcase_add_test(tcase, a_pause_closes_an_open_gate);
	tcase_add_test(tcase, activity_holds_until_its_predicted_end);
	tcase_add_test(tcase, the_guard_holds_to_the_nanosecond);
	tcase_add_test(tcase, a_tenant_that_never_was_active_has_no_guard);
	tcase_add_test(tcase, credit_is_spent_to_its_end);
	tcase_add_test(tcase, the_window_is_exact);
	tcase_add_test(tcase, one_launch_always_enters_an_empty_pipe);
	tcase_add_test(tcase, the_window_s_opening_is_predicted);
	tcase_add_test(tcase, without_a_window_nothing_is_counted);
	tcase_add_test(tcase, forward_progress_admits_one_when_nothing_moves);
	tcase_add_test(tcase, forward_progress_waits_for_a_long_unit);
	tcase_add_test(tcase, a_request_meets_what_ends_after_its_beginning);
	tcase_add_test(tcase, forward_progress_admits_one_for_an_active_tenant_that_is_still);
	tcase_add_test(tcase, an_allowance_is_what_is_left_of_the_window);
	tcase_add_test(tcase, a_large_copy_goes_through_a_gate_closed_for_a_turn);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
