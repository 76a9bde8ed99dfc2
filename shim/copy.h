/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_COPY_H
#define SHIM_COPY_H

/*
 * Copies and memsets as launches: how large, which way, and what a blocking one shows. A large
 * plain copy under the gate goes as several, in order, on the same stream: each piece is a launch
 * unit, so that no latency tenant waits for all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch.h"
#include "sync.h"

#define COPY_PIECE (4u << 20) /* bytes */

/* The bytes of one piece of a plain copy of `bytes` on the stream: all of them where the gate does
 * not hold this process, and while any capture is open. */
size_t copy_piece(CUstream key, size_t bytes);

/* What the call's return says of its stream. */
enum copy_shows {
	COPY_SHOWS_NOTHING,
	COPY_SHOWS_DRAIN, /* it blocks until the data is on the host */
	COPY_MAY_SHOW,	  /* it may have waited for that: copies into pageable memory do */
};

struct copy {
	struct launch launch;
	enum copy_shows shows;
	struct sync_point point; /* COPY_SHOWS_DRAIN */
};

void copy_begin(struct copy *copy, enum predict_kind kind, uint64_t bytes, CUstream key,
		uint32_t flags);

/* After copy_begin, for a copy that shows something: notes what, before the call. */
void copy_watch(struct copy *copy, CUstream key, enum copy_shows shows);
void copy_end(struct copy *copy, CUresult result, CUstream key);

static inline bool copy_is_watched(const struct copy *copy)
{
	return copy->launch.way >= LAUNCH_ADMITTED;
}

/* By the destination: of a blocking copy, and of one in stream order. */
enum copy_shows copy_shows(CUdeviceptr to);
enum copy_shows copy_async_shows(CUdeviceptr to);

uint64_t copy_2d_bytes(const CUDA_MEMCPY2D *copy);
uint64_t copy_3d_bytes(const CUDA_MEMCPY3D *copy);

/* Which way, by the memory types of a 2D or 3D copy. */
enum predict_kind copy_kind(CUmemorytype to, CUmemorytype from);

/* `call` as one launch. `what` it shows is looked at only where that matters. */
#define COPY_WHOLE(kind, bytes, key, flags, what, call) \
	do { \
		CUstream launch_key = key; \
		struct copy copy; \
		CUresult result; \
\
		copy_begin(&copy, kind, bytes, launch_key, flags); \
		if (copy_is_watched(&copy)) \
			copy_watch(&copy, launch_key, what); \
		result = call; \
		copy_end(&copy, result, launch_key); \
		return result; \
	} while (0)

/* `call` for each piece: `done` bytes lie before it, `piece` are in it. */
#define COPY_PIECES(kind, bytes, key, flags, what, call) \
	do { \
		CUstream launch_key = key; \
		size_t step = copy_piece(launch_key, bytes), done = 0, piece; \
		CUresult result; \
\
		do { \
			struct copy copy; \
\
			piece = bytes - done < step ? bytes - done : step; \
			copy_begin(&copy, kind, piece, launch_key, flags); \
			if (done + piece == bytes && copy_is_watched(&copy)) \
				copy_watch(&copy, launch_key, what); \
			result = call; \
			copy_end(&copy, result, launch_key); \
			done += piece; \
		} while (result == CUDA_SUCCESS && done < bytes); \
		return result; \
	} while (0)

#endif
