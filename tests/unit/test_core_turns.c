/* SPDX-License-Identifier: Apache-2.0 */

/* When a holder of the turn has nothing to launch, and since when; and what large copies need of it. */

#include <check.h>

#include "core/engine.h"
#include "core/policy.h"
#include "sluice/pages.h"

#define US 1000ull
#define MS 1000000ull
#define OPENED_NS (10 * MS)
#define LOOKED_NS (OPENED_NS + 2 * MS)

static struct engine *engine;
static struct grant grant[3]; /* as the processes were last told */
static uint64_t timer_ns;

static void feed(struct event event)
{
	struct action action;

	ck_assert_int_eq(engine_event(engine, &event), 0);
	while (engine_take(engine, &action)) {
		if (action.kind == ACTION_GRANT)
			grant[action.process] = action.grant;
		if (action.kind == ACTION_TIMER)
			timer_ns = action.at_ns;
	}
}

static bool is_open(uint32_t tenant)
{
	struct engine_report report;

	ck_assert(engine_report(engine, tenant, 0, &report));
	return report.open;
}

/* Two processes of two tenants take turns; the first has its own. */
static void begin(void)
{
	struct event_tenant plain = {.managed = true,
				     .weight = 100,
				     .gpu_max_permille = 1000,
				     .period_ns = 100 * MS,
				     .memory_max_bytes = CORE_NO_LIMIT};

	engine = engine_create(1);
	ck_assert_ptr_nonnull(engine);
	feed((struct event){.kind = EVENT_DEVICE});
	for (uint32_t i = 0; i < 2; i++) {
		feed((struct event){.kind = EVENT_TENANT, .tenant = i, .tenant_set = plain});
		feed((struct event){.kind = EVENT_JOIN, .tenant = i, .process = i});
		feed((struct event){.kind = EVENT_ATTACH, .process = i, .now_ns = OPENED_NS});
	}
	ck_assert(is_open(0));
	ck_assert(!is_open(1));
}

/* The holder has launched, and says so when it is looked at; then the other wants. */
static void look(uint64_t completed_ns, uint64_t completed_at_ns)
{
	feed((struct event){.kind = EVENT_USAGE,
			    .now_ns = LOOKED_NS,
			    .usage = {.launched_ns = MS,
				      .completed_ns = completed_ns,
				      .completed_at_ns = completed_at_ns}});
	feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = LOOKED_NS});
}

static void end(void)
{
	engine_destroy(engine);
}

START_TEST(idle_for_long_gives_way_at_once)
{
	begin();
	look(MS, LOOKED_NS - MS);
	ck_assert(!is_open(0));
	/* Not before a launch past its check has had time to show. */
	ck_assert(!is_open(1));
	end();
}
END_TEST

START_TEST(busy_or_not_saying_stays)
{
	static const struct {
		uint64_t completed_ns, completed_at_ns;
	} cases[] = {
		{MS, LOOKED_NS - 299 * US}, /* may launch again */
		{MS - 1, LOOKED_NS - MS},   /* not all is complete */
		{MS, 0},		    /* an older shim */
		{MS, LOOKED_NS + MS},	    /* a time that has not come */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		look(cases[i].completed_ns, cases[i].completed_at_ns);
		ck_assert(is_open(0));
		end();
	}
}
END_TEST

/* Whoever has just got its turn has nothing complete in it: that is no reason to take it away. */
START_TEST(a_turn_begins_when_it_is_opened)
{
	begin();
	feed((struct event){.kind = EVENT_USAGE,
			    .now_ns = OPENED_NS + 200 * US,
			    .usage = {.launched_ns = MS,
				      .completed_ns = MS,
				      .completed_at_ns = OPENED_NS - 5 * MS}});
	feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = OPENED_NS + 200 * US});
	ck_assert(is_open(0));
	end();
}
END_TEST

/* ---- large copies ---- */

