/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_DESC_QUANTITY_H
#define SIMGPU_DESC_QUANTITY_H

/* Numbers with a unit, as "80 GiB" or "3.35 TB/s", to and from whole ns, bytes, bytes per us,
 * kHz and permille. No state. */

#include <stddef.h>
#include <stdint.h>

enum quantity_kind {
	QUANTITY_NS,
	QUANTITY_BYTES,
	QUANTITY_BYTES_PER_US,
	QUANTITY_KHZ,
	QUANTITY_PERMILLE,
};

/* -EINVAL: no number, more than six decimals, an unknown unit, or no whole result. */
int quantity_parse(enum quantity_kind kind, const char *text, uint64_t *ret_value);
/* In the largest unit that keeps it whole. */
void quantity_print(enum quantity_kind kind, uint64_t value, char *ret_text, size_t size);
const char *quantity_units(enum quantity_kind kind);

#endif
