/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_MEMORY_TABLE_H
#define SIMGPU_MEMORY_TABLE_H

/*
 * Every range of memory that the driver knows, by address. Readers take no lock: they read under
 * a sequence number and try again where a writer was at work; nodes and leaves are never given
 * back to the host, so that what a reader looks at meanwhile is stale at worst. Writers hold the
 * memory lock (memory.h), and so does who gets a node. Ranges never overlap.
 */

#include "driver/sim.h"

struct memory_node {
	/* Read under the sequence. */
	_Atomic uint64_t base, size, buffer_id;
	_Atomic uint32_t kind; /* enum sim_memory_kind */
	_Atomic uint32_t flags;
	_Atomic bool writable;
	_Atomic(struct sim_context *) context;
	/* Under the memory lock. */
	struct sim_device *device; /* where it is charged; NULL: nowhere */
	uint64_t charged;
	uint64_t block_bytes; /* of the arena; 0: not from there */
	void *owner;	      /* pool.c, vmm.c: theirs */
	bool sync_memops;
	struct memory_node *next; /* unused nodes */
};

/* Lock-free. Where there is none: false, and the gap around the address as a SIM_PAGEABLE range. */
bool memory_table_find(uint64_t address, struct sim_range *ret_range, bool *ret_writable);

/* The rest with the memory lock. */
struct memory_node *memory_table_new(void); /* NULL: no memory */
void memory_table_recycle(struct memory_node *node);
/* -EEXIST: overlaps another. -ENOMEM. */
int memory_table_insert(struct memory_node *node);
void memory_table_remove(struct memory_node *node);
struct memory_node *memory_table_at(uint64_t address);
/* The first range that ends above the address. */
struct memory_node *memory_table_next(uint64_t address);
/* Changes a range in place. */
void memory_table_set_access(struct memory_node *node, bool writable);

#endif
