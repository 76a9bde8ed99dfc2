/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_SHIM_PREDICT_H
#define SLUICE_SHIM_PREDICT_H

/*
 * How long a launch will occupy the GPU, by what it launches: one entry for each (function, grid,
 * block, shared memory), graph, or size class of copies and memsets. Entries are looked up on
 * every launch, so that the look-up is one hash, one line, one compare of a 64-bit tag; a
 * collision of tags only mispredicts. They are never deleted.
 *
 * Threads: predict_find from any thread, without a lock. Samples and offers are serialised by the
 * table's own lock. Lifetime: the process's; all of it is zero-filled static memory whose pages
 * are touched as entries come. Units: predicted nanoseconds.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "futex.h"

#define PREDICT_SLOTS 16384u /* a power of two; at most half of them are used */
#define PREDICT_STATS (PREDICT_SLOTS / 2)
#define PREDICT_SAMPLES 8u /* kept for each entry: the newest */

/* Set in a cost, a sample is wanted: no window reaches so far, so that the caller's one compare
 * takes such a launch to the slow path. */
#define PREDICT_WANT 0x80000000u
#define PREDICT_MAX_NS 2000000000u /* costs above it are kept as this */

#define PREDICT_KERNEL_NS 50000u /* of a kernel never measured */
#define PREDICT_GRAPH_NS 500000u

/* The kinds that are no kernel, for their tags and first guesses. */
enum predict_kind {
	PREDICT_KERNEL,
	PREDICT_GRAPH,
	PREDICT_COPY_TO_DEVICE,
	PREDICT_COPY_TO_HOST,
	PREDICT_COPY_DEVICE,
	PREDICT_COPY_PEER,
	PREDICT_COPY, /* direction unknown */
	PREDICT_MEMSET,
};

/* `info` = {id + 1:32 high, cost:32 low} is claimed and filled before `tag` is published with
 * release: whoever sees the tag (acquire) sees a cost. */
struct predict_entry {
	_Atomic uint64_t tag; /* 0: unused */
	_Atomic uint64_t info;
};
_Static_assert(sizeof(struct predict_entry) == 16, "four to a cache line");

struct predict_stat {
	uint32_t sample_ns[PREDICT_SAMPLES]; /* ring */
	uint32_t taken;			     /* samples of the present kind, ever */
	uint32_t offered;		     /* launches that reached the slow path for a sample */
	bool clean; /* they were taken while nothing else ran; a clean one replaces all others */
	bool dispersed;
};

struct predict {
	_Alignas(64) struct predict_entry entry[PREDICT_SLOTS];
	struct predict_stat stat[PREDICT_STATS];
	struct predict_entry spill; /* for all that found no room: a fixed cost, never sampled */
	_Atomic uint32_t used;
	struct futex_lock lock; /* of entries being made and of `stat` */
};

/* Four products side by side: a chain of them would be half the cost of the whole fast path. */
static inline uint64_t predict_mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t tag = (a * 0x9e3779b97f4a7c15ull + b * 0xc2b2ae3d27d4eb4full) ^
		       (c * 0x165667b19e3779f9ull + d * 0xd6e8feb86659fd93ull);

	return tag | 1; /* never 0 */
}

static inline uint64_t predict_kernel_tag(const void *function, unsigned int gx, unsigned int gy,
					  unsigned int gz, unsigned int bx, unsigned int by,
					  unsigned int bz, unsigned int shared)
{
	/* CUDA bounds y and z of a grid by 65535 and a block's product by 1024. */
	return predict_mix((uintptr_t)function, (uint64_t)gx << 32 | gy,
			   (uint64_t)gz << 32 | shared,
			   (uint64_t)bx << 42 | (uint64_t)by << 21 | bz);
}

uint64_t predict_graph_tag(const void *graph_exec);

/* Sizes are put into classes of a quarter octave; *ret_guess_ns from usual link and memory rates. */
uint64_t predict_bytes_tag(enum predict_kind kind, uint64_t bytes, uint32_t *ret_guess_ns);

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

/* With PREDICT_WANT in it where a sample is wanted. */
static inline uint32_t predict_raw_ns(struct predict_entry *entry)
{
	return (uint32_t)atomic_load_explicit(&entry->info, memory_order_relaxed);
}

static inline uint32_t predict_cost_ns(struct predict_entry *entry)
{
	return predict_raw_ns(entry) & ~PREDICT_WANT;
}

/* A launch of an entry that wants samples is about to be made: should this one be timed? Not a
 * kernel's first (lazy loading), and not for ever where no sample ever comes back. */
bool predict_offer(struct predict *predict, struct predict_entry *entry);

/* Has it been measured at all? */
bool predict_is_known(struct predict *predict, struct predict_entry *entry);

/* A launch took so long. clean: nothing else can have run meanwhile. */
void predict_sample(struct predict *predict, struct predict_entry *entry, uint64_t took_ns,
		    bool clean);

/* The handle behind the tag is gone or means other work now: measure anew. */
void predict_forget(struct predict *predict, uint64_t tag, uint32_t guess_ns);

#endif
