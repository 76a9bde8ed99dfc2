/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_REAL_H
#define SHIM_REAL_H

/*
 * The real driver, as a typed table: real.cuLaunchKernel(...) is the driver's own entry, never a
 * hook. The driver's header in its internal mode declares every versioned name and renames none,
 * so that a hook whose signature is wrong does not compile. Include this, never <cuda.h>.
 *
 * Filled from the loaded libcuda's own symbol table (real_load): when the program starts, or by the
 * look-up or the cuInit that comes first. Until then a row answers as a driver does before cuInit;
 * for entries that this driver lacks, CUDA_ERROR_NOT_FOUND. Rows change only while no hook has run
 * yet: should a program unload the driver and load it elsewhere. Any thread; no lock.
 */

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
/* What the header declares is exported, the rest of the shim is hidden. */
#ifndef __CUDA_API_PUSH_VISIBILITY_DEFAULT
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT
#endif
#include <cuda.h>

#include <stdbool.h>

struct real_table {
#define HOOK(symbol, base, version, class) __typeof__(symbol) *symbol;
#define USED(symbol) __typeof__(symbol) *symbol;
#include "hooks.def"
};

extern struct real_table real;

/* What a row holds where the driver has no such entry. */
CUresult real_missing(void);

#define real_has(symbol) ((void *)real.symbol != (void *)real_missing)

/* Finds libcuda among the loaded objects and fills the table. False where it is not loaded.
 * Idempotent and safe from anywhere, a look-up inside the dynamic loader included. */
bool real_load(void);

/* Does the address lie in the driver? After a real_load that was true. */
bool real_holds(const void *address);

/* real_load, but loads libcuda.so.1 where the program has not, and keeps the driver loaded for
 * good. Never from a door. */
bool real_load_driver(void);

#endif
