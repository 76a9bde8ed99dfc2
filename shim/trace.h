/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_TRACE_H
#define SHIM_TRACE_H

/*
 * The trace ring of the channel page, for `sluice plan --record`: each launch, and each call that
 * showed the work done. Written only while the grant says so; then every launch takes the slow
 * path, so that the fast path pays nothing for it. Any thread; times are CLOCK_MONOTONIC ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "gate.h"
#include "sample.h"

static inline bool trace_is_on(const struct gate *gate)
{
	return atomic_load_explicit(&gate->page->grant.flags, memory_order_relaxed) &
	       SLUICE_GRANT_TRACE;
}

/* The launch is about to be made. Not under gate->lock. */
void trace_launch(struct gate *gate, const struct stream_state *stream, uint64_t tag,
		  uint32_t cost_ns, struct sample_what what);

/* The stream was seen drained. With gate->lock. */
void trace_drained(struct gate *gate, const struct stream_state *stream, uint64_t now_ns);

void trace_forked(void);

#endif
