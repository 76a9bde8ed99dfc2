/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_DEVICE_ATTRIBUTE_H
#define SIMGPU_DEVICE_ATTRIBUTE_H

/* Attributes as numbers, for those in the driver who need them too. Bytes. */

#include "driver/state.h"

int device_attribute_get(const struct sim_device *device, CUdevice_attribute attribute);
/* Shared memory of a block that has not opted in to more. */
int device_attribute_shared_default(const struct model_desc *desc);
/* What the driver takes of an SM's shared memory for each block. */
int device_attribute_shared_reserved(const struct model_desc *desc);

#endif
