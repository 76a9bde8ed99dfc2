/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_MEM_VMM_H
#define SHIM_MEM_VMM_H

/*
 * Physical allocations (cuMemCreate): charged to the device of their location, given back when the
 * last handle and the last mapping are gone. Each allocation is booked under a number of its own,
 * since a driver may give a released handle's value again while the old allocation is mapped.
 *
 * Between shim_enter and shim_leave. The calls that take back are split like the driver's own:
 * a handle's value may come again as soon as it is released, an address only when the program
 * maps there again.
 */

#include <stdint.h>

#include "mem.h"

/* cuMemCreate has made the handle. */
void mem_vmm_created(const struct mem_charge *charge, uint64_t handle);

/* One more reference under the same handle (import, retain). */
void mem_vmm_again(uint64_t handle, uint64_t address);

/* Before cuMemRelease; and when that failed. Then mem_vmm_released when it succeeded. */
uint64_t mem_vmm_releasing(uint64_t handle);
void mem_vmm_not_released(uint64_t handle, uint64_t number);
void mem_vmm_released(uint64_t number);

void mem_vmm_mapped(uint64_t address, uint64_t bytes, uint64_t handle);
void mem_vmm_unmapped(uint64_t address, uint64_t bytes);

void mem_vmm_forked(void);

#endif
