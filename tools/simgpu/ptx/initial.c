/* SPDX-License-Identifier: Apache-2.0 */
/* .global and .const: variables of the module and their initial values. */
#include "ptx/build.h"

#include <stdlib.h>
#include <string.h>

#define INIT_DEPTH 8u

struct initial {
	uint8_t *bytes;
	uint64_t size; /* room; grows with an open array */
	uint64_t used;
	uint64_t room; /* allocated */
	struct reloc *reloc;
	uint32_t relocs, reloc_capacity;
	bool is_open;
};

static int initial_reserve(struct parser *p, struct initial *init, const struct variable *var,
			   uint32_t bytes)
{
	uint64_t end = init->used + bytes;

	if (end > (init->is_open ? VARIABLE_MAX_BYTES : init->size))
		return parse_fail(p, p->lex.token.line, "%.*s has more initial values than room",
				  var->name.length > 100 ? 100 : (int)var->name.length,
				  var->name.start);
	if (end > init->room) {
		uint64_t room = end * 2 + 64;
		uint8_t *bigger = realloc(init->bytes, room);

		if (!bigger)
			return parse_no_memory(p);
		memset(bigger + init->room, 0, room - init->room);
		init->bytes = bigger;
		init->room = room;
	}
	return 0;
}

static int symbol_to_reloc(struct parser *p, const struct token *name, struct reloc *reloc)
{
	struct symbol *symbol = symbol_find(p, name);

	if (symbol && symbol->kind == SYMBOL_GLOBAL)
		*reloc = (struct reloc){.kind = RELOC_GLOBAL, .index = symbol->index};
	else if (symbol && symbol->kind == SYMBOL_FUNCTION)
		*reloc = (struct reloc){.kind = RELOC_FUNCTION, .index = symbol->index};
	else
		return parse_fail(p, name->line, "the address of %.*s is not known here",
				  name->length > 100 ? 100 : (int)name->length, name->start);
	return 0;
}

/* name, name + n, generic(name) + n */
static int parse_address(struct parser *p, struct initial *init, uint32_t bytes)
{
	bool generic = token_equals(&p->lex.token, "generic");
	struct reloc found = {0};
	struct reloc *reloc;

	if (generic) {
		lex_next(&p->lex);
		if (parse_expect(p, '('))
			return p->failed;
	}
	if (p->lex.token.kind != TOKEN_NAME)
		return parse_unexpected(p, "a variable's or function's name");
	if (symbol_to_reloc(p, &p->lex.token, &found))
		return p->failed;
	lex_next(&p->lex);
	if (generic && parse_expect(p, ')'))
		return p->failed;
	if ((lex_is(&p->lex, '+') || lex_is(&p->lex, '-')) && expr_parse(p, &found.addend))
		return p->failed;
	if (bytes != 8)
		return parse_fail(p, p->lex.token.line, "an address does not fit %u bytes", bytes);
	reloc = GROW(init->reloc, init->relocs, init->reloc_capacity);
	if (!reloc)
		return parse_no_memory(p);
	*reloc = found;
	reloc->offset = (uint32_t)init->used;
	reloc->size = bytes;
	return 0;
}

static bool is_negated_float(const struct lexer *at)
{
	struct lexer ahead = *at;

	if (!lex_is(&ahead, '-'))
		return false;
	lex_next(&ahead);
	return ahead.token.kind == TOKEN_F32 || ahead.token.kind == TOKEN_F64;
}

static int parse_number(struct parser *p, const struct variable *var, uint64_t *ret_bits)
{
	bool negative = is_negated_float(&p->lex);
	double wide;
	float narrow;

	if (negative)
		lex_next(&p->lex);
	if (p->lex.token.kind != TOKEN_F32 && p->lex.token.kind != TOKEN_F64) {
		if (expr_parse(p, ret_bits))
			return p->failed;
		if (!type_is_float(var->type))
			return 0;
		wide = (double)(int64_t)*ret_bits;
	} else if (p->lex.token.kind == TOKEN_F32) {
		uint32_t bits = (uint32_t)p->lex.token.value;

		memcpy(&narrow, &bits, sizeof(narrow));
		wide = (double)narrow;
		lex_next(&p->lex);
	} else {
		memcpy(&wide, &p->lex.token.value, sizeof(wide));
		lex_next(&p->lex);
	}
	if (negative)
		wide = -wide;
	*ret_bits = 0;
	if (type_size(var->type) == 8) {
		memcpy(ret_bits, &wide, sizeof(wide));
	} else {
		narrow = (float)wide;
		memcpy(ret_bits, &narrow, sizeof(narrow));
	}
	return 0;
}

