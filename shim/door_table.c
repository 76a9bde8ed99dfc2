/* SPDX-License-Identifier: Apache-2.0 */
#include "door_table.h"

#include "door_string.h"
#include "real.h"

#include <stdatomic.h>

#define SLOTS 1024u
_Static_assert(HOOK_COUNT * 2 < SLOTS, "half empty");

/* Entries that the header calls deprecated are hooked all the same. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

const struct hook_row hook_rows[HOOK_COUNT] = {
#define HOOK(symbol, base, version, class) \
	{#symbol,      #base,	       version, \
	 HOOK_##class, (void *)symbol, offsetof(struct real_table, symbol)},
#include "hooks.def"
};

/* Symbol name -> row number + 1. Filled once by whoever comes first; the others search by hand
 * meanwhile, since nobody may wait inside a look-up. */
static uint16_t slot[SLOTS];
static _Atomic int slots_state; /* 0 empty, 1 being filled, 2 ready (release) */

static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		hash = (hash ^ *c) * 16777619u;
	return hash;
}

static int slots_fill(void)
{
	int empty = 0;

	if (!atomic_compare_exchange_strong(&slots_state, &empty, 1))
		return empty == 2;
	for (unsigned int row = 0; row < HOOK_COUNT; row++) {
		uint32_t i = name_hash(hook_rows[row].symbol) % SLOTS;

		while (slot[i])
			i = (i + 1) % SLOTS;
		slot[i] = (uint16_t)(row + 1);
	}
	atomic_store_explicit(&slots_state, 2, memory_order_release);
	return 1;
}

static const struct hook_row *search_rows(const char *symbol)
{
	for (unsigned int row = 0; row < HOOK_COUNT; row++)
		if (string_is(hook_rows[row].symbol, symbol))
			return &hook_rows[row];
	return NULL;
}

const struct hook_row *hook_by_symbol(const char *symbol)
{
	if (symbol[0] != 'c' || symbol[1] != 'u')
		return NULL;
	if (atomic_load_explicit(&slots_state, memory_order_acquire) != 2 && !slots_fill())
		return search_rows(symbol);
	for (uint32_t i = name_hash(symbol) % SLOTS; slot[i]; i = (i + 1) % SLOTS)
		if (string_is(hook_rows[slot[i] - 1].symbol, symbol))
			return &hook_rows[slot[i] - 1];
	return NULL;
}

void *hook_real(const struct hook_row *row)
{
	void *entry;

	__builtin_memcpy(&entry, (const char *)&real + row->real_offset, sizeof(entry));
	return entry;
}

static bool is_per_thread(const struct hook_row *row)
{
	return string_ends(row->symbol, "_ptsz") || string_ends(row->symbol, "_ptds");
}

/* Higher is better; 0: another base. A row newer than what was asked for is the last resort. */
static int row_fit(const struct hook_row *row, const char *base, int version, uint64_t flags)
{
	bool wants_per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;

	if (!string_is(row->base, base))
		return 0;
	if (is_per_thread(row) && !wants_per_thread)
		return 0;
	if (row->version > version)
		return 1;
	return 1 + row->version + (is_per_thread(row) ? 100000 : 0);
}

void *hook_for_answer(void *address, const char *base, int version, uint64_t flags)
{
	const struct hook_row *same = NULL, *named = NULL;
	int same_fit = -1, named_fit = 1;

	for (const struct hook_row *row = hook_rows; row < hook_rows + HOOK_COUNT; row++) {
		int fit = row_fit(row, base, version, flags);

		if (hook_real(row) == address && fit > same_fit) {
			same = row;
			same_fit = fit;
		}
		if (fit > named_fit) {
			named = row;
			named_fit = fit;
		}
	}
	if (same)
		return same->hook;
	if (named && version <= CUDA_VERSION && hook_real(named) != (void *)real_missing)
		return named->hook;
	return address;
}
