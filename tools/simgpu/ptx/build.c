/* SPDX-License-Identifier: Apache-2.0 */
/* The function under construction: instructions, virtual registers, constants, labels. */
#include "ptx/build.h"
#include "ptx/decode.h"
#include "ptx/slots.h"

#include <stdlib.h>
#include <string.h>

void build_start(struct parser *p, struct ptx_function *fn)
{
	p->b = (struct build){.fn = fn, .carry = OPERAND_NONE};
}

void build_discard(struct parser *p)
{
	struct build *b = &p->b;

	free(b->code);
	free(b->vreg_type);
	free(b->list);
	free(b->constant);
	free(b->const_slot);
	free(b->fixup);
	free(b->callee);
	free(b->param);
	free(b->formal);
	free(b->result);
	p->b = (struct build){0};
}

struct insn *emit(struct parser *p, insn_fn fn)
{
	struct insn *in = GROW(p->b.code, p->b.insns, p->b.insn_capacity);

	if (!in) {
		parse_no_memory(p);
		return NULL;
	}
	*in = (struct insn){
		.fn = fn,
		.d = OPERAND_NONE,
		.d2 = OPERAND_NONE,
		.a = OPERAND_NONE,
		.b = OPERAND_NONE,
		.c = OPERAND_NONE,
		.e = OPERAND_NONE,
		.pred = p->st.guard,
		.pred_negate = p->st.guard_negate,
		.line = p->st.line,
		.name = p->st.name,
		.fp_mode = FP_ANY,
	};
	return in;
}

struct insn *emit_to(struct parser *p, insn_fn fn, uint32_t d, uint32_t a)
{
	struct insn *in = emit(p, fn);

	if (in) {
		in->d = d;
		in->a = a;
	}
	return in;
}

uint32_t build_vreg(struct parser *p, enum ptx_type type)
{
	uint8_t *vreg = GROW(p->b.vreg_type, p->b.vregs, p->b.vreg_capacity);

	if (!vreg) {
		parse_no_memory(p);
		return OPERAND_NONE;
	}
	*vreg = (uint8_t)type;
	return (p->b.vregs - 1) << 2 | OPERAND_VREG;
}

static uint32_t const_hash(const struct build_const *constant)
{
	uint64_t hash = constant->value * 0x9e3779b97f4a7c15ull + constant->index;

	hash = (hash ^ (uint64_t)constant->reloc << 8 ^ constant->wide) * 0xd6e8feb86659fd93ull;
	return (uint32_t)(hash >> 32);
}

static bool const_equals(const struct build_const *a, const struct build_const *b)
{
	return a->value == b->value && a->wide == b->wide && a->reloc == b->reloc &&
	       a->index == b->index;
}

/* Slots hold indices plus one. The constant's slot, or the empty one where it belongs. */
static uint32_t *const_slot(struct build *b, const struct build_const *constant)
{
	for (uint32_t at = const_hash(constant);; at++) {
		uint32_t *slot = &b->const_slot[at & (b->const_slots - 1)];

		if (!*slot || const_equals(&b->constant[*slot - 1], constant))
			return slot;
	}
}

static int const_slots_grow(struct parser *p)
{
	struct build *b = &p->b;
	uint32_t slots = b->const_slots ? b->const_slots * 2 : 64;
	uint32_t *slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return parse_no_memory(p);
	free(b->const_slot);
	b->const_slot = slot;
	b->const_slots = slots;
	for (uint32_t i = 0; i < b->constants; i++)
		*const_slot(b, &b->constant[i]) = i + 1;
	return 0;
}

