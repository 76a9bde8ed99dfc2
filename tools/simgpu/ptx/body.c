/* SPDX-License-Identifier: Apache-2.0 */
/* The statements of a function's body: declarations, labels, instructions. */
#include "ptx/build.h"

#include <string.h>

/* ---- instructions ---- */

static int name_intern(struct parser *p, const char *text, uint32_t length)
{
	uint32_t known = names_get(&p->mnemonics, text, length, 0);

	if (known == UINT32_MAX) {
		known = p->name_bytes;
		for (uint32_t i = 0; i <= length; i++) {
			char *byte = GROW(p->name_text, p->name_bytes, p->name_capacity);

			if (!byte)
				return parse_no_memory(p);
			*byte = i < length ? text[i] : 0;
		}
		if (names_put(&p->mnemonics, text, length, 0, known))
			return parse_no_memory(p);
	}
	p->st.name = known;
	return 0;
}

/* A name and the .parts that stick to it. */
int statement_parse_mnemonic(struct parser *p)
{
	struct statement *st = &p->st;
	const char *start = p->lex.token.start;
	uint32_t length = p->lex.token.length;

	if (p->lex.token.kind != TOKEN_NAME)
		return parse_unexpected(p, "an instruction");
	st->line = p->lex.token.line;
	st->args = 0;
	st->parts = 0;
	for (lex_next(&p->lex); p->lex.token.kind == TOKEN_DOT && p->lex.token.glued;
	     lex_next(&p->lex))
		length = (uint32_t)(p->lex.token.start - start) + p->lex.token.length;
	if (length >= MNEMONIC_MAX)
		return parse_fail(p, st->line, "an instruction's name is longer than %u characters",
				  MNEMONIC_MAX - 1);
	memcpy(st->mnemonic, start, length);
	st->mnemonic[length] = 0;
	memcpy(st->split, st->mnemonic, length + 1);
	for (char *at = st->split; at; st->parts++) {
		char *dot = strchr(at, '.');

		if (st->parts == STATEMENT_PARTS)
			return parse_fail(p, st->line, "%s has too many parts", st->mnemonic);
		st->part[st->parts] = at;
		if (dot)
			*dot++ = 0;
		at = dot;
	}
	return name_intern(p, start, length);
}

int statement_parse_args(struct parser *p)
{
	struct statement *st = &p->st;

	if (parse_accept(p, ';'))
		return 0;
	do {
		if (st->args == STATEMENT_ARGS)
			return parse_fail(p, st->line, "%s has too many operands", st->mnemonic);
		if (arg_parse(p, &st->arg[st->args++]))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, ';');
}

void statement_skip(struct parser *p)
{
	while (p->lex.token.kind != TOKEN_END && !lex_is(&p->lex, ';'))
		lex_next(&p->lex);
	parse_accept(p, ';');
}

static int parse_guard(struct parser *p)
{
	struct statement *st = &p->st;
	enum ptx_type type;
	uint32_t vreg;

	st->guard = OPERAND_NONE;
	st->guard_negate = false;
	if (!parse_accept(p, '@'))
		return 0;
	st->guard_negate = parse_accept(p, '!');
	if (p->lex.token.kind != TOKEN_NAME || !symbol_find_reg(p, &p->lex.token, &type, &vreg) ||
	    type != TYPE_PRED)
		return parse_unexpected(p, "a predicate register");
	st->guard = vreg << 2 | OPERAND_VREG;
	lex_next(&p->lex);
	return 0;
}

/* ---- declarations ---- */

static int declare_reg(struct parser *p, struct variable *var)
{
	uint32_t count = var->regs ? var->regs : 1;
	struct symbol *symbol;
	uint32_t first;

	if (var->type == TYPE_OTHER || var->element != type_size(var->type)) {
		build_refuse(p, var->name.line, "register %.*s has a type that is not interpreted",
			     var->name.length > 100 ? 100 : (int)var->name.length, var->name.start);
		var->type = TYPE_B64;
	}
	if (p->b.vregs + count > 1000000)
		return parse_fail(p, var->name.line, "more than 1000000 registers in a function");
	first = p->b.vregs;
	for (uint32_t i = 0; i < count; i++)
		build_vreg(p, var->type);
	if (p->failed)
		return p->failed;
	if (var->regs)
		return symbol_add_regs(p, &var->name, var->type, first, count) ? 0 : p->failed;
	symbol = symbol_add(p, &var->name, SYMBOL_REG);
	if (!symbol)
		return p->failed;
	symbol->type = var->type;
	symbol->index = first;
	return 0;
}

/* .local, and .param of calls: both live in the frame's local memory. */
static int declare_local(struct parser *p, struct variable *var)
{
	struct symbol *symbol;

	if (var->regs)
		return parse_fail(p, var->name.line, "<n> is for registers");
	symbol = symbol_add(p, &var->name, SYMBOL_LOCAL);
	if (!symbol)
		return p->failed;
	symbol->type = var->type;
	symbol->size = (uint32_t)var->size;
	symbol->index = build_local(p, var->size, var->align);
	return p->failed;
}

