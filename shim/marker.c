/* SPDX-License-Identifier: Apache-2.0 */
#include "marker.h"

#include "inflight.h"
#include "link.h"

#define CONTEXTS 16

/* A context's view of the channel page. */
struct marker_context {
	CUcontext context; /* NULL: unused */
	void *base;	   /* registered for it; NULL: could not be */
	CUdeviceptr device_base;
	bool ours; /* this context made the registration, and it goes with it */
};

static struct {
	struct futex_lock lock;
	struct marker_context context[CONTEXTS];
	uint32_t page_number[SLUICE_MAX_DEVICES]; /* that `used` speaks of */
	bool used[SLUICE_MAX_DEVICES][SLUICE_MAX_MARKERS];
} state;

bool marker_context_enter(CUcontext context)
{
	CUcontext current = NULL;

	(void)real.cuCtxGetCurrent(&current);
	return current != context && real.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
}

void marker_context_leave(bool pushed)
{
	CUcontext context;

	if (pushed)
		(void)real.cuCtxPopCurrent_v2(&context);
}

/* ---- the page's registration ------------------------------------------------------------------ */

static struct marker_context *context_record(CUcontext context)
{
	struct marker_context *unused = NULL;

	for (uint32_t i = 0; i < CONTEXTS; i++) {
		if (state.context[i].context == context)
			return &state.context[i];
		if (!state.context[i].context && !unused)
			unused = &state.context[i];
	}
	if (unused)
		*unused = (struct marker_context){.context = context};
	return unused;
}

/* Portable, so that one registration serves all contexts; the second to ask is told that it is
 * there already (712). `context` is current. */
static void context_register(struct marker_context *record, void *base, size_t bytes)
{
	CUresult result = real.cuMemHostRegister_v2(
		base, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);

	if (result != CUDA_SUCCESS && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
		return;
	if (real.cuMemHostGetDevicePointer_v2(&record->device_base, base, 0) != CUDA_SUCCESS) {
		if (result == CUDA_SUCCESS)
			(void)real.cuMemHostUnregister(base);
		return;
	}
	record->ours = result == CUDA_SUCCESS;
	record->base = base;
}

/* Where the GPU sees the channel page; 0: nowhere. */
static CUdeviceptr context_page(CUcontext context, void **ret_base)
{
	struct marker_context *record;
	CUdeviceptr device_base = 0;
	size_t bytes;

	if (!link_channel(ret_base, &bytes))
		return 0;
	futex_lock(&state.lock);
	record = context_record(context);
	if (record && record->base != *ret_base) {
		struct own_calls calls = own_calls_begin();

		record->base = NULL;
		context_register(record, *ret_base, bytes);
		own_calls_end(calls);
	}
	if (record && record->base)
		device_base = record->device_base;
	futex_unlock(&state.lock);
	return device_base;
}

void marker_context_dying(CUcontext context, bool landed)
{
	futex_lock(&state.lock);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		struct marker_context *record = &state.context[i];

		if (record->context != context)
			continue;
		if (record->base && record->ours) {
			bool pushed = marker_context_enter(context);

			if (landed)
				(void)real.cuMemHostUnregister(record->base);
			marker_context_leave(pushed);
			/* The others' views of the page go with it; they register it anew. */
			for (uint32_t j = 0; j < CONTEXTS; j++)
				state.context[j].base = NULL;
		}
		*record = (struct marker_context){0};
	}
	futex_unlock(&state.lock);
}

/* ---- words -------------------------------------------------------------------------------------- */

void marker_give_back(struct stream_state *stream)
{
	uint32_t device = stream->gate->index;

	futex_lock(&state.lock);
	if (stream->marker != STREAM_NO_MARKER && state.page_number[device] == stream->marker_page)
		state.used[device][stream->marker] = false;
	futex_unlock(&state.lock);
	stream->marker = STREAM_NO_MARKER;
	stream->track = TRACK_NEW;
}

static bool is_within(const void *address, const void *base, size_t bytes)
{
	return (uintptr_t)address - (uintptr_t)base < bytes;
}

bool marker_page_is_here(const struct gate *gate)
{
	void *base;
	size_t bytes;

	return !link_channel(&base, &bytes) || is_within(gate->page, base, bytes);
}

bool marker_is_of_page(const struct stream_state *stream)
{
	struct gate *gate = stream->gate;

	return stream->marker_page ==
		       atomic_load_explicit(&gate->page_number, memory_order_acquire) &&
	       marker_page_is_here(gate);
}

bool marker_take(struct stream_state *stream)
{
	struct gate *gate = stream->gate;
	uint32_t device = gate->index, marker = 0;
	uint32_t page_number = atomic_load_explicit(&gate->page_number, memory_order_acquire);

	futex_lock(&state.lock);
	if (state.page_number[device] != page_number) {
		state.page_number[device] = page_number;
		for (uint32_t i = 0; i < SLUICE_MAX_MARKERS; i++)
			state.used[device][i] = false;
	}
	while (marker < SLUICE_MAX_MARKERS && state.used[device][marker])
		marker++;
	if (marker < SLUICE_MAX_MARKERS) {
		state.used[device][marker] = true;
		stream->marker = marker;
		stream->marker_page = page_number;
		stream->word = &gate->page->marker[marker];
		stream->last = &gate->page->marker_last[marker];
	}
	futex_unlock(&state.lock);
	return marker < SLUICE_MAX_MARKERS;
}

/* Has the sequence landed? Sequences wrap. Acquire: nothing of ours depends on it, but a reader of
 * results behind it does not see less than the GPU's own order gives. */
bool marker_has(const struct stream_state *stream, uint32_t seq)
{
	uint32_t now = atomic_load_explicit(stream->word, memory_order_acquire);

	return (int32_t)(now - seq) >= 0;
}

bool marker_place(struct stream_state *stream, struct stream_mark *mark)
{
	void *base;
	CUdeviceptr page = context_page(stream->context, &base);
	uint32_t seq = atomic_load_explicit(stream->last, memory_order_relaxed) + 1;
	CUdeviceptr address = page + (CUdeviceptr)((char *)stream->word - (char *)base);

	/* Another page since we looked: the offset would be nonsense. */
	if (!page || !is_within(stream->word, base, sizeof(struct sluice_channel)))
		return false;
	atomic_store_explicit(stream->last, seq, memory_order_relaxed);
	mark->seq = seq;
	if (real.cuStreamWriteValue32_v2(stream->handle, address, seq,
					 CU_STREAM_WRITE_VALUE_DEFAULT) == CUDA_SUCCESS)
		return true;
	atomic_store_explicit(stream->last, seq - 1, memory_order_relaxed);
	return false;
}

void marker_forked(void)
{
	state.lock = (struct futex_lock){0};
	for (uint32_t i = 0; i < CONTEXTS; i++)
		state.context[i] = (struct marker_context){0};
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		state.page_number[i] = 0;
}
