/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_HIST_H
#define SLUICE_HIST_H

/*
 * Log-linear histogram of nanoseconds, fixed size, mergeable, no allocation. 16 linear steps to
 * each power of two: a value is known to within 1/16 (6.25 %). Values of 2^36 ns (69 s) and more
 * fall into the last bin. One writer; a reader in another process sees each counter whole
 * (relaxed), not a consistent set: percentiles are then off by the values being added.
 */

#include <stdatomic.h>
#include <stdint.h>

#define SLUICE_HIST_SUB 4 /* log2 of the steps to a power of two */
#define SLUICE_HIST_MAX_LOG2 36
#define SLUICE_HIST_BINS ((SLUICE_HIST_MAX_LOG2 - SLUICE_HIST_SUB + 1) << SLUICE_HIST_SUB)

struct sluice_hist {
	_Atomic uint32_t bin[SLUICE_HIST_BINS];
	_Atomic uint64_t count;
	_Atomic uint64_t max_ns;
};

static inline unsigned int sluice_hist_index(uint64_t ns)
{
	unsigned int log2;

	if (ns < (1u << SLUICE_HIST_SUB))
		return (unsigned int)ns;
	log2 = 63u - (unsigned int)__builtin_clzll(ns);
	if (log2 >= SLUICE_HIST_MAX_LOG2)
		return SLUICE_HIST_BINS - 1;
	return ((log2 - SLUICE_HIST_SUB + 1) << SLUICE_HIST_SUB) +
	       (unsigned int)((ns >> (log2 - SLUICE_HIST_SUB)) & ((1u << SLUICE_HIST_SUB) - 1));
}

/* The largest value that falls into the bin. */
static inline uint64_t sluice_hist_upper(unsigned int index)
{
	unsigned int shift;

	if (index < (1u << SLUICE_HIST_SUB))
		return index;
	shift = (index >> SLUICE_HIST_SUB) - 1;
	return (((uint64_t)(1u << SLUICE_HIST_SUB) + (index & ((1u << SLUICE_HIST_SUB) - 1)) + 1)
		<< shift) -
	       1;
}

/* Single writer. */
static inline void sluice_hist_add(struct sluice_hist *hist, uint64_t ns)
{
	_Atomic uint32_t *bin = &hist->bin[sluice_hist_index(ns)];

	atomic_store_explicit(bin, atomic_load_explicit(bin, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (ns > atomic_load_explicit(&hist->max_ns, memory_order_relaxed))
		atomic_store_explicit(&hist->max_ns, ns, memory_order_relaxed);
	atomic_store_explicit(&hist->count,
			      atomic_load_explicit(&hist->count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static inline void sluice_hist_merge(struct sluice_hist *into, const struct sluice_hist *from)
{
	uint64_t max_ns = atomic_load_explicit(&from->max_ns, memory_order_relaxed);
	uint64_t count = 0;

	for (unsigned int i = 0; i < SLUICE_HIST_BINS; i++) {
		uint32_t n = atomic_load_explicit(&from->bin[i], memory_order_relaxed);

		into->bin[i] += n;
		count += n;
	}
	into->count += count;
	if (max_ns > into->max_ns)
		into->max_ns = max_ns;
}

/* permille 500 = median, 990 = p99. 0 when empty. The answer is the bin's upper edge. */
static inline uint64_t sluice_hist_quantile(const struct sluice_hist *hist, unsigned int permille)
{
	uint64_t total = 0, rank, seen = 0;

	for (unsigned int i = 0; i < SLUICE_HIST_BINS; i++)
		total += atomic_load_explicit(&hist->bin[i], memory_order_relaxed);
	if (!total)
		return 0;
	rank = (total * permille + 999) / 1000;
	if (!rank)
		rank = 1;
	for (unsigned int i = 0; i < SLUICE_HIST_BINS; i++) {
		seen += atomic_load_explicit(&hist->bin[i], memory_order_relaxed);
		if (seen >= rank) {
			uint64_t upper = sluice_hist_upper(i);
			uint64_t max_ns = atomic_load_explicit(&hist->max_ns, memory_order_relaxed);

			return i == SLUICE_HIST_BINS - 1 || (max_ns && upper > max_ns) ? max_ns
										       : upper;
		}
	}
	return hist->max_ns;
}

#endif
