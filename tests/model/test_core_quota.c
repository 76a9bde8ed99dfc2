/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory admission against an obvious oracle: random processes allocate, free, die and come, limits
 * change; the oracle adds up what everybody really uses. Seed: SLUICE_SEED, printed.
 */

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "sluice/pages.h"

#define TENANTS 4
#define PROCS 12
#define GIB (1ull << 30)
#define UNITS(bytes) ((uint32_t)((bytes) / SLUICE_ESCROW_UNIT))
#define TOTAL (16 * GIB)

#define must(what) \
	do { \
		if (!(what)) \
			ck_abort_msg("seed %llu, step %u: %s", (unsigned long long)seed, step, \
				     #what); \
	} while (0)

struct proc {
	bool alive;
	uint32_t tenant;
	uint32_t granted, credit; /* its escrow word, as the tenant's side has it */
};

static struct engine *engine;
static struct proc proc[PROCS];
static struct event_tenant set[TENANTS];
static unsigned long long seed, state;
static uint32_t step;
static int32_t answer; /* of the last request; 1: none */
static uint32_t take_backs;
static uint64_t now_ns;

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % limit);
}

static int feed(struct event event);

static void carry_out(void)
{
	struct event taken = {0};
	struct action action;

	while (engine_take(engine, &action)) {
		struct proc *whose = &proc[action.process];

		switch (action.kind) {
		case ACTION_MEM_GRANT:
			must(action.units <= UINT32_MAX - whose->granted);
			whose->granted += action.units;
			whose->credit += action.units;
			answer = 0;
			break;
		case ACTION_MEM_REFUSE: answer = action.status; break;
		case ACTION_MEM_TAKE_BACK:
			must(!taken.kind);
			taken = (struct event){.kind = EVENT_MEM_TAKEN, .process = action.process};
			taken.units = action.units < whose->credit ? action.units : whose->credit;
			whose->credit -= taken.units;
			whose->granted -= taken.units;
			take_backs++;
			break;
		default: break;
		}
	}
	if (taken.kind)
		must(feed(taken) == 0);
}

static int feed(struct event event)
{
	int r = engine_event(engine, &event);

	carry_out();
	return r;
}

static uint64_t used_units(uint32_t tenant)
{
	uint64_t used = 0;

	for (int i = 0; i < PROCS; i++) {
		if (proc[i].alive && proc[i].tenant == tenant)
			used += proc[i].granted - proc[i].credit;
	}
	return used;
}

static uint64_t granted_units(uint32_t tenant)
{
	uint64_t granted = 0;

	for (int i = 0; i < PROCS; i++) {
		if (proc[i].alive && proc[i].tenant == tenant)
			granted += proc[i].granted;
	}
	return granted;
}

/* What the tenant could use more, if nobody held unused credit: the obvious rule. */
static uint64_t oracle_free(uint32_t tenant)
{
	uint64_t limit = set[tenant].memory_max_bytes / SLUICE_ESCROW_UNIT;
	uint64_t pool = used_units(tenant), room = UNITS(TOTAL), promised = 0;

	pool = limit > pool ? limit - pool : 0;
	for (uint32_t t = 0; t < TENANTS; t++) {
		uint64_t need = used_units(t), min = UNITS(set[t].memory_min_bytes);

		if (t != tenant && need < min)
			need = min;
		promised += t != tenant && min;
		room = room > need ? room - need : 0;
	}
	return promised && room < pool ? room : pool;
}

static void check_invariants(void)
{
	for (uint32_t t = 0; t < TENANTS; t++) {
		struct engine_report report;
		uint64_t limit = set[t].memory_max_bytes / SLUICE_ESCROW_UNIT;

		must(engine_report(engine, t, 0, &report));
		must(report.granted_bytes == granted_units(t) * SLUICE_ESCROW_UNIT);
		/* One tenant a device and tick. */
		for (int i = 0; granted_units(t) > limit && i < TENANTS; i++) {
			now_ns += CORE_SLOW_TICK_NS;
			must(!feed((struct event){.kind = EVENT_TIMER, .now_ns = now_ns}));
		}
		/* A limit below what is in use stops growth; what is in use stays. */
		must(granted_units(t) <= limit || granted_units(t) == used_units(t));
	}
}

static void join(uint32_t index, uint32_t tenant)
{
	proc[index] = (struct proc){.alive = true, .tenant = tenant};
	must(!feed((struct event){.kind = EVENT_JOIN, .process = index, .tenant = tenant}));
	must(!feed((struct event){.kind = EVENT_ATTACH, .process = index}));
}

