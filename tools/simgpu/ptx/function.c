/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: header, parameters, and the statements of the body. */
#include "ptx/decode.h"

#include <string.h>

#define PARAMS_MAX 1024u

struct ptx_function *function_find_or_add(struct parser *p, const struct token *name)
{
	struct symbol *symbol = symbol_in_scope(p, name->start, name->length, 0);
	struct ptx_function **slot;
	struct ptx_function *fn;
	uint32_t scope = p->scope;

	if (symbol && symbol->kind == SYMBOL_FUNCTION)
		return p->function[symbol->index];
	p->scope = 0;
	symbol = symbol_add(p, name, SYMBOL_FUNCTION);
	p->scope = scope;
	fn = pool_alloc(&p->module->pool, sizeof(*fn));
	slot = GROW(p->function, p->functions, p->function_capacity);
	if (!symbol || !fn || !slot) {
		parse_no_memory(p);
		return NULL;
	}
	*slot = fn;
	symbol->index = p->functions - 1;
	fn->index = p->functions - 1;
	fn->module = p->module;
	fn->line = name->line;
	fn->info.name = pool_string(&p->module->pool, name->start, name->length);
	if (!fn->info.name) {
		parse_no_memory(p);
		return NULL;
	}
	return fn;
}

/* ---- parameters ---- */

static int add_kernel_param(struct parser *p, const struct variable *var)
{
	struct ptx_function_info *info = &p->b.fn->info;
	struct symbol *symbol = symbol_add(p, &var->name, SYMBOL_PARAM);
	struct ptx_param *param = GROW(p->b.param, p->b.params, p->b.param_capacity);
	uint64_t offset = ((uint64_t)info->param_bytes + var->align - 1) / var->align * var->align;

	if (!symbol || !param)
		return parse_no_memory(p);
	if (var->type == TYPE_OTHER)
		build_refuse(p, var->name.line, "parameter %.*s has a type that is not interpreted",
			     (int)var->name.length, var->name.start);
	if (offset + var->size > 1 << 16)
		return parse_fail(p, var->name.line, "the parameters are larger than 64 KiB");
	symbol->index = (uint32_t)offset;
	symbol->size = (uint32_t)var->size;
	symbol->type = var->type;
	*param = (struct ptx_param){(uint32_t)offset, (uint32_t)var->size, var->align};
	info->param_bytes = (uint32_t)(offset + var->size);
	return 0;
}

/* A .func's parameter always has room in local memory, where callers put it; one in a register
 * (.reg) is loaded from there when the function starts. */
static int add_formal(struct parser *p, const struct variable *var, bool is_reg, bool is_result)
{
	struct build *b = &p->b;
	struct symbol *symbol;
	struct formal *formal = is_result ? GROW(b->result, b->results, b->result_capacity)
					  : GROW(b->formal, b->formals, b->formal_capacity);
	uint32_t bytes = var->type == TYPE_PRED ? 0 : (uint32_t)var->size;

	if (!formal)
		return parse_no_memory(p);
	formal->local_offset = build_local(p, bytes, var->align);
	formal->size = bytes;
	formal->vreg = OPERAND_NONE;
	if (token_equals(&var->name, "_"))
		return p->failed;
	if (is_reg && !bytes)
		return parse_fail(p, var->name.line, "a predicate is no parameter");
	if (is_reg)
		formal->vreg = build_vreg(p, var->type);
	formal->type = var->type;
	symbol = symbol_add(p, &var->name, is_reg ? SYMBOL_REG : SYMBOL_LOCAL);
	if (!symbol)
		return p->failed;
	symbol->type = var->type;
	symbol->index = is_reg ? formal->vreg >> 2 : formal->local_offset;
	symbol->size = bytes;
	return p->failed;
}

static int parse_one_param(struct parser *p, bool is_result)
{
	bool is_reg = lex_is_dot(&p->lex, "reg");
	struct variable var;

	if (!is_reg && !lex_is_dot(&p->lex, "param"))
		return parse_unexpected(p, "\".param\"");
	lex_next(&p->lex);
	if (variable_parse_prefix(p, &var) || variable_parse_name(p, &var))
		return p->failed;
	if (!var.align)
		var.align = 1;
	if (p->b.fn->is_entry)
		return add_kernel_param(p, &var);
	return add_formal(p, &var, is_reg, is_result);
}

static int parse_params(struct parser *p, bool is_result)
{
	if (parse_expect(p, '('))
		return p->failed;
	if (parse_accept(p, ')'))
		return 0;
	do {
		if (p->b.formals + p->b.results > PARAMS_MAX)
			return parse_fail(p, p->lex.token.line, "too many parameters");
		if (parse_one_param(p, is_result))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, ')');
}

/* ---- directives between header and body ---- */

