/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/slots.h"
#include "ptx/liveness.h"

#include <stdlib.h>
#include <string.h>

/* ---- dropping instructions ---- */

/* Moves the kept ones together and points branches at where their targets went; a target that is
 * gone becomes the next one kept. */
static int drop_marked(struct build *b, const uint8_t *drop)
{
	uint32_t *to = malloc((b->insns + 1) * sizeof(*to));
	uint8_t *seen = calloc(b->lists + 1, 1);
	uint32_t kept = 0;

	if (!to || !seen) {
		free(to);
		free(seen);
		return -1;
	}
	for (uint32_t i = 0; i < b->insns; i++) {
		to[i] = kept;
		if (!drop[i])
			b->code[kept++] = b->code[i];
	}
	to[b->insns] = kept;
	b->insns = kept;
	for (uint32_t i = 0; i < kept; i++) {
		struct insn *in = &b->code[i];

		if (in->flags & INSN_HAS_TARGET)
			in->aux.bits = to[in->aux.bits];
		for (uint32_t k = 0; in->flags & INSN_TARGETS && k < in->aux.bits; k++) {
			uint32_t at = (uint32_t)in->imm + k;

			if (!seen[at])
				b->list[at] = to[b->list[at]];
			seen[at] = 1;
		}
	}
	free(to);
	free(seen);
	return 0;
}

/* ---- constants go to their users ---- */

static void count_writes(struct build *b, uint8_t *writes)
{
	struct touched t;

	for (uint32_t i = 0; i < b->insns; i++) {
		writes_of(b, &b->code[i], &t);
		for (uint32_t k = 0; k < t.count; k++) {
			uint8_t *count = &writes[*t.operand[k] >> 2];

			*count = *count < 2 ? *count + 1 : 2;
		}
	}
}

static bool is_constant_move(const struct insn *in, const uint8_t *writes)
{
	return in->flags & INSN_MOVE && in->pred == OPERAND_NONE && in->a != OPERAND_NONE &&
	       !is_vreg(in->a) && is_vreg(in->d) && writes[in->d >> 2] == 1;
}

/* A register that is written once, with a constant, is that constant: whoever reads it earlier
 * reads what is not specified. Returns whether anything changed. */
static bool spread_constants(struct build *b, const uint8_t *writes, uint32_t *value, uint8_t *drop)
{
	bool changed = false;
	struct touched t;

	for (uint32_t i = 0; i < b->insns; i++) {
		const struct insn *in = &b->code[i];

		if (!drop[i] && is_constant_move(in, writes)) {
			value[in->d >> 2] = in->a;
			drop[i] = 1;
			changed = true;
		}
	}
	for (uint32_t i = 0; i < b->insns; i++) {
		reads_of(b, &b->code[i], &t);
		for (uint32_t k = 0; k < t.count && !drop[i]; k++) {
			uint32_t known = value[*t.operand[k] >> 2];

			if (known != OPERAND_NONE)
				*t.operand[k] = known;
		}
	}
	return changed;
}

int slots_simplify(struct parser *p)
{
	struct build *b = &p->b;
	uint8_t *writes = calloc(b->vregs + 1, 1);
	uint8_t *drop = calloc(b->insns + 1, 1);
	uint32_t *value = malloc((b->vregs + 1) * sizeof(*value));
	int rc = -1;

	if (writes && drop && value) {
		memset(value, 0xff, (b->vregs + 1) * sizeof(*value));
		count_writes(b, writes);
		while (spread_constants(b, writes, value, drop))
			;
		rc = drop_marked(b, drop);
	}
	free(writes);
	free(drop);
	free(value);
	return rc;
}

/* ---- slots ---- */

enum slot_kind { SLOT_PRED, SLOT_NARROW, SLOT_WIDE, SLOT_KINDS };

struct slots {
	uint32_t *slot;	 /* by register, of its kind */
	uint32_t *first; /* by position: registers that start there, linked by next_start */
	uint32_t *last;	 /* ... that end there, linked by next_end */
	uint32_t *next_start, *next_end;
	uint32_t *free[SLOT_KINDS]; /* stacks */
	uint32_t frees[SLOT_KINDS], used[SLOT_KINDS];
};

static enum slot_kind kind_of(const struct build *b, uint32_t vreg)
{
	enum ptx_type type = (enum ptx_type)b->vreg_type[vreg];

	if (type == TYPE_PRED)
		return SLOT_PRED;
	return type_size(type) == 8 ? SLOT_WIDE : SLOT_NARROW;
}

static void slots_free(struct slots *s)
{
	free(s->slot);
	free(s->first);
	free(s->last);
	free(s->next_start);
	free(s->next_end);
	for (unsigned kind = 0; kind < SLOT_KINDS; kind++)
		free(s->free[kind]);
}

static int slots_init(struct build *b, struct slots *s)
{
	size_t positions = (2 * (size_t)b->insns + 2) * sizeof(uint32_t);
	size_t vregs = (b->vregs + 1) * sizeof(uint32_t);

	s->slot = malloc(vregs);
	s->first = malloc(positions);
	s->last = malloc(positions);
	s->next_start = malloc(vregs);
	s->next_end = malloc(vregs);
	for (unsigned kind = 0; kind < SLOT_KINDS; kind++)
		s->free[kind] = malloc(vregs);
	if (!s->slot || !s->first || !s->last || !s->next_start || !s->next_end || !s->free[0] ||
	    !s->free[1] || !s->free[2])
		return -1;
	memset(s->first, 0xff, positions);
	memset(s->last, 0xff, positions);
	return 0;
}

/* In order of positions; the slot freed last is given out first, so a register that is moved at
 * its end often is its copy, and the move can go. */
