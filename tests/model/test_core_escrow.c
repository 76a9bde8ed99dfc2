/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory against physical bytes: eight processes reserve, allocate, free and release by the steps of
 * sluice/escrow.h, each of which may be the last; the arbiter carries out the core's actions one by
 * one with the processes' steps between, and may be killed after any of them. The driver's own
 * count of a tenant's units never exceeds its limit. Seed: SLUICE_SEED, printed.
 */

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "sluice/escrow.h"

#define PROCS 8
#define TENANTS 3
#define BLOCKS 6
#define STEPS 1000000u
#define DEVICE_UNITS 9000u
#define QUEUE 256

static const uint32_t limit_units[TENANTS] = {3000, 4000, 1500};

enum stage { STAGE_IDLE, STAGE_RESERVE, STAGE_ASKED, STAGE_DRIVER, STAGE_FREE, STAGE_RELEASE };

struct proc {
	bool alive, attached; /* to the arbiter there is now */
	uint32_t tenant;
	_Atomic uint64_t word;
	uint32_t ledger_units; /* what the arbiter's file says */
	enum stage stage;
	uint32_t wanted, block;
	uint32_t held[BLOCKS]; /* by the driver */
};

/* Of one that died: still in the driver, and not told to the arbiter yet. */
struct corpse {
	uint32_t tenant, physical, counted;
};

static struct engine *engine;
static struct proc proc[PROCS];
static struct corpse corpse[4 * PROCS];
static uint32_t corpses;
static struct action queue[QUEUE];
static uint32_t queued;
static unsigned long long seed, state;
static uint32_t step, kills, arbiter_kills, take_backs, allocations, refusals;
static bool killed; /* the arbiter, in the middle of carrying out */
static uint32_t depth;

#define must(what) \
	do { \
		if (!(what)) \
			ck_abort_msg("seed %llu, step %u: %s", seed, step, #what); \
	} while (0)

static uint32_t random_below(uint32_t limit)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % limit);
}

static uint32_t physical_of(const struct proc *whose)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < BLOCKS; i++)
		units += whose->held[i];
	return units;
}

static uint32_t physical(uint32_t tenant)
{
	uint32_t units = 0;

	for (uint32_t i = 0; i < PROCS; i++)
		units += tenant == TENANTS || proc[i].tenant == tenant ? physical_of(&proc[i]) : 0;
	for (uint32_t i = 0; i < corpses; i++)
		units += tenant == TENANTS || corpse[i].tenant == tenant ? corpse[i].physical : 0;
	return units;
}

static void check_physical(void)
{
	for (uint32_t t = 0; t < TENANTS; t++)
		must(physical(t) <= limit_units[t]);
}

/* ---- the arbiter -------------------------------------------------------------------------------- */

static void process_step(void);

/* The arbiter is one of several who run. */
static void meanwhile(void)
{
	if (depth++ < 2 && random_below(2))
		process_step();
	depth--;
}

static void feed(struct event event);

static void answer(uint32_t index, int32_t status)
{
	struct proc *whose = &proc[index];

	if (whose->stage != STAGE_ASKED)
		return;
	whose->stage = status == 0 || status == -EAGAIN ? STAGE_RESERVE : STAGE_IDLE;
	/* Waits no longer than a while. */
	if (status == -EAGAIN && random_below(2))
		whose->stage = STAGE_IDLE;
	refusals += status != 0;
}

static void take_back(uint32_t index, uint32_t most)
{
	struct proc *whose = &proc[index];
	uint32_t granted = engine_granted_units(engine, index, 0), credit, units;
	struct event event = {.kind = EVENT_MEM_TAKEN, .process = index};

	credit = sluice_escrow_credit(atomic_load(&whose->word));
	units = sluice_escrow_take_back(&whose->word, credit < most ? credit : most);
	meanwhile();
	if (killed)
		return;
	whose->ledger_units = granted - units;
	take_backs++;
	event.units = units;
	feed(event);
}

