/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MEMOP_H
#define SIMGPU_MEMOP_H

/* Stream memory operations as work, checked. */

#include "driver/work.h"

/* Barriers and flushes, which mean nothing here, leave no operation. The result is WORK_MEMOPS
 * with a list that it owns, for a graph node. */
CUresult memop_prepare(const CUstreamBatchMemOpParams *params, unsigned int count,
		       struct work *ret_work);
/* One operation of it, for a stream. */
void memop_single(const struct work_memop *memop, struct work *ret_work);

#endif
