/* SPDX-License-Identifier: Apache-2.0 */
/* Integer constant expressions: array sizes, initial values, immediate operands. */
#include "ptx/build.h"

#define DEPTH_MAX 64u

struct operator_row {
	uint64_t token;
	int level; /* higher binds tighter */
};

static const struct operator_row operators[] = {
	{'|' << 8 | '|', 1},
	{'&' << 8 | '&', 2},
	{'|', 3},
	{'^', 4},
	{'&', 5},
	{'=' << 8 | '=', 6},
	{'!' << 8 | '=', 6},
	{'<', 7},
	{'>', 7},
	{'<' << 8 | '=', 7},
	{'>' << 8 | '=', 7},
	{'<' << 8 | '<', 8},
	{'>' << 8 | '>', 8},
	{'+', 9},
	{'-', 9},
	{'*', 10},
	{'/', 10},
	{'%', 10},
};

static int parse_level(struct parser *p, int level, unsigned depth, uint64_t *ret_value);

static int operator_level(const struct token *token)
{
	if (token->kind != TOKEN_PUNCT)
		return 0;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (operators[i].token == token->value)
			return operators[i].level;
	}
	return 0;
}

static int divide(struct parser *p, const struct token *op, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t x = (int64_t)a;
	int64_t y = (int64_t)b;

	if (!y)
		return parse_fail(p, op->line, "a constant expression divides by zero");
	if (y == -1)
		*ret = op->value == '/' ? 0 - a : 0;
	else
		*ret = (uint64_t)(op->value == '/' ? x / y : x % y);
	return 0;
}

static int apply(struct parser *p, const struct token *op, uint64_t a, uint64_t b, uint64_t *ret)
{
	int64_t x = (int64_t)a;
	int64_t y = (int64_t)b;

	switch (op->value) {
	case '|' << 8 | '|': *ret = a || b; return 0;
	case '&' << 8 | '&': *ret = a && b; return 0;
	case '|': *ret = a | b; return 0;
	case '^': *ret = a ^ b; return 0;
	case '&': *ret = a & b; return 0;
	case '=' << 8 | '=': *ret = a == b; return 0;
	case '!' << 8 | '=': *ret = a != b; return 0;
	case '<': *ret = x < y; return 0;
	case '>': *ret = x > y; return 0;
	case '<' << 8 | '=': *ret = x <= y; return 0;
	case '>' << 8 | '=': *ret = x >= y; return 0;
	case '<' << 8 | '<': *ret = b < 64 ? a << b : 0; return 0;
	case '>' << 8 | '>': *ret = (uint64_t)(x >> (b < 64 ? b : 63)); return 0;
	case '+': *ret = a + b; return 0;
	case '-': *ret = a - b; return 0;
	case '*': *ret = a * b; return 0;
	default: return divide(p, op, a, b, ret);
	}
}

static int parse_unary(struct parser *p, unsigned depth, uint64_t *ret_value)
{
	struct token token = p->lex.token;
	int rc;

	if (depth > DEPTH_MAX)
		return parse_fail(p, token.line, "a constant expression is nested too deep");
	if (token.kind == TOKEN_INT || token_equals(&token, "WARP_SZ")) {
		*ret_value = token.kind == TOKEN_INT ? token.value : LANES;
		lex_next(&p->lex);
		return 0;
	}
	if (token.kind != TOKEN_PUNCT || token.length != 1)
		return parse_unexpected(p, "an integer constant");
	switch (token.value) {
	case '(':
		lex_next(&p->lex);
		rc = parse_level(p, 0, depth + 1, ret_value);
		return rc ? rc : parse_expect(p, ')');
	case '-':
	case '+':
	case '~':
	case '!':
		lex_next(&p->lex);
		rc = parse_unary(p, depth + 1, ret_value);
		if (token.value == '-')
			*ret_value = 0 - *ret_value;
		else if (token.value == '~')
			*ret_value = ~*ret_value;
		else if (token.value == '!')
			*ret_value = !*ret_value;
		return rc;
	default: return parse_unexpected(p, "an integer constant");
	}
}

static int parse_choice(struct parser *p, unsigned depth, uint64_t *value)
{
	uint64_t yes;
	uint64_t no;

	lex_next(&p->lex);
	if (parse_level(p, 0, depth + 1, &yes) || parse_expect(p, ':') ||
	    parse_level(p, 0, depth + 1, &no))
		return p->failed;
	*value = *value ? yes : no;
	return 0;
}

/* Binary operators that bind at least as tight as `level`; 0: the conditional operator too. */
static int parse_level(struct parser *p, int level, unsigned depth, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (parse_unary(p, depth, &value))
		return p->failed;
	for (;;) {
		struct token op = p->lex.token;
		int binds = operator_level(&op);
		uint64_t right = 0;

		if (!binds || binds < level)
			break;
		lex_next(&p->lex);
		if (parse_level(p, binds + 1, depth + 1, &right) ||
		    apply(p, &op, value, right, &value))
			return p->failed;
	}
	if (!level && lex_is(&p->lex, '?') && parse_choice(p, depth, &value))
		return p->failed;
	*ret_value = value;
	return 0;
}

int expr_parse(struct parser *p, uint64_t *ret_value)
{
	*ret_value = 0;
	return parse_level(p, 0, 0, ret_value);
}
