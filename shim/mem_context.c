/* SPDX-License-Identifier: Apache-2.0 */
#include "mem_context.h"

#include <stdatomic.h>

#include "futex.h"

struct context_row {
	CUcontext handle; /* NULL: not found by look-ups */
	CUdevice ordinal;
	bool used;
	bool created; /* by cuCtxCreate: not the primary context */
};

/* Row n has number n + 1. */
static struct context_row rows[MEM_CONTEXTS];
static struct futex_lock rows_lock;
/* Moves when a handle stops to mean what it meant: what threads remember is then void. */
static _Atomic uint32_t generation = 1;

static _Thread_local struct {
	CUcontext handle;
	uint32_t generation;
	uint32_t number;
	CUdevice ordinal;
} remembered;

static uint32_t find_row(CUcontext handle)
{
	for (uint32_t i = 0; i < MEM_CONTEXTS; i++)
		if (rows[i].used && rows[i].handle == handle)
			return i + 1;
	return 0;
}

/* Returns the number; 0: no room. With the lock. */
static uint32_t add_row(CUcontext handle, CUdevice ordinal, bool created)
{
	for (uint32_t i = 0; i < MEM_CONTEXTS; i++) {
		if (rows[i].used)
			continue;
		rows[i] = (struct context_row){
			.handle = handle, .ordinal = ordinal, .used = true, .created = created};
		return i + 1;
	}
	return 0;
}

static bool remember(CUcontext handle, uint32_t now)
{
	CUdevice ordinal;

	if (real.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
		return false;
	futex_lock(&rows_lock);
	remembered.number = find_row(handle);
	if (!remembered.number)
		remembered.number = add_row(handle, ordinal, false);
	futex_unlock(&rows_lock);
	remembered.handle = handle;
	remembered.ordinal = ordinal;
	remembered.generation = now;
	return true;
}

bool mem_context_current(uint32_t *ret_context, CUdevice *ret_ordinal)
{
	/* Pairs with the release in mem_context_retire. */
	uint32_t now = atomic_load_explicit(&generation, memory_order_acquire);
	CUcontext handle = NULL;

	if (real.cuCtxGetCurrent(&handle) != CUDA_SUCCESS || !handle)
		return false;
	if ((remembered.handle != handle || remembered.generation != now) && !remember(handle, now))
		return false;
	*ret_context = remembered.number;
	*ret_ordinal = remembered.ordinal;
	return true;
}

void mem_context_created(CUcontext context)
{
	CUdevice ordinal;

	/* cuCtxCreate leaves the new context current. */
	if (real.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS)
		return;
	futex_lock(&rows_lock);
	if (!find_row(context))
		(void)add_row(context, ordinal, true);
	futex_unlock(&rows_lock);
}

bool mem_context_is_created(CUcontext context)
{
	uint32_t number;
	bool created;

	futex_lock(&rows_lock);
	number = find_row(context);
	created = number && rows[number - 1].created;
	futex_unlock(&rows_lock);
	return created;
}

uint32_t mem_context_retire(CUcontext context)
{
	uint32_t number;

	if (!context)
		return 0;
	futex_lock(&rows_lock);
	number = find_row(context);
	if (number)
		rows[number - 1].handle = NULL;
	atomic_fetch_add_explicit(&generation, 1, memory_order_release);
	futex_unlock(&rows_lock);
	return number;
}

void mem_context_restore(uint32_t number, CUcontext context)
{
	if (!number)
		return;
	futex_lock(&rows_lock);
	rows[number - 1].handle = context;
	atomic_fetch_add_explicit(&generation, 1, memory_order_release);
	futex_unlock(&rows_lock);
}

void mem_context_free(uint32_t number)
{
	if (!number)
		return;
	futex_lock(&rows_lock);
	rows[number - 1] = (struct context_row){0};
	futex_unlock(&rows_lock);
}

void mem_context_each_primary(CUdevice ordinal, void (*gone)(uint32_t number))
{
	for (uint32_t i = 0; i < MEM_CONTEXTS; i++) {
		bool dies;

		futex_lock(&rows_lock);
		dies = rows[i].used && !rows[i].created && rows[i].ordinal == ordinal;
		if (dies)
			rows[i].handle = NULL;
		atomic_fetch_add_explicit(&generation, dies, memory_order_release);
		futex_unlock(&rows_lock);
		if (!dies)
			continue;
		gone(i + 1);
		mem_context_free(i + 1);
	}
}

void mem_context_forked(void)
{
	rows_lock = (struct futex_lock){0};
	for (uint32_t i = 0; i < MEM_CONTEXTS; i++)
		rows[i] = (struct context_row){0};
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}
