/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of any instruction: registers, numbers, addresses, special registers. */
#include "ptx/decode.h"
#include "ptx/half.h"
#include "ptx/handlers.h"

#include <string.h>

char class_of(enum ptx_type type)
{
	switch (type) {
	case TYPE_PRED: return 'p';
	case TYPE_F16: return 'e';
	case TYPE_F32: return 'f';
	case TYPE_F64: return 'g';
	case TYPE_F16X2: return 'x';
	default: break;
	}
	switch (type_size(type)) {
	case 1:
	case 2: return 'h';
	case 4: return 'w';
	default: return 'd';
	}
}

bool class_is_wide(char class)
{
	return class == 'd' || class == 'g';
}

static uint32_t class_bytes(char class)
{
	switch (class) {
	case 'p': return 0;
	case 'h':
	case 'e': return 2;
	case 'd':
	case 'g': return 8;
	default: return 4;
	}
}

static bool register_fits(enum ptx_type type, char class)
{
	uint32_t bytes = type_size(type);

	if (class == 'p' || type == TYPE_PRED)
		return class == 'p' && type == TYPE_PRED;
	/* Registers of 8 bits are stored as those of 16 are. */
	return (bytes == 1 ? 2 : bytes) == class_bytes(class);
}

uint32_t decode_temp(struct parser *p, char class)
{
	static const struct {
		char class;
		enum ptx_type type;
	} types[] = {{'p', TYPE_PRED}, {'h', TYPE_B16}, {'e', TYPE_B16},
		     {'d', TYPE_B64},  {'g', TYPE_B64}, {'w', TYPE_B32}};
	enum ptx_type type = TYPE_B32;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].class == class)
			type = types[i].type;
	}
	return build_vreg(p, type);
}

static int wrong_size(struct parser *p)
{
	return parse_fail(p, p->st.line, "an operand of %s has the wrong type or size",
			  p->st.mnemonic);
}

