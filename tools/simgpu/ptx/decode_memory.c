/* SPDX-License-Identifier: Apache-2.0 */
/* ld, st. */
#include "ptx/decode_place.h"
#include "ptx/atom.h"

#include <stdio.h>
#include <string.h>

/* ---- ld ---- */

/* How memory widens to a register: "s8h" is a signed byte in a 16-bit register. */
static const char *load_type(enum ptx_type type, enum ptx_type reg)
{
	bool narrow = type_size(reg) <= 2;

	switch (type_size(type)) {
	case 1: return !type_is_signed(type) ? "u8" : narrow ? "s8h" : "s8";
	case 2: return type_is_signed(type) && !narrow ? "s16" : "u16";
	case 4: return "b32";
	default: return "b64";
	}
}

static bool register_holds(const struct scalar *scalar, enum ptx_type type)
{
	if (scalar->kind == SCALAR_SINK)
		return true;
	if (scalar->kind != SCALAR_REG || scalar->type == TYPE_PRED)
		return false;
	return type_size(scalar->type) >= type_size(type) || type_size(type) == 1;
}

/* Values of less than 64 bits reach a 64-bit register by a step of their own. */
static bool needs_widening(const struct scalar *scalar, enum ptx_type type)
{
	return scalar->kind == SCALAR_REG && type_size(scalar->type) == 8 && type_size(type) < 8;
}

static uint32_t load_target(struct parser *p, const struct scalar *scalar, enum ptx_type type)
{
	if (scalar->kind == SCALAR_SINK || needs_widening(scalar, type))
		return decode_temp(p, type_size(type) == 8 ? 'd' : 'w');
	return decode_dst(p, scalar, class_of(scalar->type));
}

static void load_widen(struct parser *p, const struct scalar *scalar, enum ptx_type type,
		       uint32_t loaded)
{
	if (needs_widening(scalar, type))
		emit_row(p, type_is_signed(type) ? "=wide.s32" : "=wide.u32",
			 decode_dst(p, scalar, class_of(scalar->type)), loaded);
}

static void load_param(struct parser *p, const struct scalar *to, enum ptx_type type,
		       int64_t offset)
{
	bool wide = to->kind == SCALAR_REG && type_size(to->type) == 8;
	uint32_t d = to->kind == SCALAR_SINK ? decode_temp(p, type_size(type) == 8 ? 'd' : 'w')
					     : decode_dst(p, to, class_of(to->type));
	struct insn *in = emit_to(p, special_load_param, d, OPERAND_NONE);

	if (!in)
		return;
	in->imm = offset;
	in->n = (uint8_t)(type_size(type) | (type_is_signed(type) ? MEM_SIGNED : 0) |
			  (wide || type_size(type) == 8 ? MEM_WIDE : 0));
	if (to->kind == SCALAR_REG && type_size(to->type) <= 2 && type_is_signed(type))
		emit_row(p, "=zext.16", d, d);
}

static void load_strong(struct parser *p, const struct scalar *to, enum ptx_type type,
			const struct place *place)
{
	uint32_t d = load_target(p, to, type);
	struct insn *in = emit_to(p, mem_load_strong, d, OPERAND_NONE);

	if (!in)
		return;
	place_set(in, place);
	in->n = (uint8_t)(type_size(type) | (type_is_signed(type) ? MEM_SIGNED : 0) |
			  (type_size(type) == 8 ? MEM_WIDE : 0) |
			  (place->space == MEM_GLOBAL ? 0 : MEM_GENERIC));
	if (to->kind == SCALAR_REG && type_size(to->type) <= 2 && type_is_signed(type))
		emit_row(p, "=zext.16", d, d);
	load_widen(p, to, type, d);
}

static void load_one(struct parser *p, const struct scalar *to, enum ptx_type type,
		     const struct place *place, bool polls)
{
	uint32_t d = load_target(p, to, type);
	enum ptx_type reg = to->kind == SCALAR_REG ? to->type : TYPE_B32;
	struct insn *in;
	char key[32];

	snprintf(key, sizeof(key), "=ld.%s.%s", space_name(place->space), load_type(type, reg));
	in = emit_row(p, key, d, OPERAND_NONE);
	if (!in)
		return;
	place_set(in, place);
	if (polls && place->space == MEM_SHARED)
		in->aux.bits |= SHARED_POLL;
	load_widen(p, to, type, d);
}

static void load_vector(struct parser *p, const struct arg *to, enum ptx_type type,
			const struct place *place)
{
	enum ptx_type reg = TYPE_B32;
	uint32_t target[ARG_ELEMENTS];
	struct insn *in;
	char key[32];

	for (uint32_t i = 0; i < to->count; i++) {
		target[i] = load_target(p, &to->element[i], type);
		if (to->element[i].kind == SCALAR_REG)
			reg = to->element[i].type;
	}
	if (p->failed)
		return;
	snprintf(key, sizeof(key), "=ldv.%s.%s", space_name(place->space), load_type(type, reg));
	in = emit_row(p, key, OPERAND_NONE, OPERAND_NONE);
	if (!in)
		return;
	place_set(in, place);
	in->n = to->count;
	in->e = build_list(p, target, to->count);
	in->flags |= INSN_LIST_DST;
	for (uint32_t i = 0; i < to->count; i++)
		load_widen(p, &to->element[i], type, target[i]);
}

