/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for several latency tenants: whose request goes on, which are given up on overload, whose
 * weights are brought in. */
#include <check.h>
#include <stdlib.h>

#include "plan/residency.h"
#include "plan/shed.h"
#include "plan/slo_order.h"

#define MS 1000000ull
#define S 1000000000ull

/* ---- order by score ---- */

static struct slo_order_request request(uint64_t profiled_ns, uint64_t done_ns,
					uint64_t measured_ns)
{
	return (struct slo_order_request){.profiled_ns = profiled_ns,
					  .done_ns = done_ns,
					  .measured_ns = measured_ns,
					  .deadline_ns = SLO_ORDER_NO_DEADLINE,
					  .idle_since_ns = UINT64_MAX};
}

START_TEST(remaining_follows_what_was_measured)
{
	struct slo_order_request slow = request(10 * MS, 4 * MS, 6 * MS);
	struct slo_order_request over = request(10 * MS, 11 * MS, 11 * MS);
	struct slo_order_request hasty = request(10 * MS, 1 * MS, 1000);
	struct slo_order_request stuck = request(10 * MS, 1 * MS, 1 * S);
	struct slo_order_request fresh = request(10 * MS, 0, 0);

	ck_assert_uint_eq(slo_order_remaining(&fresh), 10 * MS);
	ck_assert_uint_eq(slo_order_remaining(&slow), 9 * MS); /* 6 ms at 1.5 */
	ck_assert_uint_eq(slo_order_remaining(&over), 0);
	ck_assert_uint_eq(slo_order_remaining(&hasty), 9 * MS / 8);
	ck_assert_uint_eq(slo_order_remaining(&stuck), 9 * MS * 8);
}
END_TEST

/* remaining + beta * (slack + idle/isolated/active), the number as milliseconds. */
START_TEST(score_is_the_papers)
{
	struct slo_order order = {.beta_permille = 10};
	struct slo_order_request one = request(10 * MS, 5 * MS, 5 * MS);

	ck_assert_uint_eq(slo_order_score(&order, &one, 4, 100 * MS), 5 * MS);
	one.deadline_ns = 135 * MS; /* slack 30 ms */
	ck_assert_uint_eq(slo_order_score(&order, &one, 4, 100 * MS), 5 * MS + 300000);
	one.idle_since_ns = 60 * MS; /* idle for 4 of its own, beside three others: 1 ms */
	ck_assert_uint_eq(slo_order_score(&order, &one, 4, 100 * MS), 5 * MS + 310000);
	one.deadline_ns = 101 * MS; /* cannot be had: no slack, not less than none */
	ck_assert_uint_eq(slo_order_score(&order, &one, 4, 100 * MS), 5 * MS + 10000);
}
END_TEST

START_TEST(shortest_remaining_goes_on)
{
	struct slo_order order = {.beta_permille = 10};
	struct slo_order_request all[3] = {request(30 * MS, 0, 0), request(20 * MS, 5 * MS, 5 * MS),
					   request(16 * MS, 0, 0)};

	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 0), 1);
	all[1].measured_ns = 6 * MS; /* it is a longer one than its profile says: 18 ms are left */
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 0), 2);
	/* Of two that are alike, the tighter deadline. */
	all[2] = all[0];
	all[0].deadline_ns = 500 * MS;
	all[2].deadline_ns = 100 * MS;
	all[1].measured_ns = 40 * MS;
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 0), 2);
	ck_assert_uint_eq(slo_order_pick(&order, all, 0, 0), SLO_ORDER_NONE);
	all[0] = all[2]; /* of equal ones the first */
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 0), 0);
}
END_TEST

START_TEST(passed_over_for_too_long)
{
	struct slo_order order = {.beta_permille = 10, .starve_permille = 5000};
	struct slo_order_request all[3] = {request(30 * MS, 0, 0), request(20 * MS, 0, 0),
					   request(1 * MS, 0, 0)};

	all[0].idle_since_ns = 200 * MS;
	all[1].idle_since_ns = 240 * MS;
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 340 * MS), 2);
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 341 * MS), 1); /* 101 ms of 5 * 20 */
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 351 * MS), 0); /* both: the older */
	order.starve_permille = 0;
	ck_assert_uint_eq(slo_order_pick(&order, all, 3, 351 * MS), 2);
}
END_TEST

/* ---- shedding ---- */

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % below);
}

/* Do those of `set` meet their deadlines, run by earliest deadline? */
static bool is_feasible(const struct shed_request *all, uint32_t count, uint32_t set, uint64_t now)
{
	uint32_t left = set;

	while (left) {
		uint32_t next = UINT32_MAX;

		for (uint32_t i = 0; i < count; i++) {
			if (left & 1u << i &&
			    (next == UINT32_MAX || all[i].deadline_ns < all[next].deadline_ns))
				next = i;
		}
		left &= ~(1u << next);
		now += all[next].left_ns;
		if (now > all[next].deadline_ns)
			return false;
	}
	return true;
}

