/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds, one lane at a time: what the quick way in isa_memory.inc could not vouch for. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <string.h>

static const char *mnemonic(const struct warp *w, const struct insn *in)
{
	return w->run->module->names + in->name;
}

static bool range_allows(const struct range *range, uint64_t address, uint32_t bytes,
			 enum access access)
{
	return address >= range->low && address < range->high && range->high - address >= bytes &&
	       (access == ACCESS_READ || range->is_writable);
}

/* A range that was learnt by reading may turn out to be writable: it is then known as such. */
static void range_keep(struct run *r, const struct range *range)
{
	for (uint32_t i = 0; i < r->ranges; i++) {
		if (r->range[i].low == range->low && r->range[i].high == range->high) {
			r->range[i].is_writable |= range->is_writable;
			return;
		}
	}
	if (r->ranges < RANGES) {
		r->range[r->ranges++] = *range;
		return;
	}
	r->range[r->next_range] = *range;
	r->next_range = (r->next_range + 1) % RANGES;
}

bool memory_check(struct run *r, uint64_t address, uint32_t bytes, enum access access)
{
	const struct ptx_memory *memory = r->launch->memory;
	struct range found = {.is_writable = access == ACCESS_WRITE};

	for (uint32_t i = 0; i < r->ranges; i++) {
		if (range_allows(&r->range[i], address, bytes, access))
			return true;
	}
	if (r->workspace && address - (uintptr_t)r->workspace <= WORKSPACE_BYTES - bytes)
		return true;
	if (address + bytes < address ||
	    !memory->check(memory->arg, address, bytes, access == ACCESS_WRITE, &found.low,
			   &found.high) ||
	    !range_allows(&found, address, bytes, access))
		return false;
	range_keep(r, &found);
	return true;
}

/* Generic addresses may be shared memory, the lane's own local memory, or parameters. */
static bool is_block_memory(const struct warp *w, uint32_t lane, uint64_t address, uint32_t bytes,
			    enum access access)
{
	const struct block *block = w->block;
	const struct run *r = w->run;
	uint64_t local = (uint64_t)(uintptr_t)w->local_start + w->local_stride * lane;
	uint64_t params = (uint64_t)(uintptr_t)r->params;

	if (address >= (uintptr_t)block->shared &&
	    address - (uintptr_t)block->shared < block->shared_bytes)
		return block->shared_bytes - (address - (uintptr_t)block->shared) >= bytes;
	if (address - local < w->local_stride)
		return w->local_stride - (address - local) >= bytes;
	return access == ACCESS_READ && address - params < r->fn->info.param_bytes &&
	       r->fn->info.param_bytes - (address - params) >= bytes;
}

static void fault_address(struct warp *w, const struct insn *in, uint32_t lane, uint64_t address,
			  uint32_t bytes)
{
	fault_at(w, in, lane, PTX_ILLEGAL_ADDRESS,
		 "%s in line %u: 0x%llx (%u bytes) is no memory "
		 "of the kernel's",
		 mnemonic(w, in), in->line, (unsigned long long)address, bytes);
}

static void fault_alignment(struct warp *w, const struct insn *in, uint32_t lane, uint64_t address,
			    uint32_t bytes)
{
	fault_at(w, in, lane, PTX_MISALIGNED, "%s in line %u: 0x%llx is not a multiple of %u",
		 mnemonic(w, in), in->line, (unsigned long long)address, bytes);
}

bool memory_check_lanes(struct warp *w, const struct insn *in, const uint64_t *address,
			uint32_t bytes, enum access access, bool generic)
{
	struct run *r = w->run;

	FOR_LANES(lane, w->mask)
	{
		if (address[lane] & (bytes - 1)) {
			fault_alignment(w, in, lane, address[lane], bytes);
			return false;
		}
		if (generic && is_block_memory(w, lane, address[lane], bytes, access))
			continue;
		if (!memory_check(r, address[lane], bytes, access)) {
			fault_address(w, in, lane, address[lane], bytes);
			return false;
		}
		r->global_bytes += bytes;
	}
	return true;
}

bool memory_check_local(struct warp *w, const struct insn *in, const uint64_t *address,
			uint32_t bytes)
{
	FOR_LANES(lane, w->mask)
	{
		uint64_t low = (uint64_t)(uintptr_t)w->local_start + w->local_stride * lane;

		if (address[lane] & (bytes - 1)) {
			fault_alignment(w, in, lane, address[lane], bytes);
			return false;
		}
		if (address[lane] - low > w->local_stride - bytes) {
			fault_at(w, in, lane, PTX_ILLEGAL_ADDRESS,
				 "%s in line %u: 0x%llx is not in the thread's local memory",
				 mnemonic(w, in), in->line, (unsigned long long)address[lane]);
			return false;
		}
	}
	return true;
}

bool memory_check_shared(struct warp *w, const struct insn *in, const uint64_t *offset,
			 uint32_t bytes)
{
	uint64_t size = w->block->shared_bytes;

	FOR_LANES(lane, w->mask)
	{
		if (size < bytes || offset[lane] > size - bytes) {
			fault_at(w, in, lane, PTX_ILLEGAL_ADDRESS,
				 "%s in line %u: shared offset 0x%llx (%u bytes), the block has "
				 "0x%llx",
				 mnemonic(w, in), in->line, (unsigned long long)offset[lane], bytes,
				 (unsigned long long)size);
			return false;
		}
		if (offset[lane] & (bytes - 1)) {
			fault_alignment(w, in, lane, offset[lane], bytes);
			return false;
		}
	}
	return true;
}

bool memory_read(struct warp *w, const struct insn *in, uint32_t lane, uint64_t address,
		 void *ret_bytes, uint32_t bytes)
{
	if (!is_block_memory(w, lane, address, bytes, ACCESS_READ) &&
	    !memory_check(w->run, address, bytes, ACCESS_READ)) {
		fault_address(w, in, lane, address, bytes);
		return false;
	}
	memcpy(ret_bytes, (const void *)(uintptr_t)address, bytes);
	return true;
}

bool memory_read_string(struct warp *w, const struct insn *in, uint32_t lane, uint64_t address,
			char *ret_text, uint32_t room)
{
	for (uint32_t i = 0; i < room; i++) {
		if (!memory_read(w, in, lane, address + i, &ret_text[i], 1))
			return false;
		if (!ret_text[i])
			return true;
	}
	ret_text[room - 1] = 0;
	return true;
}
