/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx/liveness.h"

#include <stdlib.h>
#include <string.h>

#define LIVE_SETS_MAX (256u << 20) /* bytes: beyond, registers get a slot each */

bool is_vreg(uint32_t operand)
{
	return operand != OPERAND_NONE && (operand & 3) == OPERAND_VREG;
}

static void touch(struct touched *t, uint32_t *operand)
{
	if (is_vreg(*operand))
		t->operand[t->count++] = operand;
}

void reads_of(struct build *b, struct insn *in, struct touched *t)
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

void writes_of(struct build *b, struct insn *in, struct touched *t)
{
	t->count = 0;
	touch(t, &in->d);
	touch(t, &in->d2);
	if (in->flags & INSN_LIST_DST) {
		for (uint32_t i = 0; i < in->n; i++)
			touch(t, &b->list[in->e + i]);
	}
}

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
		if (!v->bit[vreg]) {
			v->vreg[v->bits] = vreg;
			v->bit[vreg] = v->bits++;
		}
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

static void extend_set(struct liveness *v, const uint64_t *set, uint32_t position)
{
	for (uint32_t word = 0; word < v->words; word++) {
		for (uint64_t left = set[word]; left; left &= left - 1)
			extend(v, v->vreg[word * 64 + (uint32_t)__builtin_ctzll(left)], position);
	}
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
	for (uint32_t vreg = 0; everywhere && vreg < b->vregs; vreg++) {
		if (v->bit[vreg] == NOWHERE || v->start[vreg] == NOWHERE)
			continue;
		extend(v, vreg, 0);
		extend(v, vreg, 2 * b->insns - 1);
	}
	for (uint32_t block = 0; !everywhere && block < v->blocks; block++) {
		size_t at = (size_t)block * v->words;

		extend_set(v, v->in + at, 2 * v->block[block].first);
		extend_set(v, v->out + at, 2 * v->block[block].last + 1);
	}
}

int liveness_find(struct build *b, struct liveness *v)
{
	size_t vregs = (b->vregs + 1) * sizeof(uint32_t);
	int rc;

	v->bit = malloc(vregs);
	v->vreg = malloc(vregs);
	v->start = malloc(vregs);
	v->end = malloc(vregs);
	if (!v->bit || !v->vreg || !v->start || !v->end || find_blocks(b, v))
		return -1;
	find_global(b, v);
	rc = find_live_sets(b, v);
	if (rc < 0)
		return -1;
	find_ranges(b, v, rc > 0);
	return 0;
}

void liveness_free(struct liveness *v)
{
	free(v->block);
	free(v->block_of);
	free(v->bit);
	free(v->vreg);
	free(v->start);
	free(v->end);
	free(v->in);
	free(v->out);
	free(v->use);
	free(v->kill);
}
