/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_IMAGE_H
#define SIMGPU_IMAGE_H

/*
 * Finds the PTX in what a program hands over as code: PTX text, a fat binary (bare, or in the
 * wrapper that nvcc's objects hold), or machine code, which has none. No state; thread-safe.
 */

#include "driver/sim.h"

#define IMAGE_UNKNOWN UINT64_MAX /* the caller gave no length, as most of the interface */

struct image_want {
	uint32_t cc;	  /* major * 10 + minor */
	bool timing_only; /* machine code will do */
};

struct image_found {
	char *text; /* NUL-terminated; free() it */
	bool timing_only;
};

/*
 * The PTX for a device of that compute capability: the newest that is not newer.
 * CUDA_ERROR_NO_BINARY_FOR_GPU where there is machine code alone, unless want->timing_only: then
 * it is PTX whose kernels, of the same names and parameters, do nothing. CUDA_ERROR_INVALID_IMAGE;
 * ret_error is one sentence.
 */
CUresult image_find_ptx(const void *image, uint64_t bytes, const struct image_want *want,
			struct image_found *ret_found, struct ptx_error *ret_error);

/* A file's content, with a zero byte behind it. CUDA_ERROR_FILE_NOT_FOUND. */
CUresult image_read_file(const char *path, char **ret_content, uint64_t *ret_bytes);

#endif
