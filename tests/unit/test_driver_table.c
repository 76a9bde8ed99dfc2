/* SPDX-License-Identifier: Apache-2.0 */

/* The table of memory ranges, against a list that is looked through from end to end, and with
 * readers beside a writer. */

#include <check.h>
#include <errno.h>
#include <pthread.h>

#include "simgpu/driver/memory_table.h"

#define SLOTS 1500
#define STRIDE 0x10000ull
#define BASE 0x7000000000ull

static struct memory_node *live[SLOTS];

static struct memory_node *node_of(uint64_t base, uint64_t size, uint64_t id)
{
	struct memory_node *node = memory_table_new();

	ck_assert_ptr_nonnull(node);
	atomic_store(&node->base, base);
	atomic_store(&node->size, size);
	atomic_store(&node->buffer_id, id);
	atomic_store(&node->kind, SIM_DEVICE);
	atomic_store(&node->writable, true);
	return node;
}

static uint64_t base_of(int slot)
{
	return BASE + (uint64_t)slot * STRIDE;
}

static void add(int slot, uint64_t size)
{
	live[slot] = node_of(base_of(slot), size, (uint64_t)slot + 1);
	ck_assert_int_eq(memory_table_insert(live[slot]), 0);
}

static void drop(int slot)
{
	memory_table_remove(live[slot]);
	memory_table_recycle(live[slot]);
	live[slot] = NULL;
}

static void drop_all(void)
{
	for (int slot = 0; slot < SLOTS; slot++)
		if (live[slot])
			drop(slot);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* What the list says of an address. */
static void expect(uint64_t address)
{
	struct sim_range range;
	uint64_t low = 0, high = UINT64_MAX;
	bool writable = false, found = memory_table_find(address, &range, &writable);

	for (int slot = 0; slot < SLOTS; slot++) {
		uint64_t base, end;

		if (!live[slot])
			continue;
		base = base_of(slot);
		end = base + atomic_load(&live[slot]->size);
		if (address >= base && address < end) {
			ck_assert(found && writable);
			ck_assert_uint_eq(range.base, base);
			ck_assert_uint_eq(range.size, end - base);
			ck_assert_uint_eq(range.buffer_id, (uint64_t)slot + 1);
			return;
		}
		if (end <= address && end > low)
			low = end;
		if (base > address && base < high)
			high = base;
	}
	ck_assert(!found);
	ck_assert_int_eq(range.kind, SIM_PAGEABLE);
	ck_assert_uint_eq(range.base, low);
	ck_assert_uint_eq(range.size, high - low);
}

START_TEST(test_random)
{
	uint64_t seed = 11;

	expect(BASE);
	for (int step = 0; step < 12000; step++) {
		int slot = (int)(next_random(&seed) % SLOTS);

		/* Grows, then shrinks. */
		if (live[slot] && (step > 8000 || next_random(&seed) % 4 == 0))
			drop(slot);
		else if (!live[slot] && step < 9000)
			add(slot, 1 + next_random(&seed) % STRIDE);
		if (step % 8 == 0)
			expect(base_of((int)(next_random(&seed) % SLOTS)) +
			       next_random(&seed) % STRIDE);
		expect(base_of(slot));
	}
	drop_all();
	expect(BASE);
}
END_TEST

START_TEST(test_overlap_is_refused)
{
	struct memory_node *low, *inside;

	add(10, 0x1000);
	inside = node_of(base_of(10) + 0xfff, 1, 99);
	ck_assert_int_eq(memory_table_insert(inside), -EEXIST);
	low = node_of(base_of(10) - 16, 17, 98);
	ck_assert_int_eq(memory_table_insert(low), -EEXIST);
	atomic_store(&low->size, 16);
	ck_assert_int_eq(memory_table_insert(low), 0);
	ck_assert_ptr_eq(memory_table_next(0), low);
	ck_assert_ptr_eq(memory_table_next(base_of(10)), live[10]);
	ck_assert_ptr_null(memory_table_next(base_of(10) + 0x1000));
	memory_table_remove(low);
	memory_table_recycle(low);
	memory_table_recycle(inside);
	drop_all();
}
END_TEST

static _Atomic bool over;

/* Ranges with an even number stay; those with an odd one come and go, and are seen whole. */
static void *reader(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg, bad = 0;

	while (!atomic_load(&over)) {
		int slot = (int)(next_random(&seed) % 64);
		struct sim_range range;
		bool writable, found = memory_table_find(base_of(slot) + 5, &range, &writable);

		if (slot % 2 == 0 && !found)
			bad++;
		if (found && (range.base != base_of(slot) ||
			      range.buffer_id != (uint64_t)slot + 1 || range.size != 0x100))
			bad++;
	}
	return (void *)(uintptr_t)bad;
}

START_TEST(test_readers_beside_a_writer)
{
	pthread_t thread[3];
	uint64_t seed = 3;
	void *bad;

	atomic_store(&over, false);
	for (int slot = 0; slot < 64; slot += 2)
		add(slot, 0x100);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(
			pthread_create(&thread[i], NULL, reader, (void *)(uintptr_t)(i + 1)), 0);
	for (int step = 0; step < 30000; step++) {
		int slot = (int)(next_random(&seed) % 32) * 2 + 1;

		if (live[slot])
			drop(slot);
		else
			add(slot, 0x100);
	}
	atomic_store(&over, true);
	for (int i = 0; i < 3; i++) {
		pthread_join(thread[i], &bad);
		ck_assert_uint_eq((uintptr_t)bad, 0);
	}
	drop_all();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory table");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_random);
	tcase_add_test(tcase, test_overlap_is_refused);
	tcase_add_test(tcase, test_readers_beside_a_writer);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
