/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_ADDRTABLE_H
#define SHIM_ADDRTABLE_H

/*
 * A map of 64-bit keys (device addresses, handles) to 64-bit values, for hooks: no malloc, no
 * tombstones, no assumption about how addresses are spread. Linear probing in shards, each with a
 * lock and storage of its own from mmap, which grows and never shrinks.
 *
 * Key 0 is no key. Zero-filled is empty and ready. Any thread; calls are atomic per key. Keeps
 * errno.
 */

#include <stdbool.h>
#include <stdint.h>

#include "futex.h"

#define ADDRTABLE_SHARD_BITS 4
#define ADDRTABLE_SHARDS (1u << ADDRTABLE_SHARD_BITS)

struct addr_entry {
	uint64_t key; /* 0: free */
	uint64_t value;
};

struct addr_shard {
	_Alignas(64) struct futex_lock lock;
	uint32_t capacity; /* a power of two; 0: no storage yet */
	uint32_t count;
	struct addr_entry *entry;
};

struct addrtable {
	struct addr_shard shard[ADDRTABLE_SHARDS];
};

/* Puts the key in, over what it had. 0, -EINVAL for key 0, -ENOMEM. */
int addrtable_put(struct addrtable *table, uint64_t key, uint64_t value);

/* The same, and says what it had; 0: nothing. */
int addrtable_replace(struct addrtable *table, uint64_t key, uint64_t value, uint64_t *ret_old);

/* false: not there, *ret_value is unchanged. */
bool addrtable_find(struct addrtable *table, uint64_t key, uint64_t *ret_value);
bool addrtable_take(struct addrtable *table, uint64_t key, uint64_t *ret_value);

/* Adds to the value; false: not there. */
bool addrtable_add(struct addrtable *table, uint64_t key, uint64_t delta);

/* For values that count references in the bits of `mask`: takes one, and the whole entry out with
 * the last. *ret_value is the value after that. false: not there. */
bool addrtable_unref(struct addrtable *table, uint64_t key, uint64_t mask, uint64_t *ret_value);

/* Takes out every entry for which `drop` says so. It runs under a shard's lock and must not use
 * the table. */
void addrtable_sweep(struct addrtable *table,
		     bool (*drop)(uint64_t key, uint64_t value, void *context), void *context);

/* In a child of fork: empty, whoever held its locks. The storage stays where it is, since a thread
 * may have been about to change it. */
void addrtable_forget(struct addrtable *table);

/* Empties the table without its locks: at the end of a test. */
void addrtable_reset(struct addrtable *table);

#endif