/* 1 ms of kernels and a copy of 3 ms behind them, launched just before LOOKED_NS; nothing since. */
static void copy(uint64_t completed_ns, uint64_t copies_ns, bool want, uint64_t after_ns)
{
	struct event usage = {.kind = EVENT_USAGE,
			      .now_ns = LOOKED_NS,
			      .usage = {.launched_ns = 4 * MS, .copies_ns = copies_ns}};

	begin();
	feed(usage);
	feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = LOOKED_NS});
	ck_assert(is_open(0));
	usage.now_ns += after_ns;
	usage.usage.completed_ns = completed_ns;
	usage.usage.want = want;
	feed(usage);
	feed((struct event){.kind = EVENT_TIMER, .now_ns = usage.now_ns});
}

START_TEST(a_holder_with_nothing_but_copies_gives_way)
{
	static const struct {
		uint64_t completed_ns, copies_ns, after_ns;
		bool want, stays;
	} cases[] = {
		{MS, 3 * MS, 300 * US, false, false},
		{MS, 3 * MS, 299 * US, false, true},	 /* may launch again */
		{MS, 0, 300 * US, false, true},		 /* no copy, or an older shim */
		{MS, 3 * MS - 1, 300 * US, false, true}, /* a kernel is left */
		{MS, 3 * MS, 300 * US, true, true},	 /* has more to launch */
		/* A thread that waits for its copy sees nothing complete: by then the rest should be. */
		{0, 3 * MS, 1000 * US + 50 * US, false, false},
		{0, 3 * MS, 1000 * US, false, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		copy(cases[i].completed_ns, cases[i].copies_ns, cases[i].want, cases[i].after_ns);
		ck_assert_msg(is_open(0) == cases[i].stays, "case %zu", i);
		end();
	}
}
END_TEST

START_TEST(nobody_waits_for_the_copies)
{
	struct event usage = {
		.kind = EVENT_USAGE,
		.now_ns = LOOKED_NS + 350 * US,
		.usage = {.launched_ns = 4 * MS, .completed_ns = MS, .copies_ns = 3 * MS}};

	copy(MS, 3 * MS, false, 300 * US);
	ck_assert(!is_open(1));
	/* More copies may go meanwhile; a kernel would have to be waited for. */
	usage.usage.launched_ns += MS;
	usage.usage.copies_ns += MS;
	feed(usage);
	feed((struct event){.kind = EVENT_TIMER, .now_ns = usage.now_ns});
	ck_assert(is_open(1));
	ck_assert(!is_open(0));
	ck_assert(grant[0].flags & SLUICE_GRANT_COPIES);
	ck_assert(!(grant[1].flags & SLUICE_GRANT_COPIES));
	end();
}
END_TEST

START_TEST(a_kernel_behind_the_copies_is_waited_for)
{
	struct event usage = {.kind = EVENT_USAGE,
			      .now_ns = LOOKED_NS + 350 * US,
			      .usage = {.launched_ns = 5 * MS, .completed_ns = MS}};

	copy(MS, 3 * MS, false, 300 * US);
	feed(usage);
	feed((struct event){.kind = EVENT_TIMER, .now_ns = usage.now_ns});
	ck_assert(!is_open(1));
	end();
}
END_TEST

/* A turn that is used up with a copy: what is behind it in time is not slept through. */
START_TEST(a_turn_used_up_with_a_copy_is_over_at_once)
{
	struct event usage = {.kind = EVENT_USAGE,
			      .now_ns = LOOKED_NS,
			      .usage = {.launched_ns = 80 * MS,
					.completed_ns = 10 * MS,
					.copies_ns = 70 * MS,
					.want = true}};

	begin();
	feed(usage);
	feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = LOOKED_NS});
	ck_assert(!is_open(0));
	ck_assert(!is_open(1));
	ck_assert_uint_le(timer_ns, LOOKED_NS + 100 * US);
	usage.now_ns = timer_ns;
	feed(usage);
	feed((struct event){.kind = EVENT_TIMER, .now_ns = timer_ns});
	ck_assert(is_open(1));
	end();
}
END_TEST

