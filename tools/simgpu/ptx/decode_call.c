/* SPDX-License-Identifier: Apache-2.0 */
/* call: functions of the module, function pointers, and what the driver provides. */
#include "ptx/decode.h"
#include "ptx/handlers.h"

#include <stdio.h>
#include <string.h>

#define CALL_MAX 255u

/* Everything that is passed lies in the frame's local memory; what is a register or a number in
 * the text is stored there before the call, or loaded after it. */
struct call {
	uint32_t list[2 + 2 * CALL_MAX]; /* see flow.c */
	uint32_t used;
	uint32_t arguments, results;
	struct scalar late[8]; /* results that are registers */
	uint32_t late_offset[8];
	uint32_t late_count;
};

static int add_place(struct parser *p, struct call *call, uint32_t offset, uint32_t bytes)
{
	if (call->used + 2 > sizeof(call->list) / sizeof(call->list[0]))
		return parse_fail(p, p->st.line, "a call has too many parameters");
	call->list[call->used++] = offset;
	call->list[call->used++] = bytes;
	return 0;
}

static int store_argument(struct parser *p, const struct scalar *scalar, uint32_t bytes,
			  uint32_t offset)
{
	struct insn *in;
	uint32_t b = decode_src(p, scalar,
				scalar->kind == SCALAR_REG ? class_of(scalar->type)
				: bytes == 8		   ? 'd'
							   : 'w');
	char key[24];

	snprintf(key, sizeof(key), "=st.local.b%u", bytes * 8);
	in = p->failed ? NULL : emit_row(p, key, OPERAND_NONE, OPERAND_NONE);
	if (!in)
		return p->failed;
	in->b = b;
	in->imm = offset;
	return 0;
}

static bool is_local_symbol(struct parser *p, const struct scalar *scalar)
{
	return scalar->kind == SCALAR_SYMBOL && !scalar->value &&
	       p->symbol[scalar->symbol].kind == SYMBOL_LOCAL;
}

static int add_argument(struct parser *p, struct call *call, const struct ptx_function *fn)
{
	uint32_t bytes = 8;
	uint32_t offset;
	struct arg arg;

	if (arg_parse(p, &arg))
		return p->failed;
	call->arguments++;
	if (is_local_symbol(p, &arg.one)) {
		const struct symbol *symbol = &p->symbol[arg.one.symbol];

		return add_place(p, call, symbol->index, symbol->size);
	}
	if (arg.is_address || arg.count || arg.one.type == TYPE_PRED)
		return parse_unexpected(p, "a parameter");
	/* A number is as wide as the parameter that it is for. */
	if (arg.one.kind == SCALAR_REG)
		bytes = type_size(arg.one.type);
	else if (fn && fn->is_defined && call->arguments <= fn->formals)
		bytes = fn->formal[call->arguments - 1].size;
	if (bytes > 8 || !bytes)
		return parse_unexpected(p, "a parameter");
	offset = build_local(p, bytes, 8);
	if (store_argument(p, &arg.one, bytes, offset))
		return p->failed;
	return add_place(p, call, offset, bytes);
}

static int add_result(struct parser *p, struct call *call)
{
	uint32_t bytes;
	uint32_t offset;
	struct arg arg;

	if (arg_parse(p, &arg))
		return p->failed;
	call->results++;
	if (is_local_symbol(p, &arg.one)) {
		const struct symbol *symbol = &p->symbol[arg.one.symbol];

		return add_place(p, call, symbol->index, symbol->size);
	}
	bytes = type_size(arg.one.type);
	if (arg.one.kind != SCALAR_REG || arg.is_address || !bytes ||
	    call->late_count == sizeof(call->late) / sizeof(call->late[0]))
		return parse_unexpected(p, "a result");
	offset = build_local(p, bytes, 8);
	call->late[call->late_count] = arg.one;
	call->late_offset[call->late_count++] = offset;
	return add_place(p, call, offset, bytes);
}

static int load_results(struct parser *p, const struct call *call)
{
	for (uint32_t i = 0; i < call->late_count; i++) {
		const struct scalar *scalar = &call->late[i];
		uint32_t bytes = type_size(scalar->type);
		char key[24];
		struct insn *in;

		snprintf(key, sizeof(key), "=ld.local.%c%u", bytes < 4 ? 'u' : 'b', bytes * 8);
		in = emit_row(p, key, decode_dst(p, scalar, class_of(scalar->type)), OPERAND_NONE);
		if (in)
			in->imm = call->late_offset[i];
	}
	return p->failed;
}

/* Results come first in the text, arguments first in the list. */
static int parse_results(struct parser *p, struct call *call)
{
	if (!parse_accept(p, '('))
		return 0;
	do {
		if (add_result(p, call))
			return p->failed;
	} while (parse_accept(p, ','));
	return parse_expect(p, ')') || parse_expect(p, ',') ? p->failed : 0;
}

