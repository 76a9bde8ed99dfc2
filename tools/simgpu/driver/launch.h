/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_LAUNCH_H
#define SIMGPU_LAUNCH_H

/* A kernel launch from the forms of the interface to struct work; for streams and graph nodes. */

#include "driver/work.h"

struct launch_shape {
	unsigned int grid[3], block[3], shared_bytes;
};

/* Checks everything that the driver checks and copies the parameters; *ret_work owns them. */
CUresult launch_prepare(struct sim_context *context, CUfunction function,
			const struct launch_shape *shape, void **params, void **extra,
			struct work *ret_work);

#endif
