/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_KERNEL_H
#define SHIM_KERNEL_H

/*
 * What the driver says of a launched kernel. A launch takes a CUkernel in a CUfunction's place (the
 * runtime's libraries do), and most questions do not. Slow paths; any thread.
 */

#include <stdint.h>

#include "real.h"

/* NULL: the driver knows none of that handle. */
const char *kernel_name(const void *handle);
/* The function to ask about, and its name; NULL: the driver knows none of that handle. */
CUfunction kernel_look(const void *handle, const char **ret_name);
/* Of the name, and of what a change of the code most often changes: what that misses is measured
 * anew. 0: the driver knows none of that handle. */
uint64_t kernel_digest(const void *handle);

#endif
