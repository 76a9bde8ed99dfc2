/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, fences, and instructions of a whole warp. */
#include "ptx/decode.h"
#include "ptx/handlers.h"

#include <string.h>

static int refuse_rest(struct parser *p)
{
	statement_skip(p);
	return refuse_statement(p);
}

/* ---- barriers ---- */

static int decode_bar_warp(struct parser *p)
{
	uint32_t a;

	if (statement_parse_args(p) || want_args(p, 1, 1))
		return p->failed;
	a = decode_src(p, &p->st.arg[0].one, 'w');
	if (!p->failed)
		emit_to(p, sync_warp, OPERAND_NONE, a);
	return p->failed;
}

static struct insn *emit_bar(struct parser *p, enum bar_kind kind, uint32_t first, bool has_count)
{
	const struct arg *arg = p->st.arg;
	uint32_t a = decode_src(p, &arg[first].one, 'w');
	uint32_t b = has_count ? decode_src(p, &arg[first + 1].one, 'w') : OPERAND_NONE;
	struct insn *in = p->failed ? NULL : emit_to(p, sync_bar, OPERAND_NONE, a);

	if (in) {
		in->b = b;
		in->n = kind;
	}
	return in;
}

static int decode_bar_red(struct parser *p, enum bar_kind kind)
{
	struct statement *st = &p->st;
	uint32_t c;
	uint32_t d;
	struct insn *in;

	if (statement_parse_args(p) || want_args(p, 3, 4))
		return p->failed;
	c = decode_src(p, &st->arg[st->args - 1].one, 'p');
	d = decode_dst(p, &st->arg[0].one, kind == BAR_POPC ? 'w' : 'p');
	in = emit_bar(p, kind, 1, st->args == 4);
	if (!in)
		return p->failed;
	in->c = c;
	in->d = d;
	in->flags |= INSN_EARLY;
	return 0;
}

int decode_bar(struct parser *p)
{
	struct statement *st = &p->st;
	bool red = has_part(st, "red");

	if (has_part(st, "warp"))
		return decode_bar_warp(p);
	if (has_part(st, "cluster"))
		return refuse_rest(p);
	if (red && has_part(st, "popc"))
		return decode_bar_red(p, BAR_POPC);
	if (red && has_part(st, "and"))
		return decode_bar_red(p, BAR_AND);
	if (red && has_part(st, "or"))
		return decode_bar_red(p, BAR_OR);
	if (has_part(st, "sync")) {
		if (!statement_parse_args(p) && !want_args(p, 1, 2))
			emit_bar(p, BAR_SYNC, 0, st->args == 2);
		return p->failed;
	}
	if (has_part(st, "arrive")) {
		if (!statement_parse_args(p) && !want_args(p, 2, 2))
			emit_bar(p, BAR_ARRIVE, 0, true);
		return p->failed;
	}
	return refuse_rest(p);
}

int decode_fence(struct parser *p)
{
	static const char *const known[] = {"sc",  "acq_rel", "acquire", "release", "cta",
					    "gpu", "sys",     "gl",	 "cluster"};
	const struct statement *st = &p->st;

	for (uint32_t i = 1; i < st->parts; i++) {
		bool found = false;

		for (size_t k = 0; k < sizeof(known) / sizeof(known[0]); k++)
			found |= !strcmp(known[k], st->part[i]);
		if (!found)
			return refuse_rest(p);
	}
	if (!statement_parse_args(p) && !want_args(p, 0, 0))
		emit(p, sync_fence);
	return p->failed;
}

/* ---- shuffle, vote, match, redux ---- */

struct word {
	const char *word;
	uint8_t value;
};

static bool word_find(const struct statement *st, const struct word *words, size_t count,
		      uint8_t *ret_value)
{
	for (size_t i = 0; i < count; i++) {
		if (has_part(st, words[i].word)) {
			*ret_value = words[i].value;
			return true;
		}
	}
	return false;
}

#define WORD_FIND(st, words, ret) word_find(st, words, sizeof(words) / sizeof((words)[0]), ret)

static uint32_t pair_operand(const struct arg *arg)
{
	return arg->has_pair ? arg->pair << 2 | OPERAND_VREG : OPERAND_NONE;
}

