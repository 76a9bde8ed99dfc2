/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_SLOTS_H
#define SIMGPU_PTX_SLOTS_H

/*
 * From virtual registers to places in a warp's frame. PTX has a register per value; a frame with
 * a slot for each would not fit a core's cache, so slots are shared by live ranges. Each lane
 * follows the control flow by itself and writes are masked to active lanes, so liveness along the
 * control flow graph is right for every lane however a warp diverges.
 */

struct parser;

/* Constants and special registers that are only moved around go straight to their users. */
int slots_simplify(struct parser *p);
/* Gives every operand its offset, fills the function's code, list and frame size. */
int slots_assign(struct parser *p, const unsigned int *const_offset);

#endif
