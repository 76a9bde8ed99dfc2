/* SPDX-License-Identifier: Apache-2.0 */
/* Which family an opcode belongs to. */
#include "ptx/decode.h"

#include <string.h>

bool has_part(const struct statement *st, const char *part)
{
	for (uint32_t i = 1; i < st->parts; i++) {
		if (!strcmp(st->part[i], part))
			return true;
	}
	return false;
}

bool has_only_part(const struct statement *st, const char *part)
{
	for (uint32_t i = 1; i < st->parts; i++) {
		if (strcmp(st->part[i], part))
			return false;
	}
	return true;
}

enum ptx_type last_type(const struct statement *st)
{
	const char *part = st->part[st->parts - 1];

	return st->parts > 1 ? type_find(part, (uint32_t)strlen(part)) : TYPE_NONE;
}

int refuse_statement(struct parser *p)
{
	return build_refuse(p, p->st.line, "%s is not interpreted", p->st.mnemonic);
}

int want_args(struct parser *p, uint32_t least, uint32_t most)
{
	if (p->st.args >= least && p->st.args <= most)
		return 0;
	return parse_fail(p, p->st.line, "%s has %u operands", p->st.mnemonic, p->st.args);
}

struct insn *emit_row(struct parser *p, const char *key, uint32_t d, uint32_t a)
{
	const struct op_row *row = ops_find(p->ops, key);

	if (!row) {
		parse_fail(p, p->st.line, "%s: no %s in the table of instructions", p->st.mnemonic,
			   key);
		return NULL;
	}
	return emit_to(p, row->fn, d, a);
}

/* ---- families ---- */

static const struct {
	const char *op;
	int (*decode)(struct parser *p);
} families[] = {
	{"mov", decode_mov},
	{"cvt", decode_cvt},
	{"cvta", decode_cvta},
	{"isspacep", decode_isspacep},
	{"setp", decode_setp},
	{"set", decode_set},
	{"lop3", decode_lop3},
	{"ld", decode_load},
	{"ldu", decode_load},
	{"st", decode_store},
	{"atom", decode_atom},
	{"red", decode_atom},
	{"prefetch", decode_nothing},
	{"prefetchu", decode_nothing},
	{"pmevent", decode_nothing},
	{"bra", decode_bra},
	{"brx", decode_brx},
	{"call", decode_call},
	{"ret", decode_ret},
	{"exit", decode_exit},
	{"trap", decode_trap},
	{"brkpt", decode_trap},
	{"bar", decode_bar},
	{"barrier", decode_bar},
	{"fence", decode_fence},
	{"membar", decode_fence},
	{"shfl", decode_shfl},
	{"vote", decode_vote},
	{"match", decode_match},
	{"redux", decode_redux},
	{"activemask", decode_activemask},
	{"nanosleep", decode_nanosleep},
	{"addc", decode_carry},
	{"subc", decode_carry},
	{"madc", decode_carry},
};

int decode_statement(struct parser *p)
{
	const char *op = p->st.part[0];

	if (has_part(&p->st, "cc"))
		return decode_carry(p);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (!strcmp(families[i].op, op))
			return families[i].decode(p);
	}
	return decode_table(p);
}
