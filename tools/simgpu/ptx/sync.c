/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, and what lanes of a warp do together. */
#include "ptx/handlers.h"
#include "ptx/run.h"

/* ---- barriers of the block ---- */

/* Lanes may name different barriers: those of the first lane's go now. */
static uint32_t barrier_id(struct warp *w, const struct insn *in)
{
	const uint32_t *id = reg(w, in->a);
	uint32_t first = (uint32_t)__builtin_ctz(w->mask);
	uint32_t same = 0;

	group_narrow(w, in);
	FOR_LANES(lane, w->mask)
	same |= id[lane] == id[first] ? 1u << lane : 0;
	if (same != w->mask)
		group_split(w, w->mask & ~same, in);
	w->mask = same;
	return id[first];
}

static void barrier_reduce(struct warp *w, const struct insn *in, struct barrier *barrier)
{
	uint32_t bits = *pred_reg(w, in->c);

	barrier->reduced += lane_count(bits & w->mask);
	barrier->is_some_false |= (~bits & w->mask) != 0;
}

HANDLER(sync_bar)
{
	uint32_t id = barrier_id(w, in);
	uint32_t lane = (uint32_t)__builtin_ctz(w->mask);
	struct barrier *barrier;

	warp_count(w, in);
	if (id >= BARRIERS)
		return fault_at(w, in, lane, PTX_ILLEGAL_INSTRUCTION,
				"barrier %u in line %u: there are %u", id, in->line, BARRIERS);
	barrier = &w->block->barrier[id];
	if (in->b != OPERAND_NONE)
		barrier->expected = ((const uint32_t *)reg(w, in->b))[lane];
	/* A count is of whole warps: the last one's missing threads are in it. */
	barrier->arrived += barrier->expected && w->mask == w->live ? LANES : lane_count(w->mask);
	if (in->n >= BAR_POPC)
		barrier_reduce(w, in, barrier);
	w->pc = in + 1;
	w->current->pc = w->pc;
	if (in->n != BAR_ARRIVE) {
		w->current->state = GROUP_AT_BARRIER;
		w->current->barrier = id;
	}
	barrier_check(w->block, id);
	return LEAVE;
}

HANDLER(sync_fence)
{
	atomic_fetch_add(&w->run->fence, 1);
	return in + 1;
}

/* ---- waiting for lanes of the warp ---- */

/* False: some lanes that the instruction names are not here yet. The group waits at it, with
 * w->pc set; lanes that come to the same place join it, and it is done again. */
static bool lanes_are_here(struct warp *w, const struct insn *in, uint32_t operand)
{
	const uint32_t *member;
	uint32_t wanted = 0;

	if (operand == OPERAND_NONE)
		return true;
	member = reg(w, operand);
	FOR_LANES(lane, w->mask)
	wanted |= member[lane];
	wanted &= w->live;
	if (!(wanted & ~w->mask))
		return true;
	group_narrow(w, in);
	w->steps += (uint64_t)(in - w->segment);
	w->segment = in;
	w->current->state = GROUP_AT_WARP_SYNC;
	w->current->wait = wanted;
	w->pc = in;
	return false;
}

HANDLER(sync_warp)
{
	return lanes_are_here(w, in, in->a) ? in + 1 : LEAVE;
}

/* Lanes with the first one's member mask, taken off *left; they act together. */
static uint32_t next_party(const struct warp *w, uint32_t operand, uint32_t *left)
{
	const uint32_t *member;
	uint32_t first = (uint32_t)__builtin_ctz(*left);
	uint32_t party = 0;

	if (operand == OPERAND_NONE) {
		party = *left;
	} else {
		member = reg(w, operand);
		FOR_LANES(lane, *left)
		party |= member[lane] == member[first] ? 1u << lane : 0;
	}
	*left &= ~party;
	return party;
}

/* ---- shuffle ---- */

static uint32_t shfl_source(enum shfl_kind kind, uint32_t lane, uint32_t b, uint32_t c,
			    bool *ret_valid)
{
	uint32_t segment = c >> 8 & 0x1f;
	uint32_t clamp = c & 0x1f;
	uint32_t most = (lane & segment) | (clamp & ~segment);
	uint32_t least = lane & segment;
	int source;

	b &= 0x1f;
	switch (kind) {
	case SHFL_UP:
		source = (int)lane - (int)b;
		*ret_valid = source >= (int)most;
		break;
	case SHFL_DOWN:
		source = (int)(lane + b);
		*ret_valid = source <= (int)most;
		break;
	case SHFL_BFLY:
		source = (int)(lane ^ b);
		*ret_valid = source <= (int)most;
		break;
	default:
		source = (int)(least | (b & ~segment));
		*ret_valid = source <= (int)most;
		break;
	}
	return *ret_valid ? (uint32_t)source & 0x1f : lane;
}

