/* SPDX-License-Identifier: Apache-2.0 */
/* The trace ring: each launch and each drain while the grant says so, nothing otherwise. */
#include "shim_rig.h"

#define KERNEL 0x8000u

/* The grant's words change as the arbiter changes them. */
static void set_trace(bool on)
{
	uint32_t flags = atomic_load(&rig.grant->flags);

	atomic_store(&rig.grant->flags,
		     on ? flags | SLUICE_GRANT_TRACE : flags & ~SLUICE_GRANT_TRACE);
	atomic_fetch_add(&rig.grant->epoch, 1);
}

static uint32_t kind_at(uint64_t number)
{
	return rig.page->trace[number % SLUICE_TRACE_RECORDS].what & 0xff;
}

START_TEST(nothing_is_noted_unasked)
{
	rig_teach(KERNEL, 20 * US);
	rig_launch(KERNEL);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&rig.page->trace_head), 0);
}
END_TEST

START_TEST(launches_and_drains_are_noted_in_order)
{
	uint64_t before_ns = sluice_now_ns();

	rig_teach(KERNEL, 20 * US);
	rig_teach(KERNEL + 16, 30 * US);
	set_trace(true);
	for (uint32_t i = 0; i < 3; i++) {
		rig_launch(KERNEL);
		rig_launch(KERNEL + 16);
		ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	}
	ck_assert_uint_eq(atomic_load(&rig.page->trace_head), 9);
	for (uint64_t i = 0; i < 9; i++) {
		const struct sluice_trace_record *record = &rig.page->trace[i];

		ck_assert_uint_ge(record->at_ns, before_ns);
		before_ns = record->at_ns;
		ck_assert_uint_eq(record->what >> 8, rig.page->trace[0].what >> 8);
		if (i % 3 == 2) {
			ck_assert_uint_eq(kind_at(i), SLUICE_TRACE_DRAINED);
			continue;
		}
		ck_assert_uint_eq(kind_at(i), SLUICE_TRACE_KERNEL);
		ck_assert_uint_eq(record->cost_ns, i % 3 ? 30 * US : 20 * US);
		ck_assert_uint_eq(record->key, rig.page->trace[i % 3].key);
		ck_assert_uint_eq(record->blocks, 1);
	}
	ck_assert_uint_ne(rig.page->trace[0].key, rig.page->trace[1].key);
}
END_TEST

/* What is admitted without a look is noted all the same, from the first launch on; and once nobody
 * asks any more, not one more. */
START_TEST(from_the_first_launch_to_the_last)
{
	rig_teach(KERNEL, 20 * US);
	for (uint32_t i = 0; i < 20; i++)
		rig_launch(KERNEL);
	set_trace(true);
	for (uint32_t i = 0; i < 20; i++)
		rig_launch(KERNEL);
	ck_assert_uint_eq(atomic_load(&rig.page->trace_head), 20);
	set_trace(false);
	for (uint32_t i = 0; i < 20; i++)
		rig_launch(KERNEL);
	ck_assert_uint_eq(atomic_load(&rig.page->trace_head), 20);
	ck_assert_uint_eq(rig_launches(), 1 + 60);
}
END_TEST

START_TEST(copies_say_which_way)
{
	static char host[8192];

	rig_teach(KERNEL, 20 * US);
	set_trace(true);
	cuMemcpyHtoDAsync_v2(0x10000, host, sizeof(host), SCRIPT_STREAM(0));
	cuMemcpyDtoHAsync_v2(host, 0x10000, sizeof(host), SCRIPT_STREAM(0));
	cuMemsetD8Async(0x10000, 0, 4096, SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&rig.page->trace_head), 3);
	ck_assert_uint_eq(kind_at(0), SLUICE_TRACE_COPY_TO_DEVICE);
	ck_assert_uint_eq(kind_at(1), SLUICE_TRACE_COPY_TO_HOST);
	ck_assert_uint_eq(kind_at(2), SLUICE_TRACE_COPY_DEVICE);
	ck_assert_uint_eq(rig.page->trace[0].blocks, 8);
	ck_assert_uint_eq(rig.page->trace[2].blocks, 4);
}
END_TEST

static Suite *trace_suite(void)
{
	Suite *suite = suite_create("shim trace");
	TCase *tcase = tcase_create("ring");

	tcase_add_checked_fixture(tcase, rig_start, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, nothing_is_noted_unasked);
	tcase_add_test(tcase, launches_and_drains_are_noted_in_order);
	tcase_add_test(tcase, from_the_first_launch_to_the_last);
	tcase_add_test(tcase, copies_say_which_way);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(trace_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
