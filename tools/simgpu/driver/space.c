/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(block) (block)->lost = true
#include <stdbool.h>
#include <uthash.h>
#include <utlist.h>

#include "driver/space.h"

struct space_block {
	uint64_t offset;
	unsigned int order;
	bool lost; /* the hash had no memory for it */
	struct space_block *prev, *next;
	UT_hash_handle hh;
};

static int add_free(struct space *space, uint64_t offset, unsigned int order)
{
	struct space_block *block = calloc(1, sizeof(*block));

	if (!block)
		return -ENOMEM;
	block->offset = offset;
	block->order = order;
	HASH_ADD(hh, space->known, offset, sizeof(block->offset), block);
	if (block->lost) {
		free(block);
		return -ENOMEM;
	}
	DL_APPEND(space->free[order], block);
	return 0;
}

static void drop_free(struct space *space, struct space_block *block)
{
	DL_DELETE(space->free[block->order], block);
	HASH_DELETE(hh, space->known, block);
	free(block);
}

int space_init(struct space *space, uint64_t base, unsigned int min_order, unsigned int max_order)
{
	memset(space, 0, sizeof(*space));
	space->base = base;
	space->min_order = min_order;
	space->max_order = max_order;
	return add_free(space, 0, max_order);
}

void space_finish(struct space *space)
{
	for (unsigned int order = 0; order < SPACE_ORDERS; order++)
		while (space->free[order])
			drop_free(space, space->free[order]);
}

static unsigned int order_of(const struct space *space, uint64_t bytes)
{
	unsigned int order = space->min_order;

	while (order < 63 && ((uint64_t)1 << order) < bytes)
		order++;
	return order;
}

int space_take(struct space *space, uint64_t bytes, uint64_t *ret_base)
{
	unsigned int order = order_of(space, bytes), from = order;
	uint64_t offset;

	while (from <= space->max_order && !space->free[from])
		from++;
	if (from > space->max_order)
		return -ENOMEM;
	offset = space->free[from]->offset;
	drop_free(space, space->free[from]);
	/* The upper halves go back; one that cannot be noted is lost, not handed out twice. */
	while (from > order) {
		from--;
		(void)add_free(space, offset + ((uint64_t)1 << from), from);
	}
	*ret_base = space->base + offset;
	return 0;
}

int space_give(struct space *space, uint64_t base, uint64_t bytes)
{
	unsigned int order = order_of(space, bytes);
	uint64_t offset = base - space->base;

	while (order < space->max_order) {
		uint64_t buddy_offset = offset ^ ((uint64_t)1 << order);
		struct space_block *buddy;

		HASH_FIND(hh, space->known, &buddy_offset, sizeof(buddy_offset), buddy);
		if (!buddy || buddy->order != order)
			break;
		drop_free(space, buddy);
		offset &= ~((uint64_t)1 << order);
		order++;
	}
	return add_free(space, offset, order);
}