static int parse_arguments(struct parser *p, struct call *call, const struct ptx_function *fn)
{
	if (!parse_accept(p, ','))
		return 0;
	/* call name, prototype is a call without arguments */
	if (!lex_is(&p->lex, '(')) {
		lex_next(&p->lex);
		return 0;
	}
	lex_next(&p->lex);
	if (!lex_is(&p->lex, ')')) {
		do {
			if (add_argument(p, call, fn))
				return p->failed;
		} while (parse_accept(p, ','));
	}
	if (parse_expect(p, ')'))
		return p->failed;
	if (parse_accept(p, ',')) {
		if (p->lex.token.kind != TOKEN_NAME)
			return parse_unexpected(p, "a prototype's label");
		lex_next(&p->lex);
	}
	return 0;
}

static uint32_t join_lists(struct parser *p, const struct call *arguments,
			   const struct call *results)
{
	uint32_t first = build_list(p, &arguments->arguments, 1);

	build_list(p, arguments->list, arguments->used);
	build_list(p, &results->results, 1);
	build_list(p, results->list, results->used);
	return first;
}

static bool list_is(const struct call *call, const uint8_t *bytes, uint32_t count)
{
	if (call->used != 2 * count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (call->list[2 * i + 1] != bytes[i])
			return false;
	}
	return true;
}

/* The functions that the driver provides. NULL: none of them. */
static insn_fn builtin_find(const struct ptx_function *fn, const struct call *arguments,
			    const struct call *results)
{
	static const uint8_t printf_bytes[] = {8, 8};
	static const uint8_t assert_bytes[] = {8, 8, 4, 8, 8};
	static const uint8_t word[] = {4};

	if (fn->is_defined)
		return NULL;
	if (!strcmp(fn->info.name, "vprintf") && list_is(arguments, printf_bytes, 2) &&
	    (!results->used || list_is(results, word, 1)))
		return flow_call_vprintf;
	if (!strcmp(fn->info.name, "__assertfail") && list_is(arguments, assert_bytes, 5) &&
	    !results->used)
		return flow_call_assertfail;
	return NULL;
}

static int emit_direct(struct parser *p, struct ptx_function *fn, const struct call *arguments,
		       const struct call *results)
{
	insn_fn builtin = builtin_find(fn, arguments, results);
	struct insn *in = emit(p, builtin ? builtin : flow_call);
	uint32_t *callee;

	if (!in)
		return p->failed;
	in->imm = join_lists(p, arguments, results);
	in->aux.callee = fn;
	/* What a builtin prints must not be rounded as the kernel's own arithmetic is. */
	in->fp_mode = FP_RN;
	if (builtin)
		return p->failed;
	callee = GROW(p->b.callee, p->b.callees, p->b.callee_capacity);
	if (!callee)
		return parse_no_memory(p);
	*callee = fn->index;
	return p->failed;
}

static int emit_indirect(struct parser *p, const struct scalar *target,
			 const struct call *arguments, const struct call *results)
{
	uint32_t a = decode_src(p, target, 'd');
	struct insn *in = p->failed ? NULL : emit_to(p, flow_call_register, OPERAND_NONE, a);

	if (!in)
		return p->failed;
	in->imm = join_lists(p, arguments, results);
	p->b.fn->calls_unknown = true;
	p->b.fn->uses_common_shared = true;
	return p->failed;
}

static int parse_call(struct parser *p, struct call *arguments, struct call *results)
{
	struct ptx_function *fn = NULL;
	const struct symbol *symbol;
	struct arg target;

	if (parse_results(p, results) || arg_parse(p, &target))
		return p->failed;
	symbol = target.one.kind == SCALAR_SYMBOL ? &p->symbol[target.one.symbol] : NULL;
	if (symbol && symbol->kind == SYMBOL_FUNCTION)
		fn = p->function[symbol->index];
	else if (target.one.kind != SCALAR_REG || type_size(target.one.type) != 8)
		return parse_fail(p, p->st.line, "a call wants a function or a 64-bit register");
	if (fn && fn->is_entry)
		return parse_fail(p, p->st.line, "%.100s is a kernel: it cannot be called",
				  fn->info.name);
	if (parse_arguments(p, arguments, fn) || parse_expect(p, ';'))
		return p->failed;
	if (fn ? emit_direct(p, fn, arguments, results)
	       : emit_indirect(p, &target.one, arguments, results))
		return p->failed;
	return load_results(p, results);
}

int decode_call(struct parser *p)
{
	struct call arguments = {.used = 0};
	struct call results = {.used = 0};

	if (!has_only_part(&p->st, "uni")) {
		statement_skip(p);
		return refuse_statement(p);
	}
	return parse_call(p, &arguments, &results);
}
