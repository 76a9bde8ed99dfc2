/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_PREDICT_TAG_H
#define SHIM_PREDICT_TAG_H

/*
 * What a launch is known by within a process: a 64-bit tag, and what to guess of it until it has
 * been measured. Pure. Units: ns, bytes.
 */

#include <stdint.h>

#define PREDICT_MAX_NS 2000000000u /* costs above it are kept as this */
#define PREDICT_KERNEL_NS 50000u   /* of a kernel never measured */
#define PREDICT_GRAPH_NS 500000u

/* The kinds that are no kernel, for their tags and first guesses. */
enum predict_kind {
	PREDICT_KERNEL,
	PREDICT_GRAPH,
	PREDICT_COPY_TO_DEVICE,
	PREDICT_COPY_TO_HOST,
	PREDICT_COPY_DEVICE,
	PREDICT_COPY_PEER,
	PREDICT_COPY, /* direction unknown */
	PREDICT_MEMSET,
	PREDICT_PREFETCH,
	PREDICT_DECOMPRESS,
};

/* Four products side by side: a chain of them would be half the cost of the whole fast path. */
static inline uint64_t predict_mix(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t tag = (a * 0x9e3779b97f4a7c15ull + b * 0xc2b2ae3d27d4eb4full) ^
		       (c * 0x165667b19e3779f9ull + d * 0xd6e8feb86659fd93ull);

	return tag | 1; /* never 0 */
}

/* One more value into a digest of several, in their order. */
static inline uint64_t predict_digest(uint64_t digest, uint64_t value)
{
	return predict_mix(digest, value, digest >> 32, 5);
}

static inline uint64_t predict_kernel_tag(const void *function, unsigned int gx, unsigned int gy,
					  unsigned int gz, unsigned int bx, unsigned int by,
					  unsigned int bz, unsigned int shared)
{
	/* CUDA bounds y and z of a grid by 65535 and a block's product by 1024. */
	return predict_mix((uintptr_t)function, (uint64_t)gx << 32 | gy,
			   (uint64_t)gz << 32 | shared,
			   (uint64_t)bx << 42 | (uint64_t)by << 21 | bz);
}

/* FNV-1a, to be mixed with what else tells two things of one name apart. */
uint64_t predict_text(const char *text);

uint64_t predict_graph_tag(const void *graph_exec);

/* Sizes are put into classes of a quarter octave; *ret_guess_ns from usual link and memory rates. */
uint64_t predict_bytes_tag(enum predict_kind kind, uint64_t bytes, uint32_t *ret_guess_ns);

#endif
