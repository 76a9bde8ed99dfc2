/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_SHIM_COPY_H
#define SLUICE_SHIM_COPY_H

/*
 * Copies and memsets as launches: how large, which way, and what a blocking one shows. A large
 * plain copy under the gate goes as several, in order, on the same stream: each piece is a launch
 * unit, so that no latency tenant waits for all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launch.h"

#define COPY_PIECE (4u << 20) /* bytes */

/* The bytes of one piece of a plain copy of `bytes` on the stream: all of them where the gate does
 * not hold this process, and while any capture is open. */
size_t copy_piece(CUstream key, size_t bytes);

void copy_begin(struct launch *launch, enum predict_kind kind, uint64_t bytes, CUstream key,
		uint32_t flags);

/* returned: the call blocks until the data is on the host. */
void copy_end(struct launch *launch, CUresult result, CUstream key, bool returned);

/* Is this an address of plain host memory, or of pinned? */
bool copy_is_host(CUdeviceptr address);

uint64_t copy_2d_bytes(const CUDA_MEMCPY2D *copy);
uint64_t copy_3d_bytes(const CUDA_MEMCPY3D *copy);

/* Which way, by the memory types of a 2D or 3D copy. */
enum predict_kind copy_kind(CUmemorytype to, CUmemorytype from);

/* `call` as one launch. */
#define COPY_WHOLE(kind, bytes, key, flags, returned, call) \
	do { \
		CUstream launch_key = key; \
		struct launch launch; \
		CUresult result; \
\
		copy_begin(&launch, kind, bytes, launch_key, flags); \
		result = call; \
		copy_end(&launch, result, launch_key, returned); \
		return result; \
	} while (0)

/* `call` for each piece: `done` bytes lie before it, `piece` are in it. */
#define COPY_PIECES(kind, bytes, key, flags, returned, call) \
	do { \
		CUstream launch_key = key; \
		size_t step = copy_piece(launch_key, bytes), done = 0, piece; \
		CUresult result; \
\
		do { \
			struct launch launch; \
\
			piece = bytes - done < step ? bytes - done : step; \
			copy_begin(&launch, kind, piece, launch_key, flags); \
			result = call; \
			copy_end(&launch, result, launch_key, \
				 done + piece == bytes && launch.way >= LAUNCH_ADMITTED && \
					 (returned)); \
			done += piece; \
		} while (result == CUDA_SUCCESS && done < bytes); \
		return result; \
	} while (0)

#endif
