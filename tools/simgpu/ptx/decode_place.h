/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_DECODE_PLACE_H
#define SIMGPU_PTX_DECODE_PLACE_H

/* What ld, st and atom have in common: spaces, qualifiers, addresses. */

#include "ptx/decode.h"

enum mem_space { MEM_GENERIC_SPACE, MEM_GLOBAL, MEM_SHARED, MEM_LOCAL, MEM_PARAM };

struct access_parts {
	enum mem_space space;
	enum ptx_type type;
	uint32_t vector; /* elements */
	bool strong;	 /* volatile, or orders memory */
};

struct place {
	enum mem_space space; /* as it turned out: a parameter may be local memory */
	uint32_t operand;     /* OPERAND_NONE: a variable of the frame, or a kernel parameter */
	int64_t offset;
	bool wide; /* the operand has 64 bits */
};

bool take_space(const char *part, enum mem_space *ret_space);
/* False: a part that is not known. */
bool access_find(const struct statement *st, struct access_parts *access);
int place_find(struct parser *p, const struct arg *arg, enum mem_space space, uint32_t bytes,
	       struct place *place);
void place_set(struct insn *in, const struct place *place);
const char *space_name(enum mem_space space); /* in the table's keys */

bool is_one_of(const char *part, const char *const *words, size_t count);
#define IS_ONE_OF(part, words) is_one_of(part, words, sizeof(words) / sizeof((words)[0]))

#endif
