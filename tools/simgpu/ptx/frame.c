/* SPDX-License-Identifier: Apache-2.0 */
/* Registers and local memory of a call, and what the hardware puts in them. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 10000u
#define SMS_SHOWN 132u /* %nsmid: no kernel may rely on where its blocks run */

uint8_t *frame_local(const struct warp *w, const struct frame *frame)
{
	return w->local_start + frame->local_offset;
}

static struct frame *frame_get(struct run *r, const struct ptx_function *fn)
{
	struct frame *frame = r->free_frames[fn->index];
	size_t head = (sizeof(*frame) + 63) / 64 * 64;

	if (frame) {
		r->free_frames[fn->index] = frame->next_free;
		return frame;
	}
	frame = aligned_alloc(64, head + fn->frame_bytes);
	if (!frame)
		return NULL;
	memset(frame, 0, head + fn->frame_bytes);
	frame->regs = (uint8_t *)frame + head;
	frame->fn = fn;
	frame->next_all = r->all_frames;
	r->all_frames = frame;
	return frame;
}

struct frame *frame_push(struct warp *w, const struct insn *in, const struct ptx_function *fn)
{
	struct frame *parent = w->frame;
	uint64_t offset = (uint64_t)parent->local_offset + parent->fn->local_bytes;
	struct frame *frame;
	uint32_t lane = (uint32_t)__builtin_ctz(w->mask);

	if (offset + fn->local_bytes > w->local_stride || parent->depth >= DEPTH_MAX) {
		fault_at(w, in, lane, PTX_ILLEGAL_ADDRESS,
			 "call of %.40s in line %u: the stack of %u bytes is full", fn->info.name,
			 in->line, (unsigned)w->local_stride);
		return NULL;
	}
	frame = frame_get(w->run, fn);
	if (!frame) {
		fault_at(w, in, lane, PTX_NO_MEMORY, "no host memory for a call of %.40s",
			 fn->info.name);
		return NULL;
	}
	frame->parent = parent;
	frame->depth = parent->depth + 1;
	frame->local_offset = (uint32_t)offset;
	frame->lanes = w->mask;
	frame->call = in;
	frame->return_to = in + 1;
	frame_fill_specials(w, frame, false);
	return frame;
}

void frame_drop(struct warp *w, struct frame *frame, uint32_t lanes)
{
	frame->lanes &= ~lanes;
	if (!frame->lanes && frame->parent) {
		frame->next_free = w->run->free_frames[frame->fn->index];
		w->run->free_frames[frame->fn->index] = frame;
	}
}

/* ---- special registers ---- */

static uint32_t thread_id(const struct warp *w, uint32_t lane, unsigned dimension)
{
	const uint32_t *size = w->run->launch->block;
	uint32_t thread = w->index * LANES + lane;

	if (dimension == 0)
		return thread % size[0];
	thread /= size[0];
	return dimension == 1 ? thread % size[1] : thread / size[1];
}

static uint32_t lane_mask(enum special special, uint32_t lane)
{
	uint32_t below = (1u << lane) - 1;

	switch (special) {
	case SPECIAL_LANEMASK_EQ: return 1u << lane;
	case SPECIAL_LANEMASK_LT: return below;
	case SPECIAL_LANEMASK_LE: return below | 1u << lane;
	case SPECIAL_LANEMASK_GE: return ~below;
	default: return ~below & ~(1u << lane);
	}
}

static uint64_t special_uniform(const struct warp *w, enum special special)
{
	const struct run *r = w->run;
	const struct ptx_launch *launch = r->launch;
	uint64_t workspace = (uint64_t)(uintptr_t)r->workspace;

	switch (special) {
	case SPECIAL_NTID_X:
	case SPECIAL_NTID_Y:
	case SPECIAL_NTID_Z: return launch->block[special - SPECIAL_NTID_X];
	case SPECIAL_CTAID_X:
	case SPECIAL_CTAID_Y:
	case SPECIAL_CTAID_Z: return w->block->id[special - SPECIAL_CTAID_X];
	case SPECIAL_NCTAID_X:
	case SPECIAL_NCTAID_Y:
	case SPECIAL_NCTAID_Z: return launch->grid[special - SPECIAL_NCTAID_X];
	case SPECIAL_WARPID: return w->index;
	case SPECIAL_NWARPID: return r->warps;
	case SPECIAL_SMID: return w->block->index % SMS_SHOWN;
	case SPECIAL_NSMID: return SMS_SHOWN;
	case SPECIAL_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared_bytes;
	case SPECIAL_TOTAL_SMEM_SIZE: return w->block->shared_bytes;
	case SPECIAL_ENVREG_WORKSPACE_HIGH: return workspace >> 32;
	case SPECIAL_ENVREG_WORKSPACE_LOW: return (uint32_t)workspace;
	case SPECIAL_DYNAMIC_SHARED: return r->dynamic_base;
	default: return 0;
	}
}

static uint32_t special_value(const struct warp *w, enum special special, uint32_t lane)
{
	switch (special) {
	case SPECIAL_TID_X:
	case SPECIAL_TID_Y:
	case SPECIAL_TID_Z: return thread_id(w, lane, special - SPECIAL_TID_X);
	case SPECIAL_LANEID: return lane;
	case SPECIAL_LANEMASK_EQ:
	case SPECIAL_LANEMASK_LT:
	case SPECIAL_LANEMASK_LE:
	case SPECIAL_LANEMASK_GE:
	case SPECIAL_LANEMASK_GT: return lane_mask(special, lane);
	default: return (uint32_t)special_uniform(w, special);
	}
}

static bool is_of_block(enum special special)
{
	return (special >= SPECIAL_CTAID_X && special <= SPECIAL_CTAID_Z) ||
	       special == SPECIAL_SMID;
}

static bool is_of_lane(enum special special)
{
	return special <= SPECIAL_TID_Z || special == SPECIAL_LANEID ||
	       (special >= SPECIAL_LANEMASK_EQ && special <= SPECIAL_LANEMASK_GT);
}

/* A warp's frame serves one block after another: only what changes is written again. */
void frame_fill_specials(struct warp *w, struct frame *frame, bool block_only)
{
	for (unsigned i = 0; i < SPECIAL_PINNED; i++) {
		enum special special = (enum special)i;
		uint32_t offset = frame->fn->special_offset[i];
		uint32_t *lane;

		if (offset == OPERAND_NONE || (block_only && !is_of_block(special)))
			continue;
		lane = (uint32_t *)(void *)(frame->regs + offset);
		if (special == SPECIAL_GRIDID) {
			memset(lane, 0, LANES * 8); /* %gridid */
			continue;
		}
		lane[0] = special_value(w, special, 0);
		for (uint32_t l = 1; l < LANES; l++)
			lane[l] = is_of_lane(special) ? special_value(w, special, l) : lane[0];
	}
}
