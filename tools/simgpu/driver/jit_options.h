/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_JIT_OPTIONS_H
#define SIMGPU_JIT_OPTIONS_H

/*
 * Options of the calls that load code. Those that tune a compiler change nothing here and are
 * taken; the log buffers are filled. Values come as pointers that hold numbers. No state.
 */

#include "driver/module.h"

/* CUDA_ERROR_INVALID_VALUE: unknown, or a buffer without a size. */
CUresult jit_options_check(const struct module_options *options, const char *where);
/* Writes the message into the error log, "" into the information log, and both lengths back. */
void jit_options_log(const struct module_options *options, const char *message);

#endif
