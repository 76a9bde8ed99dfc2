/* SPDX-License-Identifier: Apache-2.0 */
/* The address table against an oracle: a plain array that is searched from end to end. */
#include "addrtable.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <stddef.h>

#define KEYS 3000

static struct addrtable table;

static uint64_t seed = 20240611;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct oracle {
	uint64_t key, value;
	bool present;
};

static struct oracle oracle[KEYS];

/* Addresses as drivers give them, handles that count up, and noise. */
static void oracle_keys(void)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		uint64_t key = i % 3 == 0   ? 0x7f0000000000 + i * 0x200000ull
			       : i % 3 == 1 ? i + 1
					    : draw() | 1ull << 63;

		oracle[i] = (struct oracle){.key = key};
	}
}

static void step(struct oracle *entry)
{
	uint64_t value = 0;

	switch (draw() % 5) {
	case 0:
	case 1:
		entry->value = draw();
		entry->present = true;
		ck_assert_int_eq(addrtable_put(&table, entry->key, entry->value), 0);
		break;
	case 2:
		ck_assert_int_eq(addrtable_take(&table, entry->key, &value), entry->present);
		if (entry->present)
			ck_assert_uint_eq(value, entry->value);
		entry->present = false;
		break;
	case 3:
		ck_assert_int_eq(addrtable_add(&table, entry->key, 17), entry->present);
		entry->value += 17;
		break;
	default:
		ck_assert_int_eq(addrtable_find(&table, entry->key, &value), entry->present);
		if (entry->present)
			ck_assert_uint_eq(value, entry->value);
		break;
	}
}

static void check_all(void)
{
	for (unsigned int i = 0; i < KEYS; i++) {
		uint64_t value = 0;

		ck_assert_int_eq(addrtable_find(&table, oracle[i].key, &value), oracle[i].present);
		if (oracle[i].present)
			ck_assert_uint_eq(value, oracle[i].value);
	}
}

START_TEST(random_steps_agree_with_the_oracle)
{
	oracle_keys();
	for (unsigned int round = 0; round < 40; round++) {
		/* Few keys fill and empty the same chains, many make it grow. */
		unsigned int keys = round % 2 ? KEYS : 40;

		for (unsigned int i = 0; i < 10000; i++)
			step(&oracle[draw() % keys]);
		check_all();
	}
	addrtable_reset(&table);
}
END_TEST

START_TEST(key_zero_is_no_key)
{
	uint64_t value = 5;

	ck_assert_int_eq(addrtable_put(&table, 0, 1), -EINVAL);
	ck_assert(!addrtable_find(&table, 0, &value));
	ck_assert_int_eq(addrtable_put(&table, 1, 0), 0);
	ck_assert(!addrtable_take(&table, 0, &value));
	ck_assert_uint_eq(value, 5);
	addrtable_reset(&table);
}
END_TEST

START_TEST(what_is_replaced_is_told)
{
	uint64_t old = 7;

	ck_assert_int_eq(addrtable_replace(&table, 5, 1, &old), 0);
	ck_assert_uint_eq(old, 0);
	ck_assert_int_eq(addrtable_replace(&table, 5, 2, &old), 0);
	ck_assert_uint_eq(old, 1);
	ck_assert(addrtable_take(&table, 5, &old));
	ck_assert_uint_eq(old, 2);
	addrtable_reset(&table);
}
END_TEST

START_TEST(the_last_reference_takes_the_entry_out)
{
	const uint64_t mask = 0xffffff;
	uint64_t value;

	ck_assert_int_eq(addrtable_put(&table, 77, 5ull << 32 | 2), 0);
	ck_assert(addrtable_unref(&table, 77, mask, &value));
	ck_assert_uint_eq(value, 5ull << 32 | 1);
	ck_assert(addrtable_find(&table, 77, &value));
	ck_assert(addrtable_unref(&table, 77, mask, &value));
	ck_assert_uint_eq(value, 5ull << 32);
	ck_assert(!addrtable_find(&table, 77, &value));
	ck_assert(!addrtable_unref(&table, 77, mask, &value));
	addrtable_reset(&table);
}
END_TEST

/* Of a shard that was growing, the child may see the new size with the old storage. */
START_TEST(a_child_of_fork_leaves_what_it_cannot_trust)
{
	uint64_t value;
	char *pages;
	size_t half;

	ck_assert_int_eq(addrtable_put(&table, 1, 1), 0);
	half = sizeof(struct addr_entry) * 256;
	pages = mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(pages, MAP_FAILED);
	for (unsigned int i = 0; i < ADDRTABLE_SHARDS; i++) {
		table.shard[i].entry = (struct addr_entry *)pages;
		table.shard[i].capacity = 512;
		table.shard[i].lock.state = 1;
	}
	addrtable_forget(&table);
	pages[2 * half - 1] = 1;
	ck_assert(!addrtable_find(&table, 1, &value));
	ck_assert_int_eq(addrtable_put(&table, 1, 2), 0);
	munmap(pages, 2 * half);
	addrtable_reset(&table);
}
END_TEST

static bool is_odd(uint64_t key, uint64_t value, void *context)
{
	*(uint64_t *)context += value & 1;
	return value & 1;
}

START_TEST(a_sweep_takes_what_it_is_told_to)
{
	uint64_t dropped = 0, value;

	for (uint64_t key = 1; key <= 5000; key++)
		ck_assert_int_eq(addrtable_put(&table, key * 512, key), 0);
	addrtable_sweep(&table, is_odd, &dropped);
	ck_assert_uint_eq(dropped, 2500);
	for (uint64_t key = 1; key <= 5000; key++)
		ck_assert_int_eq(addrtable_find(&table, key * 512, &value), key % 2 == 0);
	dropped = 0;
	addrtable_sweep(&table, is_odd, &dropped);
	ck_assert_uint_eq(dropped, 0);
	addrtable_reset(&table);
}
END_TEST

#define THREADS 4

/* Each thread has keys of its own between the others': shards are shared, entries are not. */
static void *churn(void *argument)
{
	uint64_t self = (uintptr_t)argument;
	uintptr_t wrong = 0;

	for (uint64_t round = 0; round < 40; round++) {
		for (uint64_t i = 0; i < 500; i++)
			wrong += addrtable_put(&table, 1 + i * THREADS + self, round + i) != 0;
		for (uint64_t i = 0; i < 500; i++) {
			uint64_t value = 0;

			wrong += !addrtable_take(&table, 1 + i * THREADS + self, &value);
			wrong += value != round + i;
		}
	}
	return (void *)wrong;
}

START_TEST(threads_do_not_lose_entries)
{
	pthread_t thread[THREADS];
	uint64_t dropped = 0;
	void *wrong;

	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, churn, (void *)i), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(thread[i], &wrong), 0);
		ck_assert_ptr_null(wrong);
	}
	for (unsigned int i = 0; i < ADDRTABLE_SHARDS; i++)
		dropped += table.shard[i].count;
	ck_assert_uint_eq(dropped, 0);
	addrtable_reset(&table);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_addrtable");
	TCase *tcase = tcase_create("addrtable");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, random_steps_agree_with_the_oracle);
	tcase_add_test(tcase, key_zero_is_no_key);
	tcase_add_test(tcase, what_is_replaced_is_told);
	tcase_add_test(tcase, the_last_reference_takes_the_entry_out);
	tcase_add_test(tcase, a_child_of_fork_leaves_what_it_cannot_trust);
	tcase_add_test(tcase, a_sweep_takes_what_it_is_told_to);
	tcase_add_test(tcase, threads_do_not_lose_entries);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
