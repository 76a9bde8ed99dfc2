/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/decode_place.h"
#include "ptx/handlers.h"

#include <string.h>

bool is_one_of(const char *part, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(part, words[i]))
			return true;
	}
	return false;
}

bool take_space(const char *part, enum mem_space *ret_space)
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

bool access_find(const struct statement *st, struct access_parts *access)
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

int place_find(struct parser *p, const struct arg *arg, enum mem_space space, uint32_t bytes,
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

const char *space_name(enum mem_space space)
{
	switch (space) {
	case MEM_GLOBAL: return "global";
	case MEM_SHARED: return "shared";
	case MEM_LOCAL: return "local";
	default: return "generic";
	}
}

void place_set(struct insn *in, const struct place *place)
{
	in->a = place->operand;
	in->imm = place->offset;
	if (place->space == MEM_SHARED)
		in->aux.bits = place->wide ? SHARED_WIDE : 0;
}
