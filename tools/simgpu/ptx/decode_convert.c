/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cvt: a chain of steps from the source's lanes to the result's. Types differ from their
 * registers, which may be wider: sources are cut and extended as their type says first, results
 * are extended to the register last.
 */
#include "ptx/decode.h"

#include <stdio.h>
#include <string.h>

#define STEPS 10u

struct step {
	char key[24];
	uint8_t mode;
	int64_t imm;
	bool wide; /* its result */
};

struct convert {
	enum ptx_type to, from;
	uint8_t mode;	  /* rounding and flushing */
	bool to_integral; /* .rni and its like */
	bool has_rounding, ftz, sat;
	struct step step[STEPS];
	uint32_t steps;
};

static struct step *add_step(struct convert *c, bool wide, uint8_t mode, const char *key)
{
	struct step *step = &c->step[c->steps++];

	*step = (struct step){.mode = mode, .wide = wide};
	snprintf(step->key, sizeof(step->key), "%s", key);
	return step;
}

static bool is_small_int(enum ptx_type type)
{
	return !type_is_float(type) && type_size(type) < 4;
}

/* Low bits of a lane as an integer of this type, in 32 bits. */
static void add_narrow(struct convert *c, enum ptx_type type)
{
	char key[16];

	if (!is_small_int(type))
		return;
	snprintf(key, sizeof(key), "=%s.%u", type_is_signed(type) ? "sext" : "zext",
		 type_size(type) * 8);
	add_step(c, false, FP_ANY, key);
}

/* From lanes as the register has them to lanes as the type says. */
static void add_source(struct convert *c, enum ptx_type reg)
{
	bool reg_wide = type_size(reg) == 8;

	if (reg_wide && type_size(c->from) < 8)
		add_step(c, false, FP_ANY, "=low");
	if (c->from != TYPE_U16 && c->from != TYPE_B16)
		add_narrow(c, c->from);
	else if (type_size(reg) > 2)
		add_narrow(c, c->from);
}

/* The result, in 32 or 64 bits, to the register: cut to 16, or extended to 64. */
static void add_result(struct convert *c, enum ptx_type reg)
{
	if (type_is_float(c->to))
		return;
	if (type_size(reg) <= 2 && type_is_signed(c->to))
		add_step(c, false, FP_ANY, "=zext.16");
	if (type_size(reg) == 8 && type_size(c->to) < 8)
		add_step(c, true, FP_ANY, type_is_signed(c->to) ? "=wide.s32" : "=wide.u32");
}

static void add_int_to_int(struct convert *c)
{
	bool from_wide = type_size(c->from) == 8;
	bool to_wide = type_size(c->to) == 8;
	bool is_signed = type_is_signed(c->from);
	struct step *step;
	char key[16];

	if (c->sat) {
		snprintf(key, sizeof(key), "=sat.%u.%u", to_wide ? 64 : 32, from_wide ? 64 : 32);
		step = add_step(c, to_wide, FP_ANY, key);
		step->imm = type_size(c->to) * 8 | type_is_signed(c->to) << 16 | is_signed << 17;
		return;
	}
	if (to_wide && !from_wide)
		add_step(c, true, FP_ANY, is_signed ? "=wide.s32" : "=wide.u32");
	if (!to_wide && from_wide)
		add_step(c, false, FP_ANY, "=low");
	if (!to_wide)
		add_narrow(c, c->to);
}

static bool add_float_to_int(struct convert *c)
{
	bool wide = type_size(c->to) == 8;
	enum ptx_type from = c->from;
	const char *via = from == TYPE_F64 ? "f64" : "f32";
	bool chops = (c->to == TYPE_S32 || c->to == TYPE_U32) && (c->mode & 3) == FP_RZ;
	char sign = type_is_signed(c->to) ? 's' : 'u';
	char key[24];

	if (!c->to_integral)
		return false;
	if (from == TYPE_F16)
		add_step(c, false, FP_RN, "=cvt.f32.f16");
	snprintf(key, sizeof(key), "=%s.%c%u.%s", chops ? "chop" : "cvt", sign,
		 type_size(c->to) * 8, via);
	/* Truncation does not look at the rounding mode. */
	add_step(c, wide, chops ? c->mode & FP_FTZ : c->mode, key);
	return true;
}