static uint32_t weight_of(const struct shed_request *all, uint32_t count, uint32_t set)
{
	uint32_t weight = 0;

	for (uint32_t i = 0; i < count; i++)
		weight += set & 1u << i ? all[i].weight : 0;
	return weight;
}

static uint32_t best_weight(const struct shed_request *all, uint32_t count, uint64_t now)
{
	uint32_t best = 0;

	for (uint32_t set = 0; set < 1u << count; set++) {
		uint32_t weight = weight_of(all, count, set);

		if (weight > best && is_feasible(all, count, set, now))
			best = weight;
	}
	return best;
}

static void against_all_sets(uint32_t weights)
{
	uint32_t shed = 0, kept = 0;

	state = weights;
	for (uint32_t round = 0; round < 3000; round++) {
		struct shed_request all[9];
		uint32_t count = 1 + draw(9), set = 0, late;

		for (uint32_t i = 0; i < count; i++)
			all[i] = (struct shed_request){.left_ns = 1 + draw(20),
						       .deadline_ns = 1000 + draw(70),
						       .weight = 1 + draw(weights),
						       .late = draw(2)};
		if (!draw(4))
			all[draw(count)].deadline_ns = UINT64_MAX;
		late = shed_choose(all, count, 1000);
		for (uint32_t i = 0; i < count; i++)
			set |= all[i].late ? 0 : 1u << i;
		ck_assert_uint_eq(late, count - (uint32_t)__builtin_popcount(set));
		ck_assert(is_feasible(all, count, set, 1000));
		ck_assert_uint_eq(weight_of(all, count, set), best_weight(all, count, 1000));
		for (uint32_t i = 0; i < count; i++)
			ck_assert(!all[i].late || all[i].deadline_ns != UINT64_MAX);
		shed += late;
		kept += count - late;
	}
	/* The draws pose the question in both ways. */
	ck_assert_uint_gt(shed, 1000);
	ck_assert_uint_gt(kept, 1000);
}

START_TEST(largest_set_in_time)
{
	against_all_sets(1);
}
END_TEST

START_TEST(heaviest_set_in_time)
{
	against_all_sets(5);
	against_all_sets(SHED_WEIGHT_MOST);
}
END_TEST

/* Three of 10 ms and one of 25, all due in 30: the long one is given up, not those after it. */
START_TEST(the_long_one_is_given_up)
{
	struct shed_request all[4] = {{25 * MS, 29 * MS, 1, false},
				      {10 * MS, 30 * MS, 1, false},
				      {10 * MS, 30 * MS, 1, false},
				      {10 * MS, 30 * MS, 1, false}};

	ck_assert_uint_eq(shed_choose(all, 4, 0), 1);
	ck_assert(all[0].late);
	ck_assert_uint_eq(shed_first(all, 4), 1);
	all[0].weight = 4; /* it is worth more than the three together */
	ck_assert_uint_eq(shed_choose(all, 4, 0), 3);
	ck_assert(!all[0].late);
	ck_assert_uint_eq(shed_first(all, 4), 0);
}
END_TEST

START_TEST(late_ones_run_last_and_least_left_first)
{
	struct shed_request all[3] = {{9 * MS, 5 * MS, 1, false},
				      {4 * MS, 3 * MS, 1, false},
				      {60 * MS, 100 * MS, 1, false}};

	ck_assert_uint_eq(shed_choose(all, 3, 0), 2);
	ck_assert_uint_eq(shed_first(all, 3), 2);
	ck_assert_uint_eq(shed_first(all, 2), 1);
	all[0].weight = 3; /* 3 ms for its weight, not 4 */
	ck_assert_uint_eq(shed_first(all, 2), 0);
	ck_assert_uint_eq(shed_first(all, 0), UINT32_MAX);
}
END_TEST

START_TEST(as_many_as_there_may_be)
{
	struct shed_request all[SHED_MOST];

	for (uint32_t i = 0; i < SHED_MOST; i++)
		all[i] =
			(struct shed_request){1 * MS, (i + 1) * MS, SHED_WEIGHT_MOST - i % 2, true};
	ck_assert_uint_eq(shed_choose(all, SHED_MOST, 0), 0);
	/* Half a ms later all the tight ones miss but one: the lightest goes. */
	ck_assert_uint_eq(shed_choose(all, SHED_MOST, MS / 2), 1);
	for (uint32_t i = 0; i < SHED_MOST; i++)
		ck_assert(!all[i].late || i < 2);
}
END_TEST

/* ---- residency ---- */

static struct residency_model model(bool resident, uint32_t waiting, uint64_t waited_ns)
{
	return (struct residency_model){.bytes = 10,
					.swap_ns = 40 * MS,
					.exec_ns = 10 * MS,
					.waiting = waiting,
					.waited_ns = waited_ns,
					.resident = resident};
}

static struct residency_choice choose(const struct residency_model *all, uint32_t count,
				      uint64_t room_bytes)
{
	struct residency_choice choice = {.load = 77, .evict = 77};

	residency_choose(all, count, room_bytes, &choice);
	return choice;
}

