/* SPDX-License-Identifier: Apache-2.0 */
/* Durations from CUPTI's records into the prediction, on calls as CUPTI has them. */
#include "shim_rig.h"
#include "profile.h"

#if defined(__has_include)
#if __has_include(<cupti_activity.h>)
#define HAS_CUPTI_HEADER 1
#endif
#endif
#ifdef HAS_CUPTI_HEADER
#undef CUPTI_KIND_CONCURRENT_KERNEL
#include <cupti_activity.h>
#define CUPTI_KIND_CONCURRENT_KERNEL 10u
#endif

#define KERNEL 0x7000

static cupti_want_buffer want;
static cupti_take_buffer take;
static int subscribe_result;
static unsigned int subscribed, enabled;

static int subscribe(void **ret_subscriber, void *callback, void *closure)
{
	if (!subscribe_result)
		subscribed++;
	return subscribe_result;
}

static int unsubscribe(void *subscriber)
{
	subscribed--;
	return CUPTI_OK;
}

static int register_callbacks(cupti_want_buffer wants, cupti_take_buffer takes)
{
	want = wants;
	take = takes;
	return CUPTI_OK;
}

static int enable(uint32_t kind)
{
	enabled |= 1u << kind;
	return CUPTI_OK;
}

static int disable(uint32_t kind)
{
	enabled &= ~(1u << kind);
	return CUPTI_OK;
}

static int next_record(uint8_t *buffer, size_t valid, void **record)
{
	uint8_t *at = *record ? (uint8_t *)*record + sizeof(struct cupti_kernel) : buffer;

	if (at + sizeof(struct cupti_kernel) > buffer + valid)
		return 12;
	*record = at;
	return CUPTI_OK;
}

static int flush_period(uint32_t ms)
{
	return CUPTI_OK;
}

static const struct cupti_calls calls = {
	.cuptiSubscribe = subscribe,
	.cuptiUnsubscribe = unsubscribe,
	.cuptiActivityRegisterCallbacks = register_callbacks,
	.cuptiActivityEnable = enable,
	.cuptiActivityDisable = disable,
	.cuptiActivityGetNextRecord = next_record,
	.cuptiActivityFlushPeriod = flush_period,
};

static void setup(void)
{
	rig_start();
	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_EXCLUSIVE);
	subscribe_result = CUPTI_OK;
	subscribed = enabled = 0;
}

static void teardown(void)
{
	profile_yield();
	rig_finish();
}

static struct predict_entry *entry_of(uintptr_t function)
{
	return predict_find(&launch_predict,
			    predict_kernel_tag((void *)function, 1, 1, 1, 32, 1, 1, 0), 1);
}

static void deliver(struct cupti_kernel record, unsigned int times)
{
	uint8_t *buffer;
	size_t size, records;

	want(&buffer, &size, &records);
	ck_assert_ptr_nonnull(buffer);
	ck_assert_uint_ge(size, times * sizeof(record));
	for (unsigned int i = 0; i < times; i++)
		memcpy(buffer + i * sizeof(record), &record, sizeof(record));
	take(NULL, 0, buffer, size, times * sizeof(record));
}

/* The scripted driver calls every kernel the same. */
static struct cupti_kernel record_of(uint64_t took_ns)
{
	return (struct cupti_kernel){.kind = CUPTI_KIND_CONCURRENT_KERNEL,
				     .start_ns = 1000,
				     .end_ns = 1000 + took_ns,
				     .grid = {1, 1, 1},
				     .block = {32, 1, 1},
				     .name = "scripted"};
}

START_TEST(records_are_samples)
{
	ck_assert(profile_begin(&calls));
	ck_assert_uint_eq(enabled, 1u << CUPTI_KIND_CONCURRENT_KERNEL);
	/* The subscriber's place is free for others. */
	ck_assert_uint_eq(subscribed, 0);
	rig_launch(KERNEL);
	ck_assert(!predict_is_known(&launch_predict, entry_of(KERNEL)));
	deliver(record_of(33 * US), 5);
	ck_assert(predict_is_known(&launch_predict, entry_of(KERNEL)));
	ck_assert_uint_eq(predict_raw_ns(entry_of(KERNEL)), 33 * US);
	ck_assert_uint_ge(rig.session->channel->estimates.head, 1);
	cuStreamSynchronize(SCRIPT_STREAM(0));
}
END_TEST

