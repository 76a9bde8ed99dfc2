/* SPDX-License-Identifier: Apache-2.0 */
/* bra, brx, ret, exit, trap. */
#include "ptx/decode.h"
#include "ptx/handlers.h"

#include <stdio.h>
#include <string.h>

int decode_bra(struct parser *p)
{
	struct token label = p->lex.token;
	struct insn *in;

	if (!has_only_part(&p->st, "uni")) {
		statement_skip(p);
		return refuse_statement(p);
	}
	if (label.kind != TOKEN_NAME)
		return parse_unexpected(p, "a label");
	lex_next(&p->lex);
	in = emit(p, flow_bra);
	if (!in || build_fixup(p, p->b.insns - 1, 0, &label))
		return p->failed;
	in->flags = INSN_ENDS_BLOCK | INSN_HAS_TARGET | INSN_NO_FALL;
	return parse_expect(p, ';');
}

int decode_brx(struct parser *p)
{
	struct arg index;
	struct token list;
	struct insn *in;
	uint32_t a;

	if (!has_part(&p->st, "idx")) {
		statement_skip(p);
		return refuse_statement(p);
	}
	if (arg_parse(p, &index) || parse_expect(p, ','))
		return p->failed;
	list = p->lex.token;
	if (list.kind != TOKEN_NAME)
		return parse_unexpected(p, "a label of .branchtargets");
	lex_next(&p->lex);
	a = decode_src(p, &index.one, 'w');
	in = emit_to(p, flow_brx, OPERAND_NONE, a);
	if (!in || build_fixup(p, p->b.insns - 1, 0, &list))
		return p->failed;
	in->flags = INSN_ENDS_BLOCK | INSN_TARGETS | INSN_NO_FALL;
	return parse_expect(p, ';');
}

/* ---- returns ---- */

/* A .func's result in a register goes to its place first. */
int decode_return(struct parser *p)
{
	struct insn *in;

	for (uint32_t i = 0; i < p->b.results; i++) {
		const struct formal *formal = &p->b.result[i];
		char key[24];

		if (formal->vreg == OPERAND_NONE)
			continue;
		snprintf(key, sizeof(key), "=st.local.b%u", formal->size * 8);
		in = emit_row(p, key, OPERAND_NONE, OPERAND_NONE);
		if (!in)
			return p->failed;
		in->b = formal->vreg;
		in->imm = formal->local_offset;
	}
	in = emit(p, flow_ret);
	if (in)
		in->flags = INSN_ENDS_BLOCK | INSN_NO_FALL;
	return p->failed;
}

/* The same for its parameters, when it starts. */
int decode_prologue(struct parser *p)
{
	for (uint32_t i = 0; i < p->b.formals; i++) {
		const struct formal *formal = &p->b.formal[i];
		char key[24];
		struct insn *in;

		if (formal->vreg == OPERAND_NONE)
			continue;
		snprintf(key, sizeof(key), "=ld.local.%c%u", formal->size < 4 ? 'u' : 'b',
			 formal->size * 8);
		in = emit_row(p, key, formal->vreg, OPERAND_NONE);
		if (in)
			in->imm = formal->local_offset;
	}
	return p->failed;
}

int decode_ret(struct parser *p)
{
	if (!has_only_part(&p->st, "uni")) {
		statement_skip(p);
		return refuse_statement(p);
	}
	return parse_expect(p, ';') ? p->failed : decode_return(p);
}

int decode_exit(struct parser *p)
{
	struct insn *in;

	if (parse_expect(p, ';'))
		return p->failed;
	in = emit(p, flow_exit);
	if (in)
		in->flags = INSN_ENDS_BLOCK | INSN_NO_FALL;
	return p->failed;
}

int decode_trap(struct parser *p)
{
	if (!parse_expect(p, ';'))
		emit(p, flow_trap);
	return p->failed;
}
