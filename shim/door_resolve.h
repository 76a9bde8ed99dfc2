/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_DOOR_RESOLVE_H
#define SHIM_DOOR_RESOLVE_H

/*
 * Loaded objects and their symbols, read by hand: dl_iterate_phdr and GNU hash. Usable inside a
 * look-up of the dynamic loader and before any constructor: no dl* call, no allocation, no
 * thread-local, no lock but the loader's own for the walk. Objects of the shim's own namespace.
 *
 * A struct object is a view into mapped memory and is good while the object stays loaded.
 */

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct object {
	uintptr_t base;
	uintptr_t low, high; /* of its segments */
	const Elf64_Sym *symbols;
	const char *strings;
	const uint32_t *gnu_hash;
	const uint16_t *versions; /* NULL: none */
	const char *soname;	  /* NULL: none */
	const char *path;	  /* the loader's string */
};

static inline bool object_holds(const struct object *object, const void *address)
{
	return (uintptr_t)address >= object->low && (uintptr_t)address < object->high;
}

/* A defined, non-hidden symbol of that exact name (the default one of several versions). NULL:
 * none, or a name that is not plain code or data. */
void *object_symbol(const struct object *object, const char *name);

/* libcuda: by soname libcuda.so.1, or a file name that begins with libcuda.so. */
bool object_find_driver(struct object *ret_object);

/* The first object behind the one that holds `address` (NULL: behind none) which defines the
 * name. Load order; for a program's own objects that is the order of look-up. */
bool object_find_definer(const void *address, const char *name, struct object *ret_object,
			 void **ret_symbol);

/* libc, or before glibc 2.34 libdl: the one that really defines dlsym and its like. */
void *object_libc_symbol(const char *name);

/* Counts unloaded objects: what was found before a change must be found again. */
unsigned long long object_unloads(void);

#endif
