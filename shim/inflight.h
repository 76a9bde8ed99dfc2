/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_INFLIGHT_H
#define SHIM_INFLIGHT_H

/*
 * What of the launched work is complete. A marker is placed into a stream just before its next
 * launch, so that it adds no order that the launch would not add itself: a word of the channel
 * page that the GPU writes, else an event. On the legacy stream, where anything placed orders all
 * blocking streams, only while one thread alone launches; otherwise the stream is asked whether it
 * is empty. Every synchronisation that shows a stream drained is a marker for nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cancel.h"
#include "stream_state.h"

/* Predicted work between two markers of a stream, for a window. */
uint64_t inflight_interval_ns(uint64_t window_ns, bool latency);

/* Places a marker that covers what the stream has been given so far. Not under gate->lock; the
 * stream's context may be any. Nothing happens where none can be placed. */
void inflight_mark(struct stream_state *stream);

/* Has the stream at least so much work that no marker covers and that is not known complete? */
bool inflight_is_due(struct stream_state *stream, uint64_t least_ns);

/* Looks at all markers of the gate's streams. With gate->lock. True: something completed. */
bool inflight_poll(struct gate *gate, uint64_t now_ns);

/* The stream is known to be complete up to launched_ns. With gate->lock. */
void inflight_drained(struct stream_state *stream, uint64_t launched_ns, uint64_t now_ns);

/* Is the stream empty now, by asking the driver? Only what may be asked from this thread: nothing
 * that captures, for which a question is the end. With gate->lock. */
bool inflight_ask(struct stream_state *stream, uint32_t thread);

/* The same from a thread that has no context and no stream of its own: the stream's context is made
 * current for the question. It cannot go meanwhile: see watch_exclude. */
bool inflight_ask_apart(struct stream_state *stream);

/* What other threads gave their own default streams, and no marker covers, cannot be seen from this
 * one, and would fill the window for ever: it counts as complete. With gate->lock. */
void inflight_write_off(struct gate *gate, uint64_t now_ns);

/* ---- around driver calls of our own: relaxed capture mode, and no cancellation ---- */

struct own_calls {
	CUstreamCaptureMode mode;
	int cancel;
};

static inline struct own_calls own_calls_begin(void)
{
	struct own_calls calls = {.mode = CU_STREAM_CAPTURE_MODE_RELAXED, .cancel = cancel_hold()};

	(void)real.cuThreadExchangeStreamCaptureMode(&calls.mode);
	return calls;
}

static inline void own_calls_end(struct own_calls calls)
{
	(void)real.cuThreadExchangeStreamCaptureMode(&calls.mode);
	cancel_resume(calls.cancel);
}

#endif
