/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_VMM_H
#define SIMGPU_VMM_H

/*
 * Virtual memory management: address ranges (vmm_address.c), allocations without an address
 * (vmm_handle.c), mappings of one into the other (vmm_map.c), and who may use them (vmm_access.c).
 * Allocations are pieces of one sparse file of this process, so that one of them can be mapped at
 * several addresses. A mapping is in the memory table, where kernels look, from cuMemSetAccess on.
 *
 * What is reserved and not mapped stays readable to the host, so that a kernel that still runs
 * into what was just unmapped gets an illegal address and not the process a signal.
 *
 * One lock, vmm_lock, outside the memory lock; functions here want it. Bytes.
 */

#include "driver/memory.h"

#define VMM_GRANULARITY (2ull << 20)

struct vmm_handle {
	uint64_t offset, bytes;
	struct sim_device *device;
	CUmemAllocationProp prop;
	unsigned int refs, mappings;
	uint64_t block_id;
	struct vmm_handle *prev, *next;
};

struct vmm_mapping {
	uint64_t base, bytes;
	struct vmm_handle *handle;
	CUmemAccess_flags access;
	struct vmm_mapping *prev, *next;
};

struct vmm_reserved {
	uint64_t base, bytes;
	struct vmm_reserved *prev, *next;
};

void vmm_lock(void);
void vmm_unlock(void);

bool vmm_is_granular(uint64_t value);

/* Fresh, unused addresses; at a given place with MAP_FIXED. MAP_FAILED as mmap. */
void *vmm_reserve_at(void *hint, size_t bytes, int extra);
/* Whether a range lies within one reservation. */
bool vmm_is_reserved(uint64_t base, uint64_t bytes);

/* A mapping that touches a range. */
struct vmm_mapping *vmm_mapping_in(uint64_t base, uint64_t bytes);
/* Whether whole mappings, one after another, make up a range. */
bool vmm_is_covered(uint64_t base, uint64_t bytes);

/* NULL: none, or released. */
struct vmm_handle *vmm_handle_get(CUmemGenericAllocationHandle number);
int vmm_handle_file(void);
/* Its memory goes with the last reference and the last mapping. */
void vmm_handle_end_maybe(struct vmm_handle *handle);

#endif
