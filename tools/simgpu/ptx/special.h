/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_SPECIAL_H
#define SIMGPU_PTX_SPECIAL_H

#include <stdbool.h>
#include <stdint.h>

/* Registers that the hardware fills in. Up to SPECIAL_PINNED they have a slot in the frame; the
 * others are read by an instruction of their own. */
enum special {
	SPECIAL_TID_X,
	SPECIAL_TID_Y,
	SPECIAL_TID_Z,
	SPECIAL_NTID_X,
	SPECIAL_NTID_Y,
	SPECIAL_NTID_Z,
	SPECIAL_CTAID_X,
	SPECIAL_CTAID_Y,
	SPECIAL_CTAID_Z,
	SPECIAL_NCTAID_X,
	SPECIAL_NCTAID_Y,
	SPECIAL_NCTAID_Z,
	SPECIAL_LANEID,
	SPECIAL_WARPID,
	SPECIAL_NWARPID,
	SPECIAL_SMID,
	SPECIAL_NSMID,
	SPECIAL_GRIDID,
	SPECIAL_LANEMASK_EQ,
	SPECIAL_LANEMASK_LE,
	SPECIAL_LANEMASK_LT,
	SPECIAL_LANEMASK_GE,
	SPECIAL_LANEMASK_GT,
	SPECIAL_DYNAMIC_SMEM_SIZE,
	SPECIAL_TOTAL_SMEM_SIZE,
	SPECIAL_ENVREG_WORKSPACE_HIGH, /* %envreg1 */
	SPECIAL_ENVREG_WORKSPACE_LOW,  /* %envreg2 */
	SPECIAL_ENVREG_ZERO,	       /* the other ones */
	SPECIAL_DYNAMIC_SHARED,	       /* where .extern .shared begins: ours, not PTX's */
	SPECIAL_PINNED,
	SPECIAL_CLOCK = SPECIAL_PINNED,
	SPECIAL_CLOCK_HI,
	SPECIAL_CLOCK64,
	SPECIAL_GLOBALTIMER,
	SPECIAL_GLOBALTIMER_LO,
	SPECIAL_GLOBALTIMER_HI,
	SPECIAL_UNKNOWN, /* PTX's, but not ours: whoever reads it is refused */
	SPECIAL_NONE,	 /* no special register */
};

enum special special_find(const char *text, uint32_t length); /* "%tid.x" */
bool special_is_wide(enum special special);		      /* 64 bits */

#endif
