/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller is made of: arithmetic, ladder, gaps, alone service, paired tails. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "core/slo_alone.h"
#include "core/slo_fix.h"
#include "core/slo_gap.h"
#include "core/slo_ladder.h"
#include "core/slo_tail.h"

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

/* Exponential with that mean, to three digits. */
static uint64_t draw_gap(uint64_t mean_ns)
{
	uint64_t octaves;

	octaves = (uint64_t)((32 << 10) - fix_log2(draw(1ull << 31) * 2 + 1));
	return mean_ns / 1024 * octaves * 693 / 1000;
}

static void setup(void)
{
	state = 1;
}

START_TEST(logarithms_and_powers)
{
	ck_assert_int_eq(fix_log2(1), 0);
	ck_assert_int_eq(fix_log2(1ull << 63), 63 * FIX_OCTAVE);
	ck_assert_int_eq(fix_log2(3), 1623); /* 1.58496 * 1024 */
	ck_assert_uint_eq(fix_scale(1000, 0), 1000);
	ck_assert_uint_eq(fix_scale(1000, 3 * FIX_OCTAVE), 8000);
	ck_assert_uint_eq(fix_scale(1000000, FIX_OCTAVE / 2), 1414213);
	ck_assert_uint_eq(fix_scale(1000000, -FIX_OCTAVE / 2), 707106);
	ck_assert_uint_eq(fix_scale(3, 63 * FIX_OCTAVE), UINT64_MAX);
	ck_assert_uint_eq(fix_scale(0, 99 * FIX_OCTAVE), 0);
	ck_assert_uint_eq(fix_scale(UINT64_MAX, -64 * FIX_OCTAVE), 0);
	for (uint64_t value = 1; value < 1ull << 62; value = value * 3 + 1) {
		uint64_t back = fix_scale(1ull << 20, fix_log2(value) - 20 * FIX_OCTAVE);

		ck_assert_uint_le(back, value);
		ck_assert_uint_ge(back + back / 500 + 1, value);
	}
	ck_assert_uint_eq(fix_muldiv(UINT64_MAX, 3, 4), UINT64_MAX / 4 * 3 + 2);
	ck_assert_uint_eq(fix_muldiv(UINT64_MAX, 2, 1), UINT64_MAX);
}
END_TEST

START_TEST(selection_agrees_with_sorting)
{
	for (uint32_t count = 1; count < 70; count++) {
		for (uint32_t k = 0; k < count; k++) {
			uint64_t value[70], sorted[70];

			for (uint32_t i = 0; i < count; i++)
				value[i] = draw(count % 7 ? 1000 : 4);
			memcpy(sorted, value, sizeof(sorted));
			fix_sort(sorted, count);
			if (fix_select(value, count, k) != sorted[k])
				ck_abort_msg("%u of %u", k, count);
			for (uint32_t i = 0; i < count; i++) {
				if ((i < k && value[i] > value[k]) ||
				    (i > k && value[i] < value[k]) ||
				    (i && sorted[i] < sorted[i - 1]))
					ck_abort_msg("%u of %u at %u", k, count, i);
			}
		}
	}
}
END_TEST

