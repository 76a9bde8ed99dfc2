/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the core plays a log as the daemon makes it: readings of all gates, requests that have
 * ended, wants and the slow tick. The rate is printed, since a machine may be busy; what is
 * asserted is that the same log gives the same actions. For a profile: `test_core_speed N` plays
 * N times as much.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/engine.h"
#include "core/policy.h"

#define PROCESSES 64u
#define SERVERS 4u
#define MS 1000000ull
#define EVENTS_AT_FIRST 200000u

static uint32_t times = 1;

struct log {
	struct event *event;
	uint32_t events;
	uint64_t random, now_ns;
	uint64_t end_ns[SERVERS], launched_ns[PROCESSES];
};

static uint64_t draw(struct log *log, uint64_t below)
{
	log->random = log->random * 6364136223846793005ull + 1442695040888963407ull;
	return (log->random >> 33) % below;
}

static void add(struct log *log, struct event event)
{
	event.now_ns = log->now_ns;
	log->event[log->events++] = event;
}

static void add_request(struct log *log, uint32_t server)
{
	uint64_t start_ns = log->end_ns[server] + draw(log, 2) * draw(log, 8 * MS) + 15000;

	log->end_ns[server] = start_ns + 3 * MS + draw(log, MS / 2);
	if (log->end_ns[server] > log->now_ns)
		log->now_ns = log->end_ns[server];
	add(log, (struct event){.kind = EVENT_REQUEST,
				.process = server,
				.request = {.arrival_ns = start_ns - draw(log, MS),
					    .start_ns = start_ns,
					    .end_ns = log->end_ns[server],
					    .kind = 1,
					    .be_in_flight_ns = UINT64_MAX}});
}

/* What a tick of the daemon brings. */
static void add_tick(struct log *log)
{
	for (uint32_t i = 0; i < SERVERS * 12; i++)
		add_request(log, i % SERVERS);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		log->launched_ns[i] += draw(log, 2 * MS);
		add(log,
		    (struct event){.kind = EVENT_USAGE,
				   .process = i,
				   .usage = {.launched_ns = log->launched_ns[i],
					     .completed_ns = log->launched_ns[i] - draw(log, 2),
					     .want = draw(log, 2)}});
	}
	add(log, (struct event){.kind = EVENT_TIMER});
	add(log, (struct event){.kind = EVENT_WANT,
				.process = SERVERS + (uint32_t)draw(log, PROCESSES - SERVERS)});
}

static void add_begin(struct log *log)
{
	add(log, (struct event){.kind = EVENT_POLICY, .policy = &policy_slo});
	add(log, (struct event){.kind = EVENT_DEVICE,
				.device_added = {.mps = true,
						 .partitions = true,
						 .sms = 80,
						 .memory_bytes = 1ull << 34}});
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct event_tenant set = {.managed = true,
					   .weight = 100,
					   .gpu_max_permille = 1000,
					   .period_ns = 100 * MS,
					   .memory_max_bytes = CORE_NO_LIMIT,
					   .target_over_permille = i < SERVERS ? 100 : 0,
					   .target_arrival = i < SERVERS};

		add(log, (struct event){.kind = EVENT_TENANT, .tenant = i, .tenant_set = set});
		add(log, (struct event){.kind = EVENT_JOIN,
					.process = i,
					.tenant = i,
					.join = {.latency = i < SERVERS}});
		add(log, (struct event){.kind = EVENT_ATTACH, .process = i});
	}
}

/* Sum over what was said; *ret_ns: CPU time it took. */
static uint64_t play(const struct log *log, uint64_t *ret_ns)
{
	struct engine *engine = engine_create(0);
	struct timespec from, to;
	uint64_t sum = 0;

	ck_assert_ptr_nonnull(engine);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	for (uint32_t i = 0; i < log->events; i++) {
		struct action action;

		if (engine_event(engine, &log->event[i]))
			ck_abort_msg("event %u refused", i);
		while (engine_take(engine, &action))
			sum = sum * 31 + action.kind + action.process +
			      (action.kind == ACTION_GRANT
				       ? action.grant.credit_ns + action.grant.window_ns
			       : action.kind == ACTION_TIMER ? action.at_ns
							     : 0);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	*ret_ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000ull + (uint64_t)to.tv_nsec -
		  (uint64_t)from.tv_nsec;
	engine_destroy(engine);
	return sum;
}

START_TEST(a_long_log_plays_the_same)
{
	uint32_t most = EVENTS_AT_FIRST * times;
	struct log log = {.event = calloc(most + 1000, sizeof(struct event)),
			  .random = 1,
			  .now_ns = 1000 * MS};
	uint64_t first_ns, second_ns, sum;

	ck_assert_ptr_nonnull(log.event);
	for (uint32_t i = 0; i < SERVERS; i++)
		log.end_ns[i] = log.now_ns;
	add_begin(&log);
	while (log.events < most)
		add_tick(&log);
	sum = play(&log, &first_ns);
	ck_assert_uint_eq(play(&log, &second_ns), sum);
	ck_assert_uint_gt(sum, 0);
	printf("core: %u events, %.2f million a second\n", log.events,
	       (double)log.events * 1e3 / (double)(first_ns < second_ns ? first_ns : second_ns));
	free(log.event);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("core speed");
	TCase *tcase = tcase_create("log");
	SRunner *runner;
	int failed;

	if (argc > 1)
		times = (uint32_t)strtoul(argv[1], NULL, 10);
	tcase_set_timeout(tcase, 300);
	tcase_add_test(tcase, a_long_log_plays_the_same);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed || !times ? EXIT_FAILURE : EXIT_SUCCESS;
}
