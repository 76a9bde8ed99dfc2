/* SPDX-License-Identifier: Apache-2.0 */
#include "slo_fix.h"

#define LOG_BITS 10

int32_t fix_log2(uint64_t value)
{
	int32_t whole = 63 - __builtin_clzll(value);
	/* 1.0 is bit 31: squared, a value of 2 or more shows the next binary digit. */
	uint64_t mantissa = whole > 31 ? value >> (whole - 31) : value << (31 - whole);
	int32_t octaves = whole * FIX_OCTAVE;

	for (int32_t digit = FIX_OCTAVE / 2; digit; digit /= 2) {
		mantissa = mantissa * mantissa >> 31;
		if (mantissa >> 32) {
			mantissa >>= 1;
			octaves += digit;
		}
	}
	return octaves;
}

uint64_t fix_muldiv(uint64_t value, uint64_t numerator, uint64_t denominator)
{
	unsigned __int128 product = (unsigned __int128)value * numerator / denominator;

	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

uint64_t fix_scale(uint64_t value, int32_t octaves)
{
	/* 2^(1/2), 2^(1/4), ... as 1.31 */
	static const uint32_t root[LOG_BITS] = {3037000500u, 2553802834u, 2341847524u, 2242560872u,
						2194507417u, 2170868393u, 2159144232u, 2153305609u,
						2150392239u, 2148937043u};
	int32_t whole = octaves >> LOG_BITS, part = octaves & (FIX_OCTAVE - 1);

	for (int i = 0; i < LOG_BITS; i++) {
		if (part & (FIX_OCTAVE >> (i + 1)))
			value = fix_muldiv(value, root[i], 1u << 31);
	}
	if (whole < 0)
		return whole <= -64 ? 0 : value >> -whole;
	if (whole >= 64 || (whole && value >> (64 - whole)))
		return value ? UINT64_MAX : 0;
	return value << whole;
}

static void fix_swap(uint64_t *a, uint64_t *b)
{
	uint64_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Median of first, middle and last. */
static uint64_t fix_pivot(const uint64_t *value, uint32_t low, uint32_t high)
{
	uint64_t a = value[low], b = value[low + (high - low) / 2], c = value[high];

	if ((a <= b) == (b <= c))
		return b;
	return (b <= a) == (a <= c) ? a : c;
}

uint64_t fix_select(uint64_t *value, uint32_t count, uint32_t k)
{
	uint32_t low = 0, high = count - 1;

	while (low < high) {
		uint64_t pivot = fix_pivot(value, low, high);
		uint32_t i = low, j = high;

		for (;;) {
			while (value[i] < pivot)
				i++;
			while (value[j] > pivot)
				j--;
			if (i >= j)
				break;
			fix_swap(&value[i++], &value[j--]);
		}
		/* [low, i) is not above the pivot, (j, high] not below. */
		if (k < i && k <= j)
			high = j < i ? j : i - 1;
		else if (k > j)
			low = j + 1;
		else
			break;
	}
	return value[k];
}

static void fix_sift(uint64_t *value, uint32_t count, uint32_t at)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= count)
			return;
		if (child + 1 < count && value[child + 1] > value[child])
			child++;
		if (value[child] <= value[at])
			return;
		fix_swap(&value[child], &value[at]);
		at = child;
	}
}

void fix_sort(uint64_t *value, uint32_t count)
{
	for (uint32_t at = count / 2; at-- > 0;)
		fix_sift(value, count, at);
	for (uint32_t end = count; end-- > 1;) {
		fix_swap(&value[0], &value[end]);
		fix_sift(value, end, 0);
	}
}
