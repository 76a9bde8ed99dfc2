/* SPDX-License-Identifier: Apache-2.0 */
/* The module's scope: directives, and what every other part of the parser leans on. */
#include "ptx/parse.h"
#include "ptx/build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int parse_fail(struct parser *p, uint32_t line, const char *format, ...)
{
	va_list args;

	if (p->failed)
		return p->failed;
	p->failed = -EINVAL;
	p->error->line = line;
	va_start(args, format);
	vsnprintf(p->error->text, sizeof(p->error->text), format, args);
	va_end(args);
	return p->failed;
}

int parse_no_memory(struct parser *p)
{
	if (!p->failed) {
		p->error->line = 0;
		snprintf(p->error->text, sizeof(p->error->text),
			 "no host memory left for the module");
		p->failed = -ENOMEM;
	}
	return p->failed;
}

int parse_unexpected(struct parser *p, const char *wanted)
{
	const struct token *token = &p->lex.token;
	int length = token->length > 40 ? 40 : (int)token->length;

	if (token->kind == TOKEN_END)
		return parse_fail(p, token->line, "the text ends where %s should be", wanted);
	return parse_fail(p, token->line, "\"%s%.*s\" where %s should be",
			  token->kind == TOKEN_DOT ? "." : "", length, token->start, wanted);
}

int build_refuse(struct parser *p, uint32_t line, const char *format, ...)
{
	struct ptx_function *fn = p->b.fn;
	va_list args;

	if (fn->refused)
		return 0;
	fn->refused = true;
	fn->refusal.line = line;
	va_start(args, format);
	vsnprintf(fn->refusal.text, sizeof(fn->refusal.text), format, args);
	va_end(args);
	return 0;
}

int parse_expect(struct parser *p, char punct)
{
	char wanted[] = {'"', punct, '"', 0};

	if (!lex_is(&p->lex, punct))
		return parse_unexpected(p, wanted);
	lex_next(&p->lex);
	return 0;
}

bool parse_accept(struct parser *p, char punct)
{
	if (!lex_is(&p->lex, punct))
		return false;
	lex_next(&p->lex);
	return true;
}

int parse_skip_braces(struct parser *p)
{
	unsigned depth = 0;

	do {
		if (p->lex.token.kind == TOKEN_END)
			return parse_unexpected(p, "\"}\"");
		if (lex_is(&p->lex, '{'))
			depth++;
		else if (lex_is(&p->lex, '}'))
			depth--;
		lex_next(&p->lex);
	} while (depth);
	return 0;
}

/* ---- directives ---- */

static int parse_version(struct parser *p)
{
	lex_next(&p->lex);
	if (p->lex.token.kind != TOKEN_F64)
		return parse_unexpected(p, "a version such as 8.0");
	p->seen_version = true;
	lex_next(&p->lex);
	return 0;
}

static int parse_target_name(struct parser *p)
{
	struct token name = p->lex.token;
	uint32_t cc = 0;
	char last;

	if (name.kind != TOKEN_NAME)
		return parse_unexpected(p, "a target such as sm_75");
	lex_next(&p->lex);
	if (name.length < 4 || memcmp(name.start, "sm_", 3))
		return 0; /* texmode_independent, debug: no matter here */
	for (uint32_t i = 3; i < name.length && name.start[i] >= '0' && name.start[i] <= '9'; i++)
		cc = cc > 10000 ? cc : cc * 10 + (uint32_t)(name.start[i] - '0');
	last = name.start[name.length - 1];
	p->seen_target = true;
	if (cc > p->cc)
		return parse_fail(p, name.line, ".target %.*s is newer than the device's %u.%u",
				  (int)name.length, name.start, p->cc / 10, p->cc % 10);
	if (last == 'a' && cc != p->cc)
		return parse_fail(
			p, name.line, ".target %.*s runs on %u.%u only, the device is %u.%u",
			(int)name.length, name.start, cc / 10, cc % 10, p->cc / 10, p->cc % 10);
	return 0;
}

static int parse_target(struct parser *p)
{
	do {
		lex_next(&p->lex);
		if (parse_target_name(p))
			return p->failed;
	} while (lex_is(&p->lex, ','));
	return 0;
}