/* Who copies now and then is looked at often, so that the next time is not missed. */
START_TEST(who_made_a_long_copy_is_looked_at_often)
{
	for (int copies = 0; copies < 2; copies++) {
		struct event usage = {
			.kind = EVENT_USAGE,
			.now_ns = LOOKED_NS,
			.usage = {.launched_ns = MS, .copies_ns = copies ? 600 * US : 599 * US}};

		begin();
		feed(usage);
		feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = LOOKED_NS});
		/* Kernels by now. */
		usage.now_ns += 100 * US;
		usage.usage = (struct event_usage){.launched_ns = MS + 1, .completed_ns = MS};
		feed(usage);
		feed((struct event){.kind = EVENT_TIMER, .now_ns = usage.now_ns});
		ck_assert(is_open(0));
		ck_assert_int_eq(timer_ns <= usage.now_ns + 500 * US, copies);
		end();
	}
}
END_TEST

/* Not past a pause, nor a limit of one's own. */
START_TEST(copies_go_where_a_turn_alone_holds_them)
{
	struct event_tenant limited = {.managed = true,
				       .weight = 100,
				       .gpu_max_permille = 500,
				       .period_ns = 100 * MS,
				       .memory_max_bytes = CORE_NO_LIMIT};

	begin();
	feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = LOOKED_NS});
	ck_assert(grant[1].flags & SLUICE_GRANT_COPIES);
	feed((struct event){.kind = EVENT_PAUSE, .tenant = 1, .on = true, .now_ns = LOOKED_NS});
	ck_assert(!(grant[1].flags & SLUICE_GRANT_COPIES));
	feed((struct event){.kind = EVENT_PAUSE, .tenant = 1, .now_ns = LOOKED_NS});
	ck_assert(grant[1].flags & SLUICE_GRANT_COPIES);
	feed((struct event){
		.kind = EVENT_TENANT, .tenant = 1, .tenant_set = limited, .now_ns = LOOKED_NS});
	ck_assert(!(grant[1].flags & SLUICE_GRANT_COPIES));
	end();
}
END_TEST

/* Its own would wait for one of each process. `share` does not look at who is latency-critical. */
START_TEST(copies_wait_beside_a_latency_process)
{
	struct event chat = {
		.kind = EVENT_JOIN, .tenant = 0, .process = 2, .join = {.latency = true}};

	begin();
	feed((struct event){.kind = EVENT_POLICY, .policy = &policy_slo, .now_ns = LOOKED_NS});
	ck_assert(grant[1].flags & SLUICE_GRANT_COPIES);
	feed(chat);
	feed((struct event){.kind = EVENT_ATTACH, .process = 2, .now_ns = LOOKED_NS});
	ck_assert(!(grant[1].flags & SLUICE_GRANT_COPIES));
	feed((struct event){.kind = EVENT_POLICY, .policy = &policy_share, .now_ns = LOOKED_NS});
	ck_assert(grant[1].flags & SLUICE_GRANT_COPIES);
	feed((struct event){.kind = EVENT_POLICY, .policy = &policy_slo, .now_ns = LOOKED_NS});
	feed((struct event){.kind = EVENT_LEAVE, .process = 2, .now_ns = LOOKED_NS});
	ck_assert(grant[1].flags & SLUICE_GRANT_COPIES);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core turns");
	TCase *tcase = tcase_create("idle holders");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, idle_for_long_gives_way_at_once);
	tcase_add_test(tcase, busy_or_not_saying_stays);
	tcase_add_test(tcase, a_turn_begins_when_it_is_opened);
	tcase_add_test(tcase, a_holder_with_nothing_but_copies_gives_way);
	tcase_add_test(tcase, nobody_waits_for_the_copies);
	tcase_add_test(tcase, a_kernel_behind_the_copies_is_waited_for);
	tcase_add_test(tcase, a_turn_used_up_with_a_copy_is_over_at_once);
	tcase_add_test(tcase, who_made_a_long_copy_is_looked_at_often);
	tcase_add_test(tcase, copies_wait_beside_a_latency_process);
	tcase_add_test(tcase, copies_go_where_a_turn_alone_holds_them);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
