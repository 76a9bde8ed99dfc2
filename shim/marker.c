/* SPDX-License-Identifier: Apache-2.0 */
#include "marker.h"

#include <sys/auxv.h>

#include "inflight.h"
#include "link.h"

#define CONTEXTS 16

/* The markers of a page, registered for one context. */
struct marker_context {
	CUcontext context;		    /* NULL: unused */
	unsigned long long id;		    /* the driver's; 0: it gives none */
	struct sluice_channel_device *page; /* asked for; NULL: none yet */
	char *base;			    /* NULL: refused */
	CUdeviceptr device_base;
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

/* A context may end without a call that we see, and another have its handle: that one has another
 * number (CUDA 12), and what was registered went with the first. */
static struct marker_context *context_record(CUcontext context)
{
	struct marker_context *record = NULL;
	unsigned long long id;

	if (real.cuCtxGetId(context, &id) != CUDA_SUCCESS)
		id = 0;
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		if (state.context[i].context == context) {
			record = &state.context[i];
			break;
		}
		if (!state.context[i].context && !record)
			record = &state.context[i];
	}
	if (record && (record->context != context || record->id != id))
		*record = (struct marker_context){.context = context, .id = id};
	return record;
}

/*
 * The memory pages that hold the markers, for this context alone. Another context's registration
 * could serve it as well, but would end with that context, under markers that are on their way: the
 * GPU would fault, and with it the application. So the first context of a device has words, and any
 * other is told that they are registered already (712) and has events. `context` is current.
 */
static void context_register(struct marker_context *record, struct sluice_channel_device *page)
{
	uintptr_t mask = getauxval(AT_PAGESZ) - 1;
	uintptr_t start = (uintptr_t)page->marker & ~mask;
	uintptr_t end = ((uintptr_t)(page->marker + SLUICE_MAX_MARKERS) + mask) & ~mask;
	void *base = (void *)start;

	record->page = page;
	record->base = NULL;
	if (real.cuMemHostRegister_v2(base, end - start, CU_MEMHOSTREGISTER_DEVICEMAP) !=
	    CUDA_SUCCESS)
		return;
	if (real.cuMemHostGetDevicePointer_v2(&record->device_base, base, 0) == CUDA_SUCCESS)
		record->base = base;
	else
		(void)real.cuMemHostUnregister(base);
}

/* Where the GPU sees the word; 0: nowhere. */
static CUdeviceptr context_word(CUcontext context, struct sluice_channel_device *page,
				const _Atomic uint32_t *word)
{
	struct marker_context *record;
	CUdeviceptr address = 0;

	futex_lock(&state.lock);
	record = context_record(context);
	if (record && record->page != page) {
		struct own_calls calls = own_calls_begin();

		context_register(record, page);
		own_calls_end(calls);
	}
	if (record && record->base)
		address = record->device_base + (CUdeviceptr)((const char *)word - record->base);
	futex_unlock(&state.lock);
	return address;
}

void marker_context_dying(CUcontext context, bool landed)
{
	int cancel = cancel_hold();

	futex_lock(&state.lock);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		struct marker_context *record = &state.context[i];

		if (record->context == context && record->base && landed) {
			bool pushed = marker_context_enter(context);
			struct own_calls calls = own_calls_begin();

			(void)real.cuMemHostUnregister(record->base);
			own_calls_end(calls);
			marker_context_leave(pushed);
		}
		/* The others may ask anew. */
		if (record->context == context)
			*record = (struct marker_context){0};
		else if (!record->base)
			record->page = NULL;
	}
	futex_unlock(&state.lock);
	cancel_resume(cancel);
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
	struct sluice_channel_device *page = stream->gate->page;
	uint32_t seq = atomic_load_explicit(stream->last, memory_order_relaxed) + 1;
	CUdeviceptr address;
	struct own_calls calls;
	CUresult result;

	/* Another page since the word was taken. */
	if (!is_within(stream->word, page, sizeof(*page)))
		return false;
	address = context_word(stream->context, page, stream->word);
	if (!address)
		return false;
	atomic_store_explicit(stream->last, seq, memory_order_relaxed);
	mark->seq = seq;
	calls = own_calls_begin();
	result = real.cuStreamWriteValue32_v2(stream->handle, address, seq,
					      CU_STREAM_WRITE_VALUE_DEFAULT);
	own_calls_end(calls);
	if (result == CUDA_SUCCESS)
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