START_TEST(room_is_used_cheapest_first)
{
	/* 50, 30 and 60 ms a request */
	struct residency_model all[3] = {model(false, 1, 0), model(false, 2, 0),
					 model(false, 1, 0)};

	all[2].exec_ns = 20 * MS;
	ck_assert_uint_eq(choose(all, 3, 100).load, 1);
	ck_assert_uint_eq(choose(all, 3, 100).evict, 0);
	all[1].resident = true;
	ck_assert_uint_eq(choose(all, 3, 100).load, 0);
	all[0].waiting = 0;
	ck_assert_uint_eq(choose(all, 3, 100).load, 2);
	all[2].bytes = 101; /* never fits: nobody goes for it */
	ck_assert_uint_eq(choose(all, 3, 100).load, RESIDENCY_NONE);
	ck_assert_uint_eq(choose(all, 0, 100).load, RESIDENCY_NONE);
}
END_TEST

/* Two requests come in the 50 ms that the other needs: the swap is worth 80 ms of waiting. */
START_TEST(gain_grows_above_loss)
{
	struct residency_model all[2] = {model(true, 0, 0), model(false, 1, 80 * MS)};

	all[0].gap_ns = 25 * MS;
	ck_assert_uint_eq(choose(all, 2, 10).load, RESIDENCY_NONE);
	all[1].waited_ns++;
	ck_assert_uint_eq(choose(all, 2, 10).load, 1);
	ck_assert_uint_eq(choose(all, 2, 10).evict, 1);
	/* Of one that nobody asks for nothing is lost. */
	all[0].gap_ns = 0;
	all[1].waited_ns = 1;
	ck_assert_uint_eq(choose(all, 2, 10).load, 1);
	all[0].busy = true;
	ck_assert_uint_eq(choose(all, 2, 10).load, RESIDENCY_NONE);
}
END_TEST

START_TEST(who_loses_least_goes)
{
	struct residency_model all[4] = {model(true, 0, 0), model(true, 0, 0), model(true, 0, 0),
					 model(false, 1, 1 * S)};

	all[0].gap_ns = 20 * MS;
	all[1].gap_ns = 500 * MS;
	all[2].gap_ns = 100 * MS;
	ck_assert_uint_eq(choose(all, 4, 30).evict, 1u << 1);
	all[3].bytes = 20;
	ck_assert_uint_eq(choose(all, 4, 30).evict, 1u << 1 | 1u << 2);
	all[2].busy = true;
	ck_assert_uint_eq(choose(all, 4, 30).evict, 1u << 1 | 1u << 0);
	/* The two together lose 4 + 100 ms. */
	all[3].waited_ns = 104 * MS;
	ck_assert_uint_eq(choose(all, 4, 30).load, RESIDENCY_NONE);
	all[3].waited_ns++;
	ck_assert_uint_eq(choose(all, 4, 30).load, 3);
}
END_TEST

/* Between two requests of its own queue a model is idle; it is not thrown out for as long a one. */
START_TEST(long_queues_do_not_thrash)
{
	struct residency_model all[2] = {model(true, 5, 900 * MS), model(false, 5, 1200 * MS)};

	ck_assert_uint_eq(choose(all, 2, 10).load, RESIDENCY_NONE);
	all[0] = model(true, 1, 100 * MS); /* its queue is nearly served: 100 + 90 + 40 ms */
	ck_assert_uint_eq(choose(all, 2, 10).load, 1);
}
END_TEST

/* The cheapest has come just now; the other has waited for long enough. */
START_TEST(nobody_waits_for_ever)
{
	struct residency_model all[3] = {model(true, 0, 0), model(false, 3, 1 * MS),
					 model(false, 1, 500 * MS)};

	all[0].gap_ns = 25 * MS;
	ck_assert_uint_eq(choose(all, 3, 10).load, 2);
	all[1].waited_ns = 500 * MS;
	ck_assert_uint_eq(choose(all, 3, 10).load, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("orders");
	TCase *tcase = tcase_create("rules");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, remaining_follows_what_was_measured);
	tcase_add_test(tcase, score_is_the_papers);
	tcase_add_test(tcase, shortest_remaining_goes_on);
	tcase_add_test(tcase, passed_over_for_too_long);
	tcase_add_test(tcase, largest_set_in_time);
	tcase_add_test(tcase, heaviest_set_in_time);
	tcase_add_test(tcase, the_long_one_is_given_up);
	tcase_add_test(tcase, late_ones_run_last_and_least_left_first);
	tcase_add_test(tcase, as_many_as_there_may_be);
	tcase_add_test(tcase, room_is_used_cheapest_first);
	tcase_add_test(tcase, gain_grows_above_loss);
	tcase_add_test(tcase, who_loses_least_goes);
	tcase_add_test(tcase, long_queues_do_not_thrash);
	tcase_add_test(tcase, nobody_waits_for_ever);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
