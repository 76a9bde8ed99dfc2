/* SPDX-License-Identifier: Apache-2.0 */
/* ld, st, atom, red. */
#include "ptx/decode.h"
#include "ptx/atom.h"

#include <stdio.h>
#include <string.h>

enum mem_space { MEM_GENERIC_SPACE, MEM_GLOBAL, MEM_SHARED, MEM_LOCAL, MEM_PARAM };

struct access_parts {
	enum mem_space space;
	enum ptx_type type;
	uint32_t vector; /* elements */
	bool strong;	 /* volatile, or orders memory */
};

static bool is_one_of(const char *part, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(part, words[i]))
			return true;
	}
	return false;
}

#define IS_ONE_OF(part, words) is_one_of(part, words, sizeof(words) / sizeof((words)[0]))

static bool take_space(const char *part, enum mem_space *ret_space)
{
	static const struct {
		const char *part;
		enum mem_space space;
	} spaces[] = {
		{"global", MEM_GLOBAL},	     {"const", MEM_GLOBAL},	 {"shared", MEM_SHARED},
		{"shared::cta", MEM_SHARED}, {"local", MEM_LOCAL},	 {"param", MEM_PARAM},
		{"param::entry", MEM_PARAM}, {"param::func", MEM_PARAM},
	};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (strcmp(spaces[i].part, part))
			continue;
		*ret_space = spaces[i].space;
		return true;
	}
	return false;
}

/* Hints for caches, and scopes: every order here is the strongest, every scope the system's. */
static bool is_hint(const char *part)
{
	static const char *const words[] = {
		"weak",
		"nc",
		"ca",
		"cg",
		"cs",
		"lu",
		"cv",
		"wb",
		"wt",
		"cta",
		"gpu",
		"sys",
		"cluster",
		"L1::evict_normal",
		"L1::evict_unchanged",
		"L1::evict_first",
		"L1::evict_last",
		"L1::no_allocate",
		"L2::64B",
		"L2::128B",
		"L2::256B",
		"L2::evict_last",
		"L2::evict_first",
		"L2::evict_normal",
	};

	return IS_ONE_OF(part, words);
}

static bool is_strong(const char *part)
{
	static const char *const words[] = {"volatile", "relaxed", "acquire", "release", "mmio"};

	return IS_ONE_OF(part, words);
}

static bool access_find(const struct statement *st, struct access_parts *access)
{
	*access = (struct access_parts){.vector = 1, .type = last_type(st)};
	for (uint32_t i = 1; i + 1 < st->parts; i++) {
		const char *part = st->part[i];

		if (take_space(part, &access->space) || is_hint(part))
			continue;
		if (is_strong(part))
			access->strong = true;
		else if (!strcmp(part, "v2") || !strcmp(part, "v4") || !strcmp(part, "v8"))
			access->vector = (uint32_t)(part[1] - '0');
		else
			return false;
	}
	return type_size(access->type) && access->type != TYPE_F16X2;
}

/* ---- addresses ---- */

struct place {
	enum mem_space space; /* as it turned out: a parameter may be local memory */
	uint32_t operand;     /* OPERAND_NONE: a variable of the frame, or a kernel parameter */
	int64_t offset;
	bool wide; /* the operand has 64 bits */
};

static int check_extent(struct parser *p, const struct symbol *symbol, int64_t offset,
			uint32_t bytes)
{
	if (offset >= 0 && (uint64_t)offset + bytes <= symbol->size)
		return 0;
	return parse_fail(p, p->st.line, "%s reaches past the end of %.*s (%u bytes)",
			  p->st.mnemonic, symbol->length > 60 ? 60 : (int)symbol->length,
			  symbol->text, symbol->size);
}

static int place_symbol(struct parser *p, const struct arg *arg, uint32_t bytes,
			struct place *place)
{
	const struct symbol *symbol = &p->symbol[arg->one.symbol];
	bool shared = symbol->kind >= SYMBOL_SHARED && symbol->kind <= SYMBOL_SHARED_DYNAMIC;

	place->offset = arg->offset;
	if (symbol->kind == SYMBOL_LOCAL || symbol->kind == SYMBOL_PARAM) {
		if (check_extent(p, symbol, arg->offset, bytes))
			return p->failed;
		place->space = symbol->kind == SYMBOL_LOCAL ? MEM_LOCAL : MEM_PARAM;
		place->offset += symbol->index;
		return 0;
	}
	if (shared != (place->space == MEM_SHARED) && symbol->kind != SYMBOL_UNKNOWN_VALUE)
		return parse_fail(p, p->st.line, "%.*s is not in the space that %s names",
				  symbol->length > 60 ? 60 : (int)symbol->length, symbol->text,
				  p->st.mnemonic);
	place->wide = !shared;
	place->operand = decode_src(p, &arg->one, shared ? 'w' : 'd');
	return p->failed;
}