static void slots_scan(struct build *b, const struct liveness *v, struct slots *s)
{
	for (uint32_t vreg = b->vregs; vreg-- > 0;) {
		if (v->start[vreg] == NOWHERE)
			continue;
		s->next_start[vreg] = s->first[v->start[vreg]];
		s->first[v->start[vreg]] = vreg;
		s->next_end[vreg] = s->last[v->end[vreg]];
		s->last[v->end[vreg]] = vreg;
	}
	for (uint32_t position = 0; position < 2 * b->insns; position++) {
		for (uint32_t vreg = s->first[position]; vreg != NOWHERE;
		     vreg = s->next_start[vreg]) {
			enum slot_kind kind = kind_of(b, vreg);

			s->slot[vreg] =
				s->frees[kind] ? s->free[kind][--s->frees[kind]] : s->used[kind]++;
		}
		for (uint32_t vreg = s->last[position]; vreg != NOWHERE; vreg = s->next_end[vreg]) {
			enum slot_kind kind = kind_of(b, vreg);

			s->free[kind][s->frees[kind]++] = s->slot[vreg];
		}
	}
}

static int drop_self_moves(struct build *b, const struct slots *s)
{
	uint8_t *drop = calloc(b->insns + 1, 1);
	int rc = -1;

	if (!drop)
		return -1;
	for (uint32_t i = 0; i < b->insns; i++) {
		const struct insn *in = &b->code[i];

		drop[i] = in->flags & INSN_MOVE && is_vreg(in->a) && is_vreg(in->d) &&
			  s->slot[in->a >> 2] == s->slot[in->d >> 2];
	}
	rc = drop_marked(b, drop);
	free(drop);
	return rc;
}

/* ---- the function's final form ---- */

struct layout {
	uint32_t base[SLOT_KINDS];
	const uint32_t *const_offset;
	const uint32_t *special_offset;
};

static void frame_layout(struct build *b, const struct slots *s, struct layout *layout)
{
	struct ptx_function *fn = b->fn;
	uint32_t at = s->used[SLOT_WIDE] * LANES * 8;
	uint32_t regs = s->used[SLOT_WIDE] * 2 + s->used[SLOT_NARROW];

	layout->base[SLOT_WIDE] = 0;
	layout->base[SLOT_NARROW] = at;
	at += s->used[SLOT_NARROW] * LANES * 4;
	for (unsigned i = 0; i < SPECIAL_PINNED; i++) {
		fn->special_offset[i] = OPERAND_NONE;
		if (!b->special_used[i])
			continue;
		fn->special_offset[i] = at;
		at += special_is_wide((enum special)i) ? LANES * 8 : LANES * 4;
		regs++;
	}
	layout->special_offset = fn->special_offset;
	layout->base[SLOT_PRED] = at;
	at += s->used[SLOT_PRED] * 4;
	fn->frame_bytes = (at + 127) / 64 * 64;
	fn->info.regs = regs < 8 ? 8 : regs > 255 ? 255 : regs;
}

static void place(const struct build *b, const struct slots *s, const struct layout *layout,
		  uint32_t *operand)
{
	static const uint32_t size[SLOT_KINDS] = {4, LANES * 4, LANES * 8};
	uint32_t index = *operand >> 2;
	enum slot_kind kind;

	if (*operand == OPERAND_NONE)
		return;
	switch (*operand & 3) {
	case OPERAND_CONST: *operand = layout->const_offset[index] | 1; return;
	case OPERAND_SPECIAL: *operand = layout->special_offset[index]; return;
	default:
		kind = kind_of(b, index);
		*operand = layout->base[kind] + s->slot[index] * size[kind];
	}
}

static void place_all(struct build *b, const struct slots *s, const struct layout *layout)
{
	for (uint32_t i = 0; i < b->insns; i++) {
		struct insn *in = &b->code[i];

		place(b, s, layout, &in->d);
		place(b, s, layout, &in->d2);
		place(b, s, layout, &in->a);
		place(b, s, layout, &in->b);
		place(b, s, layout, &in->c);
		place(b, s, layout, &in->pred);
		if (!(in->flags & (INSN_LIST_DST | INSN_LIST_SRC))) {
			place(b, s, layout, &in->e);
			continue;
		}
		for (uint32_t k = 0; k < in->n; k++)
			place(b, s, layout, &b->list[in->e + k]);
	}
}

static int keep_code(struct parser *p)
{
	struct build *b = &p->b;
	struct ptx_function *fn = b->fn;

	fn->code = pool_copy(&p->module->pool, b->code, b->insns * sizeof(*b->code));
	fn->list = pool_copy(&p->module->pool, b->list, b->lists * sizeof(*b->list));
	if (!fn->code || !fn->list)
		return -1;
	fn->insns = b->insns;
	for (uint32_t i = 0; i < fn->insns; i++) {
		struct insn *in = &fn->code[i];

		if (in->flags & INSN_HAS_TARGET)
			in->aux.target = fn->code + in->aux.bits;
	}
	return 0;
}

int slots_assign(struct parser *p, const unsigned int *const_offset)
{
	struct liveness v = {0};
	struct slots s = {0};
	struct layout layout = {.const_offset = const_offset};
	int rc = -1;

	if (!liveness_find(&p->b, &v) && !slots_init(&p->b, &s)) {
		slots_scan(&p->b, &v, &s);
		frame_layout(&p->b, &s, &layout);
		rc = drop_self_moves(&p->b, &s);
	}
	if (!rc) {
		place_all(&p->b, &s, &layout);
		rc = keep_code(p);
	}
	liveness_free(&v);
	slots_free(&s);
	return rc;
}
