/* SPDX-License-Identifier: Apache-2.0 */
/* A block: its memory, its warps' turns, its barriers. The interpreter's loop is here. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <string.h>
#include <xmmintrin.h>

#define ALIGN 64u

static size_t align_up(size_t size)
{
	return (size + ALIGN - 1) / ALIGN * ALIGN;
}

size_t block_bytes(const struct run *r)
{
	return align_up(r->warps * sizeof(struct warp)) +
	       align_up((size_t)r->warps * r->fn->frame_bytes) +
	       align_up((size_t)r->warps * LANES * r->local_stride) +
	       align_up((size_t)r->dynamic_base + r->launch->dynamic_shared_bytes) + ALIGN;
}

static void warp_place(struct run *r, struct block *block, uint32_t index, uint8_t *frames,
		       uint8_t *local)
{
	struct warp *w = &block->warp[index];

	memset(w, 0, sizeof(*w));
	w->run = r;
	w->block = block;
	w->index = index;
	w->local_stride = r->local_stride;
	w->local_start = local + (size_t)index * LANES * r->local_stride;
	w->base_frame.fn = r->fn;
	w->base_frame.regs = frames + (size_t)index * r->fn->frame_bytes;
	memset(w->base_frame.regs, 0, r->fn->frame_bytes);
}

uint8_t *block_place(struct run *r, struct block *block, uint8_t *memory)
{
	uint8_t *frames;
	uint8_t *local;

	*block = (struct block){.warps = r->warps, .warp = (struct warp *)(void *)memory};
	frames = memory + align_up(r->warps * sizeof(struct warp));
	local = frames + align_up((size_t)r->warps * r->fn->frame_bytes);
	block->shared = local + align_up((size_t)r->warps * LANES * r->local_stride);
	block->shared_bytes = (uint64_t)r->dynamic_base + r->launch->dynamic_shared_bytes;
	for (uint32_t i = 0; i < r->warps; i++)
		warp_place(r, block, i, frames, local);
	/* A gap after shared memory: an access past its end must not look like another block's. */
	return block->shared + align_up(block->shared_bytes) + ALIGN;
}

void block_start(struct run *r, struct block *block, uint64_t index)
{
	const uint32_t *grid = r->launch->grid;

	block->index = index;
	block->id[0] = (uint32_t)(index % grid[0]);
	block->id[1] = (uint32_t)(index / grid[0] % grid[1]);
	block->id[2] = (uint32_t)(index / grid[0] / grid[1]);
	block->live = r->threads;
	block->is_done = false;
	memset(block->barrier, 0, sizeof(block->barrier));
	/* What shared memory holds at first is not specified; zeroes make a run repeatable. */
	memset(block->shared, 0, block->shared_bytes);
	for (uint32_t i = 0; i < block->warps; i++) {
		struct warp *w = &block->warp[i];
		uint32_t threads = r->threads - i * LANES;

		warp_start(w, threads >= LANES ? ALL_LANES : (1u << threads) - 1);
		frame_fill_specials(w, &w->base_frame, block->is_started);
	}
	block->is_started = true;
}

/* ---- barriers ---- */

static void barrier_result(const struct group *group, const struct barrier *barrier)
{
	const struct insn *in = group->pc - 1; /* the group went past it when it arrived */
	uint32_t *d = (uint32_t *)(void *)(group->frame->regs + in->d);
	uint32_t bits = 0;

	if (in->n == BAR_SYNC)
		return;
	if (in->n == BAR_POPC) {
		FOR_LANES(lane, group->mask)
		d[lane] = barrier->reduced;
		return;
	}
	if (in->n == BAR_AND ? !barrier->is_some_false : barrier->reduced > 0)
		bits = ALL_LANES;
	*d = (*d & ~group->mask) | (bits & group->mask);
}

static void barrier_open(struct block *block, uint32_t id)
{
	for (uint32_t i = 0; i < block->warps; i++) {
		struct warp *w = &block->warp[i];

		for (uint32_t g = 0; g < w->groups; g++) {
			struct group *group = &w->group[g];

			if (group->state != GROUP_AT_BARRIER || group->barrier != id)
				continue;
			barrier_result(group, &block->barrier[id]);
			group->state = GROUP_RUNS;
		}
	}
	block->barrier[id] = (struct barrier){0};
}

void barrier_check(struct block *block, uint32_t id)
{
	struct barrier *barrier = &block->barrier[id];
	uint32_t expected = barrier->expected ? barrier->expected : block->live;

	if (barrier->arrived && barrier->arrived >= expected)
		barrier_open(block, id);
}

void barrier_check_all(struct block *block)
{
	for (uint32_t id = 0; id < BARRIERS; id++)
		barrier_check(block, id);
}

/* ---- the interpreter ---- */

/* The rounding field's values are those of enum fp_mode; FTZ is the flush bit of results and the
 * one of operands. */
static void set_fp_mode(struct run *r, uint8_t mode)
{
	r->fp_mode = mode;
	_mm_setcsr(0x1f80u | (mode & 3u) << 13 | (mode & FP_FTZ ? 0x8040u : 0));
}

static const struct insn *run_predicated(struct warp *w, const struct insn *ip)
{
	uint32_t bits = *pred_reg(w, ip->pred) ^ (ip->pred_negate ? ALL_LANES : 0);
	uint32_t mask = w->active & bits;
	const struct insn *next;

	if (!mask)
		return ip + 1;
	if (mask == w->active)
		return ip->fn(w, ip);
	warp_set_mask(w, mask);
	next = ip->fn(w, ip);
	warp_set_mask(w, w->active);
	return next;
}

static void interpret(struct run *r, struct warp *w, const struct insn *limit)
{
	const struct insn *ip = w->pc;

	while (ip < limit) {
		if (ip->fp_mode != r->fp_mode)
			set_fp_mode(r, ip->fp_mode);
		ip = ip->pred == OPERAND_NONE ? ip->fn(w, ip) : run_predicated(w, ip);
	}
	if (ip != LEAVE) {
		w->pc = ip;
		w->steps += (uint64_t)(ip - w->segment);
	}
	if (w->current)
		w->current->pc = w->pc;
}

/* A turn without polls is work, and a group that waits for it had better wait on; but nothing
 * proves that, so every so often it is treated as one with. */
#define WORK_TURNS 16u

static bool warp_turn(struct run *r, struct warp *w)
{
	const struct insn *limit;
	bool ran = false;

	w->patience = r->quantum;
	w->polls = 0;
	while (w->patience > 0 && !r->fault) {
		if (!warp_pick(w, &limit)) {
			if (warp_is_stuck(w) && warp_release_stuck(w))
				continue;
			return ran;
		}
		ran = true;
		interpret(r, w, limit);
		warp_settle(w);
	}
	w->exhausted++;
	w->is_fair = w->polls || w->exhausted % WORK_TURNS == 0;
	return ran;
}

bool block_turn(struct run *r, struct block *block)
{
	const _Atomic bool *stop = r->launch->stop;
	bool progress = false;

	for (uint32_t i = 0; i < block->warps && !r->fault; i++) {
		struct warp *w = &block->warp[i];

		if (!w->groups)
			continue;
		progress |= warp_turn(r, w);
		if (stop && block->live && atomic_load_explicit(stop, memory_order_relaxed))
			fault_run(r, PTX_STOPPED, "stopped from outside");
	}
	block->is_done = !block->live;
	return progress;
}
