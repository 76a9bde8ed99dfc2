/* SPDX-License-Identifier: Apache-2.0 */
#include "device/desc_quantity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DECIMALS_MAX 6
#define UNITS_MAX 8

struct unit {
	const char *name;
	uint64_t scale;
};

/* Largest first; all that exist, for messages, are in `names`. */
static const struct {
	const char *names;
	struct unit unit[UNITS_MAX];
} kinds[] = {
	[QUANTITY_NS] = {"ns, us, ms or s",
			 {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}}},
	[QUANTITY_BYTES] = {"B, KiB, MiB, GiB (1024) or KB, MB, GB (1000)",
			    {{"GiB", 1ull << 30},
			     {"GB", 1000000000},
			     {"MiB", 1 << 20},
			     {"MB", 1000000},
			     {"KiB", 1 << 10},
			     {"KB", 1000},
			     {"B", 1}}},
	[QUANTITY_BYTES_PER_US] = {"MB/s, GB/s or TB/s",
				   {{"TB/s", 1000000}, {"GB/s", 1000}, {"MB/s", 1}}},
	[QUANTITY_KHZ] = {"kHz, MHz or GHz", {{"GHz", 1000000}, {"MHz", 1000}, {"kHz", 1}}},
	[QUANTITY_PERMILLE] = {"% or permille", {{"%", 10}, {"permille", 1}}},
};

const char *quantity_units(enum quantity_kind kind)
{
	return kinds[kind].names;
}

/* Digits, perhaps a point and more digits: `value` without the point, over `divisor`. */
static const char *parse_number(const char *text, uint64_t *ret_value, uint64_t *ret_divisor)
{
	uint64_t value = 0, divisor = 1;
	int digits = 0, decimals = -1;

	for (; (*text >= '0' && *text <= '9') || (*text == '.' && decimals < 0); text++) {
		if (*text == '.') {
			decimals = 0;
			continue;
		}
		if (++digits > 15 || (decimals >= 0 && ++decimals > DECIMALS_MAX))
			return NULL;
		value = value * 10 + (uint64_t)(*text - '0');
		if (decimals > 0)
			divisor *= 10;
	}
	if (!digits || !decimals)
		return NULL;
	*ret_value = value;
	*ret_divisor = divisor;
	return text;
}

int quantity_parse(enum quantity_kind kind, const char *text, uint64_t *ret_value)
{
	uint64_t value, divisor;
	const char *rest = parse_number(text, &value, &divisor);

	if (!rest)
		return -EINVAL;
	rest += strspn(rest, " ");
	for (const struct unit *unit = kinds[kind].unit; unit->name; unit++) {
		if (strcmp(rest, unit->name))
			continue;
		if (__builtin_mul_overflow(value, unit->scale, &value) || value % divisor)
			return -EINVAL;
		*ret_value = value / divisor;
		return 0;
	}
	return -EINVAL;
}

void quantity_print(enum quantity_kind kind, uint64_t value, char *ret_text, size_t size)
{
	const struct unit *unit = kinds[kind].unit;

	while (unit->scale > 1 && (value < unit->scale || value % unit->scale))
		unit++;
	(void)snprintf(ret_text, size, "%llu %s", (unsigned long long)(value / unit->scale),
		       unit->name);
}
