/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_run: one arena, blocks one after another, or all at once where they wait for each other. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xmmintrin.h>

#define QUANTUM 8192u	       /* warp instructions: a fraction of a millisecond */
#define QUANTUM_RESIDENT 2000u /* where blocks wait for one another */
#define STACK_UNKNOWN 16384u   /* bytes per thread where calls have no known depth */
#define ARENAS_KEPT 8u
#define ARENA_KEPT_BYTES (16u << 20)

/* ---- arenas ---- */

static struct arena *arena_take(struct ptx_module *module, size_t size)
{
	struct arena *arena = NULL;

	pthread_mutex_lock(&module->arena_lock);
	for (struct arena **at = &module->arenas; *at; at = &(*at)->next) {
		if ((*at)->size >= size) {
			arena = *at;
			*at = arena->next;
			module->arenas_kept--;
			break;
		}
	}
	pthread_mutex_unlock(&module->arena_lock);
	if (arena)
		return arena;
	arena = malloc(sizeof(*arena));
	if (!arena)
		return NULL;
	arena->size = (size + 4095) / 4096 * 4096;
	arena->base = aligned_alloc(4096, arena->size);
	if (!arena->base) {
		free(arena);
		return NULL;
	}
	return arena;
}

static void arena_give(struct ptx_module *module, struct arena *arena)
{
	bool keep;

	if (!arena)
		return;
	pthread_mutex_lock(&module->arena_lock);
	keep = module->arenas_kept < ARENAS_KEPT && arena->size <= ARENA_KEPT_BYTES;
	if (keep) {
		arena->next = module->arenas;
		module->arenas = arena;
		module->arenas_kept++;
	}
	pthread_mutex_unlock(&module->arena_lock);
	if (!keep) {
		free(arena->base);
		free(arena);
	}
}

/* ---- checks before anything runs ---- */

static bool launch_is_possible(struct run *r)
{
	const struct ptx_launch *launch = r->launch;
	const struct ptx_function *fn = r->fn;
	uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];

	if (fn->refused) {
		fault_run(r, PTX_ILLEGAL_INSTRUCTION, "line %u: %.130s", fn->refusal.line,
			  fn->refusal.text);
		return false;
	}
	if (!threads || threads > 1024 || !launch->grid[0] || !launch->grid[1] ||
	    !launch->grid[2]) {
		fault_run(r, PTX_ILLEGAL_INSTRUCTION, "a block of %llu threads cannot be run",
			  (unsigned long long)threads);
		return false;
	}
	r->threads = (uint32_t)threads;
	r->warps = (r->threads + LANES - 1) / LANES;
	return true;
}

static void run_layout(struct run *r, uint64_t count)
{
	const struct ptx_function *fn = r->fn;
	uint32_t align = r->module->dynamic_align;

	r->shared_static = fn->info.shared_bytes;
	r->dynamic_base = (r->shared_static + align - 1) / align * align;
	r->local_stride = fn->stack_bytes + (fn->calls_unknown ? STACK_UNKNOWN : 0) + 16;
	r->blocks = fn->info.uses_grid_sync ? (uint32_t)count : 1;
	r->quantum = fn->info.uses_grid_sync ? QUANTUM_RESIDENT : QUANTUM;
}

static size_t run_bytes(const struct run *r)
{
	size_t fixed = (r->module->functions * sizeof(*r->free_frames) + 63) / 64 * 64 +
		       (r->fn->info.param_bytes + 127) / 64 * 64 + WORKSPACE_BYTES +
		       (r->blocks * sizeof(struct block) + 63) / 64 * 64;

	return fixed + r->blocks * block_bytes(r);
}

static void run_place(struct run *r, uint8_t *at)
{
	uint32_t param_bytes = r->fn->info.param_bytes;

	r->free_frames = (struct frame **)(void *)at;
	memset(at, 0, r->module->functions * sizeof(*r->free_frames));
	at += (r->module->functions * sizeof(*r->free_frames) + 63) / 64 * 64;
	r->params = at;
	if (param_bytes)
		memcpy(at, r->launch->params, param_bytes);
	at += (param_bytes + 127) / 64 * 64;
	if (r->fn->info.uses_grid_sync)
		r->workspace = (uint64_t *)(void *)at;
	memset(at, 0, WORKSPACE_BYTES);
	at += WORKSPACE_BYTES;
	r->block = (struct block *)(void *)at;
	at += (r->blocks * sizeof(struct block) + 63) / 64 * 64;
	for (uint32_t i = 0; i < r->blocks; i++)
		at = block_place(r, &r->block[i], at);
}

/* ---- blocks ---- */

static void report_deadlock(struct run *r)
{
	for (uint32_t b = 0; b < r->blocks; b++) {
		const struct block *block = &r->block[b];

		for (uint32_t i = 0; i < block->warps && !block->is_done; i++) {
			struct warp *w = &block->warp[i];
			const struct insn *in;

			if (!w->groups)
				continue;
			in = w->group[0].pc;
			if (w->group[0].state == GROUP_AT_BARRIER)
				in--;
			fault_at(w, in, (uint32_t)__builtin_ctz(w->group[0].mask), PTX_TRAP,
				 "deadlock: waits for ever at %s in line %u",
				 r->module->names + in->name, in->line);
			return;
		}
	}
}

static void run_one_by_one(struct run *r, uint64_t first, uint64_t count)
{
	for (uint64_t i = 0; i < count && !r->fault; i++) {
		block_start(r, r->block, first + i);
		while (!r->block->is_done && !r->fault) {
			if (!block_turn(r, r->block) && !r->block->is_done)
				report_deadlock(r);
		}
	}
}

static void run_resident(struct run *r, uint64_t first)
{
	uint32_t left = r->blocks;

	for (uint32_t i = 0; i < r->blocks; i++)
		block_start(r, &r->block[i], first + i);
	while (left && !r->fault) {
		bool progress = false;

		for (uint32_t i = 0; i < r->blocks && !r->fault; i++) {
			if (r->block[i].is_done)
				continue;
			progress |= block_turn(r, &r->block[i]);
			left -= r->block[i].is_done;
		}
		if (!progress && left)
			report_deadlock(r);
	}
}

static void run_finish(struct run *r, struct arena *arena, unsigned control)
{
	struct ptx_result *result = r->result;

	_mm_setcsr(control);
	while (r->all_frames) {
		struct frame *frame = r->all_frames;

		r->all_frames = frame->next_all;
		free(frame);
	}
	arena_give(r->module, arena);
	result->warp_instructions += r->warp_instructions;
	result->thread_instructions += r->thread_instructions;
	result->global_bytes += r->global_bytes;
	result->fault = r->fault;
}

enum ptx_fault ptx_run(const struct ptx_launch *launch, uint64_t first, uint64_t count,
		       struct ptx_result *result)
{
	struct run r = {.launch = launch,
			.fn = launch->function,
			.result = result,
			.module = launch->function->module};
	unsigned control = _mm_getcsr();
	struct arena *arena = NULL;

	if (launch_is_possible(&r) && count) {
		run_layout(&r, count);
		arena = arena_take(r.module, run_bytes(&r));
		if (!arena) {
			fault_run(&r, PTX_NO_MEMORY, "no host memory for %zu bytes of blocks",
				  run_bytes(&r));
		} else {
			run_place(&r, arena->base);
			r.fp_mode = FP_ANY; /* whatever the caller's is: set at first use */
			if (r.fn->info.uses_grid_sync)
				run_resident(&r, first);
			else
				run_one_by_one(&r, first, count);
		}
	}
	run_finish(&r, arena, control);
	return result->fault;
}