uint32_t build_const_reloc(struct parser *p, enum reloc_kind kind, uint32_t index, uint64_t addend,
			   bool wide)
{
	struct build *b = &p->b;
	const struct build_const wanted = {addend, wide, kind, index};
	struct build_const *constant;
	uint32_t *slot;

	if (b->constants * 2 >= b->const_slots && const_slots_grow(p))
		return OPERAND_NONE;
	slot = const_slot(b, &wanted);
	if (*slot)
		return (*slot - 1) << 2 | OPERAND_CONST;
	constant = GROW(b->constant, b->constants, b->constant_capacity);
	if (!constant) {
		parse_no_memory(p);
		return OPERAND_NONE;
	}
	*constant = wanted;
	*slot = b->constants;
	return (b->constants - 1) << 2 | OPERAND_CONST;
}

uint32_t build_const(struct parser *p, uint64_t value, bool wide)
{
	return build_const_reloc(p, RELOC_NONE, 0, wide ? value : (uint32_t)value, wide);
}

uint32_t build_special(struct parser *p, enum special special)
{
	p->b.special_used[special] = true;
	return (uint32_t)special << 2 | OPERAND_SPECIAL;
}

uint32_t build_list(struct parser *p, const uint32_t *entry, uint32_t count)
{
	uint32_t first = p->b.lists;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t *slot = GROW(p->b.list, p->b.lists, p->b.list_capacity);

		if (!slot) {
			parse_no_memory(p);
			return first;
		}
		*slot = entry[i];
	}
	return first;
}

uint32_t build_local(struct parser *p, uint64_t size, uint32_t align)
{
	struct build *b = &p->b;
	uint64_t offset;

	if (align < 8)
		align = 8;
	offset = ((uint64_t)b->local_bytes + align - 1) / align * align;
	if (offset + size > 1 << 24) {
		parse_fail(p, p->lex.token.line,
			   "a thread's local variables are larger than 16 MiB");
		return 0;
	}
	b->local_bytes = (uint32_t)(offset + size);
	if (b->local_bytes > b->local_peak)
		b->local_peak = b->local_bytes;
	return (uint32_t)offset;
}

uint32_t build_carry(struct parser *p)
{
	if (p->b.carry == OPERAND_NONE)
		p->b.carry = build_vreg(p, TYPE_PRED);
	return p->b.carry;
}

int build_fixup(struct parser *p, uint32_t insn, uint32_t entry, const struct token *label)
{
	struct fixup *fixup = GROW(p->b.fixup, p->b.fixups, p->b.fixup_capacity);

	if (!fixup)
		return parse_no_memory(p);
	*fixup = (struct fixup){
		.insn = insn,
		.entry = entry,
		.scope = p->scope,
		.line = label->line,
		.text = label->start,
		.length = label->length,
	};
	return 0;
}

/* ---- the end of a function ---- */

static int resolve_one(struct parser *p, const struct fixup *fixup)
{
	struct symbol *symbol = symbol_in_scope(p, fixup->text, fixup->length, fixup->scope);
	struct insn *in;

	if (fixup->insn == UINT32_MAX || p->b.code[fixup->insn].flags & INSN_HAS_TARGET) {
		if (!symbol || symbol->kind != SYMBOL_LABEL)
			return parse_fail(p, fixup->line, "label %.*s is not defined",
					  fixup->length > 100 ? 100 : (int)fixup->length,
					  fixup->text);
		if (fixup->insn == UINT32_MAX)
			p->b.list[fixup->entry] = symbol->index;
		else
			p->b.code[fixup->insn].aux.bits = symbol->index;
		return 0;
	}
	if (!symbol || symbol->kind != SYMBOL_TARGETS)
		return parse_fail(p, fixup->line, "%.*s is no list of .branchtargets",
				  fixup->length > 100 ? 100 : (int)fixup->length, fixup->text);
	in = &p->b.code[fixup->insn];
	in->imm = symbol->index;
	in->aux.bits = symbol->count;
	return 0;
}

/* Parameters in registers come out of local memory first; results go back before each return,
 * which decode_return has done. */
static uint32_t consts_layout(const struct build *b, uint32_t *ret_offset)
{
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < b->constants; i++) {
		ret_offset[i] = bytes;
		bytes += b->constant[i].wide ? LANES * 8 : LANES * 4;
	}
	return bytes;
}

