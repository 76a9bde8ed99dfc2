/* SPDX-License-Identifier: Apache-2.0 */
/* mov, cvta, isspacep, setp, set. */
#include "ptx/decode.h"
#include "ptx/handlers.h"

#include <stdio.h>
#include <string.h>

static struct insn *emit_move(struct parser *p, uint32_t d, uint32_t a, bool wide)
{
	struct insn *in = emit_row(p, wide ? "=mov.d" : "=mov.w", d, a);

	if (in)
		in->flags |= INSN_MOVE;
	return in;
}

/* ---- mov ---- */

static int move_pred(struct parser *p)
{
	const struct scalar *from = &p->st.arg[1].one;
	uint32_t d = decode_dst(p, &p->st.arg[0].one, 'p');
	uint32_t a = decode_src(p, from, 'p');

	if (!p->failed)
		emit_row(p, "=mov.p", d, a);
	return p->failed;
}

static uint32_t pack_two(struct parser *p, const char *key, uint32_t d, uint32_t a, uint32_t b)
{
	struct insn *in = emit_row(p, key, d, a);

	if (in)
		in->b = b;
	return d;
}

/* mov.b32 d, {h, h}; mov.b64 d, {w, w}; mov.b64 d, {h, h, h, h} */
static int move_pack(struct parser *p, char class)
{
	const struct arg *from = &p->st.arg[1];
	char part = class_is_wide(class) && from->count == 2 ? 'w' : 'h';
	uint32_t element[4];
	uint32_t d = decode_dst(p, &p->st.arg[0].one, class);
	uint32_t low;
	uint32_t high;

	if (from->count != 2 && !(from->count == 4 && class_is_wide(class)))
		return refuse_statement(p);
	for (uint32_t i = 0; i < from->count; i++)
		element[i] = decode_src(p, &from->element[i], part);
	if (p->failed)
		return p->failed;
	if (from->count == 2) {
		pack_two(p, part == 'w' ? "=pack.32" : "=pack.16", d, element[0], element[1]);
		return p->failed;
	}
	low = pack_two(p, "=pack.16", decode_temp(p, 'w'), element[0], element[1]);
	high = pack_two(p, "=pack.16", decode_temp(p, 'w'), element[2], element[3]);
	pack_two(p, "=pack.32", d, low, high);
	return p->failed;
}

static void unpack_halves(struct parser *p, const struct scalar *to, uint32_t from)
{
	if (to[0].kind != SCALAR_SINK)
		emit_row(p, "=low.16", decode_dst(p, &to[0], 'h'), from);
	if (to[1].kind != SCALAR_SINK)
		emit_row(p, "=high.16", decode_dst(p, &to[1], 'h'), from);
}

static int move_unpack(struct parser *p, char class)
{
	const struct arg *to = &p->st.arg[0];
	uint32_t from = decode_src(p, &p->st.arg[1].one, class);
	uint32_t half;

	if (p->failed)
		return p->failed;
	if (to->count == 2 && !class_is_wide(class)) {
		unpack_halves(p, to->element, from);
		return p->failed;
	}
	if (to->count == 2) {
		if (to->element[0].kind != SCALAR_SINK)
			emit_row(p, "=low", decode_dst(p, &to->element[0], 'w'), from);
		if (to->element[1].kind != SCALAR_SINK)
			emit_row(p, "=high", decode_dst(p, &to->element[1], 'w'), from);
		return p->failed;
	}
	if (to->count != 4 || !class_is_wide(class))
		return refuse_statement(p);
	half = decode_temp(p, 'w');
	emit_row(p, "=low", half, from);
	unpack_halves(p, &to->element[0], half);
	half = decode_temp(p, 'w');
	emit_row(p, "=high", half, from);
	unpack_halves(p, &to->element[2], half);
	return p->failed;
}

int decode_mov(struct parser *p)
{
	struct statement *st = &p->st;
	enum ptx_type type = last_type(st);
	char class = class_of(type);
	uint32_t a;
	uint32_t d;

	if (st->parts != 2 || type == TYPE_NONE || type == TYPE_OTHER) {
		statement_skip(p);
		return refuse_statement(p);
	}
	if (statement_parse_args(p) || want_args(p, 2, 2))
		return p->failed;
	if (type == TYPE_PRED)
		return move_pred(p);
	if ((st->arg[0].count || st->arg[1].count) && (class == 'h' || class == 'e'))
		return refuse_statement(p);
	if (st->arg[1].count)
		return move_pack(p, class);
	if (st->arg[0].count)
		return move_unpack(p, class);
	a = decode_src(p, &st->arg[1].one, class);
	d = decode_dst(p, &st->arg[0].one, class);
	if (!p->failed)
		emit_move(p, d, a, class_is_wide(class));
	return p->failed;
}

/* ---- address spaces ---- */

static bool is_shared(const char *space)
{
	return !strcmp(space, "shared") || !strcmp(space, "shared::cta");
}

/* Global, constant, local and parameter addresses are generic ones already. */
static bool is_flat(const char *space)
{
	return !strcmp(space, "global") || !strcmp(space, "const") || !strcmp(space, "local") ||
	       !strcmp(space, "param") || !strcmp(space, "param::entry");
}

int decode_cvta(struct parser *p)
{
	struct statement *st = &p->st;
	bool to = st->parts == 4 && !strcmp(st->part[1], "to");
	const char *space = st->parts >= 3 ? st->part[st->parts - 2] : "";
	uint32_t a;
	uint32_t d;

	if ((st->parts != 3 && !to) || last_type(st) != TYPE_U64 ||
	    (!is_shared(space) && !is_flat(space))) {
		statement_skip(p);
		return refuse_statement(p);
	}
	if (statement_parse_args(p) || want_args(p, 2, 2))
		return p->failed;
	a = decode_src(p, &st->arg[1].one, 'd');
	d = decode_dst(p, &st->arg[0].one, 'd');
	if (p->failed)
		return p->failed;
	if (is_flat(space))
		emit_move(p, d, a, true);
	else
		emit_to(p, to ? special_generic_to_shared : special_shared_to_generic, d, a);
	return p->failed;
}

