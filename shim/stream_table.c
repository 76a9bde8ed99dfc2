/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_table.h"

#define BUCKETS (STREAM_STATES * 2)
#define FILLED_MOST (BUCKETS / 4 * 3) /* never full: look-ups always end */

/* A state keeps its old buckets when it gets another name: nobody finds the old one there. Once too
 * many have been filled so, the other side is filled anew and takes over. */
static struct {
	struct futex_lock lock;
	_Atomic(struct stream_state *) bucket[2][BUCKETS];
	_Atomic uint32_t side;
	uint32_t filled; /* of the present side */
	_Atomic uint32_t used;
	struct stream_state state[STREAM_STATES];
} table;

static uint32_t bucket_of(const struct stream_name *name)
{
	uint64_t hash =
		(uintptr_t)name->key ^ (uintptr_t)name->context << 7 ^ (uint64_t)name->thread << 40;

	return (uint32_t)(hash * 0x9e3779b97f4a7c15ull >> 40) % BUCKETS;
}

static bool is_named(const struct stream_state *stream, const struct stream_name *name)
{
	return stream->handle == name->key && stream->thread == name->thread &&
	       (!name->context || stream->context == name->context);
}

struct stream_state *table_look_up(const struct stream_name *name)
{
	/* Pairs with the release in table_rebuild. */
	uint32_t side = atomic_load_explicit(&table.side, memory_order_acquire);
	uint32_t bucket = bucket_of(name);
	struct stream_state *stream;

	/* Pairs with the release in bucket_fill. */
	while ((stream = atomic_load_explicit(&table.bucket[side][bucket], memory_order_acquire))) {
		if (is_named(stream, name))
			return stream;
		bucket = (bucket + 1) % BUCKETS;
	}
	return NULL;
}

static void bucket_fill(uint32_t side, const struct stream_name *name, struct stream_state *stream)
{
	uint32_t bucket = bucket_of(name);

	while (atomic_load_explicit(&table.bucket[side][bucket], memory_order_relaxed))
		bucket = (bucket + 1) % BUCKETS;
	atomic_store_explicit(&table.bucket[side][bucket], stream, memory_order_release);
	table.filled++;
}

/* The name that `stream` has been found by, which leaves the context out for plain handles. */
static struct stream_name name_now(const struct stream_state *stream)
{
	bool is_default =
		stream->handle == CU_STREAM_LEGACY || stream->handle == CU_STREAM_PER_THREAD;

	return (struct stream_name){.key = stream->handle,
				    .context = is_default ? stream->context : NULL,
				    .thread = stream->thread};
}

static void table_rebuild(void)
{
	uint32_t other = !table.side;

	for (uint32_t i = 0; i < BUCKETS; i++)
		atomic_store_explicit(&table.bucket[other][i], NULL, memory_order_relaxed);
	table.filled = 0;
	for (uint32_t i = 0; i < table.used; i++) {
		struct stream_name name = name_now(&table.state[i]);

		if (name.key)
			bucket_fill(other, &name, &table.state[i]);
	}
	atomic_store_explicit(&table.side, other, memory_order_release);
}

void table_lock(void)
{
	futex_lock(&table.lock);
}

void table_unlock(void)
{
	futex_unlock(&table.lock);
}

struct stream_state *table_take(void)
{
	struct stream_state *stream = NULL;

	if (table.used < STREAM_STATES) {
		stream = &table.state[table.used];
		stream->marker = STREAM_NO_MARKER;
		return stream;
	}
	for (uint32_t i = 0; i < STREAM_STATES && !stream; i++) {
		if (!table.state[i].gate)
			stream = &table.state[i];
	}
	if (stream)
		stream->handle = NULL;
	return stream;
}

void table_publish(struct stream_state *stream, const struct stream_name *name)
{
	if (stream == &table.state[table.used])
		table.used++;
	stream->thread = name->thread;
	stream->handle = name->key;
	if (table.filled == FILLED_MOST)
		table_rebuild(); /* with this one in it */
	else
		bucket_fill(table.side, name, stream);
}

uint32_t table_count(void)
{
	return table.used;
}

struct stream_state *table_at(uint32_t index)
{
	return &table.state[index];
}

void table_forked(void)
{
	table.lock = (struct futex_lock){0};
	for (uint32_t i = 0; i < BUCKETS; i++)
		table.bucket[0][i] = table.bucket[1][i] = NULL;
	for (uint32_t i = 0; i < table.used; i++)
		table.state[i] = (struct stream_state){0};
	table.used = table.filled = table.side = 0;
}