/* More level is never less best-effort work, and no step is a jump. */
START_TEST(the_ladder_is_monotone)
{
	struct slo_setting before = slo_ladder(LEVEL_LEAST);

	ck_assert_uint_eq(before.window_ns, 50 * US);
	ck_assert_uint_ge(before.guard_ns, S);
	for (int32_t level = LEVEL_LEAST + 1; level <= LEVEL_MOST; level++) {
		struct slo_setting now = slo_ladder(level);

		ck_assert_uint_ge(now.window_ns, before.window_ns);
		ck_assert_uint_le(now.window_ns, before.window_ns + 1 * US);
		ck_assert_uint_le(now.guard_ns, before.guard_ns);
		ck_assert_uint_ge(now.guard_ns, before.guard_ns * 48 / 50);
		ck_assert_uint_ge(now.cap_permille, before.cap_permille);
		ck_assert_uint_le(now.quiet_permille, before.quiet_permille);
		if (now.cap_permille && before.cap_permille)
			ck_assert_uint_ge(now.busy_permille, before.busy_permille);
		before = now;
	}
	ck_assert_uint_eq(slo_ladder(LEVEL_FLOOR).guard_ns, 1200 * US);
	ck_assert_uint_eq(slo_ladder(0).guard_ns, 200 * US);
	ck_assert_uint_eq(slo_ladder(0).window_ns, 100 * US);
	ck_assert_uint_eq(slo_ladder(LEVEL_START).guard_ns, 60 * US);
	ck_assert_uint_eq(slo_ladder(LEVEL_START).window_ns, 300 * US);
	ck_assert_uint_eq(slo_ladder(2000).window_ns, 1 * MS);
	ck_assert_uint_eq(slo_ladder(2000).cap_permille, 0);
	ck_assert_uint_eq(slo_ladder(2001).cap_permille, 400);
	ck_assert_uint_eq(slo_ladder(2001).busy_permille, 50);
	ck_assert_uint_eq(slo_ladder(3000).busy_permille, 1550);
	ck_assert_uint_eq(slo_ladder(3500).cap_permille, 500);
	ck_assert_uint_eq(slo_ladder(3500).busy_permille, 3100);
	ck_assert_uint_eq(slo_ladder(4000).busy_permille, LADDER_NO_LIMIT);
	ck_assert_uint_eq(slo_ladder(INT32_MAX).cap_permille, 1000);
}
END_TEST

static struct slo_gaps gaps;

static uint64_t learned(void)
{
	slo_gap_learn(&gaps);
	return gaps.guard_ns;
}

/* A decode loop: 39 gaps of 200 us, then one between two requests. */
static void decode(int requests, uint64_t step_gap_ns)
{
	for (int i = 0; i < requests; i++) {
		for (int step = 0; step < 39; step++)
			slo_gap_add(&gaps, step_gap_ns - 10 * US + draw(20 * US));
		slo_gap_add(&gaps, 3 * MS + draw_gap(100 * MS));
	}
}

START_TEST(the_guard_is_above_a_decode_loop_s_gaps)
{
	memset(&gaps, 0, sizeof(gaps));
	for (int i = 0; i < 39; i++)
		slo_gap_add(&gaps, 190 * US + draw(20 * US));
	ck_assert_uint_eq(learned(), 0); /* there is nothing else */
	slo_gap_add(&gaps, 60 * MS);
	ck_assert_uint_gt(learned(), 230 * US);
	decode(10, 200 * US);
	ck_assert_uint_gt(learned(), 250 * US);
	ck_assert_uint_le(learned(), 263 * US);
	/* Not where hardly anything is left beside them. */
	for (int i = 0; i < GAP_RING; i++)
		slo_gap_add(&gaps, i % 100 ? 200 * US : 15 * MS);
	ck_assert_uint_eq(learned(), 0);
	decode(14, 200 * US);
	/* Stragglers of the mode do not end it, and do not stretch it. */
	slo_gap_add(&gaps, 290 * US);
	slo_gap_add(&gaps, 700 * US);
	ck_assert_uint_le(learned(), 263 * US);
	/* It is followed when it changes, and forgotten when it ends. */
	decode(13, 1200 * US);
	ck_assert_uint_gt(learned(), 1500 * US);
	ck_assert_uint_lt(learned(), 1530 * US);
	for (int i = 0; i < GAP_RING; i++)
		slo_gap_add(&gaps, draw_gap(5 * MS));
	ck_assert_uint_eq(learned(), 0);
}
END_TEST

/* Random gaps have no mode, however dense and however the rest is queued behind one another. */
START_TEST(chance_is_no_mode)
{
	static const uint64_t mean_ns[] = {100 * US, 500 * US, 2 * MS, 10 * MS, 100 * MS};
	int wrong = 0;

	for (int seed = 1; seed <= 200; seed++) {
		state = (uint64_t)seed;
		memset(&gaps, 0, sizeof(gaps));
		for (int i = 0; i < GAP_RING; i++) {
			uint64_t gap_ns = draw_gap(mean_ns[seed % 5]);

			slo_gap_add(&gaps, seed % 2 && draw(2) ? 15 * US : gap_ns);
			wrong += i % 32 == 31 && learned() != 0;
		}
	}
	ck_assert_int_le(wrong, 16); /* of 3200 looks */
}
END_TEST

