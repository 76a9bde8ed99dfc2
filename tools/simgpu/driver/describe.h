/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_DESCRIBE_H
#define SIMGPU_DESCRIBE_H

/* An operation as the device model wants it told: kind, duration, SMs. With exec->lock. */

#include <stdint.h>

#include "device/model.h"

struct op;

void describe_op(const struct op *op, struct model_op_desc *desc);
/* What it takes when it has the device for itself; 0: not known yet. */
uint64_t describe_least_ns(const struct model_desc *device, const struct model_op_desc *desc);

#endif
