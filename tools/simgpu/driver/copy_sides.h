/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_COPY_SIDES_H
#define SIMGPU_COPY_SIDES_H

/* Addresses of copies and memsets: what kind of memory, and whether all of it is there. */

#include "driver/work.h"

enum side_need {
	SIDE_ANY,    /* by the address: unified addressing */
	SIDE_DEVICE, /* the program says that it is device memory */
	SIDE_HOST,
};

/* Fills side->kind. CUDA_ERROR_INVALID_VALUE where width x height x depth bytes from its address
 * are not all inside one allocation, for memory that the driver knows. */
CUresult side_classify(struct work_side *side, enum side_need need, uint64_t width, uint64_t height,
		       uint64_t depth);
/* Pitches and heights of the structures of cuMemcpy2D/3D to work; arrays are refused in the name
 * of `call`. Nothing to copy: WORK_NONE. */
CUresult side_from_3d(const char *call, const CUDA_MEMCPY3D *copy, struct work *ret_work);
void side_2d_to_3d(const CUDA_MEMCPY2D *from, CUDA_MEMCPY3D *ret_copy);

#endif
