/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "device/segment.h"
#include "driver/memory.h"
#include "driver/pool.h"
#include "driver/space.h"

/* Addresses cost nothing, and buddy blocks waste up to half of them. */
#define MAX_SPAN_ORDER 44
#define MIN_SPAN_ORDER 36
#define MIN_BLOCK_ORDER 9	/* MEMORY_UNIT */
#define RETURN_BYTES (64 << 10) /* free blocks from here on give their pages back to the host */

static struct {
	pthread_mutex_t lock;
	struct space space;
	void *base; /* NULL: not reserved yet */
	_Atomic uint64_t last_id;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

void memory_lock(void)
{
	pthread_mutex_lock(&memory.lock);
}

void memory_unlock(void)
{
	pthread_mutex_unlock(&memory.lock);
}

uint64_t memory_next_id(void)
{
	return atomic_fetch_add_explicit(&memory.last_id, 1, memory_order_relaxed) + 1;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + MEMORY_UNIT - 1) / MEMORY_UNIT * MEMORY_UNIT;
}

/* A forked child keeps none of it: device memory is the parent's. */
static int reserve(unsigned int order)
{
	size_t bytes = (size_t)1 << order;
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	(void)madvise(base, bytes, MADV_DONTFORK);
	(void)madvise(base, bytes, MADV_DONTDUMP);
	if (space_init(&memory.space, (uint64_t)(uintptr_t)base, MIN_BLOCK_ORDER, order)) {
		munmap(base, bytes);
		return -ENOMEM;
	}
	memory.base = base;
	return 0;
}