static void const_fill(uint8_t *at, uint64_t value, bool wide)
{
	for (unsigned lane = 0; lane < LANES; lane++) {
		uint32_t narrow = (uint32_t)value;

		if (wide)
			memcpy(at + lane * 8, &value, 8);
		else
			memcpy(at + lane * 4, &narrow, 4);
	}
}

static int consts_finish(struct parser *p, uint32_t **ret_offset)
{
	struct build *b = &p->b;
	struct ptx_function *fn = b->fn;
	struct pool *pool = &p->module->pool;
	uint32_t *offset = malloc((b->constants + 1) * sizeof(*offset));

	*ret_offset = offset;
	if (!offset)
		return parse_no_memory(p);
	fn->consts = pool_alloc(pool, consts_layout(b, offset) + 64);
	fn->reloc = pool_alloc(pool, (b->constants + 1) * sizeof(*fn->reloc));
	if (!fn->consts || !fn->reloc)
		return parse_no_memory(p);
	for (uint32_t i = 0; i < b->constants; i++) {
		const struct build_const *constant = &b->constant[i];

		const_fill(fn->consts + offset[i], constant->value, constant->wide);
		if (constant->reloc == RELOC_NONE)
			continue;
		fn->reloc[fn->relocs++] = (struct reloc){
			.kind = constant->reloc,
			.index = constant->index,
			.offset = offset[i],
			.size = constant->wide ? 8 : 4,
			.addend = constant->value,
		};
	}
	return 0;
}

static int tables_finish(struct parser *p)
{
	struct build *b = &p->b;
	struct ptx_function *fn = b->fn;
	struct pool *pool = &p->module->pool;

	fn->callee = pool_copy(pool, b->callee, b->callees * sizeof(*b->callee));
	fn->formal = pool_copy(pool, b->formal, b->formals * sizeof(*b->formal));
	fn->result = pool_copy(pool, b->result, b->results * sizeof(*b->result));
	fn->info.param = pool_copy(pool, b->param, b->params * sizeof(*b->param));
	if (!fn->callee || !fn->formal || !fn->result || !fn->info.param)
		return parse_no_memory(p);
	fn->callees = b->callees;
	fn->formals = b->formals;
	fn->results = b->results;
	fn->info.params = b->params;
	fn->local_bytes = (b->local_peak + 15) / 16 * 16;
	fn->info.local_bytes = b->local_peak;
	fn->shared_own = b->shared_bytes;
	fn->info.uses_grid_sync = b->special_used[SPECIAL_ENVREG_WORKSPACE_HIGH] ||
				  b->special_used[SPECIAL_ENVREG_WORKSPACE_LOW];
	return 0;
}

/* Instructions that do not care how floating point is set take what the one before them set, so
 * that nothing is switched back and forth. */
static void modes_finish(struct build *b)
{
	uint8_t mode = FP_RN;

	for (uint32_t i = 0; i < b->insns; i++) {
		if (b->code[i].fp_mode == FP_ANY)
			b->code[i].fp_mode = mode;
		mode = b->code[i].fp_mode;
	}
}

int build_finish(struct parser *p)
{
	uint32_t *const_offset = NULL;

	p->st = (struct statement){.line = p->lex.token.line, .guard = OPERAND_NONE};
	if (decode_return(p))
		return p->failed;
	for (uint32_t i = 0; i < p->b.fixups; i++) {
		if (resolve_one(p, &p->b.fixup[i]))
			return p->failed;
	}
	if (tables_finish(p))
		return p->failed;
	if (!p->b.fn->refused) {
		modes_finish(&p->b);
		if (slots_simplify(p) || consts_finish(p, &const_offset) ||
		    slots_assign(p, const_offset))
			parse_no_memory(p);
	}
	free(const_offset);
	return p->failed;
}
