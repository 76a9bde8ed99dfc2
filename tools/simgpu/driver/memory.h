/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MEMORY_H
#define SIMGPU_MEMORY_H

/*
 * Memory of the simulated device: host memory of this process, out of one reserved span of
 * addresses that looks like a device's, with its bytes charged to the device in the shared model.
 * The memory lock covers the table (memory_table.h) and the span; it is taken inside these calls
 * unless they say "locked". Private to the core half. Bytes.
 */

#include "driver/memory_table.h"
#include "driver/state.h"

#define MEMORY_UNIT 512 /* device allocations begin, and are charged, in these */

/* Reserves the span; in cuInit, again is fine. */
CUresult memory_start(void);
/* Gives back what a context owns. */
void memory_drop_context(struct sim_context *context);

void memory_lock(void);
void memory_unlock(void);

/* The device's own account. CUDA_ERROR_OUT_OF_MEMORY after trying to bury dead processes. */
CUresult memory_charge(struct sim_device *device, uint64_t bytes);
void memory_uncharge(struct sim_device *device, uint64_t bytes);

struct memory_want {
	uint64_t bytes;
	enum sim_memory_kind kind;
	struct sim_context *context;
	unsigned int flags;
	void *owner;
	bool uncharged;
};
/* Device memory out of the span. */
CUresult memory_take(const struct memory_want *want, uint64_t *ret_address);
CUresult memory_take_node(const struct memory_want *want, struct memory_node **ret_node);
/* Out of the table and in again, with the block kept and charged: for pools, whose free blocks
 * nobody may touch. */
void memory_hide(struct memory_node *node);
CUresult memory_show(struct memory_node *node, uint64_t bytes, struct sim_context *context);
void memory_give_hidden(struct memory_node *node);
/* Enters host memory that is somebody else's into the table. CUDA_ERROR_..._ALREADY_REGISTERED
 * where it overlaps. */
CUresult memory_enter(const struct memory_want *want, uint64_t address, bool writable);
/* Takes the range that begins here, if it is of one of the kinds (a mask of 1 << kind), out of the
 * table, and gives back what it holds. CUDA_ERROR_INVALID_VALUE otherwise. */
CUresult memory_drop(uint64_t address, unsigned int kinds, uint64_t *ret_size);

/* A number of its own for each allocation of the process. */
uint64_t memory_next_id(void);

#endif
