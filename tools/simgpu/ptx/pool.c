/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/pool.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define POOL_ALIGN 64u
#define POOL_CHUNK 65536u

struct pool_chunk {
	struct pool_chunk *next;
	size_t size, used;
};

struct names_slot {
	const char *text;
	uint32_t length, scope, hash, value;
};

static struct pool_chunk *chunk_new(struct pool *pool, size_t need)
{
	size_t size = need + POOL_ALIGN > POOL_CHUNK ? need + POOL_ALIGN : POOL_CHUNK;
	struct pool_chunk *chunk;

	size = (size + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
	chunk = aligned_alloc(POOL_ALIGN, size);
	if (!chunk)
		return NULL;
	memset(chunk, 0, size);
	chunk->size = size;
	chunk->used = POOL_ALIGN;
	chunk->next = pool->chunk;
	pool->chunk = chunk;
	return chunk;
}

void *pool_alloc(struct pool *pool, size_t size)
{
	struct pool_chunk *chunk = pool->chunk;
	size_t need = (size + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
	void *memory;

	if (need < size)
		return NULL;
	if (!chunk || chunk->size - chunk->used < need)
		chunk = chunk_new(pool, need);
	if (!chunk)
		return NULL;
	memory = (char *)chunk + chunk->used;
	chunk->used += need;
	return memory;
}

void *pool_copy(struct pool *pool, const void *data, size_t size)
{
	void *memory = pool_alloc(pool, size);

	if (memory && size)
		memcpy(memory, data, size);
	return memory;
}

char *pool_string(struct pool *pool, const char *text, size_t length)
{
	char *memory = pool_alloc(pool, length + 1);

	if (memory)
		memcpy(memory, text, length);
	return memory;
}

void pool_free(struct pool *pool)
{
	while (pool->chunk) {
		struct pool_chunk *chunk = pool->chunk;

		pool->chunk = chunk->next;
		free(chunk);
	}
}

void *grow_one(void **items, uint32_t *count, uint32_t *capacity, size_t size)
{
	char *item;

	if (*count == *capacity) {
		uint32_t more = *capacity ? *capacity * 2 : 16;
		void *bigger = more > *capacity ? realloc(*items, more * size) : NULL;

		if (!bigger)
			return NULL;
		*items = bigger;
		*capacity = more;
	}
	item = (char *)*items + (size_t)(*count)++ * size;
	memset(item, 0, size);
	return item;
}

static uint32_t name_hash(const char *text, uint32_t length, uint32_t scope)
{
	uint32_t hash = 2166136261u ^ scope;

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return hash ^ hash >> 15;
}

static struct names_slot *name_find(const struct names *names, const char *text, uint32_t length,
				    uint32_t scope, uint32_t hash)
{
	for (uint32_t i = hash;; i++) {
		struct names_slot *slot = &names->slot[i & (names->capacity - 1)];

		if (!slot->text)
			return slot;
		if (slot->hash == hash && slot->scope == scope && slot->length == length &&
		    !memcmp(slot->text, text, length))
			return slot;
	}
}

static int names_grow(struct names *names)
{
	struct names bigger = {.capacity = names->capacity ? names->capacity * 2 : 64};

	bigger.slot = calloc(bigger.capacity, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->capacity; i++) {
		struct names_slot *old = &names->slot[i];

		if (old->text)
			*name_find(&bigger, old->text, old->length, old->scope, old->hash) = *old;
	}
	bigger.used = names->used;
	free(names->slot);
	*names = bigger;
	return 0;
}

int names_put(struct names *names, const char *text, uint32_t length, uint32_t scope,
	      uint32_t value)
{
	uint32_t hash = name_hash(text, length, scope);
	struct names_slot *slot;

	if (names->used * 2 >= names->capacity && names_grow(names))
		return -ENOMEM;
	slot = name_find(names, text, length, scope, hash);
	names->used += !slot->text;
	*slot = (struct names_slot){text, length, scope, hash, value};
	return 0;
}

uint32_t names_get(const struct names *names, const char *text, uint32_t length, uint32_t scope)
{
	struct names_slot *slot;

	if (!names->capacity)
		return UINT32_MAX;
	slot = name_find(names, text, length, scope, name_hash(text, length, scope));
	return slot->text ? slot->value : UINT32_MAX;
}

void names_free(struct names *names)
{
	free(names->slot);
	*names = (struct names){0};
}
