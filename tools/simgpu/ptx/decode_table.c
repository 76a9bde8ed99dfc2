/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that are rows of the table: modifiers, operands, then a handler. */
#include "ptx/decode.h"

#include <stdio.h>
#include <string.h>

struct modifiers {
	char key[MNEMONIC_MAX + 8]; /* the parts that are no modifiers */
	uint8_t found;		    /* enum op_mod */
	uint8_t mode;		    /* enum fp_mode */
};

static bool take_modifier(const char *part, struct modifiers *m)
{
	static const struct {
		const char *part;
		uint8_t mod, mode;
	} known[] = {
		{"rn", MOD_RN, FP_RN},	   {"rz", MOD_ROUND, FP_RZ}, {"rm", MOD_ROUND, FP_RM},
		{"rp", MOD_ROUND, FP_RP},  {"ftz", MOD_FTZ, FP_FTZ}, {"sat", MOD_SAT, 0},
		{"approx", MOD_APPROX, 0}, {"full", MOD_APPROX, 0},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(known[i].part, part))
			continue;
		m->found |= known[i].mod;
		m->mode |= known[i].mode;
		return true;
	}
	return false;
}

static void key_append(struct modifiers *m, const char *part)
{
	size_t used = strlen(m->key);

	snprintf(m->key + used, sizeof(m->key) - used, used ? ".%s" : "%s", part);
}

/* .sat of integers is part of the key, of floats a modifier. */
static void split_modifiers(const struct statement *st, bool keep_sat, struct modifiers *m)
{
	*m = (struct modifiers){0};
	for (uint32_t i = 0; i < st->parts; i++) {
		bool is_kept = !i || (keep_sat && !strcmp(st->part[i], "sat"));

		if (is_kept || !take_modifier(st->part[i], m))
			key_append(m, st->part[i]);
	}
}

static bool modifiers_allowed(const struct op_row *row, const struct modifiers *m)
{
	uint8_t allowed = row->mods;

	if (allowed & MOD_ROUND)
		allowed |= MOD_RN;
	return !(m->found & ~allowed);
}

static const struct op_row *find_row(struct parser *p, struct modifiers *m)
{
	const struct op_row *row;

	split_modifiers(&p->st, true, m);
	row = ops_find(p->ops, m->key);
	if (!row && has_part(&p->st, "sat")) {
		split_modifiers(&p->st, false, m);
		row = ops_find(p->ops, m->key);
	}
	if (!row || !*row->sig || !modifiers_allowed(row, m))
		return NULL;
	return row;
}

static bool is_float_row(const char *sig)
{
	return strpbrk(sig, "efgx") != NULL;
}

static uint8_t row_mode(const struct op_row *row, const struct modifiers *m)
{
	if (!is_float_row(row->sig))
		return FP_ANY;
	/* .ftz on f64 rows is about their f32 cousins' names only. */
	return strchr(row->sig, 'g') ? m->mode & (uint8_t)~FP_FTZ : m->mode;
}

static int emit_after(struct parser *p, const struct op_row *row, const struct modifiers *m,
		      uint32_t d)
{
	const char *type = p->st.part[p->st.parts - 1];
	char key[32];
	struct insn *in;

	if (m->found & MOD_SAT) {
		snprintf(key, sizeof(key), "=sat.%s", type);
		in = emit_row(p, key, d, d);
		if (in)
			in->fp_mode = FP_RN;
	}
	/* neg and abs touch the sign only; flushing is a step of its own. */
	if (m->found & MOD_FTZ && !is_float_row(row->sig))
		emit_row(p, "=flush.f32", d, d);
	return p->failed;
}

