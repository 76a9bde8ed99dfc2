/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MEMSET_H
#define SIMGPU_MEMSET_H

/* A memset as work, checked; nothing to set: WORK_NONE. Stateless. */

#include "driver/work.h"

CUresult memset_prepare(CUdeviceptr dst, uint64_t pitch, uint32_t value, uint32_t element,
			uint64_t width, uint64_t height, struct work *ret_work);

#endif