static void allocate(struct proc *whose, uint32_t units)
{
	uint64_t others = oracle_free(whose->tenant);
	uint64_t promised_before[TENANTS];

	for (uint32_t t = 0; t < TENANTS; t++)
		promised_before[t] = used_units(t);
	if (whose->credit < units) {
		answer = 1;
		must(!feed((struct event){.kind = EVENT_MEM_REQUEST,
					  .process = (uint32_t)(whose - proc),
					  .units = units - whose->credit}));
		must(answer == 0 || answer == -ENOMEM);
		/* Neither too much nor a refusal without need. */
		must((answer == 0) == (units <= others));
		if (answer)
			return;
	}
	must(whose->credit >= units);
	whose->credit -= units;
	for (uint32_t t = 0; t < TENANTS; t++)
		must(used_units(t) == promised_before[t] + (t == whose->tenant ? units : 0));
}

static void random_step(void)
{
	uint32_t index = random_below(PROCS), dice = random_below(100);
	struct proc *whose = &proc[index];
	uint32_t used = whose->granted - whose->credit;

	if (!whose->alive) {
		join(index, random_below(TENANTS));
	} else if (dice < 55) {
		allocate(whose,
			 1 + random_below(random_below(8) ? UNITS(GIB / 16) : UNITS(4 * GIB)));
	} else if (dice < 95) {
		whose->credit += random_below(3) ? random_below(used + 1) : used;
	} else if (dice < 98) {
		must(!feed((struct event){.kind = EVENT_LEAVE, .process = index}));
		*whose = (struct proc){0};
	} else {
		uint32_t t = random_below(TENANTS);

		set[t].memory_max_bytes = (1 + random_below(12)) * GIB;
		must(!feed(
			(struct event){.kind = EVENT_TENANT, .tenant = t, .tenant_set = set[t]}));
	}
}

static void begin(void)
{
	const char *given = secure_getenv("SLUICE_SEED");

	seed = given ? strtoull(given, NULL, 0) : 20240607;
	state = seed;
	engine = engine_create(1);
	ck_assert_ptr_nonnull(engine);
	memset(proc, 0, sizeof(proc));
	step = take_backs = 0;
	now_ns = 1;
	must(!feed((struct event){.kind = EVENT_DEVICE, .device_added = {.memory_bytes = TOTAL}}));
	for (uint32_t t = 0; t < TENANTS; t++) {
		set[t] = (struct event_tenant){.managed = true,
					       .weight = 100,
					       .gpu_max_permille = 1000,
					       .period_ns = 100000000,
					       .memory_max_bytes = (4 + t) * GIB};
		/* With one promise the device's room counts for all the others. */
		set[t].memory_min_bytes = t == 1 ? 3 * GIB : 0;
		must(!feed(
			(struct event){.kind = EVENT_TENANT, .tenant = t, .tenant_set = set[t]}));
	}
}

START_TEST(test_random_against_oracle)
{
	begin();
	printf("core quota: seed %llu\n", seed);
	for (step = 1; step <= 100000; step++) {
		random_step();
		check_invariants();
	}
	/* The run was worth its name. */
	ck_assert_uint_gt(take_backs, 1000);
	engine_destroy(engine);
}
END_TEST

/* A lone process gets a quarter of what is free ahead of use, and all of it by and by. */
START_TEST(test_credit_ahead_of_use)
{
	begin();
	join(0, 0);
	ck_assert_uint_eq(proc[0].granted, UNITS(GIB));
	allocate(&proc[0], UNITS(GIB) + 1);
	ck_assert_uint_eq(proc[0].granted, UNITS(GIB) + (UNITS(4 * GIB) - UNITS(GIB)) / 4);
	allocate(&proc[0], UNITS(3 * GIB) - 1);
	ck_assert_uint_eq(proc[0].granted, UNITS(4 * GIB));
	proc[0].credit = UNITS(4 * GIB);
	/* A sibling finds the pool empty, and is served from unused credit. */
	join(1, 0);
	ck_assert_uint_eq(proc[1].granted, 0);
	allocate(&proc[1], UNITS(GIB));
	ck_assert_uint_le(proc[0].granted + proc[1].granted, UNITS(4 * GIB));
	engine_destroy(engine);
}
END_TEST

/* All of it in one go, with what is given ahead of use in the way: the process's own, a sibling's. */
START_TEST(test_whole_limit_in_one_go)
{
	begin();
	join(0, 0);
	allocate(&proc[0], UNITS(4 * GIB));
	ck_assert_uint_eq(proc[0].granted, UNITS(4 * GIB));
	ck_assert_uint_eq(proc[0].credit, 0);
	proc[0].credit = UNITS(4 * GIB);
	join(1, 0);
	allocate(&proc[1], UNITS(4 * GIB));
	ck_assert_uint_eq(proc[0].granted, 0);
	ck_assert_uint_eq(proc[1].granted, UNITS(4 * GIB));
	engine_destroy(engine);
}
END_TEST

