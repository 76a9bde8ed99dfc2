/* SPDX-License-Identifier: Apache-2.0 */

/* When a holder of the turn has nothing to launch, and since when. */

#include <check.h>

#include "core/engine.h"
#include "core/policy.h"

#define US 1000ull
#define MS 1000000ull
#define OPENED_NS (10 * MS)
#define LOOKED_NS (OPENED_NS + 2 * MS)

static struct engine *engine;

static void feed(struct event event)
{
	struct action action;

	ck_assert_int_eq(engine_event(engine, &event), 0);
	while (engine_take(engine, &action))
		continue;
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

int main(void)
{
	Suite *suite = suite_create("core turns");
	TCase *tcase = tcase_create("idle holders");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, idle_for_long_gives_way_at_once);
	tcase_add_test(tcase, busy_or_not_saying_stays);
	tcase_add_test(tcase, a_turn_begins_when_it_is_opened);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
