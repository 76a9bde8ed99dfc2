/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/half.h"

#include <string.h>

#define HALF_INFINITY 0x7c00u
#define HALF_LARGEST 0x7bffu
#define HALF_NAN 0x7fffu

/* Whether a value between two halves goes to the one farther from zero. `rest` is what is cut
 * off, as a share of one unit: 2^63 is a half of it. */
static bool rounds_up(enum fp_mode mode, bool negative, bool is_odd, uint64_t rest)
{
	switch (mode) {
	case FP_RM: return negative && rest;
	case FP_RP: return !negative && rest;
	case FP_RN: return rest > 1ull << 63 || (rest == 1ull << 63 && is_odd);
	default: return false;
	}
}

uint32_t half_from_double(double value, enum fp_mode mode)
{
	uint64_t bits;
	uint64_t fraction;
	uint64_t rest;
	uint32_t sign;
	uint32_t half;
	int exponent;
	int cut;

	memcpy(&bits, &value, sizeof(bits));
	sign = bits >> 63 ? 0x8000u : 0;
	exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	fraction = (bits & ((1ull << 52) - 1)) | 1ull << 52;
	if (exponent == 1024)
		return fraction == 1ull << 52 ? sign | HALF_INFINITY : HALF_NAN;
	if (exponent > 15) {
		bool away = mode == FP_RN || (mode == FP_RM && sign) || (mode == FP_RP && !sign);

		return sign | (away ? HALF_INFINITY : HALF_LARGEST);
	}
	if (!(bits << 1))
		return sign;
	/* Units of the last place: 2^(exponent - 10), or 2^-24 for subnormals. */
	cut = exponent < -14 ? 42 + (-14 - exponent) : 42;
	if (cut > 63) {
		half = 0;
		rest = 1;
	} else {
		half = (uint32_t)(fraction >> cut);
		rest = fraction << (64 - cut);
	}
	/* The hidden bit of a normal number carries into the exponent field by itself. */
	half += exponent < -14 ? 0 : (uint32_t)(exponent + 14) << 10;
	return sign | (half + rounds_up(mode, sign != 0, half & 1, rest));
}