static void add_float_to_half(struct convert *c, const char *from)
{
	char key[16];

	if ((c->mode & 3) == FP_RN && !strcmp(from, "f32")) {
		add_step(c, false, FP_RN, "=cvt.f16.f32");
		return;
	}
	snprintf(key, sizeof(key), "=half.%s", from);
	add_step(c, false, FP_RN, key)->imm = c->mode & 3;
}

static bool add_int_to_float(struct convert *c)
{
	const char *from = type_size(c->from) == 8 ? "64" : "32";
	char sign = type_is_signed(c->from) ? 's' : 'u';
	char key[24];

	if (!c->has_rounding || c->to_integral)
		return false;
	/* Integers that a double has not are far beyond what a half has. */
	snprintf(key, sizeof(key), "=cvt.%s.%c%s", c->to == TYPE_F32 ? "f32" : "f64", sign, from);
	add_step(c, c->to != TYPE_F32, c->mode, key);
	if (c->to == TYPE_F16)
		add_float_to_half(c, "f64");
	return true;
}

static void add_rint(struct convert *c)
{
	if (c->from == TYPE_F16)
		add_step(c, false, FP_RN, "=cvt.f32.f16");
	add_step(c, c->from == TYPE_F64, c->mode, c->from == TYPE_F64 ? "=rint.f64" : "=rint.f32");
	if (c->from == TYPE_F16)
		add_step(c, false, FP_RN, "=cvt.f16.f32");
}

static bool add_float_to_float(struct convert *c)
{
	if (c->to == c->from) {
		if (c->to_integral)
			add_rint(c);
		else if (c->has_rounding)
			return false;
		else if (c->ftz && c->to == TYPE_F32)
			add_step(c, false, FP_ANY, "=flush.f32");
		return true;
	}
	if (c->to_integral || (type_size(c->to) < type_size(c->from) && !c->has_rounding))
		return false;
	if (c->to == TYPE_F16) {
		add_float_to_half(c, c->from == TYPE_F32 ? "f32" : "f64");
		return true;
	}
	if (c->from == TYPE_F16)
		add_step(c, false, FP_RN, "=cvt.f32.f16");
	if (c->to == TYPE_F64)
		add_step(c, true, c->from == TYPE_F32 && c->ftz ? FP_FTZ : FP_RN, "=cvt.f64.f32");
	else if (c->from == TYPE_F64)
		add_step(c, false, c->mode, "=cvt.f32.f64");
	return true;
}

static bool add_core(struct convert *c)
{
	bool done = true;

	if (!type_is_float(c->from) && !type_is_float(c->to))
		add_int_to_int(c);
	else if (!type_is_float(c->to))
		done = add_float_to_int(c);
	else if (!type_is_float(c->from))
		done = add_int_to_float(c);
	else
		done = add_float_to_float(c);
	if (done && c->sat && type_is_float(c->to))
		add_step(c, c->to == TYPE_F64, FP_RN,
			 c->to == TYPE_F64   ? "=sat.f64"
			 : c->to == TYPE_F32 ? "=sat.f32"
					     : "=sat.f16");
	return done;
}

static bool parse_modifiers(const struct statement *st, struct convert *c)
{
	static const struct {
		const char *part;
		uint8_t mode;
		bool integral;
	} modes[] = {
		{"rn", FP_RN, false}, {"rz", FP_RZ, false}, {"rm", FP_RM, false},
		{"rp", FP_RP, false}, {"rni", FP_RN, true}, {"rzi", FP_RZ, true},
		{"rmi", FP_RM, true}, {"rpi", FP_RP, true},
	};

	for (uint32_t i = 1; i < st->parts - 2; i++) {
		bool known = !strcmp(st->part[i], "ftz") || !strcmp(st->part[i], "sat");

		for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
			if (strcmp(modes[m].part, st->part[i]))
				continue;
			c->mode = modes[m].mode;
			c->to_integral = modes[m].integral;
			c->has_rounding = true;
			known = true;
		}
		if (!known)
			return false;
	}
	c->ftz = has_part(st, "ftz");
	c->sat = has_part(st, "sat");
	c->mode |= c->ftz ? FP_FTZ : 0;
	return true;
}

static bool convert_find(const struct statement *st, struct convert *c)
{
	const char *to = st->parts > 2 ? st->part[st->parts - 2] : "";
	const char *from = st->part[st->parts - 1];

	*c = (struct convert){.to = type_find(to, (uint32_t)strlen(to)),
			      .from = type_find(from, (uint32_t)strlen(from))};
	return st->parts > 2 && type_size(c->to) && type_size(c->from) && c->from != TYPE_F16X2 &&
	       parse_modifiers(st, c);
}

