/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LINK_DEVICE_H
#define SHIM_LINK_DEVICE_H

/* What the arbiter is told of a GPU, as the driver says it. Any thread; after cuInit. */

#include <stdint.h>

#include "sluice/wire.h"

void link_describe(uint32_t ordinal, struct sluice_msg_device *ret_about);

#endif
