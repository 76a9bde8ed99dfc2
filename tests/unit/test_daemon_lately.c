/* SPDX-License-Identifier: Apache-2.0 */

/* Figures of the last minutes, apart from the sums since the arbiter began. */

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/arbiter.h"
#include "daemon/lately.h"
#include "daemon/status.h"
#include "sluice/clock.h"

#define MS SLUICE_NS_PER_MS
#define SECOND SLUICE_NS_PER_S

static struct arbiter arbiter;
static struct tenant_entry *entry = &arbiter.tenant[3];
static struct tally past, seen;

static void begin(void)
{
	memset(&arbiter, 0, sizeof(arbiter));
	memset(&past, 0, sizeof(past));
	arbiter.device[1].used = true;
	arbiter.now_ns = 1000 * SECOND;
	entry->used = true;
	entry->processes = 1;
	entry->conf.tenant_class = SLUICE_LATENCY_CRITICAL;
	entry->past[1] = &past;
}

static void end(void)
{
	lately_forget(entry, 1);
}

static void requests(unsigned int count, uint64_t service_ns, unsigned int late)
{
	for (unsigned int i = 0; i < count; i++)
		sluice_hist_add(&past.service, service_ns);
	past.requests += count;
	past.requests_late += late;
}

/* Ticks for so long. */
static void pass(uint64_t ns)
{
	for (uint64_t to_ns = arbiter.now_ns + ns; arbiter.now_ns < to_ns;) {
		arbiter.now_ns += SECOND;
		lately_tick(&arbiter);
	}
}

static const struct tally *lately(uint32_t device)
{
	memset(&seen, 0, sizeof(seen));
	status_sums(&arbiter, 3, device, &seen);
	lately_take(entry, device, &seen);
	return &seen;
}

START_TEST(an_old_version_is_forgotten)
{
	requests(1000, 30 * MS, 400);
	pass(10 * SECOND);
	ck_assert_uint_eq(lately(1)->requests, 1000);
	ck_assert_uint_ge(sluice_hist_quantile(&lately(1)->service, 990), 30 * MS);
	pass(60 * SECOND);
	requests(100, 4 * MS, 1);
	pass(50 * SECOND);
	/* One to two minutes are seen. */
	ck_assert_uint_eq(lately(1)->requests, 1100);
	requests(100, 4 * MS, 1);
	pass(70 * SECOND);
	ck_assert_uint_eq(lately(1)->requests, 200);
	ck_assert_uint_eq(lately(1)->requests_late, 2);
	ck_assert_uint_lt(sluice_hist_quantile(&lately(1)->service, 990), 5 * MS);
	ck_assert_uint_eq(lately(UINT32_MAX)->requests, 200);
	ck_assert_uint_eq(lately(0)->requests, 0);
}
END_TEST

/* The last ones stay to be looked at, however long ago they were. */
START_TEST(a_tenant_that_is_done_keeps_its_last_minutes)
{
	requests(50, 30 * MS, 0);
	pass(130 * SECOND);
	requests(70, 4 * MS, 0);
	pass(3600 * SECOND);
	ck_assert_uint_eq(lately(1)->requests, 70);
	requests(5, 4 * MS, 0);
	pass(61 * SECOND);
	ck_assert_uint_eq(lately(1)->requests, 5);
}
END_TEST

START_TEST(sums_that_went_back_start_over)
{
	requests(50, 30 * MS, 0);
	pass(70 * SECOND);
	requests(50, 30 * MS, 0);
	pass(70 * SECOND);
	memset(&past, 0, sizeof(past));
	requests(10, 4 * MS, 1);
	ck_assert_uint_eq(lately(1)->requests, 10);
	pass(70 * SECOND);
	requests(10, 4 * MS, 0);
	ck_assert_uint_eq(lately(1)->requests, 20);
	ck_assert_uint_lt(sluice_hist_quantile(&lately(1)->service, 990), 5 * MS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon lately");
	TCase *tcase = tcase_create("minutes");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, an_old_version_is_forgotten);
	tcase_add_test(tcase, a_tenant_that_is_done_keeps_its_last_minutes);
	tcase_add_test(tcase, sums_that_went_back_start_over);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
