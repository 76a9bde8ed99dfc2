/* SPDX-License-Identifier: Apache-2.0 */
#include "predict.h"

#include "known.h"

#include <string.h>

#define OFFERS_MAX 256u	     /* slow-path launches of one entry that wait for a sample */
#define DEPTH_MAX 2u	     /* splits one below the other */
#define GATE_SLACK_NS 50000u /* by which a gate may be wrong about one launch */
#define SCALARS_ASKED (1ull << 63)

/* ---- entries ------------------------------------------------------------------------------------ */

void predict_publish(struct predict_entry *entry, const struct predict_stat *stat)
{
	const struct estimate *estimate = &stat->estimate;
	uint64_t id = atomic_load_explicit(&entry->info, memory_order_relaxed) >> 32;
	uint32_t raw_ns = estimate->cost_ns;

	if (estimate->asks || stat->split || estimate->high_ns - estimate->cost_ns > GATE_SLACK_NS)
		raw_ns |= PREDICT_LOOK;
	atomic_store_explicit(&entry->info, id << 32 | raw_ns, memory_order_relaxed);
}

/* Linear probing: the tag's entry, or the first free one. At most half of them are used. */
static struct predict_entry *entry_look(struct predict *predict, uint64_t tag, bool *ret_found)
{
	struct predict_entry *entry = predict_home(predict, tag);
	uint64_t seen;

	while ((seen = atomic_load_explicit(&entry->tag, memory_order_acquire)) != 0 && seen != tag)
		entry = &predict->entry[(uint32_t)(entry - predict->entry + 1) &
					(PREDICT_SLOTS - 1)];
	*ret_found = seen != 0;
	return entry;
}

/* With the lock. NULL: no room. */
static struct predict_stat *entry_make(struct predict *predict, struct predict_entry *entry,
				       uint64_t tag, uint32_t guess_ns)
{
	struct predict_stat *stat;

	if (predict->used == PREDICT_STATS)
		return NULL;
	stat = &predict->stat[predict->used];
	atomic_store_explicit(&entry->info, (uint64_t)++predict->used << 32, memory_order_relaxed);
	estimate_reset(&stat->estimate, guess_ns);
	predict_publish(entry, stat);
	/* Pairs with the acquire in predict_find. */
	atomic_store_explicit(&entry->tag, tag, memory_order_release);
	return stat;
}

/* Made under the lock, so that one tag gets one entry. */
struct predict_entry *predict_insert(struct predict *predict, uint64_t tag, uint32_t guess_ns)
{
	struct predict_entry *entry;
	bool found;

	entry = entry_look(predict, tag, &found);
	if (found)
		return entry;
	futex_lock(&predict->lock);
	entry = entry_look(predict, tag, &found);
	if (!found && !entry_make(predict, entry, tag, guess_ns)) {
		entry = &predict->spill;
		atomic_store_explicit(&entry->info, guess_ns, memory_order_relaxed);
	}
	futex_unlock(&predict->lock);
	return entry;
}

/* ---- parts ------------------------------------------------------------------------------------ */

/* A pointer tells no work from other work, and differs from run to run: of what has eight bytes
 * only the small values count, which device addresses are not. */
static uint64_t scalars_digest(uint64_t scalars, void *const *params)
{
	uint64_t digest = 0;

	for (uint32_t i = 0; i < 32; i++) {
		uint64_t value = 0;

		/* Parameters lie as the program has them: perhaps not aligned. */
		if (scalars & 1ull << i)
			memcpy(&value, params[i], 4);
		else if (i < 31 && scalars & 1ull << (i + 32))
			memcpy(&value, params[i], 8);
		if (value && value <= UINT32_MAX)
			digest = predict_mix(digest, value, i, 0);
	}
	return digest;
}

static struct predict_entry *part_make(struct predict *predict, struct predict_entry *entry,
				       struct predict_stat *stat, uint64_t tag, uint64_t by)
{
	struct predict_entry *part;
	struct predict_stat *made = NULL;
	bool found;

	futex_lock(&predict->lock);
	part = entry_look(predict, tag, &found);
	if (!found && stat->branches < PREDICT_BRANCHES)
		made = entry_make(predict, part, tag, stat->estimate.cost_ns);
	if (made) {
		stat->branches++;
		made->depth = (uint8_t)(stat->depth + 1);
		made->scalars = stat->scalars;
		/* What is known of all of them is more than a guess. */
		estimate_seed(&made->estimate, stat->estimate.cost_ns, stat->estimate.high_ns, 0);
		known_meet_part(predict, made, stat, by);
		predict_publish(part, made);
	}
	futex_unlock(&predict->lock);
	return found || made ? part : entry;
}

