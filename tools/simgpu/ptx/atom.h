/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_ATOM_H
#define SIMGPU_PTX_ATOM_H

/* Atomic operations by name, and how mem_atom, mem_load_strong and mem_store_strong read insn.n. */

#include "ptx/handlers.h"
#include "ptx/run.h"

enum mem_how {
	MEM_BYTES = 15, /* 1, 2, 4 or 8 */
	MEM_SIGNED = 16,
	MEM_WIDE = 32,	  /* the data register has 64 bits */
	MEM_GENERIC = 64, /* the address is generic; in shared memory: the register has 64 bits */
};

struct atom_row {
	const char *op, *types;
	void (*fn)(void *address, uint64_t b, uint64_t c, uint64_t *ret_old);
	uint8_t bytes;
	uint8_t args; /* address and values */
};

const struct atom_row *atom_find(const char *op, const char *type); /* NULL: none */

#endif