static void carry_out(const struct action *action)
{
	struct proc *whose = &proc[action->process];

	switch (action->kind) {
	case ACTION_MEM_GRANT:
		whose->ledger_units = engine_granted_units(engine, action->process, 0);
		meanwhile();
		if (killed)
			return;
		sluice_escrow_grant(&whose->word, action->units);
		answer(action->process, 0);
		break;
	case ACTION_MEM_REFUSE: answer(action->process, action->status); break;
	case ACTION_MEM_TAKE_BACK: take_back(action->process, action->units); break;
	default: break;
	}
}

/* All actions are taken from the core before one is carried out, as between two polls. */
static void feed(struct event event)
{
	uint32_t at = queued;

	must(!engine_event(engine, &event));
	while (engine_take(engine, &queue[queued]))
		must(++queued < QUEUE);
	for (uint32_t end = queued; at < end && !killed; at++)
		carry_out(&queue[at]);
}

static void arbiter_event(struct event event)
{
	queued = 0;
	killed = false;
	feed(event);
}

static void arbiter_start(void)
{
	engine = engine_create(1);
	must(engine);
	arbiter_event((struct event){
		.kind = EVENT_DEVICE,
		.device_added = {.memory_bytes = (uint64_t)DEVICE_UNITS * SLUICE_ESCROW_UNIT}});
	for (uint32_t t = 0; t < TENANTS; t++)
		arbiter_event(
			(struct event){.kind = EVENT_TENANT,
				       .tenant = t,
				       .tenant_set = {.managed = true,
						      .weight = 100,
						      .gpu_max_permille = 1000,
						      .period_ns = 100000000,
						      .memory_max_bytes = (uint64_t)limit_units[t] *
									  SLUICE_ESCROW_UNIT}});
	for (uint32_t i = 0; i < PROCS; i++) {
		if (proc[i].alive)
			arbiter_event((struct event){.kind = EVENT_MEM_HELD,
						     .tenant = proc[i].tenant,
						     .units = proc[i].ledger_units});
	}
	/* A start takes longer than the driver needs for the dead. */
	corpses = 0;
}

static void arbiter_kill(void)
{
	engine_destroy(engine);
	killed = true;
	arbiter_kills++;
	for (uint32_t i = 0; i < PROCS; i++) {
		proc[i].attached = false;
		/* Whoever waits for an answer gives up, or asks the next one. */
		if (proc[i].stage == STAGE_ASKED)
			proc[i].stage = random_below(2) ? STAGE_RESERVE : STAGE_IDLE;
	}
	engine = NULL;
}

/* ---- processes ------------------------------------------------------------------------------------- */

static void join(uint32_t index)
{
	struct proc *whose = &proc[index];

	memset(whose, 0, sizeof(*whose));
	whose->alive = true;
	whose->tenant = random_below(TENANTS);
}

/* Says what it holds; what was counted for it until now is that. */
static void attach(uint32_t index)
{
	struct proc *whose = &proc[index];
	uint64_t left = atomic_exchange(&whose->word, 0);
	uint32_t used = sluice_escrow_granted(left) - sluice_escrow_credit(left);

	must(sluice_escrow_credit(left) <= sluice_escrow_granted(left));
	if (whose->ledger_units)
		arbiter_event((struct event){.kind = EVENT_MEM_RECLAIMED,
					     .tenant = whose->tenant,
					     .units = whose->ledger_units});
	whose->ledger_units = used;
	whose->attached = true;
	atomic_store(&whose->word, (uint64_t)used << 32);
	arbiter_event(
		(struct event){.kind = EVENT_JOIN, .process = index, .tenant = whose->tenant});
	arbiter_event((struct event){
		.kind = EVENT_ATTACH, .process = index, .attach = {.held_units = used}});
}

/* The driver frees what it held now or later, and the arbiter hears of the death now or later. */
static void die(uint32_t index)
{
	struct proc *whose = &proc[index];
	struct corpse *left = &corpse[corpses];
	bool at_once = random_below(2);

	if (corpses == sizeof(corpse) / sizeof(corpse[0]))
		return;
	kills++;
	*left = (struct corpse){.tenant = whose->tenant, .physical = physical_of(whose)};
	left->counted = whose->ledger_units;
	corpses++;
	if (whose->attached)
		arbiter_event(
			(struct event){.kind = EVENT_LEAVE, .process = index, .reclaim = true});
	memset(whose, 0, sizeof(*whose));
	if (at_once)
		left->physical = 0;
}

