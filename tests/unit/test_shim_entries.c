/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every hook that puts work on the GPU, by the list of hooks: held while the tenant is paused, and
 * then its own entry of the driver is called, once, with its own arguments, and its answer given.
 */
#include <semaphore.h>
#include <sys/mman.h>

#include "door_table.h"
#include "driver_arguments.h"
#include "shim_rig.h"

#define WORDS 12

/*
 * Arguments that are at once addresses of zeroes, small numbers and handles. On the machines that
 * Sluice runs on, whatever has the size of a word or less is passed as one, so that one type does for
 * all entries; the lowest byte tells each from the others. No run of bytes is worth splitting.
 */
#define ARGUMENTS_AT 0x10000u
#define ARGUMENT(n) ((uintptr_t)ARGUMENTS_AT + 0x1000u * (n) + 8u * ((n) + 1))
#define ARGUMENTS_BYTES (64u << 20) /* what a count of that size reaches */

#define PARAMETERS \
	uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g, \
		uintptr_t h, uintptr_t i, uintptr_t j, uintptr_t k, uintptr_t l

typedef CUresult (*entry_function)(PARAMETERS);

static struct {
	_Atomic uint32_t calls;
	uint32_t id; /* of the last */
	uintptr_t argument[WORDS];
} called;

static CUresult answer_of(uint32_t id)
{
	return (CUresult)(2000 + id);
}

#define HOOK(symbol, base, version, class) \
	static CUresult real_##symbol(PARAMETERS) \
	{ \
		called.id = HOOK_ID_##symbol; \
		memcpy(called.argument, ((uintptr_t[]){a, b, c, d, e, f, g, h, i, j, k, l}), \
		       sizeof(called.argument)); \
		atomic_fetch_add(&called.calls, 1); \
		return answer_of(HOOK_ID_##symbol); \
	}
#include "hooks.def"

static const entry_function entries[] = {
#define HOOK(symbol, base, version, class) real_##symbol,
#include "hooks.def"
};

static bool is_gated(const struct hook_row *row)
{
	return row->class == HOOK_LAUNCH || row->class == HOOK_COPY || row->class == HOOK_MEMSET;
}

static const struct driver_arguments *arguments_of(const char *symbol)
{
	const struct driver_arguments *arguments = driver_arguments;

	while (arguments->symbol && strcmp(arguments->symbol, symbol))
		arguments++;
	ck_assert_msg(arguments->symbol && arguments->count <= WORDS, "%s: no arguments", symbol);
	return arguments;
}

/* ---- the thread that calls, and is held ------------------------------------------------------------ */

static struct {
	pthread_t thread;
	sem_t go, done;
	void *hook; /* NULL: end */
	CUresult result;
} caller;

static void *caller_run(void *closure)
{
	for (;;) {
		entry_function hook;

		sem_wait(&caller.go);
		if (!caller.hook)
			return closure;
		memcpy(&hook, &caller.hook, sizeof(hook));
		caller.result = hook(ARGUMENT(0), ARGUMENT(1), ARGUMENT(2), ARGUMENT(3),
				     ARGUMENT(4), ARGUMENT(5), ARGUMENT(6), ARGUMENT(7),
				     ARGUMENT(8), ARGUMENT(9), ARGUMENT(10), ARGUMENT(11));
		sem_post(&caller.done);
	}
}

static void start(void)
{
	rig_start();
	ck_assert_ptr_eq(mmap((void *)(uintptr_t)ARGUMENTS_AT, ARGUMENTS_BYTES, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			      0),
			 (void *)(uintptr_t)ARGUMENTS_AT);
	for (uint32_t id = 0; id < HOOK_COUNT; id++) {
		if (is_gated(&hook_rows[id]))
			memcpy((char *)&real + hook_rows[id].real_offset, &entries[id],
			       sizeof(entries[id]));
	}
	sem_init(&caller.go, 0, 0);
	sem_init(&caller.done, 0, 0);
	ck_assert(!pthread_create(&caller.thread, NULL, caller_run, NULL));
}

static void finish(void)
{
	caller.hook = NULL;
	sem_post(&caller.go);
	ck_assert(!pthread_join(caller.thread, NULL));
	munmap((void *)(uintptr_t)ARGUMENTS_AT, ARGUMENTS_BYTES);
	rig_finish();
}

/* ---- the table ---------------------------------------------------------------------------------------- */

static void pause_all(bool paused)
{
	if (paused)
		atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_PAUSED);
	else
		atomic_fetch_and(&rig.grant->flags, ~SLUICE_GRANT_PAUSED);
	fake_gate_set(rig.session, 0, !paused);
	fake_grant_changed(rig.session, 0);
}

static void check_arguments(const struct driver_arguments *arguments)
{
	for (uint32_t i = 0; i < arguments->count; i++) {
		uintptr_t mask = ~(uintptr_t)0 >> (64 - 8 * arguments->bytes[i]);

		ck_assert_msg(!((called.argument[i] ^ ARGUMENT(i)) & mask),
			      "%s: argument %u is %#lx", arguments->symbol, i,
			      (unsigned long)called.argument[i]);
	}
}

static void check_entry(uint32_t id)
{
	const struct hook_row *row = &hook_rows[id];
	uint64_t launches = rig_launches();

	called.calls = 0;
	caller.hook = row->hook;
	pause_all(true);
	sem_post(&caller.go);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert_msg(!called.calls, "%s is not held", row->symbol);
	pause_all(false);
	sem_wait(&caller.done);
	ck_assert_msg(called.calls == 1, "%s: %u calls", row->symbol, called.calls);
	ck_assert_msg(called.id == id, "%s calls %s", row->symbol, hook_rows[called.id].symbol);
	ck_assert_msg(caller.result == answer_of(id), "%s answers %d", row->symbol, caller.result);
	ck_assert_msg(rig_launches() == launches + 1, "%s is not counted once", row->symbol);
	check_arguments(arguments_of(row->symbol));
}

START_TEST(each_is_held_by_a_pause_and_calls_its_own_entry_once)
{
	uint32_t checked = 0;

	for (uint32_t id = 0; id < HOOK_COUNT; id++) {
		if (!is_gated(&hook_rows[id]))
			continue;
		check_entry(id);
		checked++;
	}
	ck_assert_uint_gt(checked, 120);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_entries");
	TCase *tcase = tcase_create("entries");

	tcase_add_checked_fixture(tcase, start, finish);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, each_is_held_by_a_pause_and_calls_its_own_entry_once);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