struct predict_entry *predict_resolve(struct predict *predict, struct predict_entry *entry,
				      const struct predict_context *context)
{
	while (predict_raw_ns(entry) & PREDICT_LOOK) {
		struct predict_stat *stat = predict_stat_of(predict, entry);
		uint32_t split = atomic_load_explicit(&stat->split, memory_order_relaxed);
		uint64_t scalars = atomic_load_explicit(&stat->scalars, memory_order_relaxed);
		struct predict_entry *whole = entry, *part;
		uint64_t tag, by = context->before;
		bool found;

		if (split == PREDICT_WHOLE || (split == PREDICT_BY_SCALARS && !scalars))
			break;
		if (split == PREDICT_BY_SCALARS)
			by = context->params ? scalars_digest(scalars, context->params) : 0;
		tag = predict_mix(predict_number(predict, entry), split, by, stat->generation);
		part = entry_look(predict, tag, &found);
		entry = found ? part : part_make(predict, entry, stat, tag, by);
		if (entry == whole)
			break;
	}
	return entry;
}

bool predict_needs_scalars(struct predict *predict, struct predict_entry *entry)
{
	struct predict_stat *stat;

	if (entry == &predict->spill)
		return false;
	stat = predict_stat_of(predict, entry);
	return atomic_load_explicit(&stat->split, memory_order_relaxed) == PREDICT_BY_SCALARS &&
	       !atomic_load_explicit(&stat->scalars, memory_order_relaxed);
}

void predict_set_scalars(struct predict *predict, struct predict_entry *entry, uint32_t narrow,
			 uint32_t wide)
{
	atomic_store_explicit(&predict_stat_of(predict, entry)->scalars,
			      SCALARS_ASKED | (uint64_t)(wide & INT32_MAX) << 32 | narrow,
			      memory_order_relaxed);
}

/* ---- estimates ---------------------------------------------------------------------------------- */

uint32_t predict_gate_ns(struct predict *predict, struct predict_entry *entry)
{
	uint32_t high_ns;

	if (entry == &predict->spill)
		return predict_cost_ns(entry);
	futex_lock(&predict->lock);
	high_ns = predict_stat_of(predict, entry)->estimate.high_ns;
	futex_unlock(&predict->lock);
	return high_ns;
}

bool predict_offer(struct predict *predict, struct predict_entry *entry)
{
	struct predict_stat *stat;
	bool take;

	if (entry == &predict->spill || !(predict_raw_ns(entry) & PREDICT_LOOK))
		return false;
	futex_lock(&predict->lock);
	stat = predict_stat_of(predict, entry);
	take = stat->estimate.asks && (stat->offered > 0 || stat->depth > 0);
	if (stat->estimate.asks && stat->offered++ == OFFERS_MAX) {
		stat->estimate.asks = false;
		predict_publish(entry, stat);
	}
	futex_unlock(&predict->lock);
	return take;
}

bool predict_is_known(struct predict *predict, struct predict_entry *entry)
{
	bool known;

	if (entry == &predict->spill)
		return false;
	futex_lock(&predict->lock);
	known = estimate_is_known(&predict_stat_of(predict, entry)->estimate);
	futex_unlock(&predict->lock);
	return known;
}

static void stat_split(struct predict_stat *stat)
{
	if (stat->split)
		return;
	stat->split = stat->depth ? PREDICT_BY_SCALARS : PREDICT_BY_BEFORE;
	stat->told_ns = 0; /* to be told again */
}

void predict_sample(struct predict *predict, struct predict_entry *entry, uint64_t took_ns,
		    bool clean)
{
	struct predict_stat *stat;
	uint32_t ns = took_ns > PREDICT_MAX_NS ? PREDICT_MAX_NS : took_ns ? (uint32_t)took_ns : 1;

	if (entry == &predict->spill)
		return;
	futex_lock(&predict->lock);
	stat = predict_stat_of(predict, entry);
	if (estimate_add(&stat->estimate, ns, clean)) {
		/* Asked for and answered: only what gets no answer is given up. */
		stat->offered = 1;
		if (stat->estimate.varies && !stat->estimate.seeded && stat->depth < DEPTH_MAX)
			stat_split(stat);
		predict_publish(entry, stat);
	}
	futex_unlock(&predict->lock);
}

static struct predict_stat *stat_of_number(struct predict *predict, uint32_t number)
{
	return number && number <= PREDICT_SLOTS
		       ? predict_stat_of(predict, &predict->entry[number - 1])
		       : NULL;
}

void predict_set_followed(struct predict *predict, uint32_t number)
{
	struct predict_stat *stat = stat_of_number(predict, number);

	if (stat)
		atomic_store_explicit(&stat->followed, true, memory_order_relaxed);
}

bool predict_is_followed(struct predict *predict, uint32_t number)
{
	struct predict_stat *stat = stat_of_number(predict, number);

	return stat && atomic_load_explicit(&stat->followed, memory_order_relaxed);
}

void predict_forget(struct predict *predict, uint64_t tag, uint32_t guess_ns)
{
	struct predict_entry *entry = predict_insert(predict, tag, guess_ns);
	struct predict_stat *stat;

	if (entry == &predict->spill)
		return;
	futex_lock(&predict->lock);
	stat = predict_stat_of(predict, entry);
	/* Its parts go with it: they are found under another tag from now on. */
	*stat = (struct predict_stat){.generation = (uint8_t)(stat->generation + 1)};
	estimate_reset(&stat->estimate, guess_ns);
	predict_publish(entry, stat);
	futex_unlock(&predict->lock);
}
