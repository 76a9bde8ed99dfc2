/* SPDX-License-Identifier: Apache-2.0 */

/* Events that make no sense are refused and change nothing; the same events give the same actions. */

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/policy.h"
#include "sluice/pages.h"

#define MS 1000000ull

static struct engine *engine;
static const struct event_tenant plain = {.managed = true,
					  .weight = 100,
					  .gpu_max_permille = 1000,
					  .period_ns = 100 * MS,
					  .memory_max_bytes = CORE_NO_LIMIT};

static int feed(struct event event)
{
	struct action action;
	int r = engine_event(engine, &event);

	while (engine_take(engine, &action))
		continue;
	return r;
}

static void begin(void)
{
	engine = engine_create(1);
	ck_assert_ptr_nonnull(engine);
}

START_TEST(test_names_what_is_not_there)
{
	static const enum event_kind kinds[] = {
		EVENT_DEVICE_GONE, EVENT_TENANT_GONE, EVENT_JOIN,     EVENT_LEAVE,
		EVENT_ATTACH,	   EVENT_USAGE,	      EVENT_WANT,     EVENT_PAUSE,
		EVENT_MEM_REQUEST, EVENT_MEM_TAKEN,   EVENT_MEM_HELD, EVENT_MEM_RECLAIMED};

	begin();
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct event event = {.kind = kinds[i], .units = 5};

		ck_assert_int_eq(feed(event), -EINVAL);
		event.process = event.tenant = event.device = UINT32_MAX;
		ck_assert_int_eq(feed(event), -EINVAL);
	}
	ck_assert_int_eq(feed((struct event){.kind = (enum event_kind)99}), -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_POLICY}), -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_DEVICE, .device = CORE_MAX_DEVICES}),
			 -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_TENANT, .tenant_set = {.weight = 0}}),
			 -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_TIMER}), 0);
	engine_destroy(engine);
}
END_TEST

START_TEST(test_order_of_life)
{
	begin();
	ck_assert_int_eq(feed((struct event){.kind = EVENT_DEVICE}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_TENANT, .tenant_set = plain}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_JOIN}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_JOIN}), -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_ATTACH}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_ATTACH}), -EINVAL);
	/* Nothing goes from under what is on it. */
	ck_assert_int_eq(feed((struct event){.kind = EVENT_DEVICE_GONE}), -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_TENANT_GONE}), -EINVAL);
	/* Memory: nothing asked, more than asked, not asked. */
	ck_assert_int_eq(feed((struct event){.kind = EVENT_MEM_REQUEST}), -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_MEM_TAKEN, .units = 1}), -EINVAL);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_LEAVE}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_DEVICE_GONE}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_TENANT_GONE}), 0);
	engine_destroy(engine);
	engine_destroy(NULL);
}
END_TEST

/* What a process claims can fall, jump and lie: it is clamped, and nobody else is charged. */
START_TEST(test_hostile_readings)
{
	struct engine_report report;

	begin();
	feed((struct event){.kind = EVENT_DEVICE});
	feed((struct event){.kind = EVENT_TENANT, .tenant_set = plain});
	feed((struct event){.kind = EVENT_JOIN});
	feed((struct event){.kind = EVENT_ATTACH});
	for (uint64_t i = 1; i < 200; i++) {
		struct event event = {.kind = EVENT_USAGE, .now_ns = i * 10 * MS};

		event.usage = (struct event_usage){.launched_ns = i % 3 ? UINT64_MAX - i : 0,
						   .completed_ns = i % 2 ? UINT64_MAX : 5,
						   .held_ns = i % 5 ? UINT64_MAX : 1,
						   .mem_held_ns = UINT64_MAX,
						   .want = i % 2};
		ck_assert_int_eq(feed(event), 0);
		ck_assert_int_eq(feed((struct event){.kind = EVENT_WANT, .now_ns = event.now_ns}),
				 0);
		ck_assert_int_eq(feed((struct event){.kind = EVENT_TIMER, .now_ns = event.now_ns}),
				 0);
	}
	ck_assert(engine_report(engine, 0, 0, &report));
	ck_assert_uint_le(report.used_ns, 200 * 10 * MS);
	ck_assert_uint_le(report.used_permille, 1000);
	ck_assert_uint_le(report.held_total_ns, 200 * 10 * MS);
	engine_destroy(engine);
}
END_TEST

/* Time that goes back is taken for no time. */
START_TEST(test_time_never_goes_back)
{
	begin();
	feed((struct event){.kind = EVENT_DEVICE, .now_ns = 500 * MS});
	feed((struct event){.kind = EVENT_TENANT, .tenant_set = plain, .now_ns = 400 * MS});
	feed((struct event){.kind = EVENT_JOIN, .now_ns = 5});
	ck_assert_int_eq(feed((struct event){.kind = EVENT_ATTACH}), 0);
	ck_assert_int_eq(feed((struct event){.kind = EVENT_TIMER}), 0);
	/* No time has passed for what it says is done: nothing is charged, until it has. */
	for (uint64_t ms = 0; ms <= 510; ms += 510) {
		struct engine_report report;
		struct event event = {.kind = EVENT_USAGE, .now_ns = ms * MS};

		event.usage.launched_ns = event.usage.completed_ns = 50 * MS;
		ck_assert_int_eq(feed(event), 0);
		ck_assert(engine_report(engine, 0, 0, &report));
		ck_assert_uint_eq(report.used_ns, ms ? 10 * MS : 0);
	}
	engine_destroy(engine);
}
END_TEST

