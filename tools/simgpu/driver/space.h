/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_SPACE_H
#define SIMGPU_SPACE_H

/*
 * Hands out blocks of a span of addresses (or of offsets in a file) as a buddy system: a block is
 * a power of two, aligned to its size, so that both ends of an allocation that is none leave a
 * gap that nobody owns. Touches none of the memory it manages. The caller locks. Bytes.
 */

#include <stdint.h>

#define SPACE_ORDERS 48

struct space_block;

struct space {
	uint64_t base;
	unsigned int min_order, max_order; /* the span is 1 << max_order, aligned to min_order */
	struct space_block *free[SPACE_ORDERS];
	struct space_block *known; /* the free ones by address */
};

/* 0 or -ENOMEM. */
int space_init(struct space *space, uint64_t base, unsigned int min_order, unsigned int max_order);
void space_finish(struct space *space);

/* -ENOMEM: no block that large. */
int space_take(struct space *space, uint64_t bytes, uint64_t *ret_base);
/* `bytes` as it was taken. -ENOMEM: the block is lost, since it cannot be noted. */
int space_give(struct space *space, uint64_t base, uint64_t bytes);

#endif
