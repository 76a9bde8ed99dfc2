/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_SYMBOL_H
#define SIMGPU_PTX_SYMBOL_H

/*
 * Types, names and operands as the text has them. Symbols live in an array that grows: a pointer
 * to one is good until the next is added.
 */

#include "ptx/lex.h"

struct parser;

enum ptx_type {
	TYPE_NONE,
	TYPE_PRED,
	TYPE_B8,
	TYPE_U8,
	TYPE_S8,
	TYPE_B16,
	TYPE_U16,
	TYPE_S16,
	TYPE_F16,
	TYPE_B32,
	TYPE_U32,
	TYPE_S32,
	TYPE_F32,
	TYPE_F16X2,
	TYPE_B64,
	TYPE_U64,
	TYPE_S64,
	TYPE_F64,
	TYPE_OTHER, /* known to PTX, not to us: .bf16, .b128, .texref ... */
};

enum symbol_kind {
	SYMBOL_REG,	       /* index: virtual register */
	SYMBOL_REGS,	       /* %r<count>: index is the first one; found by prefix only */
	SYMBOL_LOCAL,	       /* index: offset in the frame's local memory; .param of calls too */
	SYMBOL_PARAM,	       /* index: offset in the kernel's parameters */
	SYMBOL_SHARED,	       /* index: offset among the kernel's own static ones */
	SYMBOL_SHARED_COMMON,  /* index: offset among the module's */
	SYMBOL_SHARED_DYNAMIC, /* .extern .shared */
	SYMBOL_GLOBAL,	       /* index: global */
	SYMBOL_FUNCTION,       /* index: function */
	SYMBOL_LABEL,	       /* index: instruction */
	SYMBOL_TARGETS,	       /* index: first in targets, count of them */
	SYMBOL_PROTOTYPE,      /* of indirect calls: the callee's own formals are what counts */
	SYMBOL_UNKNOWN_VALUE,  /* external or opaque: whoever uses it is refused */
};

struct symbol {
	enum symbol_kind kind;
	enum ptx_type type;
	uint32_t index, count;
	uint32_t size; /* bytes; 0: not known (.extern x[]) */
	uint32_t line;
	const char *text;
	uint32_t length;
};

enum scalar_kind {
	SCALAR_REG,	/* value: virtual register */
	SCALAR_INT,	/* value */
	SCALAR_F32,	/* value: bits */
	SCALAR_F64,	/* value: bits */
	SCALAR_SYMBOL,	/* symbol + value */
	SCALAR_SPECIAL, /* value: enum special */
	SCALAR_SINK,	/* _ */
};

struct scalar {
	enum scalar_kind kind;
	enum ptx_type type; /* of a register or special register */
	uint32_t symbol;
	uint64_t value;
	bool negate; /* !p */
};

#define ARG_ELEMENTS 8u

struct arg {
	struct scalar one;
	uint32_t pair; /* p|q: the second's virtual register, or OPERAND_NONE */
	bool is_address, has_pair, pair_is_sink;
	uint8_t count; /* of a {vector}; 0: none */
	int64_t offset;
	struct scalar element[ARG_ELEMENTS];
};

/* ---- types and symbols ---- */
enum ptx_type type_find(const char *text, uint32_t length);
uint32_t type_size(enum ptx_type type); /* bytes; 0: none or predicate */
bool type_is_float(enum ptx_type type);
bool type_is_signed(enum ptx_type type);
struct symbol *symbol_add(struct parser *p, const struct token *name, enum symbol_kind kind);
struct symbol *symbol_find(struct parser *p, const struct token *name); /* innermost first */
/* Registers declared as %r<n> are found by their prefix, in name spaces of their own. */
struct symbol *symbol_add_regs(struct parser *p, const struct token *prefix, enum ptx_type type,
			       uint32_t first, uint32_t count);
bool symbol_find_reg(struct parser *p, const struct token *name, enum ptx_type *ret_type,
		     uint32_t *ret_vreg);
struct symbol *symbol_in_scope(struct parser *p, const char *text, uint32_t length, uint32_t scope);
int scope_open(struct parser *p);
void scope_close(struct parser *p);

#endif
