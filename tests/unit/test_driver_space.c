/* SPDX-License-Identifier: Apache-2.0 */

/* The buddy system behind device addresses: blocks never overlap, and all comes together again. */

#include <check.h>
#include <errno.h>

#include "simgpu/driver/space.h"

#define BASE 0x10000000000ull
#define ORDER 30

START_TEST(test_aligned_and_apart)
{
	struct space space;
	uint64_t one, other;

	ck_assert_int_eq(space_init(&space, BASE, 9, ORDER), 0);
	ck_assert_int_eq(space_take(&space, 1, &one), 0);
	ck_assert_int_eq(space_take(&space, 513, &other), 0);
	ck_assert_uint_eq(one % 512, 0);
	ck_assert_uint_eq(other % 1024, 0);
	ck_assert(one + 512 <= other || other + 1024 <= one);
	ck_assert_int_eq(space_give(&space, one, 1), 0);
	ck_assert_int_eq(space_give(&space, other, 513), 0);
	/* Only a span that is whole again has a block of its own size. */
	ck_assert_int_eq(space_take(&space, 1ull << ORDER, &one), 0);
	ck_assert_uint_eq(one, BASE);
	ck_assert_int_eq(space_take(&space, 1, &other), -ENOMEM);
	space_finish(&space);
}
END_TEST

START_TEST(test_too_large)
{
	struct space space;
	uint64_t base;

	ck_assert_int_eq(space_init(&space, BASE, 9, ORDER), 0);
	ck_assert_int_eq(space_take(&space, (1ull << ORDER) + 1, &base), -ENOMEM);
	ck_assert_int_eq(space_take(&space, UINT64_MAX, &base), -ENOMEM);
	space_finish(&space);
}
END_TEST

struct live {
	uint64_t base, bytes;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

START_TEST(test_random)
{
	enum { SLOTS = 200 };
	static struct live live[SLOTS];
	struct space space;
	uint64_t seed = 7, whole;

	ck_assert_int_eq(space_init(&space, BASE, 9, ORDER), 0);
	for (int step = 0; step < 20000; step++) {
		struct live *slot = &live[next_random(&seed) % SLOTS];

		if (slot->bytes) {
			ck_assert_int_eq(space_give(&space, slot->base, slot->bytes), 0);
			slot->bytes = 0;
			continue;
		}
		slot->bytes = 1 + next_random(&seed) % (1u << (next_random(&seed) % 22));
		if (space_take(&space, slot->bytes, &slot->base)) {
			slot->bytes = 0;
			continue;
		}
		ck_assert_uint_ge(slot->base, BASE);
		ck_assert_uint_le(slot->base + slot->bytes, BASE + (1ull << ORDER));
		for (int i = 0; i < SLOTS; i++)
			if (&live[i] != slot && live[i].bytes)
				ck_assert(live[i].base + live[i].bytes <= slot->base ||
					  slot->base + slot->bytes <= live[i].base);
	}
	for (int i = 0; i < SLOTS; i++)
		if (live[i].bytes)
			ck_assert_int_eq(space_give(&space, live[i].base, live[i].bytes), 0);
	ck_assert_int_eq(space_take(&space, 1ull << ORDER, &whole), 0);
	space_finish(&space);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("space");
	TCase *tcase = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, test_aligned_and_apart);
	tcase_add_test(tcase, test_too_large);
	tcase_add_test(tcase, test_random);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