static int parse_value(struct parser *p, const struct variable *var, struct initial *init)
{
	uint32_t bytes = type_size(var->type);
	uint64_t bits = 0;

	if (initial_reserve(p, init, var, bytes))
		return p->failed;
	if (p->lex.token.kind == TOKEN_NAME && !token_equals(&p->lex.token, "WARP_SZ")) {
		if (parse_address(p, init, bytes))
			return p->failed;
	} else if (parse_number(p, var, &bits)) {
		return p->failed;
	} else {
		memcpy(init->bytes + init->used, &bits, bytes);
	}
	init->used += bytes;
	return 0;
}

/* "text": its bytes and, where there is room, the NUL that the declaration counts. */
static int parse_text(struct parser *p, const struct variable *var, struct initial *init)
{
	struct token text = p->lex.token;

	if (type_size(var->type) != 1 || initial_reserve(p, init, var, text.length))
		return p->failed ? p->failed
				 : parse_fail(p, text.line, "a string initialises bytes only");
	memcpy(init->bytes + init->used, text.start, text.length);
	init->used += text.length;
	lex_next(&p->lex);
	return 0;
}

static int parse_braces(struct parser *p, const struct variable *var, struct initial *init,
			unsigned depth)
{
	if (p->lex.token.kind == TOKEN_STRING)
		return parse_text(p, var, init);
	if (!parse_accept(p, '{'))
		return parse_value(p, var, init);
	if (depth > INIT_DEPTH)
		return parse_fail(p, p->lex.token.line, "initial values are nested too deep");
	do {
		if (lex_is(&p->lex, '}'))
			break;
		if (parse_braces(p, var, init, depth + 1))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, '}');
}

static int global_add(struct parser *p, const struct variable *var, bool is_const,
		      const struct initial *init)
{
	struct module_global *global = GROW(p->global, p->globals, p->global_capacity);
	struct pool *pool = &p->module->pool;
	uint64_t size = var->is_open ? init->used : var->size;
	uint8_t *bytes = NULL;

	if (!global)
		return parse_no_memory(p);
	if (init->used) {
		bytes = pool_alloc(pool, size);
		if (!bytes)
			return parse_no_memory(p);
		memcpy(bytes, init->bytes, init->used);
	}
	*global = (struct module_global){
		.info = {.name = pool_string(pool, var->name.start, var->name.length),
			 .size_bytes = size,
			 .align_bytes = var->align,
			 .is_const = is_const,
			 .is_managed = var->is_managed},
		.bytes = bytes,
		.reloc = pool_copy(pool, init->reloc, init->relocs * sizeof(*init->reloc)),
		.relocs = init->relocs,
	};
	if (!global->info.name || !global->reloc)
		return parse_no_memory(p);
	if (is_const)
		p->module->const_bytes += (uint32_t)size;
	return 0;
}

static int parse_one_global(struct parser *p, struct variable *var, bool is_const, bool is_extern)
{
	struct initial init = {0};
	struct symbol *symbol;
	int rc = 0;

	if (variable_parse_name(p, var))
		return p->failed;
	/* An external name may be declared any number of times, also after its definition. */
	symbol = is_extern ? symbol_find(p, &var->name) : NULL;
	if (!symbol)
		symbol = symbol_add(p, &var->name,
				    is_extern || var->type == TYPE_OTHER ? SYMBOL_UNKNOWN_VALUE
									 : SYMBOL_GLOBAL);
	if (!symbol)
		return p->failed;
	if (symbol->kind == SYMBOL_UNKNOWN_VALUE || is_extern) {
		if (lex_is(&p->lex, '='))
			return parse_unexpected(p, "no initial value");
		return 0;
	}
	symbol->index = p->globals;
	symbol->type = var->type;
	symbol->size = (uint32_t)var->size;
	init.size = var->size;
	init.is_open = var->is_open;
	if (parse_accept(p, '='))
		rc = parse_braces(p, var, &init, 0);
	else if (var->is_open)
		rc = parse_fail(p, var->name.line, "an array without a size wants initial values");
	if (!rc)
		rc = global_add(p, var, is_const, &init);
	free(init.bytes);
	free(init.reloc);
	return rc;
}

int variable_parse_global(struct parser *p, bool is_const, bool is_extern)
{
	struct variable var;
	uint32_t align;

	lex_next(&p->lex);
	if (variable_parse_prefix(p, &var))
		return p->failed;
	align = var.align;
	do {
		var.align = align;
		if (parse_one_global(p, &var, is_const, is_extern))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, ';');
}