static int parse_counts(struct parser *p, uint32_t *ret_count, unsigned wanted)
{
	unsigned found = 0;

	do {
		lex_next(&p->lex);
		if (p->lex.token.kind != TOKEN_INT || p->lex.token.value > UINT32_MAX)
			return parse_unexpected(p, "a count");
		if (found < wanted)
			ret_count[found++] = (uint32_t)p->lex.token.value;
		lex_next(&p->lex);
	} while (lex_is(&p->lex, ','));
	return 0;
}

static int parse_one_tuning(struct parser *p)
{
	struct ptx_function_info *info = &p->b.fn->info;
	uint32_t count[3] = {1, 1, 1};
	uint64_t threads;

	if (lex_is_dot(&p->lex, "noreturn")) {
		lex_next(&p->lex);
		return 0;
	}
	if (lex_is_dot(&p->lex, "pragma")) {
		do
			lex_next(&p->lex);
		while (p->lex.token.kind == TOKEN_STRING);
		return parse_expect(p, ';');
	}
	if (lex_is_dot(&p->lex, "maxntid") || lex_is_dot(&p->lex, "reqntid")) {
		bool required = lex_is_dot(&p->lex, "reqntid");

		if (parse_counts(p, count, 3))
			return p->failed;
		threads = (uint64_t)count[0] * count[1] * count[2];
		info->max_threads = threads < 1024 ? (uint32_t)threads : 1024;
		if (required)
			memcpy(info->reqd, count, sizeof(count));
		return 0;
	}
	if (lex_is_dot(&p->lex, "minnctapersm") || lex_is_dot(&p->lex, "maxnctapersm") ||
	    lex_is_dot(&p->lex, "maxnreg") || lex_is_dot(&p->lex, "maxclusterrank"))
		return parse_counts(p, count, 0);
	if (lex_is_dot(&p->lex, "explicitcluster") || lex_is_dot(&p->lex, "reqnctapercluster") ||
	    lex_is_dot(&p->lex, "blocksareclusters")) {
		build_refuse(p, p->lex.token.line, ".%.*s: clusters of blocks are not interpreted",
			     (int)p->lex.token.length, p->lex.token.start);
		do
			lex_next(&p->lex);
		while (p->lex.token.kind == TOKEN_INT || lex_is(&p->lex, ','));
		return 0;
	}
	return parse_unexpected(p, "a function's body or \";\"");
}

/* The header is read into a function of its own, since a .func's results come before its name,
 * and a prototype must not change what is defined already. */
static int parse_header(struct parser *p, struct ptx_function *header, struct token *ret_name)
{
	lex_next(&p->lex);
	if (!header->is_entry && lex_is(&p->lex, '(') && parse_params(p, true))
		return p->failed;
	*ret_name = p->lex.token;
	if (ret_name->kind != TOKEN_NAME)
		return parse_unexpected(p, "a function's name");
	lex_next(&p->lex);
	if (lex_is(&p->lex, '(') && parse_params(p, false))
		return p->failed;
	while (p->lex.token.kind == TOKEN_DOT) {
		if (parse_one_tuning(p))
			return p->failed;
	}
	return 0;
}

static int parse_definition(struct parser *p, const struct ptx_function *header,
			    struct ptx_function *fn, const struct token *name)
{
	const char *text = fn->info.name;

	if (fn->is_defined)
		return parse_fail(p, name->line, "%.*s is defined twice, first in line %u",
				  name->length > 100 ? 100 : (int)name->length, name->start,
				  fn->line);
	fn->info = header->info;
	fn->info.name = text;
	fn->is_entry = header->is_entry;
	fn->is_defined = true;
	fn->refused = header->refused;
	fn->refusal = header->refusal;
	fn->line = name->line;
	p->b.fn = fn;
	p->st = (struct statement){.line = name->line, .guard = OPERAND_NONE};
	if (decode_prologue(p) || body_parse(p))
		return p->failed;
	return build_finish(p);
}

static int parse_function(struct parser *p, bool is_entry)
{
	struct ptx_function header = {.is_entry = is_entry, .info = {.max_threads = 1024}};
	struct ptx_function *fn;
	struct token name;

	build_start(p, &header);
	if (parse_header(p, &header, &name))
		return p->failed;
	fn = function_find_or_add(p, &name);
	if (!fn)
		return p->failed;
	if (parse_accept(p, ';'))
		return 0;
	if (!lex_is(&p->lex, '{'))
		return parse_unexpected(p, "a function's body or \";\"");
	return parse_definition(p, &header, fn, &name);
}

int function_parse(struct parser *p, bool is_entry)
{
	int rc;

	if (scope_open(p))
		return p->failed;
	rc = parse_function(p, is_entry);
	build_discard(p);
	scope_close(p);
	return rc;
}
