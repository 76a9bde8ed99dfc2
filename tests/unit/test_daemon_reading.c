/* SPDX-License-Identifier: Apache-2.0 */
/* What a reading makes of the words that say which launches were large copies. */

#include <check.h>
#include <stdlib.h>

#include "daemon/process.h"

#define MS 1000000ull

static struct sluice_channel channel;
static struct process process;
static struct sluice_channel_device *page;

static void setup(void)
{
	channel = (struct sluice_channel){0};
	process = (struct process){.channel = {.base = &channel}};
	page = &channel.device[0];
	page->slot[0].launched_ns = 10 * MS;
	page->counters.completed_ns = 2 * MS;
	page->counters.copies_from_ns = 4 * MS;
	page->counters.copies_until_ns = 10 * MS;
}

static uint64_t copies_ns(bool thorough)
{
	return reading_take(&process, 0, thorough, MS).copies_ns;
}

START_TEST(the_last_launches_were_copies)
{
	ck_assert_uint_eq(copies_ns(true), 6 * MS);
	page->slot[0].launched_ns++;
	ck_assert_uint_eq(copies_ns(true), 0);
}
END_TEST

/* A quick reading does not know of the slot; its work must not pass for copies. */
START_TEST(a_thread_that_is_new_counts)
{
	ck_assert_uint_eq(copies_ns(true), 6 * MS);
	page->slot[3].launched_ns = 1;
	ck_assert_uint_eq(copies_ns(false), 0);
	ck_assert_uint_eq(reading_take(&process, 0, false, MS).launched_ns, 10 * MS + 1);
}
END_TEST

START_TEST(what_cannot_be_is_nothing)
{
	page->counters.copies_from_ns = 10 * MS + 1;
	ck_assert_uint_eq(copies_ns(true), 0);
	/* An older shim, and a page that nothing was launched on. */
	page->counters.copies_from_ns = page->counters.copies_until_ns = 0;
	ck_assert_uint_eq(copies_ns(true), 0);
	page->slot[0].launched_ns = page->counters.completed_ns = 0;
	ck_assert_uint_eq(copies_ns(true), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon_reading");
	TCase *tcase = tcase_create("copies");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, the_last_launches_were_copies);
	tcase_add_test(tcase, a_thread_that_is_new_counts);
	tcase_add_test(tcase, what_cannot_be_is_nothing);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
