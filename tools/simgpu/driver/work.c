/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/graph.h"

/* A copy or memset of one row is cut into pieces of this size, others into rows of about it. */
#define PIECE_BYTES (256u << 10)

static int dup_bytes(void **pointer, uint64_t bytes)
{
	void *copy;

	if (*pointer == NULL || bytes == 0) {
		*pointer = NULL;
		return 0;
	}
	copy = malloc(bytes);
	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, *pointer, bytes);
	*pointer = copy;
	return 0;
}

int work_dup(const struct work *from, struct work *ret_work)
{
	int err = 0;

	*ret_work = *from;
	switch (from->kind) {
	case WORK_KERNEL:
		err = dup_bytes(&ret_work->kernel.params, from->kernel.param_bytes);
		break;
	case WORK_COPY:
		err = dup_bytes(&ret_work->copy.staged, work_copy_bytes(&from->copy));
		break;
	case WORK_MEMOPS:
		err = dup_bytes((void **)&ret_work->memops.op,
				from->memops.count * sizeof(*from->memops.op));
		break;
	case WORK_CHILD: err = graph_dup(from->child, &ret_work->child); break;
	case WORK_ALLOC:
		atomic_fetch_add_explicit(&from->memory.owned->refs, 1, memory_order_relaxed);
		break;
	default: break;
	}
	if (err != 0)
		ret_work->kind = WORK_NONE;
	return err;
}

static void drop_memory(struct work_memory *memory)
{
	struct sim_range range;

	if (atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) > 1)
		return;
	/* The program may have freed it, and the place may be somebody else's by now. */
	if (sim_memory_find(memory->address, &range) && range.buffer_id == memory->buffer_id)
		(void)sim_memory_drop(memory->address);
	free(memory);
}

CUresult work_take_memory(struct sim_context *context, uint64_t bytes, struct work *ret_work)
{
	struct work_memory *memory = calloc(1, sizeof(*memory));
	struct sim_range range;
	CUresult result;

	if (memory == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sim_memory_take(context, bytes, SIM_DEVICE, &memory->address);
	if (result != CUDA_SUCCESS) {
		free(memory);
		return result;
	}
	if (sim_memory_find(memory->address, &range))
		memory->buffer_id = range.buffer_id;
	atomic_init(&memory->refs, 1);
	memset(ret_work, 0, sizeof(*ret_work));
	ret_work->kind = WORK_ALLOC;
	ret_work->memory.address = memory->address;
	ret_work->memory.bytes = bytes;
	ret_work->memory.owned = memory;
	return CUDA_SUCCESS;
}

void work_finish(struct work *work)
{
	switch (work->kind) {
	case WORK_KERNEL: free(work->kernel.params); break;
	case WORK_COPY: free(work->copy.staged); break;
	case WORK_MEMOPS: free(work->memops.op); break;
	case WORK_CHILD: graph_free(work->child); break;
	case WORK_ALLOC: drop_memory(work->memory.owned); break;
	default: break;
	}
	work->kind = WORK_NONE;
}

uint64_t work_copy_bytes(const struct work_copy *copy)
{
	return copy->width * copy->height * copy->depth;
}

static bool is_one_row(const struct work_copy *copy)
{
	return copy->height == 1 && copy->depth == 1;
}

static bool overlaps(const struct work_copy *copy)
{
	uint64_t a = copy->src.address, b = copy->dst.address;

	return copy->staged == NULL && a < b + copy->width && b < a + copy->width;
}

static uint64_t rows_per_piece(uint64_t row_bytes)
{
	uint64_t rows = PIECE_BYTES / (row_bytes ? row_bytes : 1);

	return rows ? rows : 1;
}

static uint64_t pieces(uint64_t total, uint64_t piece)
{
	return (total + piece - 1) / piece;
}

uint64_t work_blocks(const struct work *work)
{
	const struct work_copy *copy = &work->copy;
	const struct work_set *set = &work->set;
	uint64_t blocks;

	if (work->kind == WORK_COPY) {
		if (!is_one_row(copy))
			blocks = pieces(copy->height * copy->depth, rows_per_piece(copy->width));
		else if (overlaps(copy))
			blocks = 1; /* one memmove */
		else
			blocks = pieces(copy->width, PIECE_BYTES);
	} else if (set->height > 1) {
		blocks = pieces(set->height, rows_per_piece(set->width * set->element));
	} else {
		blocks = pieces(set->width * set->element, PIECE_BYTES);
	}
	return blocks ? blocks : 1;
}

static void *at(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static void copy_rows(const struct work_copy *copy, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		uint64_t row = i % copy->height, plane = i / copy->height;
		uint64_t dst = copy->dst.address + plane * copy->dst.slice + row * copy->dst.pitch;
		const void *src;

		if (copy->staged != NULL)
			src = (const char *)copy->staged + i * copy->width;
		else
			src = at(copy->src.address + plane * copy->src.slice +
				 row * copy->src.pitch);
		memmove(at(dst), src, copy->width);
	}
}

static void copy_block(const struct work_copy *copy, uint64_t block)
{
	uint64_t rows = copy->height * copy->depth, step, from = block * PIECE_BYTES;
	const char *src;

	if (work_copy_bytes(copy) == 0)
		return;
	if (!is_one_row(copy)) {
		step = rows_per_piece(copy->width);
		copy_rows(copy, block * step,
			  step < rows - block * step ? step : rows - block * step);
		return;
	}
	src = copy->staged != NULL ? copy->staged : at(copy->src.address);
	step = copy->width - from;
	if (step > PIECE_BYTES && !overlaps(copy))
		step = PIECE_BYTES;
	memmove((char *)at(copy->dst.address) + from, src + from, step);
}

static void fill(void *at_row, uint32_t value, uint32_t element, uint64_t count)
{
	if (element == 1) {
		memset(at_row, (int)value, count);
	} else if (element == 2) {
		uint16_t *p = at_row;

		for (uint64_t i = 0; i < count; i++)
			p[i] = (uint16_t)value;
	} else {
		uint32_t *p = at_row;

		for (uint64_t i = 0; i < count; i++)
			p[i] = value;
	}
}

static void set_block(const struct work_set *set, uint64_t block)
{
	uint64_t step, first;

	if (set->width == 0 || set->height == 0)
		return;
	if (set->height > 1) {
		step = rows_per_piece(set->width * set->element);
		first = block * step;
		for (uint64_t i = first; i < first + step && i < set->height; i++)
			fill(at(set->dst.address + i * set->dst.pitch), set->value, set->element,
			     set->width);
		return;
	}
	step = PIECE_BYTES / set->element;
	first = block * step;
	if (step > set->width - first)
		step = set->width - first;
	fill(at(set->dst.address + first * set->element), set->value, set->element, step);
}

void work_run_block(const struct work *work, uint64_t block)
{
	if (work->kind == WORK_COPY)
		copy_block(&work->copy, block);
	else
		set_block(&work->set, block);
}