#define LOG_EVENTS 20000
#define LOG_WORDS (1u << 22)

/* Field by field: padding means nothing. */
static size_t append(uint64_t *log, size_t used, const struct action *action)
{
	uint64_t field[8] = {action->kind, action->device, action->process};

	switch (action->kind) {
	case ACTION_GRANT:
		field[3] = (uint64_t)action->grant.open << 32 | action->grant.flags;
		field[4] = action->grant.credit_ns;
		field[5] = action->grant.window_ns;
		field[6] = action->grant.guard_ns;
		break;
	case ACTION_TIMER: field[3] = action->at_ns; break;
	case ACTION_ACTIVITY:
	case ACTION_WATCH: field[3] = action->on; break;
	case ACTION_MEM_REFUSE: field[3] = (uint64_t)action->status; break;
	default: field[3] = action->units;
	}
	if (used + 8 <= LOG_WORDS)
		memcpy(log + used, field, sizeof(field));
	return used + 8;
}

/* A random but reproducible life of 6 processes; every action is appended to `log`. */
static size_t play(unsigned int seed, bool mps, uint64_t *log)
{
	uint64_t launched[6] = {0}, done[6] = {0}, now_ns = 1;
	bool alive[6] = {false};
	size_t used = 0;

	begin();
	srand(seed);
	for (int i = 0; i < LOG_EVENTS; i++) {
		struct event event = {.process = (uint32_t)rand() % 6};
		int dice = rand() % 100;
		struct action action;

		now_ns += (uint64_t)(rand() % 2000000);
		event.now_ns = now_ns;
		if (i < 4) {
			event.kind = i == 0 ? EVENT_DEVICE : EVENT_TENANT;
			event.tenant = (uint32_t)i;
			if (i == 0)
				event.device_added = (struct event_device){
					.mps = mps, .memory_bytes = 1ull << 34};
			else
				event.tenant_set = plain;
		} else if (!alive[event.process]) {
			event.kind = EVENT_JOIN;
			event.tenant = 1 + event.process % 3;
			event.join.latency = event.process == 5;
			alive[event.process] = true;
			launched[event.process] = done[event.process] = 0;
		} else if (dice < 5) {
			event.kind = EVENT_ATTACH;
		} else if (dice < 50) {
			launched[event.process] += (uint64_t)(rand() % 1000000);
			done[event.process] = launched[event.process] - (uint64_t)(rand() % 2000);
			event.kind = EVENT_USAGE;
			event.usage.launched_ns = launched[event.process];
			event.usage.completed_ns = done[event.process];
			event.usage.want = rand() % 2;
		} else if (dice < 70) {
			event.kind = EVENT_WANT;
		} else if (dice < 97) {
			event.kind = EVENT_TIMER;
		} else if (dice < 98) {
			event.kind = EVENT_POLICY;
			event.policy = policy_at((unsigned int)rand() % 2);
		} else {
			event.kind = EVENT_LEAVE;
			alive[event.process] = false;
		}
		(void)engine_event(engine, &event);
		while (engine_take(engine, &action))
			used = append(log, used, &action);
	}
	engine_destroy(engine);
	return used;
}

START_TEST(test_same_events_same_actions)
{
	uint64_t *first = calloc(LOG_WORDS, sizeof(*first));
	uint64_t *second = calloc(LOG_WORDS, sizeof(*second));

	for (int mps = 0; mps < 2; mps++) {
		size_t length = play(42, mps, first);

		ck_assert_uint_gt(length, 8 * 1000);
		ck_assert_uint_lt(length, LOG_WORDS);
		ck_assert_uint_eq(play(42, mps, second), length);
		ck_assert_int_eq(memcmp(first, second, length * sizeof(*first)), 0);
		/* Not a constant: another life gives other actions. */
		(void)play(43, mps, second);
		ck_assert_int_ne(memcmp(first, second, length * sizeof(*first)), 0);
	}
	free(first);
	free(second);
}
END_TEST

START_TEST(test_registry)
{
	ck_assert_ptr_eq(policy_find("share"), &policy_share);
	ck_assert_ptr_eq(policy_find("slo"), &policy_slo);
	ck_assert_ptr_null(policy_find("sl"));
	ck_assert_ptr_null(policy_find("slow"));
	ck_assert_ptr_null(policy_find(""));
	ck_assert_ptr_null(policy_at(2));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core engine");
	TCase *tcase = tcase_create("events");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_names_what_is_not_there);
	tcase_add_test(tcase, test_order_of_life);
	tcase_add_test(tcase, test_hostile_readings);
	tcase_add_test(tcase, test_time_never_goes_back);
	tcase_add_test(tcase, test_same_events_same_actions);
	tcase_add_test(tcase, test_registry);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
