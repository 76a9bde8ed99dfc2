/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_UNIT_H
#define SLUICE_UNIT_H

/*
 * The names of a process's launch units, by the keys that its records have (estimate.h), for
 * `sluice why`. In its channel page; single writer at a time; a name is written before its key
 * (release). The reader takes it as a tenant's claim: the text is made printable.
 */

#include <stdatomic.h>
#include <stdint.h>

#define SLUICE_UNITS 512 /* a power of two; what finds no room has no name */
#define SLUICE_UNIT_NAME 56
#define SLUICE_UNIT_PROBES 16

struct sluice_unit {
	_Atomic uint64_t key;	     /* 0: free */
	char name[SLUICE_UNIT_NAME]; /* NUL-terminated */
};
_Static_assert(sizeof(struct sluice_unit) == 64, "unit");

/* The key's place, or a free one for it; NULL: neither. */
static inline struct sluice_unit *sluice_unit_look(struct sluice_unit *unit, uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40);

	for (uint32_t i = 0; i < SLUICE_UNIT_PROBES; i++, at++) {
		struct sluice_unit *here = &unit[at & (SLUICE_UNITS - 1)];
		uint64_t seen = atomic_load_explicit(&here->key, memory_order_acquire);

		if (!seen || seen == key)
			return here;
	}
	return 0;
}

#endif
