/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include <stdbool.h>

typedef unsigned __int128 wide;

#define LN2_Q40 0xb17217f7d2ull
#define LOG2E_Q40 0x171547652b8ull

/* 2^(1/2), 2^(1/4), ... 2^(2^-32), 63 bits after the point. */
static const uint64_t root[32] = {
	0xb504f333f9de6484ull, 0x9837f0518db8a96full, 0x8b95c1e3ea8bd6e7ull, 0x85aac367cc487b15ull,
	0x82cd8698ac2ba1d7ull, 0x8164d1f3bc030773ull, 0x80b1ed4fd999ab6cull, 0x8058d7d2d5e5f6b1ull,
	0x802c6436d0e04f51ull, 0x8016302f17467628ull, 0x800b179c82028fd1ull, 0x80058baf7fee3b5dull,
	0x8002c5d00fdcfcb7ull, 0x800162e61bed4a49ull, 0x8000b17292f702a4ull, 0x800058b92abbae02ull,
	0x80002c5c8dade4d7ull, 0x8000162e44eaf636ull, 0x80000b1721fa7c19ull, 0x8000058b90de7e4dull,
	0x800002c5c8678f37ull, 0x80000162e431dba0ull, 0x800000b1721872d1ull, 0x80000058b90c1aa9ull,
	0x8000002c5c8605a4ull, 0x800000162e4300e6ull, 0x8000000b17217ff8ull, 0x800000058b90bfddull,
	0x80000002c5c85fe7ull, 0x8000000162e42ff2ull, 0x80000000b17217f8ull, 0x8000000058b90bfcull,
};

void random_seed(struct random *random, uint64_t seed)
{
	random->state = seed;
}

uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void random_fork(const struct random *random, uint64_t use, struct random *ret)
{
	struct random mix = {random->state ^ (use * 0xd1342543de82ef95ull + 1)};

	ret->state = random_next(&mix);
}

uint64_t random_below(struct random *random, uint64_t n)
{
	/* The bias of the product's upper half is n / 2^64: far below what any run can see. */
	return (uint64_t)(((wide)random_next(random) * n) >> 64);
}

/* log2 of an integer, 40 bits after the point; x > 0. Bit by bit: squaring doubles the logarithm. */
static int64_t log2_q40(uint64_t x)
{
	int whole = 63 - __builtin_clzll(x);
	uint64_t m = x << (63 - whole); /* 1 <= m < 2, 63 bits after the point */
	int64_t log = (int64_t)whole << 40;

	for (int bit = 39; bit >= 0; bit--) {
		wide square = ((wide)m * m) >> 63;

		if (square >> 64) {
			log |= (int64_t)1 << bit;
			square >>= 1;
		}
		m = (uint64_t)square;
	}
	return log;
}

/* A logarithm to base 2 in Q40 as natural one in Q32, rounded. */
static int64_t natural_q32(int64_t log_q40)
{
	__int128 product = (__int128)log_q40 * (int64_t)LN2_Q40;

	return (int64_t)((product + ((__int128)1 << 47)) >> 48);
}

int64_t random_ln_q32(uint64_t x_q32)
{
	return natural_q32(log2_q40(x_q32) - ((int64_t)32 << 40));
}

uint64_t random_exponential_q32(struct random *random)
{
	uint64_t u = random_next(random) | 1; /* never 0; of 2^64 */

	return (uint64_t)natural_q32(((int64_t)64 << 40) - log2_q40(u));
}

uint64_t random_exp_q32(int64_t x_q32)
{
	int64_t log_q40 = (int64_t)(((__int128)x_q32 * (int64_t)LOG2E_Q40) >> 32);
	int64_t whole = log_q40 >> 40;
	uint32_t fraction = (uint32_t)(log_q40 >> 8);
	uint64_t m = 1ull << 63;

	if (whole < -32)
		return 0;
	if (whole > 30)
		return UINT64_MAX;
	for (int i = 0; i < 32; i++)
		if (fraction & (1u << (31 - i)))
			m = (uint64_t)(((wide)m * root[i]) >> 63);
	return m >> (31 - whole);
}

static uint64_t root_of(wide x)
{
	wide bit = (wide)1 << 126, result = 0;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= result + bit) {
			x -= result + bit;
			result = (result >> 1) + bit;
		} else {
			result >>= 1;
		}
	}
	return (uint64_t)result;
}

/* Marsaglia's polar method: a point in the unit circle, u of -1..1 in 31 bits, s = u^2 + v^2;
 * z = u * sqrt(-2 ln(s) / s). */
int64_t random_normal_q32(struct random *random)
{
	for (;;) {
		int64_t u = (int64_t)(random_next(random) >> 32) - (1ll << 31);
		int64_t v = (int64_t)(random_next(random) >> 32) - (1ll << 31);
		uint64_t s = (uint64_t)(u * u) + (uint64_t)(v * v);

		if (!s || s >= 1ull << 62)
			continue;
		uint64_t ln = (uint64_t)natural_q32(((int64_t)62 << 40) - log2_q40(s));
		wide part = ((wide)(uint64_t)(u * u) << 32) / s;
		int64_t z = (int64_t)root_of(2 * (wide)ln * part);

		return u < 0 ? -z : z;
	}
}

/* e^(sigma z) has the mean e^(sigma^2 / 2). */
uint64_t random_lognormal_q32(struct random *random, uint32_t sigma_permille)
{
	int64_t sigma = sigma_permille;
	int64_t z = random_normal_q32(random);
	int64_t shift = (sigma * sigma << 31) / 1000000;

	return random_exp_q32(z * sigma / 1000 - shift);
}

uint64_t random_scale_q32(uint64_t value, uint64_t factor_q32)
{
	wide product = ((wide)value * factor_q32 + (1ull << 31)) >> 32;

	return product >> 64 ? UINT64_MAX : (uint64_t)product;
}
