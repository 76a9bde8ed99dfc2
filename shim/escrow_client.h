/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_ESCROW_CLIENT_H
#define SHIM_ESCROW_CLIENT_H

/*
 * This process's side of the memory protocol (sluice/escrow.h): reserve before a driver call,
 * release after a failed one or after a free. Units of SLUICE_ESCROW_UNIT bytes. Any thread; no
 * lock on the fast path. Never changes errno.
 */

#include <stdint.h>

#include "shim.h"
#include "sluice/escrow.h"

/* 0 or -ENOMEM: refused, or the arbiter stayed away past the deadline. */
int escrow_reserve_slow(struct shim_device *device, uint32_t units);

static inline int escrow_reserve(struct shim_device *device, uint32_t units)
{
	/* Pairs with the release in escrow_rehome. */
	_Atomic uint64_t *word = atomic_load_explicit(&device->escrow, memory_order_acquire);

	if (likely(sluice_escrow_reserve(word, units)))
		return 0;
	return escrow_reserve_slow(device, units);
}

void escrow_release(struct shim_device *device, uint32_t units);

/*
 * A change of pages, one caller at a time. escrow_leave gives up the credit of the present word and
 * says what is in use, which is a debt from then on: frees pay it first, and nothing can be
 * reserved. The new arbiter charges it to the new word, and escrow_rehome moves there: what is
 * charged is no debt any more. What the arbiter would not charge stays one.
 */
uint32_t escrow_leave(struct shim_device *device);
void escrow_rehome(struct shim_device *device, _Atomic uint64_t *word);

#endif
