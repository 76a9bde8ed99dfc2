/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_MEM_ARRAY_H
#define SHIM_MEM_ARRAY_H

/*
 * How much memory an array takes, by its descriptor: the driver does not say for those that it
 * backs itself. Texels without the padding of the driver's private layout; formats with sub-sampled
 * planes by their upper bound. Saturates at UINT64_MAX. Pure.
 */

#include <stdint.h>

#include "real.h"

/* Of the first `levels` of a mipmap; 1 for a plain array. 0 where the program maps the memory. */
uint64_t mem_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *array, unsigned int levels);

#endif
