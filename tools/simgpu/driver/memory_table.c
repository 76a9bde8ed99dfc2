/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#include "driver/memory_table.h"

#define LEAF 128
#define LEAVES (1u << 20)

/* Sorted by base, and so are the leaves among themselves; none is empty. */
struct leaf {
	_Atomic uint32_t count;
	_Atomic(struct memory_node *) node[LEAF];
	struct leaf *next; /* unused leaves */
};

static struct {
	_Atomic uint32_t sequence; /* odd: a writer is at work */
	_Atomic uint32_t leaves;
	_Atomic(struct leaf *) *leaf; /* room for LEAVES, touched as needed */
	struct leaf *unused_leaves;
	struct memory_node *unused_nodes;
} table;

/* Loads are acquire and stores release, so that the sequence encloses them without fences (which
 * the thread sanitizer does not know). On x86-64 that costs nothing. */
#define GET(x) atomic_load_explicit(&(x), memory_order_acquire)
#define SET(x, value) atomic_store_explicit(&(x), value, memory_order_release)

static void write_begin(void)
{
	atomic_fetch_add_explicit(&table.sequence, 1, memory_order_acq_rel);
}

static void write_end(void)
{
	atomic_fetch_add_explicit(&table.sequence, 1, memory_order_acq_rel);
}

/* ---- finding ---- */

static uint64_t leaf_base(struct leaf *leaf)
{
	struct memory_node *node = leaf ? GET(leaf->node[0]) : NULL;

	return node ? GET(node->base) : UINT64_MAX;
}