CUresult memory_start(void)
{
	unsigned int order = MAX_SPAN_ORDER;
	CUresult result = CUDA_SUCCESS;

	memory_lock();
	while (!memory.base && order >= MIN_SPAN_ORDER && reserve(order))
		order--;
	if (!memory.base) {
		fprintf(stderr,
			"simgpu: cannot reserve %u GiB of addresses for device memory: "
			"raise `ulimit -v`\n",
			1u << (MIN_SPAN_ORDER - 30));
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	memory_unlock();
	return result;
}

/* ---- the account ---- */

static int charge_once(struct sim_device *device, uint64_t bytes)
{
	int err;

	segment_lock(device->segment);
	err = model_mem_take(segment_model(device->segment), device->proc, bytes);
	segment_unlock(device->segment);
	return err;
}

CUresult memory_charge(struct sim_device *device, uint64_t bytes)
{
	if (!device->joined)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (charge_once(device, bytes) == 0)
		return CUDA_SUCCESS;
	/* What a killed process held may not have been given back yet. */
	if (segment_reap(device->segment, sim_now_ns(), true) > 0 &&
	    charge_once(device, bytes) == 0)
		return CUDA_SUCCESS;
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void memory_uncharge(struct sim_device *device, uint64_t bytes)
{
	if (!device || bytes == 0)
		return;
	segment_lock(device->segment);
	model_mem_give(segment_model(device->segment), device->proc, bytes);
	segment_unlock(device->segment);
}

/* ---- allocations ---- */

static struct memory_node *new_node(const struct memory_want *want, uint64_t address, bool writable)
{
	struct memory_node *node = memory_table_new();

	if (!node)
		return NULL;
	atomic_store_explicit(&node->base, address, memory_order_release);
	atomic_store_explicit(&node->size, want->bytes, memory_order_release);
	atomic_store_explicit(&node->buffer_id, memory_next_id(), memory_order_release);
	atomic_store_explicit(&node->kind, want->kind, memory_order_release);
	atomic_store_explicit(&node->flags, want->flags, memory_order_release);
	atomic_store_explicit(&node->writable, writable, memory_order_release);
	atomic_store_explicit(&node->context, want->context, memory_order_release);
	node->owner = want->owner;
	return node;
}

/* Locked. NULL: no memory. */
static struct memory_node *place(const struct memory_want *want, struct sim_device *device,
				 uint64_t charged)
{
	struct memory_node *node;
	uint64_t address;

	if (space_take(&memory.space, want->bytes, &address))
		return NULL;
	node = new_node(want, address, true);
	if (node) {
		node->device = device;
		node->charged = charged;
		node->block_bytes = want->bytes;
		if (memory_table_insert(node) == 0)
			return node;
		memory_table_recycle(node);
	}
	(void)space_give(&memory.space, address, want->bytes);
	return NULL;
}

CUresult memory_take_node(const struct memory_want *want, struct memory_node **ret_node)
{
	struct sim_device *device = want->context->device;
	uint64_t charged = want->uncharged ? 0 : round_up(want->bytes);
	CUresult result;

	if (want->bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (want->bytes > UINT64_MAX / 2)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = charged ? memory_charge(device, charged) : CUDA_SUCCESS;
	if (result != CUDA_SUCCESS)
		return result;
	memory_lock();
	*ret_node = place(want, device, charged);
	memory_unlock();
	if (*ret_node)
		return CUDA_SUCCESS;
	memory_uncharge(device, charged);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult memory_take(const struct memory_want *want, uint64_t *ret_address)
{
	struct memory_node *node;
	CUresult result = memory_take_node(want, &node);

	if (result == CUDA_SUCCESS)
		*ret_address = atomic_load_explicit(&node->base, memory_order_relaxed);
	return result;
}

void memory_hide(struct memory_node *node)
{
	memory_lock();
	memory_table_remove(node);
	memory_unlock();
}

CUresult memory_show(struct memory_node *node, uint64_t bytes, struct sim_context *context)
{
	int err;

	memory_lock();
	atomic_store_explicit(&node->size, bytes, memory_order_release);
	atomic_store_explicit(&node->buffer_id, memory_next_id(), memory_order_release);
	atomic_store_explicit(&node->context, context, memory_order_release);
	err = memory_table_insert(node);
	memory_unlock();
	return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult memory_enter(const struct memory_want *want, uint64_t address, bool writable)
{
	struct memory_node *node;
	int err = -ENOMEM;

	memory_lock();
	node = new_node(want, address, writable);
	if (node)
		err = memory_table_insert(node);
	if (node && err)
		memory_table_recycle(node);
	memory_unlock();
	if (err == -EEXIST)
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* The pages of a large block go back to the host, and are zero when next used. */
static void return_pages(uint64_t base, uint64_t bytes)
{
	uint64_t page = 4096, low = (base + page - 1) / page * page;
	uint64_t high = (base + bytes) / page * page;

	if (bytes >= RETURN_BYTES && high > low)
		(void)madvise((void *)(uintptr_t)low, high - low, MADV_DONTNEED);
}

/* Locked. The node is out of the table. */
static void give_block(struct memory_node *node)
{
	uint64_t base = atomic_load(&node->base);

	if (node->block_bytes) {
		return_pages(base, node->block_bytes);
		(void)space_give(&memory.space, base, node->block_bytes);
	}
	memory_table_recycle(node);
}

void memory_give_hidden(struct memory_node *node)
{
	struct sim_device *device = node->device;
	uint64_t charged = node->charged;

	memory_lock();
	give_block(node);
	memory_unlock();
	memory_uncharge(device, charged);
}

CUresult memory_drop(uint64_t address, unsigned int kinds, uint64_t *ret_size)
{
	struct sim_device *device = NULL;
	struct memory_node *node;
	uint64_t charged = 0;

	memory_lock();
	node = memory_table_at(address);
	if (node &&
	    (atomic_load(&node->base) != address || !(kinds & (1u << atomic_load(&node->kind)))))
		node = NULL;
	if (node) {
		*ret_size = atomic_load(&node->size);
		device = node->device;
		charged = node->charged;
		memory_table_remove(node);
		give_block(node);
	}
	memory_unlock();
	memory_uncharge(device, charged);
	return node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The next range of a context at or above an address, that the context owns alone: mappings of
 * the virtual memory calls are the process's. */
static bool next_of_context(struct sim_context *context, uint64_t *address, unsigned int *ret_kind)
{
	struct memory_node *node;
	bool found = false;

	memory_lock();
	while (!found && (node = memory_table_next(*address))) {
		*address = atomic_load(&node->base);
		*ret_kind = atomic_load(&node->kind);
		found = atomic_load(&node->context) == context && *ret_kind != SIM_VMM;
		if (!found)
			*address += atomic_load(&node->size);
	}
	memory_unlock();
	return found;
}

void memory_drop_context(struct sim_context *context)
{
	uint64_t address = 0, size;
	unsigned int kind;

	pool_drop_context(context);
	while (next_of_context(context, &address, &kind)) {
		if (memory_drop(address, 1u << kind, &size) != CUDA_SUCCESS)
			return;
		if (kind == SIM_PINNED)
			munmap((void *)(uintptr_t)address, size);
	}
}

/* ---- what the exec half asks ---- */

CUresult sim_memory_take(struct sim_context *context, uint64_t bytes, enum sim_memory_kind kind,
			 uint64_t *ret_address)
{
	struct memory_want want = {.bytes = bytes, .kind = kind, .context = context};

	return memory_take(&want, ret_address);
}

CUresult sim_memory_drop(uint64_t address)
{
	uint64_t size;

	return memory_drop(address, 1u << SIM_DEVICE | 1u << SIM_MANAGED | 1u << SIM_GLOBAL, &size);
}

bool sim_memory_find(uint64_t address, struct sim_range *ret_range)
{
	bool writable;

	return memory_table_find(address, ret_range, &writable);
}

static bool check(void *arg, uint64_t address, uint32_t size, bool write, uint64_t *ret_low,
		  uint64_t *ret_high)
{
	struct sim_range range;
	bool writable;

	if (!memory_table_find(address, &range, &writable) || (write && !writable))
		return false;
	if (size > range.size - (address - range.base))
		return false;
	/* Of read-only memory no more than this access, since what is returned is kept for writes
	 * too. */
	*ret_low = writable ? range.base : address;
	*ret_high = writable ? range.base + range.size : address + size;
	return true;
}

const struct ptx_memory sim_memory_checker = {.check = check, .arg = NULL};
