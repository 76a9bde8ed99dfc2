/* SPDX-License-Identifier: Apache-2.0 */
/* atom, red. */
#include "ptx/atom.h"
#include "ptx/decode_place.h"

#include <string.h>

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
