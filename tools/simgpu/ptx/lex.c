/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NUMBER 64u

/* The C locale's classes, whatever the program has set. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}

static int hex_value(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void skip_line(struct lexer *lex)
{
	while (*lex->at && *lex->at != '\n')
		lex->at++;
}

static void skip_comment(struct lexer *lex)
{
	lex->at += 2;
	while (*lex->at && !(lex->at[0] == '*' && lex->at[1] == '/')) {
		lex->line += *lex->at == '\n';
		lex->at++;
	}
	if (*lex->at)
		lex->at += 2;
}

static bool skip_space(struct lexer *lex)
{
	const char *from = lex->at;

	for (;;) {
		char c = *lex->at;

		if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v') {
			lex->line += c == '\n';
			lex->at++;
		} else if (c == '/' && lex->at[1] == '/') {
			skip_line(lex);
		} else if (c == '/' && lex->at[1] == '*') {
			skip_comment(lex);
		} else {
			return lex->at != from;
		}
	}
}

static void take_word(struct lexer *lex)
{
	struct token *token = &lex->token;

	while (is_word(*lex->at) || (token->kind == TOKEN_DOT && lex->at[0] == ':' &&
				     lex->at[1] == ':' && is_word(lex->at[2])))
		lex->at += *lex->at == ':' ? 2 : 1;
	token->length = (uint32_t)(lex->at - token->start);
}

/* 0f and 0d give the bits; the ISA asks for exactly 8 or 16 digits. */
static void take_float_bits(struct lexer *lex, unsigned digits)
{
	struct token *token = &lex->token;
	unsigned count = 0;

	lex->at += 2;
	for (; hex_value(*lex->at) >= 0 && count <= digits; count++)
		token->value = token->value << 4 | (unsigned)hex_value(*lex->at++);
	token->kind = digits == 8 ? TOKEN_F32 : TOKEN_F64;
	if (count != digits || is_word(*lex->at))
		token->kind = TOKEN_BAD;
}

/* strtod of the C locale: the program's own may write a comma. */
static bool read_double(const char *text, double *ret_value)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	char *stop;

	if (!c_locale)
		return false;
	*ret_value = strtod_l(text, &stop, c_locale);
	freelocale(c_locale);
	return !*stop;
}

static bool take_decimal_float(struct lexer *lex)
{
	struct token *token = &lex->token;
	const char *end = lex->at;
	char copy[LONGEST_NUMBER];
	double value;

	while (is_digit(*end))
		end++;
	if (*end != '.' && *end != 'e' && *end != 'E')
		return false;
	while (is_digit(*end) || *end == '.' ||
	       ((*end == '+' || *end == '-') && (end[-1] == 'e' || end[-1] == 'E')) ||
	       *end == 'e' || *end == 'E')
		end++;
	token->kind = TOKEN_BAD;
	if ((size_t)(end - lex->at) < sizeof(copy) && !is_word(*end)) {
		memcpy(copy, lex->at, (size_t)(end - lex->at));
		copy[end - lex->at] = 0;
		if (read_double(copy, &value)) {
			memcpy(&token->value, &value, sizeof(value));
			token->kind = TOKEN_F64;
		}
	}
	lex->at = end;
	return true;
}

static void take_int(struct lexer *lex)
{
	struct token *token = &lex->token;
	unsigned base = 10;
	unsigned digits = 0;

	if (*lex->at == '0') {
		char kind = lex->at[1];

		base = kind == 'x' || kind == 'X' ? 16 : kind == 'b' || kind == 'B' ? 2 : 8;
		lex->at += base == 8 ? 1 : 2;
		digits = base == 8;
	}
	for (int value; (value = hex_value(*lex->at)) >= 0 && (unsigned)value < base; digits++) {
		token->value = token->value * base + (unsigned)value;
		lex->at++;
	}
	if (*lex->at == 'U')
		lex->at++;
	token->kind = digits && !is_word(*lex->at) ? TOKEN_INT : TOKEN_BAD;
}

static void take_number(struct lexer *lex)
{
	struct token *token = &lex->token;
	char kind = lex->at[0] == '0' ? lex->at[1] : 0;

	if (kind == 'f' || kind == 'F')
		take_float_bits(lex, 8);
	else if (kind == 'd' || kind == 'D')
		take_float_bits(lex, 16);
	else if (!take_decimal_float(lex))
		take_int(lex);
	token->length = (uint32_t)(lex->at - token->start);
}

static void take_string(struct lexer *lex)
{
	struct token *token = &lex->token;

	token->start = ++lex->at;
	while (*lex->at && *lex->at != '"' && *lex->at != '\n')
		lex->at += *lex->at == '\\' && lex->at[1] && lex->at[1] != '\n' ? 2 : 1;
	token->length = (uint32_t)(lex->at - token->start);
	token->kind = *lex->at == '"' ? TOKEN_STRING : TOKEN_BAD;
	if (*lex->at == '"')
		lex->at++;
}

static void take_punct(struct lexer *lex)
{
	static const char pairs[][3] = {"<<", ">>", "==", "!=", "<=", ">=", "&&", "||", "::"};
	struct token *token = &lex->token;

	token->kind = strchr("(){}[]<>,;:@!+-*/%&|^~?=", *lex->at) ? TOKEN_PUNCT : TOKEN_BAD;
	token->value = (unsigned char)*lex->at;
	token->length = 1;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (lex->at[0] == pairs[i][0] && lex->at[1] == pairs[i][1]) {
			token->value = token->value << 8 | (unsigned char)lex->at[1];
			token->length = 2;
			break;
		}
	}
	lex->at += token->length;
}

void lex_next(struct lexer *lex)
{
	bool spaced = skip_space(lex);
	char c = *lex->at;
	char after = c ? lex->at[1] : 0;

	lex->token = (struct token){.start = lex->at, .line = lex->line, .glued = !spaced};
	if (!c) {
		lex->token.kind = TOKEN_END;
	} else if (is_letter(c) || ((c == '_' || c == '$' || c == '%') && is_word(after)) ||
		   c == '_') {
		lex->token.kind = TOKEN_NAME;
		lex->at++;
		take_word(lex);
	} else if (c == '.' && is_word(after)) {
		lex->token.kind = TOKEN_DOT;
		lex->token.start = ++lex->at;
		take_word(lex);
	} else if (is_digit(c)) {
		take_number(lex);
	} else if (c == '"') {
		take_string(lex);
	} else {
		take_punct(lex);
	}
}

void lex_start(struct lexer *lex, const char *text)
{
	*lex = (struct lexer){.at = text, .line = 1};
	lex_next(lex);
}

bool lex_is(const struct lexer *lex, char punct)
{
	return lex->token.kind == TOKEN_PUNCT && lex->token.value == (unsigned char)punct;
}

bool token_equals(const struct token *token, const char *text)
{
	return strlen(text) == token->length && !memcmp(token->start, text, token->length);
}

bool lex_is_dot(const struct lexer *lex, const char *word)
{
	return lex->token.kind == TOKEN_DOT && token_equals(&lex->token, word);
}