static int parse_address_size(struct parser *p)
{
	lex_next(&p->lex);
	if (p->lex.token.kind != TOKEN_INT || p->lex.token.value != 64)
		return parse_fail(p, p->lex.token.line, ".address_size is not 64");
	lex_next(&p->lex);
	return 0;
}

static int parse_section(struct parser *p)
{
	lex_next(&p->lex);
	if (p->lex.token.kind != TOKEN_NAME && p->lex.token.kind != TOKEN_DOT)
		return parse_unexpected(p, "a section's name");
	lex_next(&p->lex);
	if (!lex_is(&p->lex, '{'))
		return parse_unexpected(p, "\"{\"");
	return parse_skip_braces(p);
}

static int parse_file(struct parser *p)
{
	do
		lex_next(&p->lex);
	while (p->lex.token.kind == TOKEN_INT || p->lex.token.kind == TOKEN_STRING ||
	       lex_is(&p->lex, ','));
	return 0;
}

static int parse_pragma(struct parser *p)
{
	do
		lex_next(&p->lex);
	while (p->lex.token.kind == TOKEN_STRING || lex_is(&p->lex, ','));
	return parse_expect(p, ';');
}

/* .alias name, function; the name has been declared. */
static int parse_alias(struct parser *p)
{
	struct token name;
	struct symbol *alias;
	struct symbol *function;

	lex_next(&p->lex);
	name = p->lex.token;
	lex_next(&p->lex);
	if (parse_expect(p, ','))
		return p->failed;
	alias = symbol_find(p, &name);
	function = symbol_find(p, &p->lex.token);
	if (!alias || !function || alias->kind != SYMBOL_FUNCTION ||
	    function->kind != SYMBOL_FUNCTION)
		return parse_fail(p, name.line, ".alias wants two functions that are declared");
	p->function[alias->index]->alias = p->function[function->index];
	lex_next(&p->lex);
	return parse_expect(p, ';');
}

/* .visible, .extern, .weak, .common: only .extern changes what follows. */
static bool parse_linkage(struct parser *p)
{
	bool is_extern = false;

	for (;; lex_next(&p->lex)) {
		if (lex_is_dot(&p->lex, "extern"))
			is_extern = true;
		else if (!lex_is_dot(&p->lex, "visible") && !lex_is_dot(&p->lex, "weak") &&
			 !lex_is_dot(&p->lex, "common"))
			return is_extern;
	}
}

static int parse_declaration(struct parser *p)
{
	bool is_extern = parse_linkage(p);

	if (lex_is_dot(&p->lex, "entry"))
		return function_parse(p, true);
	if (lex_is_dot(&p->lex, "func"))
		return function_parse(p, false);
	if (lex_is_dot(&p->lex, "global"))
		return variable_parse_global(p, false, is_extern);
	if (lex_is_dot(&p->lex, "const"))
		return variable_parse_global(p, true, is_extern);
	if (lex_is_dot(&p->lex, "shared"))
		return variable_parse_shared(p, is_extern);
	return parse_unexpected(p, "a directive that a module may hold");
}

static int parse_directive(struct parser *p)
{
	static const struct {
		const char *word;
		int (*parse)(struct parser *p);
	} directives[] = {
		{"version", parse_version},
		{"target", parse_target},
		{"address_size", parse_address_size},
		{"section", parse_section},
		{"file", parse_file},
		{"loc", parse_file},
		{"pragma", parse_pragma},
		{"alias", parse_alias},
	};

	for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
		if (lex_is_dot(&p->lex, directives[i].word))
			return directives[i].parse(p);
	}
	if (!p->seen_version || !p->seen_target)
		return parse_unexpected(p, "\".version\" and \".target\", which come first,");
	return parse_declaration(p);
}

int module_parse(struct parser *p)
{
	if (p->lex.token.kind == TOKEN_END)
		return parse_fail(p, 1, "the text is empty: no .version, no .target");
	while (p->lex.token.kind != TOKEN_END) {
		if (lex_is(&p->lex, ';'))
			lex_next(&p->lex);
		else if (parse_directive(p))
			return p->failed;
	}
	if (!p->seen_version || !p->seen_target)
		return parse_unexpected(p, "\".version\" and \".target\"");
	return 0;
}