START_TEST(a_single_mode_is_no_reason_to_wait)
{
	memset(&gaps, 0, sizeof(gaps));
	for (int i = 0; i < GAP_RING; i++)
		slo_gap_add(&gaps, 195 * US + draw(10 * US));
	ck_assert_uint_eq(learned(), 0);
}
END_TEST

START_TEST(periodic_arrivals_are_expected)
{
	memset(&gaps, 0, sizeof(gaps));
	for (int i = 0; i < 49; i++)
		slo_gap_add_period(&gaps, 10 * MS);
	slo_gap_expect(&gaps, 980);
	ck_assert_uint_eq(gaps.expect_until_ns, 0); /* too few */
	for (int i = 0; i < PERIOD_RING; i++)
		slo_gap_add_period(&gaps, 9750 * US + draw(500 * US));
	slo_gap_expect(&gaps, 980);
	ck_assert_uint_ge(gaps.expect_from_ns, 9750 * US);
	ck_assert_uint_lt(gaps.expect_from_ns, 9780 * US);
	ck_assert_uint_gt(gaps.expect_until_ns, 10220 * US);
	ck_assert_uint_lt(gaps.expect_until_ns, 10250 * US);
	slo_gap_expect(&gaps, 1000);
	ck_assert_uint_lt(gaps.expect_from_ns, 9755 * US);
	/* One that did not come, and one that came twice, change little. */
	slo_gap_add_period(&gaps, 20 * MS);
	slo_gap_add_period(&gaps, 1 * MS);
	slo_gap_expect(&gaps, 1000);
	ck_assert_uint_gt(gaps.expect_from_ns, 9250 * US);
	ck_assert_uint_lt(gaps.expect_until_ns, 10750 * US);
	/* Less of them: later. */
	slo_gap_expect(&gaps, 500);
	ck_assert_uint_gt(gaps.expect_from_ns, 9950 * US);
	ck_assert_uint_lt(gaps.expect_from_ns, 10050 * US);
	slo_gap_expect(&gaps, 0);
	ck_assert_uint_eq(gaps.expect_until_ns, 0);
	for (int i = 0; i < PERIOD_RING; i++)
		slo_gap_add_period(&gaps, 2 * MS + draw_gap(8 * MS));
	slo_gap_expect(&gaps, 980);
	ck_assert_uint_eq(gaps.expect_from_ns, 0);
	ck_assert_uint_eq(gaps.expect_until_ns, 0);
}
END_TEST

static struct slo_alone alone;

START_TEST(alone_is_known_from_thirty_requests_on)
{
	memset(&alone, 0, sizeof(alone));
	for (uint32_t i = 0; i + 1 < ALONE_KNOWN; i++) {
		ck_assert_uint_eq(slo_alone_service(&alone, 7, 5 * MS, true), 0);
		ck_assert_uint_eq(slo_alone_service(&alone, 7, 6 * MS, false), 0);
	}
	ck_assert_uint_eq(slo_alone_typical_ns(&alone), 0);
	ck_assert_uint_eq(slo_alone_service(&alone, 7, 5 * MS, true), 5 * MS);
	ck_assert_uint_eq(slo_alone_service(&alone, 7, 6 * MS, false), 5 * MS);
	ck_assert_uint_eq(slo_alone_typical_ns(&alone), 5 * MS);
	/* Never longer than it was. */
	ck_assert_uint_eq(slo_alone_service(&alone, 7, 4 * MS, false), 4 * MS);
	/* Another kind is another matter. */
	ck_assert_uint_eq(slo_alone_service(&alone, 8, 6 * MS, false), 0);
}
END_TEST