START_TEST(no_events_are_placed_meanwhile)
{
	ck_assert(profile_begin(&calls));
	script_log(SCRIPT_STREAM(0));
	for (int i = 0; i < 5; i++)
		rig_launch(KERNEL + 32);
	ck_assert_ptr_null(strstr(script_log(SCRIPT_STREAM(0)), "EKE"));
	cuStreamSynchronize(SCRIPT_STREAM(0));
}
END_TEST

START_TEST(records_of_what_was_not_launched_say_nothing)
{
	struct cupti_kernel record = record_of(33 * US);
	uint32_t used;

	ck_assert(profile_begin(&calls));
	rig_launch(KERNEL + 64);
	used = launch_predict.used;
	record.name = "another";
	deliver(record, 3);
	record.name = NULL;
	deliver(record, 3);
	record = record_of(33 * US);
	record.grid[0] = 2;
	deliver(record, 3);
	record = record_of(33 * US);
	record.end_ns = record.start_ns = 0;
	deliver(record, 3);
	record = record_of(33 * US);
	record.kind = 1;
	deliver(record, 3);
	ck_assert(!predict_is_known(&launch_predict, entry_of(KERNEL + 64)));
	ck_assert_uint_eq(launch_predict.used, used);
	cuStreamSynchronize(SCRIPT_STREAM(0));
}
END_TEST

START_TEST(another_tool_that_is_there_is_left_alone)
{
	subscribe_result = CUPTI_TOO_MANY_SUBSCRIBERS;
	ck_assert(!profile_begin(&calls));
	ck_assert(!profile_is_on());
	ck_assert_uint_eq(enabled, 0);
}
END_TEST

START_TEST(another_tool_that_comes_has_cupti_for_itself)
{
	ck_assert(profile_begin(&calls));
	profile_look_at("/usr/lib/libcudnn.so.9");
	profile_look_at(NULL);
	ck_assert(profile_is_on());
	profile_look_at("/usr/local/cuda/lib64/libcupti.so.13");
	ck_assert(!profile_is_on());
	ck_assert_uint_eq(enabled, 0);
	/* What CUPTI had collected by then is not looked at. */
	rig_launch(KERNEL + 96);
	deliver(record_of(33 * US), 5);
	ck_assert(!predict_is_known(&launch_predict, entry_of(KERNEL + 96)));
	cuStreamSynchronize(SCRIPT_STREAM(0));
}
END_TEST

#ifdef HAS_CUPTI_HEADER
START_TEST(the_record_is_laid_out_as_cupti_has_it)
{
#define SAME(ours, theirs) \
	ck_assert_uint_eq(offsetof(struct cupti_kernel, ours), \
			  offsetof(CUpti_ActivityKernel10, theirs))
	SAME(kind, kind);
	SAME(start_ns, start);
	SAME(end_ns, end);
	SAME(grid, gridX);
	SAME(block, blockX);
	SAME(shared_dynamic, dynamicSharedMemory);
	SAME(correlation, correlationId);
	SAME(name, name);
	ck_assert_uint_eq(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_KIND_CONCURRENT_KERNEL);
	ck_assert_uint_eq(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
			  CUPTI_TOO_MANY_SUBSCRIBERS);
}
END_TEST
#endif

int main(void)
{
	Suite *suite = suite_create("shim_profile");
	TCase *tcase = tcase_create("profile");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, records_are_samples);
	tcase_add_test(tcase, no_events_are_placed_meanwhile);
	tcase_add_test(tcase, records_of_what_was_not_launched_say_nothing);
	tcase_add_test(tcase, another_tool_that_is_there_is_left_alone);
	tcase_add_test(tcase, another_tool_that_comes_has_cupti_for_itself);
#ifdef HAS_CUPTI_HEADER
	tcase_add_test(tcase, the_record_is_laid_out_as_cupti_has_it);
#endif
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
