/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_ARRIVALS_H
#define PLAN_ARRIVALS_H

/*
 * When requests arrive: one stream of absolute times, never going back, from a description and a
 * seed. The same description and seed give the same times on every machine (integers only).
 *
 * Rate steps change the rate from a time on: the gaps are drawn at the base rate, and time runs
 * faster or slower, so that a run with a step and one without share their random numbers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define ARRIVALS_MAX_STEPS 8

enum arrivals_kind {
	ARRIVALS_POISSON,
	ARRIVALS_PERIODIC,  /* gaps uniform in mean * (1 +- jitter) */
	ARRIVALS_LOGNORMAL, /* sigma of the logarithm; the mean is kept */
	ARRIVALS_RECORDED,  /* `gaps` over and over, from a place that the seed picks */
	ARRIVALS_CLOSED,    /* mean_ns after the last request was done */
};

struct arrivals_step {
	uint64_t at_ns;
	uint32_t rate_permille; /* of the base rate, from at_ns on; at least 1 */
};

struct arrivals_desc {
	enum arrivals_kind kind;
	uint64_t mean_ns;	  /* mean gap; RECORDED: 0 keeps the gaps as they are */
	uint32_t jitter_permille; /* PERIODIC: below 1000 */
	uint32_t sigma_permille;  /* LOGNORMAL: 1500 is sigma 1.5; at most 3000 */
	const uint64_t *gaps;	  /* RECORDED; borrowed, outlives the stream */
	uint32_t n_gaps;
	struct arrivals_step steps[ARRIVALS_MAX_STEPS]; /* at_ns rising */
	uint32_t n_steps;
	uint64_t seed;
};

struct arrivals {
	struct arrivals_desc desc;
	struct random random;
	uint64_t last_ns;
	uint64_t gaps_mean_ns;
	uint32_t next_gap;
	uint32_t next_step;
	uint32_t rate_permille;
	bool waiting; /* CLOSED: the last request is not done */
};

/* -EINVAL: no mean, no gaps, a jitter, sigma or step out of range. */
int arrivals_init(struct arrivals *arrivals, const struct arrivals_desc *desc);
/* The next arrival. CLOSED: the first is at mean_ns; then UINT64_MAX until arrivals_done(). */
void arrivals_next(struct arrivals *arrivals, uint64_t *ret_ns);
/* CLOSED: the last request was done at now_ns. Ignored otherwise. */
void arrivals_done(struct arrivals *arrivals, uint64_t now_ns);

/* Gaps from a file: one number a line in seconds, '#' comments, a line of letters is a heading.
 * -errno; -EINVAL with the line in *reterr_line. *ret_gaps is malloc'ed. */
int arrivals_load_gaps(const char *path, uint64_t **ret_gaps, uint32_t *ret_n, int *reterr_line);

#endif
