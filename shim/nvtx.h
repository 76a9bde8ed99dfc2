/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_NVTX_H
#define SHIM_NVTX_H

/*
 * NVTX calls this library as an injection (NVTX_INJECTION64_PATH, set by `sluice run`): process
 * ranges, nvtxRangeStart to nvtxRangeEnd in any domain, go to range.h. An injection that was set
 * before, named by SLUICE_NVTX_NEXT, is initialised first, and each call goes on to it. Every
 * library that contains NVTX has a table of its own, and calls this once.
 *
 * Threads: any; each table is filled in by the one thread that initialises it.
 */

#include "nvtx_abi.h"

/* Non-zero: attached. The name is NVTX's. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_get_table get_table);

void nvtx_forked(void);

#endif
