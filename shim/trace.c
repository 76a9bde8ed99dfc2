/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include "real.h"
#include "sluice/clock.h"

/* How many blocks of a launch fit one SM: asked of the driver once for each, and remembered here
 * until another of the same place comes. */
#define FITS 1024u

static struct {
	struct futex_lock lock;
	uint64_t tag[FITS];
	uint32_t per_sm[FITS];
} fits;

static uint32_t fits_one_sm(uint64_t tag, struct sample_what what)
{
	uint32_t at = tag >> 20 & (FITS - 1), per_sm = 0;
	int blocks = 0;

	futex_lock(&fits.lock);
	if (fits.tag[at] == tag)
		per_sm = fits.per_sm[at];
	futex_unlock(&fits.lock);
	if (per_sm || !what.threads ||
	    real.cuOccupancyMaxActiveBlocksPerMultiprocessor(
		    &blocks, (CUfunction)(uintptr_t)what.handle, (int)what.threads,
		    what.shared_bytes) != CUDA_SUCCESS ||
	    blocks <= 0)
		return per_sm;
	futex_lock(&fits.lock);
	fits.tag[at] = tag;
	fits.per_sm[at] = (uint32_t)blocks;
	futex_unlock(&fits.lock);
	return (uint32_t)blocks;
}

static uint32_t trace_kind(enum predict_kind kind)
{
	switch (kind) {
	case PREDICT_KERNEL: return SLUICE_TRACE_KERNEL;
	case PREDICT_GRAPH: return SLUICE_TRACE_GRAPH;
	case PREDICT_COPY_TO_DEVICE: return SLUICE_TRACE_COPY_TO_DEVICE;
	case PREDICT_COPY_TO_HOST: return SLUICE_TRACE_COPY_TO_HOST;
	default: return SLUICE_TRACE_COPY_DEVICE;
	}
}

/* Names the stream within the process. */
static uint32_t trace_what(const struct stream_state *stream, uint32_t kind)
{
	return (uint32_t)((uintptr_t)stream >> 6) << 8 | kind;
}

/* With gate->lock, which makes it the only writer. */
static void trace_put(struct gate *gate, const struct sluice_trace_record *record)
{
	struct sluice_channel_device *page = gate->page;
	uint64_t head = atomic_load_explicit(&page->trace_head, memory_order_relaxed);

	page->trace[head % SLUICE_TRACE_RECORDS] = *record;
	/* Pairs with the arbiter's acquire. */
	atomic_store_explicit(&page->trace_head, head + 1, memory_order_release);
}

void trace_launch(struct gate *gate, const struct stream_state *stream, uint64_t tag,
		  uint32_t cost_ns, struct sample_what what)
{
	struct sluice_trace_record record = {
		.key = tag, .cost_ns = cost_ns, .what = trace_what(stream, trace_kind(what.kind))};

	if (what.kind == PREDICT_KERNEL) {
		record.blocks = what.size < UINT32_MAX ? (uint32_t)what.size : UINT32_MAX;
		record.per_sm = fits_one_sm(tag, what);
	} else {
		record.blocks =
			what.size >> 10 < UINT32_MAX ? (uint32_t)(what.size >> 10) : UINT32_MAX;
	}
	futex_lock(&gate->lock);
	record.at_ns = sluice_now_ns();
	trace_put(gate, &record);
	futex_unlock(&gate->lock);
}

void trace_drained(struct gate *gate, const struct stream_state *stream, uint64_t now_ns)
{
	struct sluice_trace_record record = {.at_ns = now_ns,
					     .what = trace_what(stream, SLUICE_TRACE_DRAINED)};

	trace_put(gate, &record);
}

void trace_forked(void)
{
	fits.lock = (struct futex_lock){0};
}
