/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_OCCUPANCY_H
#define SIMGPU_OCCUPANCY_H

/* How many blocks of a function one SM holds at a time. Pure. Bytes. */

#include "driver/sim.h"

struct occupancy {
	uint32_t regs;	       /* per thread */
	uint32_t shared_bytes; /* per block, static and dynamic */
	uint32_t threads;      /* per block */
};

/* 0 where none fits. */
uint32_t occupancy_blocks(const struct model_desc *desc, const struct occupancy *block);

#endif
