/* SPDX-License-Identifier: Apache-2.0 */
#include "addrtable.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

#define FIRST_CAPACITY 256u /* one page */

/* Fibonacci hashing: the high bits are the well mixed ones. The shard is the highest four, the
 * slot the bits that follow. */
static inline uint64_t mix(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull;
}

static inline struct addr_shard *shard_of(struct addrtable *table, uint64_t key)
{
	return &table->shard[mix(key) >> (64 - ADDRTABLE_SHARD_BITS)];
}

static inline uint32_t home_of(uint64_t key, uint32_t capacity)
{
	return (uint32_t)(mix(key) << ADDRTABLE_SHARD_BITS >> 32) >> (32 - __builtin_ctz(capacity));
}

/* The key's slot, or the free one where it belongs. There is always a free one. */
static uint32_t slot_of(const struct addr_shard *shard, uint64_t key)
{
	uint32_t mask = shard->capacity - 1;
	uint32_t slot = home_of(key, shard->capacity);

	while (shard->entry[slot].key && shard->entry[slot].key != key)
		slot = (slot + 1) & mask;
	return slot;
}

static struct addr_entry *storage_map(uint32_t capacity)
{
	int saved = errno;
	/* Touched at once: cheaper than a fault for each page later, one alloc call at a time. */
	void *storage = mmap(NULL, capacity * sizeof(struct addr_entry), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	errno = saved;
	return storage == MAP_FAILED ? NULL : storage;
}

static void storage_unmap(struct addr_entry *entry, uint32_t capacity)
{
	int saved = errno;

	if (entry)
		munmap(entry, capacity * sizeof(*entry));
	errno = saved;
}

static int shard_grow(struct addr_shard *shard)
{
	struct addr_shard old = {.capacity = shard->capacity, .entry = shard->entry};
	uint32_t capacity = old.capacity ? old.capacity * 2 : FIRST_CAPACITY;
	struct addr_entry *entry = capacity ? storage_map(capacity) : NULL;

	if (!entry)
		return -ENOMEM;
	shard->entry = entry;
	shard->capacity = capacity;
	for (uint32_t i = 0; i < old.capacity; i++)
		if (old.entry[i].key)
			shard->entry[slot_of(shard, old.entry[i].key)] = old.entry[i];
	storage_unmap(old.entry, old.capacity);
	return 0;
}

static int shard_put(struct addr_shard *shard, uint64_t key, uint64_t value, uint64_t *ret_old)
{
	uint32_t slot;

	*ret_old = 0;

	/* At most half full: each step beyond the first slot is a branch mispredicted, in the
	 * search and in closing the gap. */
	if (shard->count + 1 > shard->capacity / 2 && shard_grow(shard) &&
	    shard->count + 1 >= shard->capacity)
		return -ENOMEM;
	slot = slot_of(shard, key);
	if (shard->entry[slot].key)
		*ret_old = shard->entry[slot].value;
	else
		shard->count++;
	shard->entry[slot] = (struct addr_entry){.key = key, .value = value};
	return 0;
}

/* Closes the gap: each follower that may stand at the gap moves there, and leaves a gap. */
static void shard_remove(struct addr_shard *shard, uint32_t gap)
{
	uint32_t mask = shard->capacity - 1;

	for (uint32_t slot = (gap + 1) & mask; shard->entry[slot].key; slot = (slot + 1) & mask) {
		uint32_t home = home_of(shard->entry[slot].key, shard->capacity);

		/* Its way from home to slot leads over the gap. */
		if (((slot - home) & mask) >= ((slot - gap) & mask)) {
			shard->entry[gap] = shard->entry[slot];
			gap = slot;
		}
	}
	shard->entry[gap].key = 0;
	shard->count--;
}

/* NULL: not there. With the lock. */
static struct addr_entry *shard_find(struct addr_shard *shard, uint64_t key)
{
	struct addr_entry *entry;

	if (!shard->count || !key)
		return NULL;
	entry = &shard->entry[slot_of(shard, key)];
	return entry->key ? entry : NULL;
}

int addrtable_replace(struct addrtable *table, uint64_t key, uint64_t value, uint64_t *ret_old)
{
	struct addr_shard *shard = shard_of(table, key);
	int error;

	if (!key)
		return -EINVAL;
	futex_lock(&shard->lock);
	error = shard_put(shard, key, value, ret_old);
	futex_unlock(&shard->lock);
	return error;
}

int addrtable_put(struct addrtable *table, uint64_t key, uint64_t value)
{
	uint64_t old;

	return addrtable_replace(table, key, value, &old);
}

bool addrtable_find(struct addrtable *table, uint64_t key, uint64_t *ret_value)
{
	struct addr_shard *shard = shard_of(table, key);
	struct addr_entry *entry;

	futex_lock(&shard->lock);
	entry = shard_find(shard, key);
	if (entry)
		*ret_value = entry->value;
	futex_unlock(&shard->lock);
	return entry != NULL;
}

bool addrtable_take(struct addrtable *table, uint64_t key, uint64_t *ret_value)
{
	struct addr_shard *shard = shard_of(table, key);
	struct addr_entry *entry;

	futex_lock(&shard->lock);
	entry = shard_find(shard, key);
	if (entry) {
		*ret_value = entry->value;
		shard_remove(shard, (uint32_t)(entry - shard->entry));
	}
	futex_unlock(&shard->lock);
	return entry != NULL;
}

bool addrtable_add(struct addrtable *table, uint64_t key, uint64_t delta)
{
	struct addr_shard *shard = shard_of(table, key);
	struct addr_entry *entry;

	futex_lock(&shard->lock);
	entry = shard_find(shard, key);
	if (entry)
		entry->value += delta;
	futex_unlock(&shard->lock);
	return entry != NULL;
}

bool addrtable_unref(struct addrtable *table, uint64_t key, uint64_t mask, uint64_t *ret_value)
{
	struct addr_shard *shard = shard_of(table, key);
	struct addr_entry *entry;

	futex_lock(&shard->lock);
	entry = shard_find(shard, key);
	if (entry) {
		*ret_value = entry->value -= mask & -mask;
		if (!(entry->value & mask))
			shard_remove(shard, (uint32_t)(entry - shard->entry));
	}
	futex_unlock(&shard->lock);
	return entry != NULL;
}

static void shard_sweep(struct addr_shard *shard, bool (*drop)(uint64_t, uint64_t, void *),
			void *context)
{
	/* A removal may pull another entry into the slot, which is then looked at as well. */
	for (uint32_t slot = 0; slot < shard->capacity;) {
		const struct addr_entry *entry = &shard->entry[slot];

		if (entry->key && drop(entry->key, entry->value, context))
			shard_remove(shard, slot);
		else
			slot++;
	}
}

void addrtable_sweep(struct addrtable *table,
		     bool (*drop)(uint64_t key, uint64_t value, void *context), void *context)
{
	for (unsigned int i = 0; i < ADDRTABLE_SHARDS; i++) {
		struct addr_shard *shard = &table->shard[i];

		futex_lock(&shard->lock);
		shard_sweep(shard, drop, context);
		futex_unlock(&shard->lock);
	}
}

void addrtable_forget(struct addrtable *table)
{
	*table = (struct addrtable){0};
}

void addrtable_reset(struct addrtable *table)
{
	for (unsigned int i = 0; i < ADDRTABLE_SHARDS; i++) {
		storage_unmap(table->shard[i].entry, table->shard[i].capacity);
		table->shard[i] = (struct addr_shard){0};
	}
}
