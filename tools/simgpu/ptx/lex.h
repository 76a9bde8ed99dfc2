/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_LEX_H
#define SIMGPU_PTX_LEX_H

/*
 * PTX text to tokens. A lexer is a small value: copying it remembers a place to come back to.
 * Tokens point into the text.
 */

#include <stdbool.h>
#include <stdint.h>

enum token_kind {
	TOKEN_END,
	TOKEN_NAME,   /* identifier, with % or $ or _ in front */
	TOKEN_DOT,    /* .word, `start` after the dot; "::" may be inside */
	TOKEN_INT,    /* value: 64 bits */
	TOKEN_F32,    /* 0f........: value: its bits */
	TOKEN_F64,    /* 0d... or decimal: value: bits of a double */
	TOKEN_STRING, /* `start` after the quote */
	TOKEN_PUNCT,  /* value: character; two-character operators: first << 8 | second */
	TOKEN_BAD,    /* nothing PTX knows: `length` characters at `start` */
};

struct token {
	enum token_kind kind;
	const char *start;
	uint32_t length;
	uint32_t line;
	bool glued; /* nothing between it and the token before */
	uint64_t value;
};

struct lexer {
	const char *at;
	uint32_t line;
	struct token token; /* the current one */
};

void lex_start(struct lexer *lex, const char *text); /* current: the first token */
void lex_next(struct lexer *lex);
/* Current token is this punctuation character or word. */
bool lex_is(const struct lexer *lex, char punct);
bool lex_is_dot(const struct lexer *lex, const char *word);
bool token_equals(const struct token *token, const char *text);

#endif