/* ---- sources ---- */

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t bits_of_double(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t source_float(struct parser *p, double value, uint64_t bits, char class)
{
	switch (class) {
	case 'd':
	case 'g': return build_const(p, bits_of_double(value), true);
	case 'e':
	case 'h': return build_const(p, half_from_double(value, FP_RN), false);
	default: return build_const(p, bits, false);
	}
}

static uint32_t source_int(struct parser *p, uint64_t value, char class)
{
	switch (class) {
	case 'f': return build_const(p, bits_of_float((float)(int64_t)value), false);
	case 'g': return build_const(p, bits_of_double((double)(int64_t)value), true);
	case 'd': return build_const(p, value, true);
	case 'h':
	case 'e': return build_const(p, value & 0xffff, false);
	case 'p': {
		uint32_t temp = decode_temp(p, 'p');
		struct insn *in = emit_row(p, "=set.p", temp, OPERAND_NONE);

		if (in)
			in->imm = value != 0;
		return temp;
	}
	default: return build_const(p, value, false);
	}
}

static uint32_t source_special(struct parser *p, enum special special, char class)
{
	uint32_t operand;
	uint32_t temp;

	if (special < SPECIAL_PINNED) {
		operand = build_special(p, special);
	} else {
		struct insn *in;

		operand = decode_temp(p, special_is_wide(special) ? 'd' : 'w');
		in = emit_to(p, special_read, operand, OPERAND_NONE);
		if (in)
			in->imm = special;
	}
	if (class_is_wide(class) == special_is_wide(special) && class_bytes(class) != 2)
		return operand;
	temp = decode_temp(p, class);
	if (class_is_wide(class))
		emit_row(p, "=wide.u32", temp, operand);
	else if (special_is_wide(special))
		emit_row(p, "=low", temp, operand);
	else
		emit_row(p, "=zext.16", temp, operand);
	return temp;
}

/* The start of .extern .shared differs by kernel, so it is a special register plus an offset. */
static uint32_t source_dynamic(struct parser *p, uint64_t offset, bool wide)
{
	uint32_t operand = build_special(p, SPECIAL_DYNAMIC_SHARED);
	struct insn *in;
	uint32_t temp;

	if (offset) {
		temp = decode_temp(p, 'w');
		in = emit_row(p, "add.u32", temp, operand);
		if (in)
			in->b = build_const(p, offset, false);
		operand = temp;
	}
	if (!wide)
		return operand;
	temp = decode_temp(p, 'd');
	emit_row(p, "=wide.u32", temp, operand);
	return temp;
}

static uint32_t source_by_lane(struct parser *p, insn_fn fn, int64_t offset)
{
	uint32_t temp = decode_temp(p, 'd');
	struct insn *in = emit_to(p, fn, temp, OPERAND_NONE);

	if (in)
		in->imm = offset;
	return temp;
}

/* A variable's or function's address, in its own space. */
static uint32_t source_symbol(struct parser *p, const struct scalar *scalar, char class)
{
	const struct symbol *symbol = &p->symbol[scalar->symbol];
	uint64_t offset = scalar->value;
	bool wide = class_is_wide(class);
	bool narrow_space = symbol->kind >= SYMBOL_SHARED && symbol->kind <= SYMBOL_SHARED_DYNAMIC;

	if (symbol->kind == SYMBOL_UNKNOWN_VALUE) {
		build_refuse(p, p->st.line, "%s uses %.*s, which is not defined in this module",
			     p->st.mnemonic, symbol->length > 60 ? 60 : (int)symbol->length,
			     symbol->text);
		return build_const(p, 0, wide);
	}
	if (!wide && (class != 'w' || !narrow_space)) {
		wrong_size(p);
		return OPERAND_NONE;
	}
	switch (symbol->kind) {
	case SYMBOL_GLOBAL: return build_const_reloc(p, RELOC_GLOBAL, symbol->index, offset, true);
	case SYMBOL_FUNCTION: return build_const_reloc(p, RELOC_FUNCTION, symbol->index, 0, true);
	case SYMBOL_SHARED:
		return build_const_reloc(p, RELOC_SHARED, 0, symbol->index + offset, wide);
	case SYMBOL_SHARED_COMMON:
		p->b.fn->uses_common_shared = true;
		return build_const(p, symbol->index + offset, wide);
	case SYMBOL_SHARED_DYNAMIC: return source_dynamic(p, offset, wide);
	case SYMBOL_LOCAL:
		return source_by_lane(p, special_local_address, (int64_t)(symbol->index + offset));
	case SYMBOL_PARAM:
		return source_by_lane(p, special_param_address, (int64_t)(symbol->index + offset));
	default:
		parse_fail(p, p->st.line, "%.*s is no operand of %s",
			   symbol->length > 60 ? 60 : (int)symbol->length, symbol->text,
			   p->st.mnemonic);
		return OPERAND_NONE;
	}
}

static uint32_t source_register(struct parser *p, const struct scalar *scalar, char class)
{
	uint32_t operand = (uint32_t)scalar->value << 2 | OPERAND_VREG;
	uint32_t temp;

	if (!register_fits(scalar->type, class)) {
		wrong_size(p);
		return OPERAND_NONE;
	}
	if (!scalar->negate)
		return operand;
	if (class != 'p') {
		wrong_size(p);
		return OPERAND_NONE;
	}
	temp = decode_temp(p, 'p');
	emit_row(p, "not.pred", temp, operand);
	return temp;
}

uint32_t decode_src(struct parser *p, const struct scalar *scalar, char class)
{
	switch (scalar->kind) {
	case SCALAR_REG: return source_register(p, scalar, class);
	case SCALAR_INT: return source_int(p, scalar->value, class);
	case SCALAR_F32: {
		uint32_t bits = (uint32_t)scalar->value;
		float value;

		memcpy(&value, &bits, sizeof(value));
		return source_float(p, (double)value, bits, class);
	}
	case SCALAR_F64: {
		double value = double_of(scalar->value);

		if (class == 'd')
			return build_const(p, scalar->value, true);
		return source_float(p, value, bits_of_float((float)value), class);
	}
	case SCALAR_SYMBOL: return source_symbol(p, scalar, class);
	case SCALAR_SPECIAL: return source_special(p, (enum special)scalar->value, class);
	default: wrong_size(p); return OPERAND_NONE;
	}
}

uint32_t decode_dst(struct parser *p, const struct scalar *scalar, char class)
{
	if (scalar->kind == SCALAR_SINK)
		return decode_temp(p, class);
	if (scalar->kind != SCALAR_REG || scalar->negate || !register_fits(scalar->type, class)) {
		wrong_size(p);
		return OPERAND_NONE;
	}
	return (uint32_t)scalar->value << 2 | OPERAND_VREG;
}
