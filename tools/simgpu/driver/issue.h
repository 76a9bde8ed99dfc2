/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_ISSUE_H
#define SIMGPU_ISSUE_H

/*
 * From an entry point to a stream: the steps that all of them share. Without exec->lock.
 */

#include "driver/stream.h"

/* Defines an entry and its per-thread form; `call` may use `per_thread`. */
#define FORMS(name, per_thread_name, params, call) \
	CUresult name params \
	{ \
		const bool per_thread = false; \
\
		(void)per_thread; \
		return call; \
	} \
	CUresult per_thread_name params \
	{ \
		const bool per_thread = true; \
\
		(void)per_thread; \
		return call; \
	}

/* The stream that a handle means to the calling thread, whose context must be usable. */
CUresult issue_stream(CUstream handle, bool per_thread, struct stream **ret_stream);
/* Into the stream, or into the graph that it captures. Takes over *work. `wait`: returns when it
 * is done, which a capture forbids. */
CUresult issue(struct stream *stream, struct work *work, bool wait);
/* Waits for everything queued in the stream now. */
CUresult issue_sync(struct stream *stream);

#endif
