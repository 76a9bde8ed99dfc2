/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_ESCROW_H
#define SLUICE_ESCROW_H

/*
 * The steps of the memory protocol: each is one atomic on one word {granted:32, credit:32}, so
 * that a kill at any instruction loses nothing and counts nothing twice. The free pool of a
 * tenant is limit - sum(granted); only the arbiter raises or lowers `granted`.
 *
 *   tenant    reserve before the driver call, release after a failed call or after a free
 *   arbiter   grant and take_back; at the owner's death its own copy of what it granted counts
 *
 * Amounts are in units of SLUICE_ESCROW_UNIT bytes. Any thread, any process that maps the word.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/pages.h"

static inline uint32_t sluice_escrow_credit(uint64_t word)
{
	return (uint32_t)word;
}

static inline uint32_t sluice_escrow_granted(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Bytes to units, rounded up; saturates at UINT32_MAX, which no credit ever reaches. */
static inline uint32_t sluice_escrow_units(uint64_t bytes)
{
	uint64_t units = bytes / SLUICE_ESCROW_UNIT + (bytes % SLUICE_ESCROW_UNIT != 0);

	return units > UINT32_MAX ? UINT32_MAX : (uint32_t)units;
}

static inline bool sluice_escrow_reserve(_Atomic uint64_t *word, uint32_t units)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

	do {
		if (sluice_escrow_credit(old) < units)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		word, &old, old - units, memory_order_acq_rel, memory_order_relaxed));
	return true;
}

static inline void sluice_escrow_release(_Atomic uint64_t *word, uint32_t units)
{
	atomic_fetch_add_explicit(word, units, memory_order_acq_rel);
}

static inline void sluice_escrow_grant(_Atomic uint64_t *word, uint32_t units)
{
	atomic_fetch_add_explicit(word, (uint64_t)units << 32 | units, memory_order_acq_rel);
}

/* Takes back what is unused, at most `units`; says how much that was. */
static inline uint32_t sluice_escrow_take_back(_Atomic uint64_t *word, uint32_t units)
{
	uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
	uint32_t taken;

	do {
		taken = sluice_escrow_credit(old) < units ? sluice_escrow_credit(old) : units;
	} while (!atomic_compare_exchange_weak_explicit(
		word, &old, old - ((uint64_t)taken << 32 | taken), memory_order_acq_rel,
		memory_order_relaxed));
	return taken;
}

#endif
