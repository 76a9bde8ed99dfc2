/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of an instruction. */
#include "ptx/build.h"

static int scalar_offset(struct parser *p, struct scalar *scalar)
{
	uint64_t offset = 0;

	if (lex_is(&p->lex, '+') || lex_is(&p->lex, '-')) {
		if (expr_parse(p, &offset))
			return p->failed;
	}
	scalar->value = offset;
	return 0;
}

/* %tid.x is two tokens. */
static enum special scalar_special(struct parser *p, const struct token *name)
{
	struct lexer ahead = p->lex;
	enum special special;
	uint32_t length = name->length;

	if (ahead.token.kind == TOKEN_DOT && ahead.token.glued)
		length += 1 + ahead.token.length;
	special = special_find(name->start, length);
	if (special != SPECIAL_NONE && length != name->length)
		lex_next(&p->lex);
	return special;
}

static int scalar_name(struct parser *p, struct scalar *scalar)
{
	struct token name = p->lex.token;
	struct symbol *symbol;
	enum special special;
	uint32_t vreg;

	lex_next(&p->lex);
	if (token_equals(&name, "_")) {
		scalar->kind = SCALAR_SINK;
		return 0;
	}
	if (symbol_find_reg(p, &name, &scalar->type, &vreg)) {
		scalar->kind = SCALAR_REG;
		scalar->value = vreg;
		return 0;
	}
	symbol = symbol_find(p, &name);
	if (symbol) {
		scalar->kind = SCALAR_SYMBOL;
		scalar->symbol = (uint32_t)(symbol - p->symbol);
		return scalar_offset(p, scalar);
	}
	special = scalar_special(p, &name);
	if (special == SPECIAL_NONE)
		return parse_fail(p, name.line, "%.*s is not declared",
				  name.length > 100 ? 100 : (int)name.length, name.start);
	if (special == SPECIAL_UNKNOWN) {
		build_refuse(p, name.line, "%.*s is not interpreted",
			     name.length > 100 ? 100 : (int)name.length, name.start);
		scalar->kind = SCALAR_INT;
		return 0;
	}
	scalar->kind = SCALAR_SPECIAL;
	scalar->type = special_is_wide(special) ? TYPE_U64 : TYPE_U32;
	scalar->value = special;
	return 0;
}

static int scalar_float(struct parser *p, bool negative, struct scalar *scalar)
{
	bool narrow = p->lex.token.kind == TOKEN_F32;

	scalar->kind = narrow ? SCALAR_F32 : SCALAR_F64;
	scalar->value = p->lex.token.value;
	if (negative)
		scalar->value ^= narrow ? 1ull << 31 : 1ull << 63;
	lex_next(&p->lex);
	return 0;
}

static bool token_is_float(const struct token *token)
{
	return token->kind == TOKEN_F32 || token->kind == TOKEN_F64;
}

static int scalar_parse(struct parser *p, struct scalar *scalar)
{
	struct lexer before = p->lex;
	bool negative;

	*scalar = (struct scalar){0};
	if (lex_is(&p->lex, '!')) {
		scalar->negate = true;
		lex_next(&p->lex);
		if (p->lex.token.kind != TOKEN_NAME) { /* !0: an expression */
			p->lex = before;
			scalar->negate = false;
		}
	}
	if (p->lex.token.kind == TOKEN_NAME && !token_equals(&p->lex.token, "WARP_SZ"))
		return scalar_name(p, scalar);
	negative = lex_is(&p->lex, '-');
	before = p->lex;
	if (negative)
		lex_next(&p->lex);
	if (token_is_float(&p->lex.token))
		return scalar_float(p, negative, scalar);
	p->lex = before;
	scalar->kind = SCALAR_INT;
	return expr_parse(p, &scalar->value);
}

static int address_parse(struct parser *p, struct arg *arg)
{
	uint64_t offset = 0;

	lex_next(&p->lex);
	arg->is_address = true;
	if (scalar_parse(p, &arg->one))
		return p->failed;
	if (arg->one.kind == SCALAR_SYMBOL)
		offset = arg->one.value;
	else if ((lex_is(&p->lex, '+') || lex_is(&p->lex, '-')) && expr_parse(p, &offset))
		return p->failed;
	if (arg->one.kind == SCALAR_SYMBOL)
		arg->one.value = 0;
	arg->offset = (int64_t)offset;
	return parse_expect(p, ']');
}

static int vector_parse(struct parser *p, struct arg *arg)
{
	lex_next(&p->lex);
	do {
		if (arg->count == ARG_ELEMENTS)
			return parse_fail(p, p->lex.token.line, "a vector of more than %u elements",
					  ARG_ELEMENTS);
		if (scalar_parse(p, &arg->element[arg->count++]))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, '}');
}

static int pair_parse(struct parser *p, struct arg *arg)
{
	struct scalar second;

	lex_next(&p->lex);
	if (scalar_parse(p, &second))
		return p->failed;
	if (second.kind != SCALAR_SINK && (second.kind != SCALAR_REG || second.type != TYPE_PRED))
		return parse_fail(p, p->lex.token.line, "a predicate should come after \"|\"");
	arg->has_pair = second.kind == SCALAR_REG;
	arg->pair = (uint32_t)second.value;
	return 0;
}

int arg_parse(struct parser *p, struct arg *arg)
{
	*arg = (struct arg){.pair = OPERAND_NONE};
	if (lex_is(&p->lex, '['))
		return address_parse(p, arg);
	if (lex_is(&p->lex, '{'))
		return vector_parse(p, arg);
	if (scalar_parse(p, &arg->one))
		return p->failed;
	return lex_is(&p->lex, '|') ? pair_parse(p, arg) : 0;
}
