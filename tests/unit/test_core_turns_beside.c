/* SPDX-License-Identifier: Apache-2.0 */

/* Turns beside a latency process: when one is over. */

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

static void end(void)
{
	engine_destroy(engine);
}

/* Two loops, of which the first has its turn, and a latency process: 0, 1 and 2. */
static void begin(void)
{
	struct event_tenant plain = {.managed = true,
				     .weight = 100,
				     .gpu_max_permille = 1000,
				     .period_ns = 100 * MS,
				     .memory_max_bytes = CORE_NO_LIMIT};

	engine = engine_create(1);
	ck_assert_ptr_nonnull(engine);
	feed((struct event){.kind = EVENT_POLICY, .policy = &policy_slo});
	feed((struct event){.kind = EVENT_DEVICE});
	for (uint32_t i = 0; i < 3; i++) {
		feed((struct event){.kind = EVENT_TENANT, .tenant = i, .tenant_set = plain});
		feed((struct event){.kind = EVENT_JOIN,
				    .tenant = i,
				    .process = i,
				    .join = {.latency = i == 2}});
		feed((struct event){.kind = EVENT_ATTACH, .process = i, .now_ns = OPENED_NS});
	}
	ck_assert(is_open(0));
	ck_assert(!is_open(1));
}

static void read_latency(uint64_t at_ns, uint64_t used_ns, bool active)
{
	feed((struct event){.kind = EVENT_USAGE,
			    .process = 2,
			    .now_ns = at_ns,
			    .usage = {.launched_ns = used_ns,
				      .completed_ns = used_ns,
				      .active = active,
				      .idle_since_ns = at_ns}});
}

static void read_loop(uint32_t process, uint64_t at_ns, uint64_t launched_ns, uint64_t completed_ns)
{
	feed((struct event){.kind = EVENT_USAGE,
			    .process = process,
			    .now_ns = at_ns,
			    .usage = {.launched_ns = launched_ns,
				      .completed_ns = completed_ns,
				      .held_ns = at_ns,
				      .want = true}});
}

/* What a latency process uses of a turn is nobody's: the clock does not count it. */
START_TEST(a_turn_outlasts_a_latency_process)
{
	for (int used = 0; used < 2; used++) {
		begin();
		for (uint64_t at_ns = OPENED_NS; at_ns <= OPENED_NS + 30 * MS; at_ns += MS) {
			read_latency(at_ns, used ? at_ns - OPENED_NS : 0, false);
			read_loop(0, at_ns, 100 * US, 100 * US);
			read_loop(1, at_ns, 0, 0);
			feed((struct event){.kind = EVENT_TIMER, .now_ns = at_ns});
			/* The most that a lone holder may keep others waiting is 20 ms. */
			if (!used && at_ns > OPENED_NS + 20 * MS)
				break;
			ck_assert(is_open(0) || (!used && at_ns == OPENED_NS + 20 * MS));
		}
		ck_assert_int_eq(is_open(0), used);
		end();
	}
}
END_TEST

/* While a request runs a change costs nothing: whoever is behind goes next. */
START_TEST(a_request_is_a_chance_to_change)
{
	static const struct {
		uint64_t used_ns;
		bool active, changes;
	} cases[] = {
		{1500 * US, true, true},
		{1500 * US, false, false},
		/* Hardly ahead: as good as the other. */
		{300 * US, true, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		read_latency(LOOKED_NS, 0, cases[i].active);
		read_loop(0, LOOKED_NS, cases[i].used_ns, cases[i].used_ns);
		read_loop(1, LOOKED_NS, 0, 0);
		feed((struct event){.kind = EVENT_WANT, .process = 1, .now_ns = LOOKED_NS});
		ck_assert_int_eq(is_open(0), !cases[i].changes);
		end();
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core turns beside");
	TCase *tcase = tcase_create("turns");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_turn_outlasts_a_latency_process);
	tcase_add_test(tcase, a_request_is_a_chance_to_change);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
