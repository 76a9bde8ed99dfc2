/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/slots.h"
#include "ptx/build.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX
#define LIVE_SETS_MAX (256u << 20) /* bytes: beyond, registers get a slot each */

/* ---- what an instruction reads and writes ---- */

static bool is_vreg(uint32_t operand)
{
	return operand != OPERAND_NONE && (operand & 3) == OPERAND_VREG;
}

struct touched {
	uint32_t *operand[16]; /* places in the instruction or the list */
	uint32_t count;
};

static void touch(struct touched *t, uint32_t *operand)
{
	if (is_vreg(*operand))
		t->operand[t->count++] = operand;
}

static void reads_of(struct build *b, struct insn *in, struct touched *t)
{
	t->count = 0;
	touch(t, &in->pred);
	touch(t, &in->a);
	touch(t, &in->b);
	touch(t, &in->c);
	if (!(in->flags & (INSN_LIST_DST | INSN_LIST_SRC)))
		touch(t, &in->e);
	if (in->flags & INSN_LIST_SRC) {
		for (uint32_t i = 0; i < in->n; i++)
			touch(t, &b->list[in->e + i]);
	}
}

static void writes_of(struct build *b, struct insn *in, struct touched *t)
{
	t->count = 0;
	touch(t, &in->d);
	touch(t, &in->d2);
	if (in->flags & INSN_LIST_DST) {
		for (uint32_t i = 0; i < in->n; i++)
			touch(t, &b->list[in->e + i]);
	}
}

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

/* ---- liveness ---- */

struct basic_block {
	uint32_t first, last; /* instructions */
};

struct liveness {
	struct basic_block *block;
	uint32_t *block_of; /* by instruction */
	uint32_t blocks;
	uint32_t *bit; /* by register: its place in the sets; NOWHERE: lives in one block */
	uint32_t bits, words;
	uint64_t *in, *out, *use, *kill;
	/* By register: two positions per instruction, reads before writes. */
	uint32_t *start, *end;
};

static void mark_leaders(struct build *b, uint8_t *leader)
{
	leader[0] = 1;
	for (uint32_t i = 0; i < b->insns; i++) {
		const struct insn *in = &b->code[i];

		if (in->flags & INSN_HAS_TARGET)
			leader[in->aux.bits] = 1;
		for (uint32_t k = 0; in->flags & INSN_TARGETS && k < in->aux.bits; k++)
			leader[b->list[in->imm + k]] = 1;
		if (in->flags & INSN_ENDS_BLOCK)
			leader[i + 1] = 1;
	}
}

static int find_blocks(struct build *b, struct liveness *v)
{
	uint8_t *leader = calloc(b->insns + 2, 1);

	v->block = malloc((b->insns + 1) * sizeof(*v->block));
	v->block_of = malloc((b->insns + 1) * sizeof(*v->block_of));
	if (!leader || !v->block || !v->block_of) {
		free(leader);
		return -1;
	}
	mark_leaders(b, leader);
	for (uint32_t i = 0; i < b->insns; i++) {
		if (leader[i])
			v->block[v->blocks++].first = i;
		v->block[v->blocks - 1].last = i;
		v->block_of[i] = v->blocks - 1;
	}
	free(leader);
	return 0;
}

/* Registers that are written before they are read, and only in one block, need no sets. */
static void find_global(struct build *b, struct liveness *v)
{
	uint32_t *home = v->start; /* borrowed: block of the register so far */
	struct touched t;

	memset(home, 0xff, b->vregs * sizeof(*home));
	memset(v->bit, 0xff, b->vregs * sizeof(*v->bit));
	for (uint32_t i = 0; i < b->insns; i++) {
		struct insn *in = &b->code[i];
		uint32_t block = v->block_of[i];

		reads_of(b, in, &t);
		for (uint32_t k = 0; k < t.count; k++) {
			uint32_t vreg = *t.operand[k] >> 2;

			if (home[vreg] != block)
				v->bit[vreg] = 0;
			home[vreg] = home[vreg] == NOWHERE ? block : home[vreg];
		}
		writes_of(b, in, &t);
		for (uint32_t k = 0; k < t.count; k++) {
			uint32_t vreg = *t.operand[k] >> 2;

			if ((home[vreg] != NOWHERE && home[vreg] != block) ||
			    (home[vreg] == NOWHERE && in->pred != OPERAND_NONE))
				v->bit[vreg] = 0;
			home[vreg] = home[vreg] == NOWHERE ? block : home[vreg];
		}
	}
	for (uint32_t vreg = 0; vreg < b->vregs; vreg++) {
		if (!v->bit[vreg])
			v->bit[vreg] = v->bits++;
	}
	v->words = (v->bits + 63) / 64;
}

static void set_bit(uint64_t *set, uint32_t bit)
{
	set[bit / 64] |= 1ull << bit % 64;
}

static bool has_bit(const uint64_t *set, uint32_t bit)
{
	return set[bit / 64] >> bit % 64 & 1;
}

