/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_STREAM_STATE_H
#define SHIM_STREAM_STATE_H

/*
 * What the shim knows of each stream: predicted work submitted and seen complete, and how that is
 * seen. Keys: a stream's handle; the default streams are normalised to CU_STREAM_LEGACY (one per
 * context) and CU_STREAM_PER_THREAD (one per context and thread), see stream_key.
 *
 * A destroyed stream's handle that comes back finds the same state, made new. Once all states are
 * in use, those of streams that are gone are given to other handles: a thread that remembers the
 * state of a handle compares. Streams that find no state at all share one a gate: they are gated,
 * and what they are given counts as complete at once.
 *
 * Threads: `launched_ns` and `quiet` by atomics; completed_ns, births and deaths under gate->lock;
 * the marks under the state's own lock, which is held across the driver call that places one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "futex.h"
#include "gate.h"
#include "real.h"

#define STREAM_STATES 1024 /* streams that the process has at a time */
#define STREAM_MARKS 16	   /* outstanding markers of one stream */
#define STREAM_NO_MARKER UINT32_MAX

enum stream_track {
	TRACK_NEW,   /* not decided */
	TRACK_WORD,  /* the GPU writes a word of the channel page */
	TRACK_EVENT, /* events, asked for lazily */
	TRACK_QUERY, /* nothing may be placed: the stream is asked whether it is empty */
	TRACK_NONE,  /* stands for many streams: nothing placed, nobody asked */
};

struct stream_mark {
	uint64_t launched_ns; /* of the stream, when the mark was placed */
	uint32_t seq;
	CUevent event;
};

struct stream_state {
	_Alignas(128) _Atomic uint64_t launched_ns; /* predicted, cumulative; first the add, then
						       `quiet`: see request.h */
	_Atomic uint32_t quiet;	  /* latency tenants: the next launch opens or joins a request */
	_Atomic uint32_t thread;  /* per-thread default stream: its owner's number; else 0 */
	_Atomic(CUstream) handle; /* the key; stored last when a state gets another */
	_Atomic(CUcontext) context;
	_Atomic(struct gate *) gate; /* NULL: of no gate now */
	bool blocking;		     /* ordered against the legacy stream */
	_Atomic bool dead;	     /* destroyed; watched until its marks have landed */
	_Atomic uint64_t completed_ns;

	struct futex_lock lock;
	_Atomic(enum stream_track) track; /* read without the lock as a hint */
	uint32_t marker;		  /* index of the word; STREAM_NO_MARKER: none */
	uint32_t marker_page;
	_Atomic uint32_t *word, *last;
	_Atomic uint64_t marked_ns; /* launched_ns at the newest mark */
	uint32_t head, tail;	    /* of the ring; counts */
	struct stream_mark mark[STREAM_MARKS];
};

/* Has the gate ever had a page? Without its lock. */
static inline bool gate_is_made(struct gate *gate)
{
	return atomic_load_explicit(&gate->page_number, memory_order_acquire) != 0;
}

/* The key of a stream argument: per_thread tells the ABI that the entry belongs to. */
static inline CUstream stream_key(CUstream stream, bool per_thread)
{
	if (stream)
		return stream;
	return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* Finds or makes the state, of the current context for the default streams; where there is no room,
 * the gate's common one. NULL: no context, or a device that is not managed. thread: the caller's
 * number. */
struct stream_state *stream_find(CUstream key, uint32_t thread);

/* The state of a key if there is one; never makes it. */
struct stream_state *stream_peek(CUstream key, uint32_t thread);

/* After a create: a handle that comes back is a new stream. */
void stream_born(CUstream stream);

/* Before a destroy. */
void stream_dying(CUstream stream);

/* Before a context goes, or is reset. device_ordinal < 0: by context; else all of the device. */
void stream_context_dying(CUcontext context, int device_ordinal);

/* What the streams without a state were given is complete. With gate->lock. */
void stream_settle_crowd(struct gate *gate, uint64_t now_ns);

/* Waits for all who are placing a marker or asking now. Not under a stream's lock. */
void stream_await_marks(void);

void stream_forked(void);

#endif