/* A few that met something unseen do not lengthen what the others took. */
START_TEST(samples_that_met_something_are_trimmed)
{
	uint64_t most = 0;

	memset(&alone, 0, sizeof(alone));
	for (int i = 0; i < 500; i++) {
		uint64_t service_ns = 5 * MS + draw(20 * US) + (draw(20) ? 0 : 2 * MS), got_ns;

		got_ns = slo_alone_service(&alone, 1, service_ns, true);
		most = got_ns > most ? got_ns : most;
		got_ns = slo_alone_service(&alone, 1, 8 * MS, false);
		most = got_ns > most ? got_ns : most;
	}
	ck_assert_uint_ge(most, 5 * MS);
	ck_assert_uint_le(most, 5 * MS + 130 * US);
}
END_TEST

/* Requests of one kind from 2 to 6 ms, each delayed by 1 ms when it meets anything. */
START_TEST(a_kind_s_own_spread_is_not_interference)
{
	uint64_t error = 0, count = 0;

	memset(&alone, 0, sizeof(alone));
	for (int i = 0; i < 1000; i++) {
		uint64_t own_ns = 2 * MS + draw(4 * MS), got_ns;
		bool met = draw(2);

		got_ns = slo_alone_service(&alone, 1, own_ns + (met ? 1 * MS : 0), !met);
		if (i < 200 || !met)
			continue;
		error += got_ns > own_ns ? got_ns - own_ns : own_ns - got_ns;
		count++;
	}
	ck_assert_uint_lt(error / count, 350 * US);
}
END_TEST

START_TEST(kinds_are_replaced_by_age)
{
	memset(&alone, 0, sizeof(alone));
	for (uint64_t key = 0; key < ALONE_KINDS; key++) {
		for (uint32_t i = 0; i < ALONE_KNOWN; i++)
			slo_alone_service(&alone, key, (key + 1) * MS, true);
	}
	ck_assert_uint_eq(slo_alone_service(&alone, 0, 9 * MS, false), 1 * MS);
	slo_alone_service(&alone, 99, 9 * MS, true); /* in the place of 1 */
	ck_assert_uint_eq(slo_alone_service(&alone, 0, 9 * MS, false), 1 * MS);
	ck_assert_uint_eq(slo_alone_service(&alone, 2, 9 * MS, false), 3 * MS);
	ck_assert_uint_eq(slo_alone_service(&alone, 1, 9 * MS, false), 0);
}
END_TEST

static struct slo_tail tail;

static void add_pair(uint64_t alone_ns, uint64_t added_ns, int32_t level)
{
	slo_tail_add(&tail, &(struct slo_pair){.shared_ns = alone_ns + added_ns,
					       .alone_ns = alone_ns,
					       .level = level});
}

START_TEST(the_tail_is_the_mean_of_the_largest)
{
	struct slo_tails seen;

	memset(&tail, 0, sizeof(tail));
	ck_assert_uint_eq(slo_tail_look(&tail, TAIL_RING, 0).pairs, 0);
	for (uint64_t i = 1; i <= 100; i++)
		add_pair(i * MS, 1 * MS, 0);
	seen = slo_tail_look(&tail, TAIL_RING, 0);
	ck_assert_uint_eq(seen.pairs, 100);
	ck_assert_uint_eq(seen.alone_ns / US, 99000);
	ck_assert_uint_eq(seen.shared_ns / US, 100000);
	seen = slo_tail_show(&tail, 990);
	ck_assert_uint_eq(seen.alone_ns, 99 * MS);
	ck_assert_uint_eq(seen.shared_ns, 100 * MS);
	/* The last ones only. */
	add_pair(500 * MS, 1 * MS, 0);
	seen = slo_tail_look(&tail, 10, 0);
	ck_assert_uint_eq(seen.pairs, 10);
	ck_assert_uint_eq(seen.alone_ns, 500 * MS);
	for (int i = 0; i < TAIL_RING; i++)
		add_pair(2 * MS, 0, 0);
	ck_assert_uint_eq(slo_tail_look(&tail, TAIL_RING, 0).alone_ns / US, 2000);
}
END_TEST

