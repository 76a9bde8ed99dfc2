/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_SYNC_H
#define SHIM_SYNC_H

/*
 * What a synchronising call shows: before it, what the streams in question have been given is
 * noted; when it has succeeded, that much of them is complete. Two threads that use one stream may
 * be one launch apart in this, which lasts until the next such call.
 *
 * Between shim_enter and shim_leave. The event table is small; an event that found no room shows
 * nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stream_state.h"

#define SYNC_STREAMS 32 /* of one point; those beyond are left to later calls */

struct sync_point {
	uint32_t count;
	struct {
		struct stream_state *stream;
		uint64_t launched_ns;
	} at[SYNC_STREAMS];
};

void sync_on_stream(struct sync_point *point, CUstream key);

/* All streams of the context; blocking_only: those that the legacy stream waits for. NULL: the
 * current one. */
void sync_on_context(struct sync_point *point, CUcontext context, bool blocking_only);

/* What the event was recorded behind. */
void sync_on_event(struct sync_point *point, CUevent event);

/* What a blocking copy on that default stream will show: the legacy one waits for all blocking
 * streams. */
void sync_on_default(struct sync_point *point, CUstream key);

/* The call has succeeded. */
void sync_shown(struct sync_point *point);

/* The stream is known to be complete up to launched_ns. With gate->lock. True: nothing more has been
 * launched since (latency tenants). */
bool sync_drained(struct gate *gate, struct stream_state *stream, uint64_t launched_ns,
		  uint64_t now_ns);

enum sync_apart {
	SYNC_BUSY,   /* gate->lock is taken: nothing was noted */
	SYNC_DONE,   /* noted */
	SYNC_OTHERS, /* noted, and other streams still have work as far as is known */
};

/* sync_shown for one stream, without a call of the driver. may_wait: for gate->lock, which others
 * hold across such calls. */
enum sync_apart sync_shown_apart(struct stream_state *stream, uint64_t launched_ns, bool may_wait);

/* It has failed: work that has failed is over as well, where the driver says so. */
void sync_failed(void);

/* Is a request open on any device? */
bool sync_is_requested(void);

/* A call has returned that may have waited for the stream: it is asked, if a request is open. */
void sync_look(CUstream key);

/* The event is about to be recorded there; capturing: it will not be, really. */
void sync_event_recorded(CUevent event, CUstream key, bool capturing);
void sync_event_gone(CUevent event);

void sync_forked(void);

#endif