static void block_effects(struct build *b, struct liveness *v, uint32_t block)
{
	uint64_t *use = v->use + (size_t)block * v->words;
	uint64_t *kill = v->kill + (size_t)block * v->words;
	struct touched t;

	for (uint32_t i = v->block[block].first; i <= v->block[block].last; i++) {
		struct insn *in = &b->code[i];

		reads_of(b, in, &t);
		for (uint32_t k = 0; k < t.count; k++) {
			uint32_t bit = v->bit[*t.operand[k] >> 2];

			if (bit != NOWHERE && !has_bit(kill, bit))
				set_bit(use, bit);
		}
		/* A predicated write leaves some lanes' old value. */
		writes_of(b, in, &t);
		for (uint32_t k = 0; k < t.count; k++) {
			uint32_t bit = v->bit[*t.operand[k] >> 2];

			if (bit != NOWHERE && in->pred == OPERAND_NONE)
				set_bit(kill, bit);
		}
	}
}

static void join(struct liveness *v, uint64_t *out, uint32_t block)
{
	const uint64_t *in = v->in + (size_t)block * v->words;

	for (uint32_t word = 0; word < v->words; word++)
		out[word] |= in[word];
}

static bool flow_through(struct build *b, struct liveness *v, uint32_t block)
{
	const struct insn *last = &b->code[v->block[block].last];
	size_t at = (size_t)block * v->words;
	uint64_t *out = v->out + at;
	bool changed = false;

	if (last->flags & INSN_HAS_TARGET)
		join(v, out, v->block_of[last->aux.bits]);
	for (uint32_t k = 0; last->flags & INSN_TARGETS && k < last->aux.bits; k++)
		join(v, out, v->block_of[b->list[last->imm + k]]);
	if ((!(last->flags & INSN_NO_FALL) || last->pred != OPERAND_NONE) && block + 1 < v->blocks)
		join(v, out, block + 1);
	for (uint32_t word = 0; word < v->words; word++) {
		uint64_t in = v->use[at + word] | (out[word] & ~v->kill[at + word]);

		changed |= in != v->in[at + word];
		v->in[at + word] = in;
	}
	return changed;
}

static int find_live_sets(struct build *b, struct liveness *v)
{
	size_t words = (size_t)v->words * v->blocks + 1;
	bool changed = true;

	if (words * sizeof(uint64_t) * 4 > LIVE_SETS_MAX)
		return 1;
	v->in = calloc(words, sizeof(uint64_t));
	v->out = calloc(words, sizeof(uint64_t));
	v->use = calloc(words, sizeof(uint64_t));
	v->kill = calloc(words, sizeof(uint64_t));
	if (!v->in || !v->out || !v->use || !v->kill)
		return -1;
	for (uint32_t block = 0; block < v->blocks; block++)
		block_effects(b, v, block);
	while (changed) {
		changed = false;
		for (uint32_t block = v->blocks; block-- > 0;)
			changed |= flow_through(b, v, block);
	}
	return 0;
}

static void extend(struct liveness *v, uint32_t vreg, uint32_t position)
{
	if (v->start[vreg] == NOWHERE) {
		v->start[vreg] = position;
		v->end[vreg] = position;
		return;
	}
	v->start[vreg] = position < v->start[vreg] ? position : v->start[vreg];
	v->end[vreg] = position > v->end[vreg] ? position : v->end[vreg];
}

/* From first to last position at which a register holds something, gaps included. */
static void find_ranges(struct build *b, struct liveness *v, bool everywhere)
{
	struct touched t;

	memset(v->start, 0xff, b->vregs * sizeof(*v->start));
	for (uint32_t i = 0; i < b->insns; i++) {
		struct insn *in = &b->code[i];

		reads_of(b, in, &t);
		for (uint32_t k = 0; k < t.count; k++)
			extend(v, *t.operand[k] >> 2, 2 * i);
		writes_of(b, in, &t);
		for (uint32_t k = 0; k < t.count; k++) {
			extend(v, *t.operand[k] >> 2, 2 * i + 1);
			if (in->flags & INSN_EARLY)
				extend(v, *t.operand[k] >> 2, 2 * i);
		}
	}
	for (uint32_t vreg = 0; vreg < b->vregs; vreg++) {
		uint32_t bit = v->bit[vreg];

		if (bit == NOWHERE || v->start[vreg] == NOWHERE)
			continue;
		if (everywhere) {
			extend(v, vreg, 0);
			extend(v, vreg, 2 * b->insns - 1);
			continue;
		}
		for (uint32_t block = 0; block < v->blocks; block++) {
			if (has_bit(v->in + (size_t)block * v->words, bit))
				extend(v, vreg, 2 * v->block[block].first);
			if (has_bit(v->out + (size_t)block * v->words, bit))
				extend(v, vreg, 2 * v->block[block].last + 1);
		}
	}
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

static void liveness_free(struct liveness *v)
{
	free(v->block);
	free(v->block_of);
	free(v->bit);
	free(v->start);
	free(v->end);
	free(v->in);
	free(v->out);
	free(v->use);
	free(v->kill);
}

static int analyse(struct build *b, struct liveness *v)
{
	size_t vregs = (b->vregs + 1) * sizeof(uint32_t);
	int rc;

	v->bit = malloc(vregs);
	v->start = malloc(vregs);
	v->end = malloc(vregs);
	if (!v->bit || !v->start || !v->end || find_blocks(b, v))
		return -1;
	find_global(b, v);
	rc = find_live_sets(b, v);
	if (rc < 0)
		return -1;
	find_ranges(b, v, rc > 0);
	return 0;
}

int slots_assign(struct parser *p, const unsigned int *const_offset)
{
	struct liveness v = {0};
	struct slots s = {0};
	struct layout layout = {.const_offset = const_offset};
	int rc = -1;

	if (!analyse(&p->b, &v) && !slots_init(&p->b, &s)) {
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