int decode_isspacep(struct parser *p)
{
	static const struct {
		const char *space;
		enum spacep_kind kind;
	} kinds[] = {{"global", SPACEP_GLOBAL},	    {"const", SPACEP_GLOBAL},
		     {"shared", SPACEP_SHARED},	    {"shared::cta", SPACEP_SHARED},
		     {"local", SPACEP_LOCAL},	    {"param", SPACEP_PARAM},
		     {"param::entry", SPACEP_PARAM}};
	struct statement *st = &p->st;

	for (size_t i = 0; st->parts == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct insn *in;
		uint32_t a;

		if (strcmp(kinds[i].space, st->part[1]))
			continue;
		if (statement_parse_args(p) || want_args(p, 2, 2))
			return p->failed;
		a = decode_src(p, &st->arg[1].one, 'd');
		in = emit_to(p, special_isspacep, decode_dst(p, &st->arg[0].one, 'p'), a);
		if (in)
			in->n = kinds[i].kind;
		return p->failed;
	}
	statement_skip(p);
	return refuse_statement(p);
}

/* ---- setp and set ---- */

struct comparison {
	const struct op_row *row;
	uint8_t logic, mode;
};

static uint8_t logic_find(const char *part)
{
	static const char *const names[] = {"", "and", "or", "xor"};

	for (uint8_t i = 1; i < 4; i++) {
		if (!strcmp(names[i], part))
			return i;
	}
	return 0;
}

/* part[1] is the comparison, then .and and its like, then .ftz, then the types. */
static bool comparison_find(struct parser *p, uint32_t types, struct comparison *c)
{
	const struct statement *st = &p->st;
	char key[MNEMONIC_MAX + 8];

	*c = (struct comparison){.mode = FP_RN};
	if (st->parts < 2 + types)
		return false;
	for (uint32_t i = 2; i < st->parts - types; i++) {
		if (!strcmp(st->part[i], "ftz"))
			c->mode |= FP_FTZ;
		else if (i == 2 && logic_find(st->part[i]))
			c->logic = logic_find(st->part[i]);
		else
			return false;
	}
	snprintf(key, sizeof(key), "=setp.%s.%s", st->part[1], st->part[st->parts - 1]);
	c->row = ops_find(p->ops, key);
	if (!c->row || (c->mode & FP_FTZ && !(c->row->mods & MOD_FTZ)))
		return false;
	if (!strpbrk(c->row->sig, "efgx"))
		c->mode = FP_ANY;
	return true;
}

static int emit_comparison(struct parser *p, const struct comparison *c, uint32_t d, uint32_t d2)
{
	const struct arg *arg = p->st.arg;
	uint32_t a = decode_src(p, &arg[1].one, c->row->sig[0]);
	uint32_t b = decode_src(p, &arg[2].one, c->row->sig[1]);
	uint32_t third = c->logic ? decode_src(p, &arg[3].one, 'p') : OPERAND_NONE;
	struct insn *in = p->failed ? NULL : emit_to(p, c->row->fn, d, a);

	if (!in)
		return p->failed;
	in->b = b;
	in->c = third;
	in->d2 = d2;
	in->n = c->logic;
	in->fp_mode = c->mode;
	return 0;
}

int decode_setp(struct parser *p)
{
	struct statement *st = &p->st;
	struct comparison c;
	uint32_t count;
	uint32_t d = OPERAND_NONE;
	uint32_t d2 = OPERAND_NONE;

	if (!comparison_find(p, 1, &c)) {
		statement_skip(p);
		return refuse_statement(p);
	}
	count = c.logic ? 4 : 3;
	if (statement_parse_args(p) || want_args(p, count, count))
		return p->failed;
	if (st->arg[0].one.kind != SCALAR_SINK)
		d = decode_dst(p, &st->arg[0].one, 'p');
	if (st->arg[0].has_pair)
		d2 = st->arg[0].pair << 2 | OPERAND_VREG;
	return p->failed ? p->failed : emit_comparison(p, &c, d, d2);
}

/* set.lt.u32.f32: all ones or 1.0 where the comparison holds, else 0. */
int decode_set(struct parser *p)
{
	struct statement *st = &p->st;
	const char *to = st->parts > 2 ? st->part[st->parts - 2] : "";
	enum ptx_type type = type_find(to, (uint32_t)strlen(to));
	struct comparison c;
	struct insn *in;
	uint32_t holds;
	uint32_t count;

	if (!comparison_find(p, 2, &c) || !strcmp(c.row->sig, "xx") ||
	    (type != TYPE_U32 && type != TYPE_S32 && type != TYPE_F32)) {
		statement_skip(p);
		return refuse_statement(p);
	}
	count = c.logic ? 4 : 3;
	if (statement_parse_args(p) || want_args(p, count, count))
		return p->failed;
	holds = decode_temp(p, 'p');
	if (emit_comparison(p, &c, holds, OPERAND_NONE))
		return p->failed;
	in = emit_row(p, "selp.b32", decode_dst(p, &st->arg[0].one, 'w'), OPERAND_NONE);
	if (!in)
		return p->failed;
	in->a = build_const(p, type == TYPE_F32 ? 0x3f800000u : UINT32_MAX, false);
	in->b = build_const(p, 0, false);
	in->c = holds;
	return p->failed;
}