/* Of a time of high load all of the tail would be: it is forgotten when arrivals become rarer, and
 * the other way round. Chance and pauses between requests change nothing. */
START_TEST(a_changed_load_starts_anew)
{
	uint64_t now_ns = 1 * S;

	memset(&tail, 0, sizeof(tail));
	for (int i = 0; i < 3000; i++) {
		now_ns += draw_gap(10 * MS);
		slo_tail_add(&tail, &(struct slo_pair){.shared_ns = 60 * MS,
						       .alone_ns = 50 * MS,
						       .arrival_ns = now_ns});
	}
	ck_assert_uint_eq(slo_tail_look(&tail, TAIL_RING, 0).pairs, TAIL_RING);
	for (int i = 0; i < 200; i++) {
		now_ns += draw_gap(25 * MS);
		slo_tail_add(&tail, &(struct slo_pair){.shared_ns = 11 * MS,
						       .alone_ns = 10 * MS,
						       .arrival_ns = now_ns});
	}
	ck_assert_uint_le(slo_tail_look(&tail, TAIL_RING, 0).pairs, 200 + TAIL_RATE / 2);
	ck_assert_uint_gt(slo_tail_look(&tail, TAIL_RING, 0).pairs, TAIL_RATE);
	ck_assert_uint_lt(slo_tail_look(&tail, 128, 0).alone_ns, 11 * MS);
	for (int i = 0; i < 200; i++) {
		now_ns += draw_gap(10 * MS);
		slo_tail_add(&tail, &(struct slo_pair){.shared_ns = 70 * MS,
						       .alone_ns = 50 * MS,
						       .arrival_ns = now_ns});
	}
	ck_assert_uint_le(slo_tail_look(&tail, TAIL_RING, 0).pairs, 200 + TAIL_RATE / 2);
}
END_TEST

/* What was added at another level counts as it would at this one. */
START_TEST(pairs_are_seen_from_the_present_level)
{
	struct slo_tails seen;

	memset(&tail, 0, sizeof(tail));
	for (int i = 0; i < 100; i++)
		add_pair(100 * MS, 1 * MS, 2000);
	seen = slo_tail_look(&tail, TAIL_RING, 2000);
	ck_assert_uint_eq((seen.shared_ns - seen.alone_ns + US / 2) / US, 1000);
	seen = slo_tail_look(&tail, TAIL_RING, 3000);
	ck_assert_uint_gt(seen.shared_ns - seen.alone_ns, 4500 * US);
	ck_assert_uint_lt(seen.shared_ns - seen.alone_ns, 5000 * US);
	seen = slo_tail_look(&tail, TAIL_RING, 1000);
	ck_assert_uint_lt(seen.shared_ns - seen.alone_ns, 230 * US);
	/* No more than as much again. */
	seen = slo_tail_look(&tail, TAIL_RING, LEVEL_MOST + 5000);
	ck_assert_uint_le(seen.shared_ns, 200 * MS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core slo parts");
	TCase *tcase = tcase_create("pure");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, logarithms_and_powers);
	tcase_add_test(tcase, selection_agrees_with_sorting);
	tcase_add_test(tcase, the_ladder_is_monotone);
	tcase_add_test(tcase, the_guard_is_above_a_decode_loop_s_gaps);
	tcase_add_test(tcase, chance_is_no_mode);
	tcase_add_test(tcase, a_single_mode_is_no_reason_to_wait);
	tcase_add_test(tcase, periodic_arrivals_are_expected);
	tcase_add_test(tcase, alone_is_known_from_thirty_requests_on);
	tcase_add_test(tcase, samples_that_met_something_are_trimmed);
	tcase_add_test(tcase, a_kind_s_own_spread_is_not_interference);
	tcase_add_test(tcase, kinds_are_replaced_by_age);
	tcase_add_test(tcase, the_tail_is_the_mean_of_the_largest);
	tcase_add_test(tcase, a_changed_load_starts_anew);
	tcase_add_test(tcase, pairs_are_seen_from_the_present_level);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
