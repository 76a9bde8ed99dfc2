/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_ESTIMATE_H
#define SLUICE_ESTIMATE_H

/*
 * What is known of how long a launch takes, as it passes between processes and runs: a process puts
 * what it has measured into the ring of its channel page; the arbiter keeps it for the process's
 * user and hands what it knows to that user's next process, in a sealed page of its own.
 *
 * `key` names what is launched on which GPU model, alike in every run: the shim makes it of the
 * kernel's name and attributes, its launch dimensions and the device's name; the arbiter does not
 * look into it. Units: ns.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SLUICE_ESTIMATE_MAX_NS 2000000000u
#define SLUICE_ESTIMATE_RECORDS 1024 /* of the ring; a power of two */

#define SLUICE_ESTIMATE_BY_BEFORE \
	(1u << 0) /* launches of the key are told apart by the one before */
#define SLUICE_ESTIMATE_BY_SCALARS (1u << 1) /* ... by their scalar arguments */

struct sluice_estimate_record {
	uint64_t key; /* never 0 */
	uint32_t cost_ns;
	uint32_t high_ns; /* what a gate reckons with; not below cost_ns */
	uint32_t sightings;
	uint32_t flags; /* SLUICE_ESTIMATE_BY_* */
	uint64_t reserved;
};
_Static_assert(sizeof(struct sluice_estimate_record) == 32, "estimate record");

/* Written under one lock: the record, then `head` (release), the count of all ever written. */
struct sluice_estimate_ring {
	_Atomic uint64_t head;
	uint64_t reserved[7];
	struct sluice_estimate_record record[SLUICE_ESTIMATE_RECORDS];
};

#define SLUICE_KNOWN_MAGIC 0x6e6b7553u /* "Sukn" */
#define SLUICE_KNOWN_VERSION 1u

/* The arbiter's page. A record lies at its key's home slot or behind it, before the next that is
 * empty (key 0); at most half of the slots are used. */
struct sluice_known {
	uint32_t magic, version;
	uint32_t slots; /* a power of two */
	uint32_t used;
	uint64_t reserved[6];
	struct sluice_estimate_record slot[];
};

static inline uint32_t sluice_known_home(uint64_t key, uint32_t slots)
{
	return (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 40) & (slots - 1);
}

/* The key's record, or the empty one where it would be; NULL: neither. */
static inline struct sluice_estimate_record *sluice_known_look(struct sluice_estimate_record *slot,
							       uint32_t slots, uint64_t key)
{
	uint32_t at = sluice_known_home(key, slots);

	for (uint32_t i = 0; i < slots; i++, at = (at + 1) & (slots - 1)) {
		if (!slot[at].key || slot[at].key == key)
			return &slot[at];
	}
	return 0;
}

static inline bool sluice_estimate_is_sane(const struct sluice_estimate_record *record)
{
	return record->key && record->cost_ns && record->cost_ns <= record->high_ns &&
	       record->high_ns <= SLUICE_ESTIMATE_MAX_NS &&
	       !(record->flags & ~(SLUICE_ESTIMATE_BY_BEFORE | SLUICE_ESTIMATE_BY_SCALARS));
}

#endif
