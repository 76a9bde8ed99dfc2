/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_TABLE_H
#define SLUICE_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * A plain text table: columns as wide as their widest cell, two spaces between. Cells are copied.
 * table_finish prints nothing; both calls take a zeroed struct.
 */

#define TABLE_COLUMNS 16

struct table {
	size_t rows, room;
	char *(*cell)[TABLE_COLUMNS];
	unsigned int right; /* bit per column: align right */
	size_t keys;	    /* first columns that name a row; 0: one */
};

/* `cells`: TABLE_COLUMNS at most, NULL-terminated. Returns 0 or -ENOMEM. */
int table_row(struct table *table, const char *const *cells);
/* A table wider than `columns` is printed in parts, each with the rows' names; 0: as wide as it is. */
void table_print(const struct table *table, size_t columns, FILE *out);
/* Prints lines, those longer than `columns` broken between words; 0: none are. */
void print_wrapped(const char *lines, size_t columns, FILE *out);
void table_finish(struct table *table);
/* Of standard output; 0: it is no terminal. */
size_t terminal_columns(void);

/* "12.3 GiB", "512 KiB"; "-" for UINT64_MAX. */
void format_bytes(uint64_t bytes, size_t size, char *ret_text);
/* "9.83 ms", "120 us"; "-" for 0. */
void format_ns(uint64_t ns, size_t size, char *ret_text);
/* A kernel's name as people write it: "augment_input" for "_Z13augment_inputPKfPf", the last part of
 * a nested name; other names as they are. */
void format_kernel(const char *symbol, size_t size, char *ret_text);
/* "47.3 %" */
void format_permille(uint32_t permille, size_t size, char *ret_text);

#endif
