/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_RANDOM_H
#define PLAN_RANDOM_H

/*
 * Random numbers for the planner: splitmix64, and distributions in integers. libm rounds
 * differently from one machine to the next, and a run must not. Q32: fixed point, 32 bits after
 * the point.
 */

#include <stdint.h>

struct random {
	uint64_t state;
};

void random_seed(struct random *random, uint64_t seed);
/* A generator of its own for each use (`use`: any number), so that one more draw here does not
 * move the draws there. */
void random_fork(const struct random *random, uint64_t use, struct random *ret);

uint64_t random_next(struct random *random);
uint64_t random_below(struct random *random, uint64_t n); /* 0 .. n-1; n > 0 */
uint64_t random_exponential_q32(struct random *random);	  /* mean 1 */
int64_t random_normal_q32(struct random *random);	  /* mean 0, variance 1 */
/* Log-normal of mean 1, with that sigma of the logarithm: at most 3000. */
uint64_t random_lognormal_q32(struct random *random, uint32_t sigma_permille);

/* Also useful by themselves, and tested against libm. */
int64_t random_ln_q32(uint64_t x_q32);	/* natural logarithm; x > 0 */
uint64_t random_exp_q32(int64_t x_q32); /* e^x, up to x = 20; below -22: 0 */
/* value * factor, rounded, saturating. */
uint64_t random_scale_q32(uint64_t value, uint64_t factor_q32);

#endif