static int place_find(struct parser *p, const struct arg *arg, enum mem_space space, uint32_t bytes,
		      struct place *place)
{
	*place = (struct place){
		.space = space, .operand = OPERAND_NONE, .offset = arg->offset, .wide = true};
	if (!arg->is_address)
		return parse_fail(p, p->st.line, "%s wants an address in brackets", p->st.mnemonic);
	if (arg->one.kind == SCALAR_SYMBOL)
		return place_symbol(p, arg, bytes, place);
	/* Through a register, parameters are generic memory. */
	if (space == MEM_PARAM)
		place->space = MEM_GENERIC_SPACE;
	if (space == MEM_SHARED && arg->one.kind == SCALAR_REG && type_size(arg->one.type) == 4)
		place->wide = false;
	place->operand = decode_src(p, &arg->one, place->wide ? 'd' : 'w');
	return p->failed;
}

static const char *space_name(enum mem_space space)
{
	switch (space) {
	case MEM_GLOBAL: return "global";
	case MEM_SHARED: return "shared";
	case MEM_LOCAL: return "local";
	default: return "generic";
	}
}

static void set_place(struct insn *in, const struct place *place)
{
	in->a = place->operand;
	in->imm = place->offset;
	if (place->space == MEM_SHARED)
		in->aux.bits = place->wide ? SHARED_WIDE : 0;
}

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
	set_place(in, place);
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
	set_place(in, place);
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
	set_place(in, place);
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
	set_place(in, place);
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
	set_place(in, place);
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

/* ---- atom, red ---- */

static const struct atom_row *atomic_find(const struct statement *st, enum mem_space *ret_space)
{
	static const char *const other[] = {"relaxed", "acquire", "release", "acq_rel",
					    "cta",     "gpu",	  "sys",     "cluster"};
	const char *op = NULL;

	*ret_space = MEM_GENERIC_SPACE;
	for (uint32_t i = 1; i + 1 < st->parts; i++) {
		if (IS_ONE_OF(st->part[i], other) || take_space(st->part[i], ret_space))
			continue;
		if (op)
			return NULL;
		op = st->part[i];
	}
	if (!op || *ret_space > MEM_SHARED || has_part(st, "const"))
		return NULL;
	return atom_find(op, st->part[st->parts - 1]);
}

int decode_atom(struct parser *p)
{
	struct statement *st = &p->st;
	enum mem_space space;
	const struct atom_row *row = atomic_find(st, &space);
	uint32_t first = st->part[0][0] == 'a'; /* red has no result */
	uint32_t b;
	uint32_t c = OPERAND_NONE;
	uint32_t d = OPERAND_NONE;
	struct place place;
	struct insn *in;
	char class;

	if (!row || (!first && row->args == 3)) {
		statement_skip(p);
		return refuse_statement(p);
	}
	class = class_of(last_type(st));
	if (statement_parse_args(p) || want_args(p, first + row->args, first + row->args) ||
	    place_find(p, &st->arg[first], space, row->bytes, &place))
		return p->failed;
	if (place.space > MEM_SHARED)
		return parse_fail(p, st->line, "%s is for global and shared memory", st->mnemonic);
	b = decode_src(p, &st->arg[first + 1].one, class);
	if (row->args == 3)
		c = decode_src(p, &st->arg[first + 2].one, class);
	if (first && st->arg[0].one.kind != SCALAR_SINK)
		d = decode_dst(p, &st->arg[0].one, class);
	in = p->failed ? NULL : emit_to(p, mem_atom, d, place.operand);
	if (!in)
		return p->failed;
	if (place.space == MEM_SHARED)
		in->fn = mem_atom_shared;
	in->b = b;
	in->c = c;
	in->imm = place.offset;
	in->aux.atomic = row->fn;
	in->fp_mode = FP_RN;
	in->n = row->bytes;
	if (place.space == MEM_SHARED ? place.wide : place.space == MEM_GENERIC_SPACE)
		in->n |= MEM_GENERIC;
	return 0;
}

int decode_nothing(struct parser *p)
{
	return statement_parse_args(p);
}