START_TEST(test_lowered_limit_takes_back)
{
	begin();
	join(0, 0);
	allocate(&proc[0], UNITS(4 * GIB));
	proc[0].credit = UNITS(3 * GIB);
	set[0].memory_max_bytes = 2 * GIB;
	must(!feed((struct event){.kind = EVENT_TENANT, .tenant = 0, .tenant_set = set[0]}));
	ck_assert_uint_eq(proc[0].granted, UNITS(2 * GIB));
	set[0].memory_max_bytes = GIB / 2;
	must(!feed((struct event){.kind = EVENT_TENANT, .tenant = 0, .tenant_set = set[0]}));
	ck_assert_uint_eq(proc[0].granted, UNITS(GIB));
	ck_assert_uint_eq(proc[0].credit, 0);
	engine_destroy(engine);
}
END_TEST

START_TEST(test_reclaiming)
{
	struct engine_report report;

	begin();
	join(0, 0);
	allocate(&proc[0], UNITS(4 * GIB));
	must(!feed((struct event){.kind = EVENT_LEAVE, .process = 0, .reclaim = true}));
	ck_assert(engine_report(engine, 0, 0, &report));
	ck_assert_uint_eq(report.reclaiming_bytes, 4 * GIB);
	join(1, 0);
	ck_assert_uint_eq(proc[1].granted, 0);
	answer = 1;
	must(!feed((struct event){.kind = EVENT_MEM_REQUEST, .process = 1, .units = UNITS(GIB)}));
	ck_assert_int_eq(answer, -EAGAIN);
	must(!feed((struct event){.kind = EVENT_MEM_RECLAIMED, .units = UNITS(4 * GIB)}));
	must(!feed((struct event){.kind = EVENT_MEM_REQUEST, .process = 1, .units = UNITS(GIB)}));
	ck_assert_int_eq(answer, 0);
	engine_destroy(engine);
}
END_TEST

/* A process that registers again holds what it says, whatever the limit. */
START_TEST(test_held_already)
{
	begin();
	join(0, 0);
	must(!feed((struct event){.kind = EVENT_LEAVE, .process = 0}));
	proc[0] = (struct proc){.alive = true, .tenant = 0, .granted = UNITS(3 * GIB)};
	must(!feed((struct event){.kind = EVENT_JOIN, .process = 0, .tenant = 0}));
	must(!feed((struct event){
		.kind = EVENT_ATTACH, .process = 0, .attach = {.held_units = UNITS(3 * GIB)}}));
	ck_assert_uint_eq(proc[0].granted, UNITS(3 * GIB) + UNITS(GIB) / 4);
	ck_assert_uint_eq(proc[0].credit, UNITS(GIB) / 4);
	check_invariants();
	engine_destroy(engine);
}
END_TEST

/* What others say they hold, true or not, does not keep a tenant from what it is promised: whether
 * the device has it, the driver knows. */
START_TEST(test_a_promise_stands_against_claims)
{
	begin();
	set[2].memory_min_bytes = GIB;
	set[2].memory_max_bytes = set[3].memory_max_bytes = 2 * TOTAL;
	for (uint32_t t = 2; t < TENANTS; t++)
		must(!feed(
			(struct event){.kind = EVENT_TENANT, .tenant = t, .tenant_set = set[t]}));
	proc[3] = (struct proc){.alive = true, .tenant = 3, .granted = UNITS(TOTAL)};
	must(!feed((struct event){.kind = EVENT_JOIN, .process = 3, .tenant = 3}));
	must(!feed((struct event){
		.kind = EVENT_ATTACH, .process = 3, .attach = {.held_units = UNITS(TOTAL)}}));
	join(1, 1);
	ck_assert_uint_eq(proc[1].credit, UNITS(3 * GIB) / 4);
	must(!feed((struct event){.kind = EVENT_MEM_REQUEST,
				  .process = 1,
				  .units = UNITS(3 * GIB) - proc[1].credit}));
	ck_assert_uint_eq(proc[1].credit, UNITS(3 * GIB));
	proc[1].credit = 0;
	must(!feed((struct event){.kind = EVENT_MEM_REQUEST, .process = 1, .units = 1}));
	ck_assert_int_eq(answer, -ENOMEM);
	/* The same at a request: the promise grows, and is kept when it is asked for. */
	set[1].memory_min_bytes += GIB;
	must(!feed((struct event){.kind = EVENT_TENANT, .tenant = 1, .tenant_set = set[1]}));
	must(!feed((struct event){.kind = EVENT_MEM_REQUEST, .process = 1, .units = UNITS(GIB)}));
	ck_assert_int_eq(answer, 0);
	engine_destroy(engine);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core quota");
	TCase *tcase = tcase_create("admission");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_random_against_oracle);
	tcase_add_test(tcase, test_credit_ahead_of_use);
	tcase_add_test(tcase, test_whole_limit_in_one_go);
	tcase_add_test(tcase, test_lowered_limit_takes_back);
	tcase_add_test(tcase, test_reclaiming);
	tcase_add_test(tcase, test_held_already);
	tcase_add_test(tcase, test_a_promise_stands_against_claims);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
