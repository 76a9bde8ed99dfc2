/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#define OFFERS_MAX 256u /* slow-path launches of one entry that wait for a sample */
#define ENOUGH 4u	/* clean samples after which an entry stops asking */

/* The estimate is a low quantile: a measured time holds queueing and other work on top of the
 * kernel's own, never less. Only where clean samples spread this far is the spread the kernel's. */
#define DISPERSED_PERCENT 200u
#define DISPERSED_FLOOR_NS 10000u

static uint32_t entry_id(struct predict_entry *entry)
{
	return (uint32_t)(atomic_load_explicit(&entry->info, memory_order_relaxed) >> 32) - 1;
}

static void entry_set(struct predict_entry *entry, uint32_t raw_ns)
{
	uint64_t id = atomic_load_explicit(&entry->info, memory_order_relaxed) >> 32;

	atomic_store_explicit(&entry->info, id << 32 | raw_ns, memory_order_relaxed);
}

static struct predict_entry *entry_spill(struct predict *predict, uint32_t guess_ns)
{
	atomic_store_explicit(&predict->spill.info, guess_ns, memory_order_relaxed);
	return &predict->spill;
}

/* Linear probing; under the lock, so that one tag gets one entry. */
struct predict_entry *predict_insert(struct predict *predict, uint64_t tag, uint32_t guess_ns)
{
	uint32_t index = tag >> 40 & (PREDICT_SLOTS - 1);
	struct predict_entry *entry = &predict->entry[index];
	uint64_t seen;

	while ((seen = atomic_load_explicit(&entry->tag, memory_order_acquire)) != 0) {
		if (seen == tag)
			return entry;
		index = (index + 1) & (PREDICT_SLOTS - 1);
		entry = &predict->entry[index];
	}
	futex_lock(&predict->lock);
	while ((seen = atomic_load_explicit(&entry->tag, memory_order_relaxed)) != 0 &&
	       seen != tag) {
		index = (index + 1) & (PREDICT_SLOTS - 1);
		entry = &predict->entry[index];
	}
	if (!seen && predict->used == PREDICT_STATS) {
		entry = entry_spill(predict, guess_ns);
	} else if (!seen) {
		uint64_t id = ++predict->used;

		atomic_store_explicit(&entry->info, id << 32 | guess_ns | PREDICT_WANT,
				      memory_order_relaxed);
		/* Pairs with the acquire in predict_find. */
		atomic_store_explicit(&entry->tag, tag, memory_order_release);
	}
	futex_unlock(&predict->lock);
	return entry;
}

uint64_t predict_graph_tag(const void *graph_exec)
{
	return predict_mix((uintptr_t)graph_exec, PREDICT_GRAPH, 0, 0);
}

static uint64_t bytes_per_us(enum predict_kind kind)
{
	switch (kind) {
	case PREDICT_MEMSET:
	case PREDICT_COPY_DEVICE: return 500000;
	default: return 20000;
	}
}

uint64_t predict_bytes_tag(enum predict_kind kind, uint64_t bytes, uint32_t *ret_guess_ns)
{
	uint64_t class = bytes, guess_ns = 2000 + bytes * 1000 / bytes_per_us(kind);

	if (bytes >= 8) {
		unsigned int shift = 61u - (unsigned int)__builtin_clzll(bytes);

		class = (bytes >> shift) | (uint64_t)shift << 32;
	}
	*ret_guess_ns = guess_ns > PREDICT_MAX_NS ? PREDICT_MAX_NS : (uint32_t)guess_ns;
	return predict_mix(0, (uint64_t)kind, class, 1);
}

bool predict_offer(struct predict *predict, struct predict_entry *entry)
{
	struct predict_stat *stat;
	bool take = false;

	if (entry == &predict->spill || !(predict_raw_ns(entry) & PREDICT_WANT))
		return false;
	futex_lock(&predict->lock);
	stat = &predict->stat[entry_id(entry)];
	take = stat->offered++ > 0;
	if (stat->offered > OFFERS_MAX)
		entry_set(entry, predict_cost_ns(entry));
	futex_unlock(&predict->lock);
	return take;
}

bool predict_is_known(struct predict *predict, struct predict_entry *entry)
{
	bool known;

	if (entry == &predict->spill)
		return false;
	futex_lock(&predict->lock);
	known = predict->stat[entry_id(entry)].taken > 0;
	futex_unlock(&predict->lock);
	return known;
}

static void sort(uint32_t *value, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		uint32_t v = value[i], j = i;

		for (; j > 0 && value[j - 1] > v; j--)
			value[j] = value[j - 1];
		value[j] = v;
	}
}

static uint32_t stat_estimate(struct predict_stat *stat)
{
	uint32_t count = stat->taken < PREDICT_SAMPLES ? stat->taken : PREDICT_SAMPLES;
	uint32_t sorted[PREDICT_SAMPLES] = {0}, low_ns, high_ns;

	for (uint32_t i = 0; i < count; i++)
		sorted[i] = stat->sample_ns[i];
	sort(sorted, count);
	/* Of samples that met other work only the least says something of the kernel. */
	low_ns = stat->clean ? sorted[count / 4] : sorted[0];
	high_ns = sorted[count - 1 - count / PREDICT_SAMPLES];
	stat->dispersed = stat->clean && count >= ENOUGH &&
			  high_ns > (uint64_t)low_ns * DISPERSED_PERCENT / 100 + DISPERSED_FLOOR_NS;
	return stat->dispersed ? high_ns : low_ns;
}

void predict_sample(struct predict *predict, struct predict_entry *entry, uint64_t took_ns,
		    bool clean)
{
	struct predict_stat *stat;
	uint32_t ns = took_ns > PREDICT_MAX_NS ? PREDICT_MAX_NS : took_ns ? (uint32_t)took_ns : 1;
	uint32_t raw_ns;

	if (entry == &predict->spill)
		return;
	futex_lock(&predict->lock);
	stat = &predict->stat[entry_id(entry)];
	if (clean && !stat->clean) {
		stat->taken = 0;
		stat->clean = true;
	}
	if (clean == stat->clean) {
		stat->sample_ns[stat->taken++ % PREDICT_SAMPLES] = ns;
		/* The ring's phase is all that matters of a count near its end. */
		if (stat->taken > UINT32_MAX / 2)
			stat->taken -= UINT32_MAX / 4 / PREDICT_SAMPLES * PREDICT_SAMPLES;
		raw_ns = stat_estimate(stat);
		if (stat->taken < ENOUGH && stat->offered <= OFFERS_MAX)
			raw_ns |= PREDICT_WANT;
		entry_set(entry, raw_ns);
	}
	futex_unlock(&predict->lock);
}

void predict_forget(struct predict *predict, uint64_t tag, uint32_t guess_ns)
{
	struct predict_entry *entry = predict_insert(predict, tag, guess_ns);

	if (entry == &predict->spill)
		return;
	futex_lock(&predict->lock);
	predict->stat[entry_id(entry)] = (struct predict_stat){0};
	entry_set(entry, guess_ns | PREDICT_WANT);
	futex_unlock(&predict->lock);
}