static int parse_declarations(struct parser *p, int (*declare)(struct parser *, struct variable *))
{
	struct variable var;
	uint32_t align;

	lex_next(&p->lex);
	if (variable_parse_prefix(p, &var))
		return p->failed;
	align = var.align;
	do {
		var.align = align;
		if (variable_parse_name(p, &var) || declare(p, &var))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, ';');
}

static int parse_pragma(struct parser *p)
{
	do
		lex_next(&p->lex);
	while (p->lex.token.kind == TOKEN_STRING || lex_is(&p->lex, ','));
	return parse_expect(p, ';');
}

/* .loc file line column [, function_name label, inlined_at file line column] */
static int parse_loc(struct parser *p)
{
	uint32_t line = p->lex.token.line;

	do
		lex_next(&p->lex);
	while (p->lex.token.line == line && p->lex.token.kind != TOKEN_END &&
	       !lex_is(&p->lex, '}'));
	return 0;
}

static int parse_body_directive(struct parser *p)
{
	if (lex_is_dot(&p->lex, "reg"))
		return parse_declarations(p, declare_reg);
	if (lex_is_dot(&p->lex, "local") || lex_is_dot(&p->lex, "param"))
		return parse_declarations(p, declare_local);
	if (lex_is_dot(&p->lex, "shared"))
		return variable_parse_shared(p, false);
	if (lex_is_dot(&p->lex, "pragma"))
		return parse_pragma(p);
	if (lex_is_dot(&p->lex, "loc") || lex_is_dot(&p->lex, "file"))
		return parse_loc(p);
	return parse_unexpected(p, "a directive that a function may hold");
}

/* ---- labels ---- */

static int parse_target_list(struct parser *p, struct symbol *symbol)
{
	uint32_t first = p->b.lists;
	uint32_t count = 0;
	uint32_t index = (uint32_t)(symbol - p->symbol);

	do {
		uint32_t none = UINT32_MAX;
		uint32_t entry;

		lex_next(&p->lex);
		if (p->lex.token.kind != TOKEN_NAME)
			return parse_unexpected(p, "a label");
		entry = build_list(p, &none, 1);
		if (p->failed || build_fixup(p, UINT32_MAX, entry, &p->lex.token))
			return p->failed;
		count++;
		lex_next(&p->lex);
	} while (lex_is(&p->lex, ','));
	symbol = &p->symbol[index];
	symbol->kind = SYMBOL_TARGETS;
	symbol->index = first;
	symbol->count = count;
	return parse_expect(p, ';');
}

static int parse_label(struct parser *p)
{
	struct symbol *symbol = symbol_add(p, &p->lex.token, SYMBOL_LABEL);

	if (!symbol)
		return p->failed;
	symbol->index = p->b.insns;
	lex_next(&p->lex);
	lex_next(&p->lex);
	if (lex_is_dot(&p->lex, "branchtargets"))
		return parse_target_list(p, symbol);
	if (lex_is_dot(&p->lex, "callprototype") || lex_is_dot(&p->lex, "calltargets")) {
		symbol->kind = SYMBOL_PROTOTYPE;
		statement_skip(p);
	}
	return 0;
}

static bool is_label(const struct lexer *at)
{
	struct lexer ahead = *at;

	lex_next(&ahead);
	return lex_is(&ahead, ':');
}

static int parse_brace(struct parser *p)
{
	struct build *b = &p->b;

	if (parse_accept(p, '{')) {
		if (b->depth == SCOPE_DEPTH)
			return parse_fail(p, p->lex.token.line, "braces are nested too deep");
		b->local_at[b->depth++] = b->local_bytes;
		return scope_open(p);
	}
	/* Call parameters of one { } may lie where those of the one before lay. */
	lex_next(&p->lex);
	b->local_bytes = b->local_at[--b->depth];
	scope_close(p);
	return 0;
}

static int parse_statement(struct parser *p)
{
	if (lex_is(&p->lex, '{') || lex_is(&p->lex, '}'))
		return parse_brace(p);
	if (parse_accept(p, ';'))
		return 0;
	if (p->lex.token.kind == TOKEN_DOT)
		return parse_body_directive(p);
	if (p->lex.token.kind == TOKEN_NAME && is_label(&p->lex))
		return parse_label(p);
	if (parse_guard(p) || statement_parse_mnemonic(p))
		return p->failed;
	return decode_statement(p);
}

int body_parse(struct parser *p)
{
	if (parse_brace(p))
		return p->failed;
	while (p->b.depth) {
		if (p->lex.token.kind == TOKEN_END)
			return parse_unexpected(p, "\"}\"");
		if (parse_statement(p) || p->failed)
			return p->failed;
	}
	return 0;
}