static void bury(void)
{
	uint32_t at = random_below(corpses);
	struct corpse left = corpse[at];

	corpse[at] = corpse[--corpses];
	if (left.counted)
		arbiter_event((struct event){
			.kind = EVENT_MEM_RECLAIMED, .tenant = left.tenant, .units = left.counted});
}

static void choose(struct proc *whose)
{
	whose->block = random_below(BLOCKS);
	whose->wanted = 1 + random_below(random_below(6) ? 200 : 4000);
	whose->stage = whose->held[whose->block] ? STAGE_FREE : STAGE_RESERVE;
}

static void ask(uint32_t index)
{
	struct proc *whose = &proc[index];
	uint32_t credit = sluice_escrow_credit(atomic_load(&whose->word));

	/* Away, and one has not the arbiter's word alone to wait for: it gives up. */
	if (!whose->attached || killed || depth) {
		whose->stage = random_below(4) ? STAGE_RESERVE : STAGE_IDLE;
		return;
	}
	whose->stage = STAGE_ASKED;
	if (credit >= whose->wanted)
		answer(index, 0);
	else
		arbiter_event((struct event){.kind = EVENT_MEM_REQUEST,
					     .process = index,
					     .units = whose->wanted - credit});
}

/* One step of one process: an atomic on its word, or a call of the driver. */
static void process_step(void)
{
	uint32_t index = random_below(PROCS);
	struct proc *whose = &proc[index];

	if (!whose->alive)
		return;
	switch (whose->stage) {
	case STAGE_IDLE: choose(whose); break;
	case STAGE_RESERVE:
		if (sluice_escrow_reserve(&whose->word, whose->wanted))
			whose->stage = STAGE_DRIVER;
		else
			ask(index);
		break;
	case STAGE_ASKED: break;
	case STAGE_DRIVER:
		/* The device may be full of others: then the reservation goes back. */
		whose->stage = STAGE_RELEASE;
		if (physical(TENANTS) + whose->wanted <= DEVICE_UNITS) {
			whose->held[whose->block] = whose->wanted;
			whose->stage = STAGE_IDLE;
			allocations++;
		}
		break;
	case STAGE_FREE:
		whose->wanted = whose->held[whose->block];
		whose->held[whose->block] = 0;
		whose->stage = STAGE_RELEASE;
		break;
	case STAGE_RELEASE:
		sluice_escrow_release(&whose->word, whose->wanted);
		whose->stage = STAGE_IDLE;
		break;
	}
	check_physical();
	/* Killed in the middle of what it was about. */
	if (depth && !random_below(400) && !killed)
		arbiter_kill();
}

static void world_step(void)
{
	uint32_t index = random_below(PROCS), dice = random_below(1000);

	killed = false;
	if (!engine)
		arbiter_start();
	if (!proc[index].alive)
		join(index);
	else if (dice < 3)
		die(index);
	else if (dice == 3)
		arbiter_kill();
	else if (dice < 20 && corpses)
		bury();
	else if (dice < 60 && !proc[index].attached)
		attach(index);
	else
		process_step();
	check_physical();
}

START_TEST(test_never_more_than_the_limit)
{
	const char *given = secure_getenv("SLUICE_SEED");

	seed = given ? strtoull(given, NULL, 0) : 20250731;
	state = seed;
	printf("core escrow: seed %llu\n", seed);
	for (step = 1; step <= STEPS; step++)
		world_step();
	engine_destroy(engine);
	/* The run was worth its name. */
	ck_assert_uint_gt(allocations, STEPS / 10);
	ck_assert_uint_gt(kills, STEPS / 1000);
	ck_assert_uint_gt(arbiter_kills, STEPS / 5000);
	ck_assert_uint_gt(take_backs, STEPS / 1000);
	ck_assert_uint_gt(refusals, STEPS / 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("core escrow");
	TCase *tcase = tcase_create("physical bytes");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_never_more_than_the_limit);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
