/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_ESTIMATE_H
#define SHIM_ESTIMATE_H

/*
 * What a handful of measured times say of one kind of launch: what it usually takes, what a gate
 * has to reckon with, whether it varies, and whether more should be measured. Pure; the caller
 * serialises. Zero-filled is a valid start: nothing is known, and samples are wanted once
 * estimate_reset was called. Units: ns.
 *
 * A measured time holds queueing and other work on top of the launch's own, never less, so that a
 * steady launch is believed to take a low quantile of its samples. Where clean samples spread, the
 * spread is the launch's own: then the median is believed, and the gate reckons with a high one.
 */

#include <stdbool.h>
#include <stdint.h>

#define ESTIMATE_SAMPLES 8u /* kept: the newest */

struct estimate {
	uint32_t sample_ns[ESTIMATE_SAMPLES]; /* the oldest first */
	uint32_t count;			      /* of them */
	uint32_t sightings;		      /* measured ever, here and in earlier runs */
	uint32_t cost_ns;		      /* believed */
	uint32_t high_ns;		      /* of one that varies; else the same */
	uint8_t surprises;		      /* in a row that had to be followed up */
	bool clean;  /* taken while nothing else ran; a clean sample replaces all others */
	bool seeded; /* cost_ns is of an earlier run until there are samples enough */
	bool varies;
	bool asks; /* samples are wanted */
};

/* Nothing is known; guess_ns until something is. */
void estimate_reset(struct estimate *estimate, uint32_t guess_ns);

/* What an earlier run knew. It is measured again all the same. */
void estimate_seed(struct estimate *estimate, uint32_t cost_ns, uint32_t high_ns,
		   uint32_t sightings);

/* False: it changes nothing (not clean, where there are clean ones). */
bool estimate_add(struct estimate *estimate, uint32_t ns, bool clean);

static inline bool estimate_is_known(const struct estimate *estimate)
{
	return estimate->count || estimate->seeded;
}

#endif
