/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_DOOR_TABLE_H
#define SHIM_DOOR_TABLE_H

/*
 * hooks.def as rows: what each hook is called, where it is, and where the real driver's entry is.
 * Constant data and pure look-ups; usable wherever the dynamic loader asks.
 */

#include <stddef.h>
#include <stdint.h>

#include "hooks.h"

struct hook_row {
	const char *symbol;
	const char *base; /* what cuGetProcAddress is asked for */
	int version;	  /* introduced with CUDA version (1000 * major + 10 * minor) */
	uint32_t class;	  /* enum hook_class */
	void *hook;
	size_t real_offset; /* in struct real_table */
};

extern const struct hook_row hook_rows[HOOK_COUNT];

/* NULL: no hook of exactly that name. */
const struct hook_row *hook_by_symbol(const char *symbol);

/* The driver's entry of a row; real_missing where there is none. */
void *hook_real(const struct hook_row *row);

/*
 * The hook for what the driver answered to (base, version, flags): by address, and where several
 * hooks share one, by how well name, version and stream suffix fit. Where the address is none of
 * the exported ones, by name alone, if the version is one that we know the signature of. Returns
 * `address` where there is no hook.
 */
void *hook_for_answer(void *address, const char *base, int version, uint64_t flags);

#endif
