/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of variables: prefix, name, dimensions; and those in shared memory. */
#include "ptx/build.h"

#include <string.h>

/* .attribute(.managed) and .attribute(.unified(..)) */
static int parse_attribute(struct parser *p, struct variable *var)
{
	unsigned depth = 0;

	lex_next(&p->lex);
	if (!lex_is(&p->lex, '('))
		return parse_unexpected(p, "\"(\"");
	do {
		if (p->lex.token.kind == TOKEN_END)
			return parse_unexpected(p, "\")\"");
		depth += lex_is(&p->lex, '(');
		depth -= lex_is(&p->lex, ')');
		var->is_managed |= lex_is_dot(&p->lex, "managed");
		lex_next(&p->lex);
	} while (depth);
	return 0;
}

static int parse_align(struct parser *p, struct variable *var)
{
	uint64_t align;

	lex_next(&p->lex);
	align = p->lex.token.value;
	if (p->lex.token.kind != TOKEN_INT || !align || align & (align - 1) || align > 4096)
		return parse_fail(p, p->lex.token.line, ".align wants a power of two up to 4096");
	var->align = (uint32_t)align;
	lex_next(&p->lex);
	return 0;
}

/* .ptr .global .align 4: says where a kernel's pointer parameter points; nothing we use. */
static int parse_pointer_note(struct parser *p)
{
	struct variable ignored = {0};

	lex_next(&p->lex);
	while (p->lex.token.kind == TOKEN_DOT) {
		if (lex_is_dot(&p->lex, "align")) {
			if (parse_align(p, &ignored))
				return p->failed;
		} else {
			lex_next(&p->lex);
		}
	}
	return 0;
}

int variable_parse_prefix(struct parser *p, struct variable *var)
{
	uint32_t vector = 1;

	*var = (struct variable){0};
	while (p->lex.token.kind == TOKEN_DOT) {
		const struct token *token = &p->lex.token;

		if (token_equals(token, "align")) {
			if (parse_align(p, var))
				return p->failed;
			continue;
		}
		if (token_equals(token, "attribute")) {
			if (parse_attribute(p, var))
				return p->failed;
			continue;
		}
		if (token_equals(token, "ptr")) {
			if (parse_pointer_note(p))
				return p->failed;
			continue;
		}
		if (token_equals(token, "v2") || token_equals(token, "v4"))
			vector = (uint32_t)(token->start[1] - '0');
		else
			var->type = type_find(token->start, token->length);
		if (vector == 1 && var->type == TYPE_NONE)
			return parse_unexpected(p, "a type");
		lex_next(&p->lex);
	}
	if (var->type == TYPE_NONE)
		return parse_unexpected(p, "a type");
	var->element = type_size(var->type) * vector;
	return 0;
}

static int parse_dimensions(struct parser *p, struct variable *var)
{
	while (lex_is(&p->lex, '[')) {
		uint64_t count;

		lex_next(&p->lex);
		if (parse_accept(p, ']')) {
			var->is_open = true;
			continue;
		}
		if (expr_parse(p, &count) || parse_expect(p, ']'))
			return p->failed;
		if (count > VARIABLE_MAX_BYTES ||
		    __builtin_mul_overflow(var->size, count, &var->size) ||
		    var->size > VARIABLE_MAX_BYTES)
			return parse_fail(p, var->name.line, "%.*s is larger than 1 GiB",
					  var->name.length > 100 ? 100 : (int)var->name.length,
					  var->name.start);
	}
	return 0;
}

int variable_parse_name(struct parser *p, struct variable *var)
{
	var->name = p->lex.token;
	var->size = var->element;
	var->is_open = false;
	var->regs = 0;
	if (var->name.kind != TOKEN_NAME)
		return parse_unexpected(p, "a name");
	lex_next(&p->lex);
	if (lex_is(&p->lex, '<')) {
		lex_next(&p->lex);
		if (p->lex.token.kind != TOKEN_INT || !p->lex.token.value ||
		    p->lex.token.value > 1000000)
			return parse_unexpected(p, "a count of registers up to 1000000");
		var->regs = (uint32_t)p->lex.token.value;
		lex_next(&p->lex);
		return parse_expect(p, '>');
	}
	if (!var->align)
		var->align = var->element ? var->element : 1;
	return parse_dimensions(p, var);
}

static int shared_place(struct parser *p, const struct variable *var, bool is_extern)
{
	struct symbol *symbol = is_extern ? symbol_find(p, &var->name) : NULL;
	uint32_t *end = &p->module->common_shared;
	bool own = p->b.fn && p->b.fn->is_entry;
	uint64_t offset;

	if (symbol && symbol->kind == SYMBOL_SHARED_DYNAMIC)
		return 0;
	symbol = symbol_add(p, &var->name,
			    is_extern || var->is_open ? SYMBOL_SHARED_DYNAMIC
			    : own		      ? SYMBOL_SHARED
						      : SYMBOL_SHARED_COMMON);
	if (!symbol)
		return p->failed;
	if (symbol->kind == SYMBOL_SHARED_DYNAMIC) {
		if (var->align > p->module->dynamic_align)
			p->module->dynamic_align = var->align;
		return 0;
	}
	if (own)
		end = &p->b.shared_bytes;
	offset = ((uint64_t)*end + var->align - 1) / var->align * var->align;
	if (offset + var->size > VARIABLE_MAX_BYTES)
		return parse_fail(p, var->name.line, "shared variables are larger than 1 GiB");
	symbol->index = (uint32_t)offset;
	symbol->size = (uint32_t)var->size;
	*end = (uint32_t)(offset + var->size);
	return 0;
}

/* In module scope, or in a function's body. A kernel's own variables come after the module's;
 * those of a .func are the module's too, since several kernels may call it. */
int variable_parse_shared(struct parser *p, bool is_extern)
{
	struct variable var;
	uint32_t align;

	lex_next(&p->lex);
	if (variable_parse_prefix(p, &var))
		return p->failed;
	align = var.align;
	do {
		var.align = align;
		if (variable_parse_name(p, &var) || shared_place(p, &var, is_extern))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, ';');
}