/* The last step writes d; the ones before, temporaries. */
static int emit_steps(struct parser *p, const struct convert *c, uint32_t d, uint32_t a, bool wide)
{
	struct insn *in;

	if (!c->steps) {
		in = emit_row(p, wide ? "=mov.d" : "=mov.w", d, a);
		if (in)
			in->flags |= INSN_MOVE;
		return p->failed;
	}
	for (uint32_t i = 0; i < c->steps; i++) {
		const struct step *step = &c->step[i];
		uint32_t to = i + 1 == c->steps ? d : decode_temp(p, step->wide ? 'd' : 'w');

		in = emit_row(p, step->key, to, a);
		if (!in)
			return p->failed;
		in->fp_mode = step->mode;
		in->imm = step->imm;
		a = to;
	}
	return p->failed;
}

static uint32_t widest_of(enum ptx_type reg, enum ptx_type type)
{
	return type_size(reg) > type_size(type) ? type_size(reg) : type_size(type);
}

static int check_register(struct parser *p, const struct scalar *scalar, enum ptx_type type)
{
	uint32_t bytes = type_size(scalar->type);
	uint32_t exact = type_size(type) == 1 ? 2 : type_size(type);
	bool fits = type_is_float(type) ? bytes == exact : widest_of(scalar->type, type) == bytes;

	if (scalar->kind == SCALAR_REG && !fits)
		return parse_fail(p, p->st.line, "an operand of %s has the wrong type or size",
				  p->st.mnemonic);
	return 0;
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the upper half. */
static int convert_to_halves(struct parser *p, struct convert *c)
{
	const struct arg *arg = p->st.arg;
	uint32_t high = decode_temp(p, 'h');
	uint32_t low = decode_temp(p, 'h');
	uint32_t a = decode_src(p, &arg[1].one, 'f');
	uint32_t b = decode_src(p, &arg[2].one, 'f');
	struct insn *in;

	c->to = TYPE_F16;
	if (p->failed || !add_core(c))
		return p->failed ? p->failed : refuse_statement(p);
	if (emit_steps(p, c, high, a, false) || emit_steps(p, c, low, b, false))
		return p->failed;
	in = emit_row(p, "=pack.16", decode_dst(p, &arg[0].one, 'x'), low);
	if (in)
		in->b = high;
	return p->failed;
}

static char source_class(const struct convert *c, const struct scalar *from)
{
	if (type_is_float(c->from))
		return class_of(c->from);
	if (from->kind != SCALAR_REG)
		return type_size(c->from) == 8 ? 'd' : 'w';
	return class_of(from->type) == 'e' ? 'h' : type_size(from->type) == 8 ? 'd' : 'w';
}

int decode_cvt(struct parser *p)
{
	struct statement *st = &p->st;
	struct convert c;
	uint32_t count;
	uint32_t a;
	uint32_t d;
	char class;

	if (!convert_find(st, &c)) {
		statement_skip(p);
		return refuse_statement(p);
	}
	count = c.to == TYPE_F16X2 ? 3 : 2;
	if (statement_parse_args(p) || want_args(p, count, count))
		return p->failed;
	if (c.to == TYPE_F16X2)
		return c.from == TYPE_F32 ? convert_to_halves(p, &c) : refuse_statement(p);
	if (st->arg[0].one.kind != SCALAR_REG || check_register(p, &st->arg[0].one, c.to) ||
	    check_register(p, &st->arg[1].one, c.from))
		return p->failed ? p->failed
				 : parse_fail(p, st->line, "the result of %s is no register",
					      st->mnemonic);
	class = source_class(&c, &st->arg[1].one);
	if (class == 'w' && st->arg[1].one.kind == SCALAR_REG &&
	    type_size(st->arg[1].one.type) <= 2)
		class = 'h';
	a = decode_src(p, &st->arg[1].one, class);
	d = decode_dst(p, &st->arg[0].one, class_of(st->arg[0].one.type));
	if (p->failed)
		return p->failed;
	if (!type_is_float(c.from))
		add_source(&c, st->arg[1].one.kind == SCALAR_REG ? st->arg[1].one.type
			       : class == 'd'			 ? TYPE_B64
								 : TYPE_B32);
	if (!add_core(&c))
		return refuse_statement(p);
	add_result(&c, st->arg[0].one.type);
	return emit_steps(p, &c, d, a, type_size(st->arg[0].one.type) == 8);
}