HANDLER(sync_shfl)
{
	const uint32_t *a = reg(w, in->a);
	const uint32_t *b = reg(w, in->b);
	const uint32_t *c = reg(w, in->c);
	uint32_t *d;
	uint32_t value[LANES];
	uint32_t valid_lanes = 0;

	if (!lanes_are_here(w, in, in->e))
		return LEAVE;
	FOR_LANES(lane, w->mask)
	{
		bool valid;
		uint32_t source =
			shfl_source((enum shfl_kind)in->n, lane, b[lane], c[lane], &valid);

		/* A lane that does not take part has 0 to give: some programs rely on it. */
		value[lane] = w->mask >> source & 1 ? a[source] : 0;
		valid_lanes |= (uint32_t)valid << lane;
	}
	if (in->d != OPERAND_NONE) {
		d = reg(w, in->d);
		FOR_LANES(lane, w->mask)
		d[lane] = value[lane];
	}
	if (in->d2 != OPERAND_NONE)
		pred_write(w, in->d2, valid_lanes);
	return in + 1;
}

/* ---- vote, match, redux ---- */

HANDLER(sync_vote)
{
	uint32_t bits = *pred_reg(w, in->a) ^ (in->imm ? ALL_LANES : 0);
	uint32_t left = w->mask;

	if (!lanes_are_here(w, in, in->b))
		return LEAVE;
	while (left) {
		uint32_t party = next_party(w, in->b, &left);
		uint32_t votes = bits & party;
		uint32_t result = 0;

		if (in->n == VOTE_BALLOT) {
			uint32_t *d = reg(w, in->d);

			FOR_LANES(lane, party)
			d[lane] = votes;
			continue;
		}
		if (in->n == VOTE_ALL)
			result = votes == party;
		else if (in->n == VOTE_ANY)
			result = votes != 0;
		else
			result = votes == party || !votes;
		*pred_reg(w, in->d) = (*pred_reg(w, in->d) & ~party) | (result ? party : 0);
	}
	return in + 1;
}

static uint64_t lane_value(const struct warp *w, const struct insn *in, uint32_t lane)
{
	return in->imm ? ((const uint64_t *)reg(w, in->a))[lane]
		       : ((const uint32_t *)reg(w, in->a))[lane];
}

/* imm: the values have 64 bits. */
HANDLER(sync_match)
{
	uint32_t left = w->mask;
	uint32_t result[LANES] = {0};
	uint32_t equal_lanes = 0;
	uint32_t *d;

	if (!lanes_are_here(w, in, in->b))
		return LEAVE;
	while (left) {
		uint32_t party = next_party(w, in->b, &left);

		FOR_LANES(lane, party)
		{
			uint32_t equal = 0;

			FOR_LANES(other, party)
			{
				if (lane_value(w, in, other) == lane_value(w, in, lane))
					equal |= 1u << other;
			}
			if (in->n == MATCH_ANY)
				result[lane] = equal;
			else
				result[lane] = equal == party ? party : 0;
			equal_lanes |= equal == party ? 1u << lane : 0;
		}
	}
	d = reg(w, in->d);
	FOR_LANES(lane, w->mask)
	d[lane] = result[lane];
	if (in->d2 != OPERAND_NONE)
		pred_write(w, in->d2, equal_lanes);
	return in + 1;
}

static uint32_t reduce(enum redux_kind kind, uint32_t x, uint32_t y)
{
	switch (kind) {
	case REDUX_ADD: return x + y;
	case REDUX_MIN_U: return x < y ? x : y;
	case REDUX_MAX_U: return x > y ? x : y;
	case REDUX_MIN_S: return (int32_t)x < (int32_t)y ? x : y;
	case REDUX_MAX_S: return (int32_t)x > (int32_t)y ? x : y;
	case REDUX_AND: return x & y;
	case REDUX_OR: return x | y;
	default: return x ^ y;
	}
}

HANDLER(sync_redux)
{
	const uint32_t *a = reg(w, in->a);
	uint32_t result[LANES] = {0};
	uint32_t left = w->mask;
	uint32_t *d;

	if (!lanes_are_here(w, in, in->b))
		return LEAVE;
	while (left) {
		uint32_t party = next_party(w, in->b, &left);
		uint32_t first = (uint32_t)__builtin_ctz(party);
		uint32_t sum = a[first];

		FOR_LANES(lane, party & (party - 1))
		sum = reduce((enum redux_kind)in->n, sum, a[lane]);
		FOR_LANES(lane, party)
		result[lane] = sum;
	}
	d = reg(w, in->d);
	FOR_LANES(lane, w->mask)
	d[lane] = result[lane];
	return in + 1;
}

HANDLER(sync_activemask)
{
	uint32_t *d = reg(w, in->d);

	FOR_LANES(lane, w->mask)
	d[lane] = w->mask;
	return in + 1;
}

/* The warp's time goes by, and others have their turn. */
HANDLER(sync_nanosleep)
{
	const uint32_t *ns = reg(w, in->a);
	uint32_t longest = 0;

	group_narrow(w, in);
	warp_count(w, in);
	FOR_LANES(lane, w->mask)
	longest = ns[lane] > longest ? ns[lane] : longest;
	w->run->clock_ahead += longest;
	w->patience = 0;
	w->polls++;
	w->pc = in + 1;
	return LEAVE;
}