int decode_shfl(struct parser *p)
{
	static const struct word modes[] = {
		{"up", SHFL_UP}, {"down", SHFL_DOWN}, {"bfly", SHFL_BFLY}, {"idx", SHFL_IDX}};
	struct statement *st = &p->st;
	bool sync = has_part(st, "sync");
	uint32_t operand[4] = {OPERAND_NONE, OPERAND_NONE, OPERAND_NONE, OPERAND_NONE};
	uint32_t d = OPERAND_NONE;
	struct insn *in;
	uint8_t mode;

	if (!WORD_FIND(st, modes, &mode) || type_size(last_type(st)) != 4)
		return refuse_rest(p);
	if (statement_parse_args(p) || want_args(p, sync ? 5 : 4, sync ? 5 : 4))
		return p->failed;
	for (uint32_t i = 1; i < st->args; i++)
		operand[i - 1] = decode_src(p, &st->arg[i].one, 'w');
	if (st->arg[0].one.kind != SCALAR_SINK)
		d = decode_dst(p, &st->arg[0].one, 'w');
	in = p->failed ? NULL : emit_to(p, sync_shfl, d, operand[0]);
	if (!in)
		return p->failed;
	in->b = operand[1];
	in->c = operand[2];
	in->e = operand[3];
	in->d2 = pair_operand(&st->arg[0]);
	in->n = mode;
	return 0;
}

int decode_vote(struct parser *p)
{
	static const struct word modes[] = {
		{"all", VOTE_ALL}, {"any", VOTE_ANY}, {"uni", VOTE_UNI}, {"ballot", VOTE_BALLOT}};
	struct statement *st = &p->st;
	bool sync = has_part(st, "sync");
	uint32_t a;
	uint32_t b = OPERAND_NONE;
	uint32_t d;
	struct insn *in;
	uint8_t mode;

	if (!WORD_FIND(st, modes, &mode))
		return refuse_rest(p);
	if (statement_parse_args(p) || want_args(p, sync ? 3 : 2, sync ? 3 : 2))
		return p->failed;
	a = decode_src(p, &st->arg[1].one, 'p');
	if (sync)
		b = decode_src(p, &st->arg[2].one, 'w');
	d = decode_dst(p, &st->arg[0].one, mode == VOTE_BALLOT ? 'w' : 'p');
	in = p->failed ? NULL : emit_to(p, sync_vote, d, a);
	if (!in)
		return p->failed;
	in->b = b;
	in->n = mode;
	in->flags |= INSN_EARLY;
	return 0;
}

int decode_match(struct parser *p)
{
	static const struct word modes[] = {{"any", MATCH_ANY}, {"all", MATCH_ALL}};
	struct statement *st = &p->st;
	uint32_t size = type_size(last_type(st));
	uint32_t a;
	uint32_t b;
	uint32_t d;
	struct insn *in;
	uint8_t mode;

	if (!WORD_FIND(st, modes, &mode) || size < 4)
		return refuse_rest(p);
	if (statement_parse_args(p) || want_args(p, 3, 3))
		return p->failed;
	a = decode_src(p, &st->arg[1].one, size == 8 ? 'd' : 'w');
	b = decode_src(p, &st->arg[2].one, 'w');
	d = decode_dst(p, &st->arg[0].one, 'w');
	in = p->failed ? NULL : emit_to(p, sync_match, d, a);
	if (!in)
		return p->failed;
	in->b = b;
	in->d2 = pair_operand(&st->arg[0]);
	in->n = mode;
	in->imm = size == 8;
	return 0;
}

int decode_redux(struct parser *p)
{
	static const struct word ops[] = {{"add", REDUX_ADD},	{"and", REDUX_AND},
					  {"or", REDUX_OR},	{"xor", REDUX_XOR},
					  {"min", REDUX_MIN_U}, {"max", REDUX_MAX_U}};
	struct statement *st = &p->st;
	enum ptx_type type = last_type(st);
	uint32_t a;
	uint32_t b;
	uint32_t d;
	struct insn *in;
	uint8_t op;

	if (!WORD_FIND(st, ops, &op) || type_size(type) != 4 || type_is_float(type))
		return refuse_rest(p);
	if (type == TYPE_S32 && (op == REDUX_MIN_U || op == REDUX_MAX_U))
		op += REDUX_MIN_S - REDUX_MIN_U;
	if (statement_parse_args(p) || want_args(p, 3, 3))
		return p->failed;
	a = decode_src(p, &st->arg[1].one, 'w');
	b = decode_src(p, &st->arg[2].one, 'w');
	d = decode_dst(p, &st->arg[0].one, 'w');
	in = p->failed ? NULL : emit_to(p, sync_redux, d, a);
	if (!in)
		return p->failed;
	in->b = b;
	in->n = op;
	return 0;
}

int decode_activemask(struct parser *p)
{
	uint32_t d;

	if (statement_parse_args(p) || want_args(p, 1, 1))
		return p->failed;
	d = decode_dst(p, &p->st.arg[0].one, 'w');
	if (!p->failed)
		emit_to(p, sync_activemask, d, OPERAND_NONE);
	return p->failed;
}

int decode_nanosleep(struct parser *p)
{
	uint32_t a;

	if (statement_parse_args(p) || want_args(p, 1, 1))
		return p->failed;
	a = decode_src(p, &p->st.arg[0].one, 'w');
	if (!p->failed)
		emit_to(p, sync_nanosleep, OPERAND_NONE, a);
	return p->failed;
}
