/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_PREDICT_H
#define SHIM_PREDICT_H

/*
 * How long a launch will occupy the GPU, by what it launches: one entry for each (function, grid,
 * block, shared memory), graph, or size class of copies and memsets. Entries are looked up on
 * every launch, so that the look-up is one hash, one line, one compare of a 64-bit tag; a
 * collision of tags only mispredicts. They are never deleted.
 *
 * Where one key stands for different work (a matrix product of the same output and another depth),
 * its entry *splits*: launches are told apart by what the thread launched before, and where that
 * is not enough by their scalar arguments. Only such launches pay for the second look-up.
 *
 * Threads: predict_find from any thread, without a lock. Samples and offers are serialised by the
 * table's own lock. Lifetime: the process's; all of it is zero-filled static memory whose pages
 * are touched as entries come. Units: predicted nanoseconds.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimate.h"
#include "futex.h"
#include "predict_tag.h"
#include "sluice/estimate.h"

#define PREDICT_SLOTS 16384u /* a power of two; at most half of them are used */
#define PREDICT_STATS (PREDICT_SLOTS / 2)
#define PREDICT_BRANCHES 32u /* entries that one is split into */

/* Set in a cost, there is more to look at: a sample is wanted, or the entry splits, or what the
 * gate must reckon with is far above the cost. No window reaches so far, so that the caller's one
 * compare takes such a launch to the slow path. */
#define PREDICT_LOOK 0x80000000u
/* `info` = {id + 1:32 high, cost:32 low} is claimed and filled before `tag` is published with
 * release: whoever sees the tag (acquire) sees a cost. */
struct predict_entry {
	_Atomic uint64_t tag; /* 0: unused */
	_Atomic uint64_t info;
};
_Static_assert(sizeof(struct predict_entry) == 16, "four to a cache line");

/* How launches of one key are told apart. */
enum predict_split {
	PREDICT_WHOLE,
	PREDICT_BY_BEFORE, /* by the thread's launch before */
	PREDICT_BY_SCALARS,
};

struct predict_stat {
	struct estimate estimate;
	_Atomic uint64_t key; /* names it in other processes and runs; see known.h. 0: not met */
	uint32_t told_ns;     /* the cost that the arbiter was told last; 0: none */
	uint32_t offered;     /* launches that reached the slow path for a sample */
	_Atomic uint16_t split;
	uint8_t depth; /* splits above it */
	uint8_t branches;
	uint8_t generation;	  /* goes up when it is forgotten */
	_Atomic bool followed;	  /* by a programmatic dependent */
	_Atomic uint64_t scalars; /* {asked:1, of 8 bytes:31, of 4 bytes:32} of the parameters */
};

/* What tells launches of one key apart. */
struct predict_context {
	uint32_t before;     /* predict_number of the thread's launch before; 0: none */
	void *const *params; /* of a kernel; NULL: not given so */
};

struct predict {
	_Alignas(64) struct predict_entry entry[PREDICT_SLOTS];
	struct predict_stat stat[PREDICT_STATS];
	struct predict_entry spill; /* for all that found no room: a fixed cost, never sampled */
	_Atomic uint32_t used;
	struct futex_lock lock;			    /* of entries being made and of `stat` */
	_Atomic(const struct sluice_known *) known; /* of earlier runs; NULL: nothing */
};

/* An entry's own, whatever of it has been split off; not of the spill. */
static inline struct predict_stat *predict_stat_of(struct predict *predict,
						   struct predict_entry *entry)
{
	return &predict->stat[(atomic_load_explicit(&entry->info, memory_order_relaxed) >> 32) - 1];
}

/* What the fast path sees of the entry. With the lock. */
void predict_publish(struct predict_entry *entry, const struct predict_stat *stat);

/* Names an entry within this process; never 0. */
static inline uint32_t predict_number(const struct predict *predict,
				      const struct predict_entry *entry)
{
	return (uint32_t)(entry - predict->entry) + 1;
}

/* Finds or makes the entry; a new one costs guess_ns and wants samples. Never fails. */
struct predict_entry *predict_insert(struct predict *predict, uint64_t tag, uint32_t guess_ns);

/* Where the tag's entry is, if it is not somewhere behind. */
static inline struct predict_entry *predict_home(struct predict *predict, uint64_t tag)
{
	return &predict->entry[tag >> 40 & (PREDICT_SLOTS - 1)];
}

static inline struct predict_entry *predict_find(struct predict *predict, uint64_t tag,
						 uint32_t guess_ns)
{
	struct predict_entry *entry = predict_home(predict, tag);

	if (__builtin_expect(atomic_load_explicit(&entry->tag, memory_order_acquire) != tag, 0))
		entry = predict_insert(predict, tag, guess_ns);
	return entry;
}

/* With PREDICT_LOOK in it where there is more to look at. */
static inline uint32_t predict_raw_ns(struct predict_entry *entry)
{
	return (uint32_t)atomic_load_explicit(&entry->info, memory_order_relaxed);
}

static inline uint32_t predict_cost_ns(struct predict_entry *entry)
{
	return predict_raw_ns(entry) & ~PREDICT_LOOK;
}

/* The part of a splitting entry that this launch belongs to; else the entry itself. No lock where
 * the part is there already. */
struct predict_entry *predict_resolve(struct predict *predict, struct predict_entry *entry,
				      const struct predict_context *context);

/* Whose parameters have to be known to tell its launches apart: then predict_set_scalars. */
bool predict_needs_scalars(struct predict *predict, struct predict_entry *entry);
/* Bit i of narrow: parameter i has 4 bytes; of wide: 8 bytes. */
void predict_set_scalars(struct predict *predict, struct predict_entry *entry, uint32_t narrow,
			 uint32_t wide);

/* What a gate must reckon with for one launch: more than the cost where launches vary. */
uint32_t predict_gate_ns(struct predict *predict, struct predict_entry *entry);

/* A launch of an entry that wants samples is about to be made: should this one be timed? Not a
 * kernel's first (lazy loading), and not for ever where no sample ever comes back. */
bool predict_offer(struct predict *predict, struct predict_entry *entry);

/* A programmatic dependent came after a launch of that number: nothing may be put behind another. */
void predict_set_followed(struct predict *predict, uint32_t number);
bool predict_is_followed(struct predict *predict, uint32_t number);

/* Has it been measured at all? */
bool predict_is_known(struct predict *predict, struct predict_entry *entry);

/* A launch took so long. clean: nothing else can have run meanwhile. */
void predict_sample(struct predict *predict, struct predict_entry *entry, uint64_t took_ns,
		    bool clean);

/* The handle behind the tag is gone or means other work now: measure anew. */
void predict_forget(struct predict *predict, uint64_t tag, uint32_t guess_ns);

#endif
