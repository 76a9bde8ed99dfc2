/* SPDX-License-Identifier: Apache-2.0 */

/* Side by side: who is waited for, and for how long. */

#include <check.h>

#include "core/engine.h"
#include "core/policy.h"

#define US 1000ull
#define MS 1000000ull

static struct engine *engine;
static struct grant grant[2];

static void feed(struct event event)
{
	struct action action;

	ck_assert_int_eq(engine_event(engine, &event), 0);
	while (engine_take(engine, &action)) {
		if (action.kind == ACTION_GRANT)
			grant[action.process] = action.grant;
	}
}

static void begin(void)
{
	struct event_tenant plain = {.managed = true,
				     .weight = 100,
				     .gpu_max_permille = 1000,
				     .period_ns = 100 * MS,
				     .memory_max_bytes = CORE_NO_LIMIT};

	engine = engine_create(1);
	ck_assert_ptr_nonnull(engine);
	feed((struct event){.kind = EVENT_DEVICE, .device_added = {.mps = true}});
	for (uint32_t i = 0; i < 2; i++) {
		feed((struct event){.kind = EVENT_TENANT, .tenant = i, .tenant_set = plain});
		feed((struct event){.kind = EVENT_JOIN, .tenant = i, .process = i});
		feed((struct event){.kind = EVENT_ATTACH, .process = i, .now_ns = MS});
	}
}

static void end(void)
{
	engine_destroy(engine);
}

/* One look: both have launched so much, and have so much of it in flight. Windows are 2 ms. */
static void look(uint64_t at_ns, uint64_t first_ns, uint64_t first_in_flight_ns, uint64_t second_ns)
{
	feed((struct event){
		.kind = EVENT_USAGE,
		.process = 0,
		.now_ns = at_ns,
		.usage = {.launched_ns = first_ns, .completed_ns = first_ns - first_in_flight_ns}});
	feed((struct event){
		.kind = EVENT_USAGE,
		.process = 1,
		.now_ns = at_ns,
		.usage = {.launched_ns = second_ns, .completed_ns = second_ns - 1900 * US}});
	feed((struct event){.kind = EVENT_TIMER, .now_ns = at_ns});
}

/* Between two long launches a pipe is short of work by chance. */
START_TEST(a_pipe_that_was_full_is_waited_for)
{
	begin();
	look(4 * MS, 2 * MS, 1900 * US, 2 * MS);
	ck_assert_uint_ne(grant[1].credit_ns, CORE_NO_LIMIT);
	for (uint64_t at_ns = 5 * MS; at_ns <= 7 * MS; at_ns += MS) {
		look(at_ns, 2 * MS, 100 * US, at_ns / 2 + 2 * MS);
		ck_assert_uint_ne(grant[1].credit_ns, CORE_NO_LIMIT);
	}
	end();
}
END_TEST

/* Who is short of work look after look leaves the rest to others; at once, with none at all. */
START_TEST(who_has_little_to_launch_is_not_waited_for)
{
	begin();
	look(4 * MS, 2 * MS, 1900 * US, 2 * MS);
	look(8 * MS, 2 * MS, 100 * US, 6 * MS);
	ck_assert_uint_eq(grant[1].credit_ns, CORE_NO_LIMIT);
	end();
	begin();
	look(4 * MS, 2 * MS, 1900 * US, 2 * MS);
	ck_assert_uint_ne(grant[1].credit_ns, CORE_NO_LIMIT);
	look(5 * MS, 2 * MS, 0, 3 * MS);
	ck_assert_uint_eq(grant[1].credit_ns, CORE_NO_LIMIT);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core lead");
	TCase *tcase = tcase_create("lead");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_pipe_that_was_full_is_waited_for);
	tcase_add_test(tcase, who_has_little_to_launch_is_not_waited_for);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