static int check_elements(struct parser *p, const struct arg *arg,
			  const struct access_parts *access)
{
	bool fits = arg->count ? arg->count == access->vector : access->vector == 1;

	if (!arg->count)
		fits = fits && register_holds(&arg->one, access->type);
	for (uint32_t i = 0; i < arg->count; i++)
		fits = fits && register_holds(&arg->element[i], access->type);
	if (fits)
		return 0;
	return parse_fail(p, p->st.line, "a result of %s has the wrong type or size",
			  p->st.mnemonic);
}

int decode_load(struct parser *p)
{
	struct statement *st = &p->st;
	struct access_parts access;
	struct place place;
	uint32_t size;

	if (!access_find(st, &access)) {
		statement_skip(p);
		return refuse_statement(p);
	}
	size = type_size(access.type);
	if (statement_parse_args(p) || want_args(p, 2, 2) ||
	    check_elements(p, &st->arg[0], &access) ||
	    place_find(p, &st->arg[1], access.space, size * access.vector, &place))
		return p->failed;
	if (place.space == MEM_PARAM) {
		for (uint32_t i = 0; i < access.vector; i++)
			load_param(p, access.vector > 1 ? &st->arg[0].element[i] : &st->arg[0].one,
				   access.type, place.offset + i * size);
	} else if (access.vector > 1) {
		load_vector(p, &st->arg[0], access.type, &place);
	} else if (access.strong && place.space <= MEM_GLOBAL) {
		load_strong(p, &st->arg[0].one, access.type, &place);
	} else {
		load_one(p, &st->arg[0].one, access.type, &place, access.strong);
	}
	return p->failed;
}

/* ---- st ---- */

static uint32_t store_source(struct parser *p, const struct scalar *from, enum ptx_type type)
{
	uint32_t operand;
	uint32_t low;

	if (from->kind != SCALAR_REG)
		return decode_src(p, from,
				  type_is_float(type)	 ? class_of(type)
				  : type_size(type) == 8 ? 'd'
							 : 'w');
	if (!register_holds(from, type)) {
		parse_fail(p, p->st.line, "an operand of %s has the wrong type or size",
			   p->st.mnemonic);
		return OPERAND_NONE;
	}
	operand = decode_src(p, from, class_of(from->type));
	if (!needs_widening(from, type))
		return operand;
	low = decode_temp(p, 'w');
	emit_row(p, "=low", low, operand);
	return low;
}

static void store_vector(struct parser *p, const struct arg *from, enum ptx_type type,
			 const struct place *place)
{
	uint32_t source[ARG_ELEMENTS];
	struct insn *in;
	char key[32];

	for (uint32_t i = 0; i < from->count; i++)
		source[i] = store_source(p, &from->element[i], type);
	if (p->failed)
		return;
	snprintf(key, sizeof(key), "=stv.%s.b%u", space_name(place->space), type_size(type) * 8);
	in = emit_row(p, key, OPERAND_NONE, OPERAND_NONE);
	if (!in)
		return;
	place_set(in, place);
	in->n = from->count;
	in->e = build_list(p, source, from->count);
	in->flags |= INSN_LIST_SRC;
}

static void store_one(struct parser *p, const struct scalar *from,
		      const struct access_parts *access, const struct place *place)
{
	uint32_t source = store_source(p, from, access->type);
	bool strong = access->strong && place->space <= MEM_GLOBAL;
	struct insn *in;
	char key[32];

	if (p->failed)
		return;
	snprintf(key, sizeof(key), "=st.%s.b%u", space_name(place->space),
		 type_size(access->type) * 8);
	in = strong ? emit_to(p, mem_store_strong, OPERAND_NONE, OPERAND_NONE)
		    : emit_row(p, key, OPERAND_NONE, OPERAND_NONE);
	if (!in)
		return;
	place_set(in, place);
	in->b = source;
	if (strong)
		in->n = (uint8_t)(type_size(access->type) |
				  (type_size(access->type) == 8 ? MEM_WIDE : 0) |
				  (place->space == MEM_GLOBAL ? 0 : MEM_GENERIC));
}

int decode_store(struct parser *p)
{
	struct statement *st = &p->st;
	struct access_parts access;
	struct place place;

	if (!access_find(st, &access) || has_part(st, "const")) {
		statement_skip(p);
		return refuse_statement(p);
	}
	if (statement_parse_args(p) || want_args(p, 2, 2) ||
	    place_find(p, &st->arg[0], access.space, type_size(access.type) * access.vector,
		       &place))
		return p->failed;
	if (place.space == MEM_PARAM)
		return parse_fail(p, st->line, "a kernel's parameters cannot be written");
	if (st->arg[1].count != (access.vector > 1 ? access.vector : 0))
		return parse_fail(p, st->line, "%s has another number of elements", st->mnemonic);
	if (access.vector > 1)
		store_vector(p, &st->arg[1], access.type, &place);
	else
		store_one(p, &st->arg[1].one, &access, &place);
	return p->failed;
}

int decode_nothing(struct parser *p)
{
	return statement_parse_args(p);
}
