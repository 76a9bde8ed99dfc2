/* SPDX-License-Identifier: Apache-2.0 */
/* Names: scopes inside scopes, and registers by their prefix. */
#include "ptx/build.h"

int scope_open(struct parser *p)
{
	uint32_t *parent = GROW(p->scope_parent, p->scopes, p->scope_capacity);

	if (!parent)
		return parse_no_memory(p);
	*parent = p->scope;
	p->scope = p->scopes - 1;
	return 0;
}

void scope_close(struct parser *p)
{
	p->scope = p->scope_parent[p->scope];
}

struct symbol *symbol_in_scope(struct parser *p, const char *text, uint32_t length, uint32_t scope)
{
	for (;; scope = p->scope_parent[scope]) {
		uint32_t index = names_get(&p->names, text, length, scope);

		if (index != UINT32_MAX)
			return &p->symbol[index];
		if (!scope)
			return NULL;
	}
}

struct symbol *symbol_find(struct parser *p, const struct token *name)
{
	return symbol_in_scope(p, name->start, name->length, p->scope);
}

/* Scopes of register prefixes have this bit: "%r<9>" and "%r" are two names. */
#define PREFIX_SCOPE 0x80000000u

static struct symbol *add_in_scope(struct parser *p, const struct token *name, uint32_t scope,
				   enum symbol_kind kind)
{
	uint32_t known = names_get(&p->names, name->start, name->length, scope);
	struct symbol *symbol;

	if (known != UINT32_MAX && p->symbol[known].kind != SYMBOL_UNKNOWN_VALUE) {
		parse_fail(p, name->line, "%.*s is declared twice, first in line %u",
			   name->length > 100 ? 100 : (int)name->length, name->start,
			   p->symbol[known].line);
		return NULL;
	}
	symbol = GROW(p->symbol, p->symbols, p->symbol_capacity);
	if (!symbol || names_put(&p->names, name->start, name->length, scope, p->symbols - 1)) {
		parse_no_memory(p);
		return NULL;
	}
	symbol->kind = kind;
	symbol->text = name->start;
	symbol->length = name->length;
	symbol->line = name->line;
	return symbol;
}

struct symbol *symbol_add(struct parser *p, const struct token *name, enum symbol_kind kind)
{
	return add_in_scope(p, name, p->scope, kind);
}

struct symbol *symbol_add_regs(struct parser *p, const struct token *prefix, enum ptx_type type,
			       uint32_t first, uint32_t count)
{
	struct symbol *symbol = add_in_scope(p, prefix, p->scope | PREFIX_SCOPE, SYMBOL_REGS);

	if (symbol) {
		symbol->type = type;
		symbol->index = first;
		symbol->count = count;
	}
	return symbol;
}

/* The digits at a name's end, as a number: %r12 is the 12th of %r<n>. */
static bool split_number(const struct token *name, uint32_t *ret_prefix, uint32_t *ret_number)
{
	uint32_t length = name->length;
	uint32_t number = 0;

	while (length && name->start[length - 1] >= '0' && name->start[length - 1] <= '9')
		length--;
	if (length == name->length || name->length - length > 7)
		return false;
	for (uint32_t i = length; i < name->length; i++)
		number = number * 10 + (uint32_t)(name->start[i] - '0');
	*ret_prefix = length;
	*ret_number = number;
	return true;
}

bool symbol_find_reg(struct parser *p, const struct token *name, enum ptx_type *ret_type,
		     uint32_t *ret_vreg)
{
	uint32_t prefix = 0;
	uint32_t number = 0;
	bool numbered = split_number(name, &prefix, &number);

	for (uint32_t scope = p->scope;; scope = p->scope_parent[scope]) {
		uint32_t index = names_get(&p->names, name->start, name->length, scope);

		if (index == UINT32_MAX && numbered) {
			index = names_get(&p->names, name->start, prefix, scope | PREFIX_SCOPE);
			if (index != UINT32_MAX && number >= p->symbol[index].count)
				index = UINT32_MAX;
		}
		if (index != UINT32_MAX) {
			const struct symbol *symbol = &p->symbol[index];

			*ret_type = symbol->type;
			*ret_vreg = symbol->index + (symbol->kind == SYMBOL_REGS ? number : 0);
			return symbol->kind == SYMBOL_REG || symbol->kind == SYMBOL_REGS;
		}
		if (!scope)
			return false;
	}
}
