/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_POOL_H
#define SIMGPU_PTX_POOL_H

/*
 * Memory that is freed all at once, arrays that grow, and a map from (name, scope) to a number.
 * No locks: one thread at a time. NULL or -ENOMEM when the host has none left.
 */

#include <stddef.h>
#include <stdint.h>

struct pool_chunk;
struct pool {
	struct pool_chunk *chunk; /* newest first */
};

void *pool_alloc(struct pool *pool, size_t size); /* zeroed, 64-byte aligned */
void *pool_copy(struct pool *pool, const void *data, size_t size);
char *pool_string(struct pool *pool, const char *text, size_t length);
void pool_free(struct pool *pool);

/* Room for one more item in *items; returns it zeroed, *count raised. */
void *grow_one(void **items, uint32_t *count, uint32_t *capacity, size_t size);
#define GROW(array, count, capacity) \
	((__typeof__(array))grow_one((void **)&(array), &(count), &(capacity), sizeof(*(array))))

struct names_slot;
struct names {
	struct names_slot *slot;
	uint32_t used, capacity;
};

/* `text` is borrowed and must stay. A second put of one name in one scope overwrites. */
int names_put(struct names *names, const char *text, uint32_t length, uint32_t scope,
	      uint32_t value);
/* UINT32_MAX: not there. */
uint32_t names_get(const struct names *names, const char *text, uint32_t length, uint32_t scope);
void names_free(struct names *names);

#endif