static int emit_table(struct parser *p, const struct op_row *row, const struct modifiers *m)
{
	uint32_t count = (uint32_t)strlen(row->sig);
	uint32_t operand[5] = {OPERAND_NONE, OPERAND_NONE, OPERAND_NONE, OPERAND_NONE,
			       OPERAND_NONE};
	struct insn *in;

	if (want_args(p, count, count))
		return p->failed;
	for (uint32_t i = 0; i < count; i++) {
		const struct arg *arg = &p->st.arg[i];

		if (arg->is_address || arg->count || arg->has_pair)
			return parse_fail(p, p->st.line, "%s takes plain operands only",
					  p->st.mnemonic);
		operand[i] = i ? decode_src(p, &arg->one, row->sig[i])
			       : decode_dst(p, &arg->one, row->sig[i]);
	}
	if (p->failed)
		return p->failed;
	in = emit_to(p, row->fn, operand[0], operand[1]);
	if (!in)
		return p->failed;
	in->b = operand[2];
	in->c = operand[3];
	in->e = operand[4];
	in->fp_mode = row_mode(row, m);
	return emit_after(p, row, m, operand[0]);
}

int decode_table(struct parser *p)
{
	struct modifiers m;
	const struct op_row *row = find_row(p, &m);

	if (!row) {
		statement_skip(p);
		return refuse_statement(p);
	}
	return statement_parse_args(p) ? p->failed : emit_table(p, row, &m);
}

int decode_lop3(struct parser *p)
{
	struct statement *st = &p->st;
	struct insn *in;
	uint32_t a;
	uint32_t b;
	uint32_t c;

	if (st->parts != 2 || strcmp(st->part[1], "b32")) {
		statement_skip(p);
		return refuse_statement(p);
	}
	if (statement_parse_args(p) || want_args(p, 5, 5))
		return p->failed;
	if (st->arg[4].one.kind != SCALAR_INT)
		return parse_fail(p, st->line, "lop3.b32: the last operand is no constant");
	a = decode_src(p, &st->arg[1].one, 'w');
	b = decode_src(p, &st->arg[2].one, 'w');
	c = decode_src(p, &st->arg[3].one, 'w');
	in = emit_row(p, "=lop3.b32", decode_dst(p, &st->arg[0].one, 'w'), a);
	if (!in)
		return p->failed;
	in->b = b;
	in->c = c;
	in->imm = (int64_t)(st->arg[4].one.value & 0xff);
	return p->failed;
}

/* ---- carry chains ---- */

static bool carry_key(const struct statement *st, char *key, size_t room, bool *ret_takes_carry)
{
	const char *op = st->part[0];
	const char *type = st->part[st->parts - 1];
	enum ptx_type found = last_type(st);
	uint32_t bits = type_size(found) * 8;
	bool is_mad = !strncmp(op, "mad", 3);

	*ret_takes_carry = strlen(op) == 4;
	if (type_is_float(found) || bits < 32 || type[0] == 'b')
		return false;
	if (!is_mad && strncmp(op, "add", 3) && strncmp(op, "sub", 3))
		return false;
	if (is_mad && (st->parts < 3 || (strcmp(st->part[1], "lo") && strcmp(st->part[1], "hi"))))
		return false;
	if (is_mad)
		snprintf(key, room, "=carry.mad.%.2s.%.8s", st->part[1], type);
	else
		snprintf(key, room, "=carry.%.3s.%u", op, bits);
	return true;
}

int decode_carry(struct parser *p)
{
	struct statement *st = &p->st;
	bool gives_carry = has_part(st, "cc");
	bool takes_carry;
	char key[48];
	char class;
	uint32_t count;
	uint32_t operand[4] = {OPERAND_NONE, OPERAND_NONE, OPERAND_NONE, OPERAND_NONE};
	struct insn *in;

	if (!carry_key(st, key, sizeof(key), &takes_carry)) {
		statement_skip(p);
		return refuse_statement(p);
	}
	count = st->part[0][0] == 'm' ? 4 : 3;
	class = class_of(last_type(st));
	if (statement_parse_args(p) || want_args(p, count, count))
		return p->failed;
	for (uint32_t i = 0; i < count; i++)
		operand[i] = i ? decode_src(p, &st->arg[i].one, class)
			       : decode_dst(p, &st->arg[i].one, class);
	if (p->failed)
		return p->failed;
	in = emit_row(p, key, operand[0], operand[1]);
	if (!in)
		return p->failed;
	in->b = operand[2];
	in->c = operand[3];
	if (takes_carry)
		in->e = build_carry(p);
	if (gives_carry)
		in->d2 = build_carry(p);
	return p->failed;
}