/* The last leaf that begins at or below the address; 0 also where none does. */
static uint32_t find_leaf(uint64_t address)
{
	uint32_t low = 0, high = GET(table.leaves);

	while (high - low > 1 && high > low) {
		uint32_t middle = low + (high - low) / 2;

		if (leaf_base(GET(table.leaf[middle])) <= address)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* How many of the leaf's nodes begin at or below the address. */
static uint32_t find_slot(struct leaf *leaf, uint64_t address)
{
	uint32_t low = 0, high = GET(leaf->count);

	if (high > LEAF)
		high = LEAF;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		struct memory_node *node = GET(leaf->node[middle]);

		if (node && GET(node->base) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct memory_node *node_at(uint32_t leaf_index, uint32_t slot)
{
	struct leaf *leaf;

	if (leaf_index >= GET(table.leaves))
		return NULL;
	leaf = GET(table.leaf[leaf_index]);
	return leaf && slot < LEAF && slot < GET(leaf->count) ? GET(leaf->node[slot]) : NULL;
}

/* The nodes around an address: the last that begins at or below, and the one after it. */
static void find_around(uint64_t address, struct memory_node **ret_below,
			struct memory_node **ret_above)
{
	uint32_t index, slot;
	struct leaf *leaf;

	*ret_below = *ret_above = NULL;
	if (GET(table.leaves) == 0)
		return;
	index = find_leaf(address);
	leaf = GET(table.leaf[index]);
	if (!leaf)
		return;
	slot = find_slot(leaf, address);
	if (slot > 0)
		*ret_below = node_at(index, slot - 1);
	*ret_above = slot < GET(leaf->count) ? node_at(index, slot) : node_at(index + 1, 0);
}

static bool copy_range(struct memory_node *node, uint64_t address, struct sim_range *ret_range,
		       bool *ret_writable)
{
	ret_range->base = GET(node->base);
	ret_range->size = GET(node->size);
	if (address - ret_range->base >= ret_range->size)
		return false;
	ret_range->kind = (enum sim_memory_kind)GET(node->kind);
	ret_range->context = GET(node->context);
	ret_range->buffer_id = GET(node->buffer_id);
	ret_range->flags = GET(node->flags);
	*ret_writable = GET(node->writable);
	return true;
}

static void copy_gap(struct memory_node *below, struct memory_node *above,
		     struct sim_range *ret_range)
{
	uint64_t low = below ? GET(below->base) + GET(below->size) : 0;
	uint64_t high = above ? GET(above->base) : UINT64_MAX;

	*ret_range = (struct sim_range){
		.base = low, .size = high - low, .kind = SIM_PAGEABLE, .context = NULL};
}

bool memory_table_find(uint64_t address, struct sim_range *ret_range, bool *ret_writable)
{
	for (unsigned int tries = 1;; tries++) {
		/* Pairs with write_end: an even number shows all that it wrote. */
		uint32_t sequence = GET(table.sequence);
		struct memory_node *below, *above;
		bool found = false;

		if (!(sequence & 1)) {
			find_around(address, &below, &above);
			found = below && copy_range(below, address, ret_range, ret_writable);
			if (!found)
				copy_gap(below, above, ret_range);
			if (atomic_load_explicit(&table.sequence, memory_order_relaxed) == sequence)
				return found;
		}
		if (tries % 64 == 0)
			sched_yield();
	}
}

struct memory_node *memory_table_at(uint64_t address)
{
	struct memory_node *below, *above;

	find_around(address, &below, &above);
	return below && address - GET(below->base) < GET(below->size) ? below : NULL;
}

struct memory_node *memory_table_next(uint64_t address)
{
	struct memory_node *below, *above;

	find_around(address, &below, &above);
	return below && address - GET(below->base) < GET(below->size) ? below : above;
}

/* ---- changing ---- */

struct memory_node *memory_table_new(void)
{
	struct memory_node *node = table.unused_nodes;

	if (!node)
		return calloc(1, sizeof(*node));
	table.unused_nodes = node->next;
	node->next = NULL;
	node->device = NULL;
	node->charged = node->block_bytes = 0;
	node->owner = NULL;
	node->sync_memops = false;
	return node;
}

void memory_table_recycle(struct memory_node *node)
{
	node->next = table.unused_nodes;
	table.unused_nodes = node;
}

static struct leaf *leaf_new(void)
{
	struct leaf *leaf = table.unused_leaves;

	if (!leaf)
		return calloc(1, sizeof(*leaf));
	table.unused_leaves = leaf->next;
	SET(leaf->count, 0);
	return leaf;
}

static int make_room(void)
{
	void *room;

	if (table.leaf)
		return 0;
	room = mmap(NULL, LEAVES * sizeof(*table.leaf), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return -ENOMEM;
	table.leaf = room;
	return 0;
}

static int insert_leaf(uint32_t index, struct leaf *leaf)
{
	uint32_t leaves = GET(table.leaves);

	if (leaves == LEAVES)
		return -ENOMEM;
	for (uint32_t i = leaves; i > index; i--)
		SET(table.leaf[i], GET(table.leaf[i - 1]));
	SET(table.leaf[index], leaf);
	SET(table.leaves, leaves + 1);
	return 0;
}

/* Moves the upper half of a full leaf into a new one behind it. */
static int split_leaf(uint32_t index)
{
	struct leaf *full = GET(table.leaf[index]), *fresh = leaf_new();
	int err;

	if (!fresh)
		return -ENOMEM;
	for (uint32_t i = LEAF / 2; i < LEAF; i++)
		SET(fresh->node[i - LEAF / 2], GET(full->node[i]));
	SET(fresh->count, LEAF - LEAF / 2);
	err = insert_leaf(index + 1, fresh);
	if (err) {
		fresh->next = table.unused_leaves;
		table.unused_leaves = fresh;
		return err;
	}
	SET(full->count, LEAF / 2);
	return 0;
}

/* A leaf with room where the address belongs. */
static int leaf_for(uint64_t address, struct leaf **ret_leaf)
{
	uint32_t index;
	int err = 0;

	if (GET(table.leaves) == 0) {
		*ret_leaf = leaf_new();
		return *ret_leaf ? insert_leaf(0, *ret_leaf) : -ENOMEM;
	}
	index = find_leaf(address);
	if (GET(GET(table.leaf[index])->count) == LEAF) {
		err = split_leaf(index);
		index = find_leaf(address);
	}
	*ret_leaf = GET(table.leaf[index]);
	return err;
}

static bool overlaps(uint64_t base, uint64_t size)
{
	struct memory_node *next = memory_table_next(base);

	return next && GET(next->base) < base + size;
}

int memory_table_insert(struct memory_node *node)
{
	uint64_t base = GET(node->base);
	struct leaf *leaf;
	int err = make_room();

	if (err)
		return err;
	if (overlaps(base, GET(node->size)))
		return -EEXIST;
	write_begin();
	err = leaf_for(base, &leaf);
	if (!err) {
		uint32_t slot = find_slot(leaf, base), count = GET(leaf->count);

		for (uint32_t i = count; i > slot; i--)
			SET(leaf->node[i], GET(leaf->node[i - 1]));
		SET(leaf->node[slot], node);
		SET(leaf->count, count + 1);
	}
	write_end();
	return err;
}

static void remove_leaf(uint32_t index)
{
	uint32_t leaves = GET(table.leaves);
	struct leaf *leaf = GET(table.leaf[index]);

	for (uint32_t i = index + 1; i < leaves; i++)
		SET(table.leaf[i - 1], GET(table.leaf[i]));
	SET(table.leaves, leaves - 1);
	leaf->next = table.unused_leaves;
	table.unused_leaves = leaf;
}

void memory_table_remove(struct memory_node *node)
{
	uint64_t base = GET(node->base);
	uint32_t index = find_leaf(base);
	struct leaf *leaf = GET(table.leaf[index]);
	uint32_t slot = find_slot(leaf, base), count = GET(leaf->count);

	write_begin();
	for (uint32_t i = slot; i < count; i++)
		SET(leaf->node[i - 1], GET(leaf->node[i]));
	SET(leaf->count, count - 1);
	if (count == 1)
		remove_leaf(index);
	write_end();
}

void memory_table_set_access(struct memory_node *node, bool writable)
{
	write_begin();
	SET(node->writable, writable);
	write_end();
}
