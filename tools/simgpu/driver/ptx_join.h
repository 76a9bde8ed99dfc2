/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_JOIN_H
#define SIMGPU_PTX_JOIN_H

/*
 * Relocatable code (nvcc -rdc=true) keeps the PTX of each source file apart, and its functions
 * refer to one another's by name. This makes one text of several: declarations and variables of
 * all come first, functions after them, so that what one text declares as external is defined
 * where it is used. Static names are told apart by nvcc already. No state; thread-safe.
 */

#include <stddef.h>

/* Grows by ptx_join_add; zeroed at first. */
struct ptx_join {
	char *head, *tail; /* up to the first function, and from there on; NUL-terminated */
	size_t head_bytes, tail_bytes;
};

/* 0 or -ENOMEM. */
int ptx_join_add(struct ptx_join *join, const char *text);
/* The whole text; free() it. NULL: no memory. */
char *ptx_join_end(struct ptx_join *join);
void ptx_join_drop(struct ptx_join *join);

#endif
