/* SPDX-License-Identifier: Apache-2.0 */
#include "mem_vmm.h"

#include "addrtable.h"

#define REFS_BITS 24
#define REFS_MASK ((1ull << REFS_BITS) - 1)

/* handle -> {number:40, handle references:24} */
static struct addrtable handles;
/* number -> {units:32, ordinal:8, references of handles and mappings:24} */
static struct addrtable allocations;
/* address -> number (0: not ours), address -> bytes */
static struct addrtable mapping_numbers;
static struct addrtable mapping_bytes;

static _Atomic uint64_t last_number;

void mem_vmm_created(const struct mem_charge *charge, uint64_t handle)
{
	uint64_t number;

	if (!charge->device)
		return;
	number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
	if (addrtable_put(&allocations, number,
			  (uint64_t)charge->units << 32 |
				  (uint64_t)charge->device->ordinal << REFS_BITS | 1))
		return;
	(void)addrtable_put(&handles, handle, number << REFS_BITS | 1);
}

/* One reference less; with the last the charge goes back. */
static void allocation_unref(uint64_t number)
{
	struct mem_charge charge = {0};
	uint64_t value;

	if (!number || !addrtable_unref(&allocations, number, REFS_MASK, &value) ||
	    (value & REFS_MASK))
		return;
	charge.units = (uint32_t)(value >> 32);
	charge.device = &shim.device[value >> REFS_BITS & 0xff];
	mem_refund(&charge);
}

struct containing {
	uint64_t address;
	uint64_t start; /* 0: none found */
};

static bool visit_mapping(uint64_t start, uint64_t bytes, void *context)
{
	struct containing *search = context;

	if (search->address >= start && search->address - start < bytes)
		search->start = start;
	return false;
}

/* The number of the allocation that is mapped around the address. */
static uint64_t number_at(uint64_t address)
{
	struct containing search = {.address = address};
	uint64_t number = 0;

	if (!address)
		return 0;
	if (addrtable_find(&mapping_numbers, address, &number))
		return number;
	addrtable_sweep(&mapping_bytes, visit_mapping, &search);
	if (search.start)
		(void)addrtable_find(&mapping_numbers, search.start, &number);
	return number;
}

void mem_vmm_again(uint64_t handle, uint64_t address)
{
	uint64_t value, number;

	if (addrtable_find(&handles, handle, &value)) {
		if (addrtable_add(&handles, handle, 1))
			(void)addrtable_add(&allocations, value >> REFS_BITS, 1);
		return;
	}
	/* All its handles had been released, and it lived on by its mapping. */
	number = number_at(address);
	if (number && addrtable_add(&allocations, number, 1))
		(void)addrtable_put(&handles, handle, number << REFS_BITS | 1);
}

uint64_t mem_vmm_releasing(uint64_t handle)
{
	uint64_t value;

	return addrtable_unref(&handles, handle, REFS_MASK, &value) ? value >> REFS_BITS : 0;
}

void mem_vmm_not_released(uint64_t handle, uint64_t number)
{
	if (number && !addrtable_add(&handles, handle, 1))
		(void)addrtable_put(&handles, handle, number << REFS_BITS | 1);
}

void mem_vmm_released(uint64_t number)
{
	allocation_unref(number);
}

void mem_vmm_mapped(uint64_t address, uint64_t bytes, uint64_t handle)
{
	uint64_t value = 0;

	/* What is not ours is remembered too, so that an unmap over several finds its way. */
	if (addrtable_find(&handles, handle, &value))
		(void)addrtable_add(&allocations, value >> REFS_BITS, 1);
	(void)addrtable_put(&mapping_numbers, address, value >> REFS_BITS);
	(void)addrtable_put(&mapping_bytes, address, bytes);
}

void mem_vmm_unmapped(uint64_t address, uint64_t bytes)
{
	uint64_t end = address + bytes;
	uint64_t number, length;

	while (address < end && addrtable_take(&mapping_bytes, address, &length)) {
		if (addrtable_take(&mapping_numbers, address, &number))
			allocation_unref(number);
		address += length;
	}
}

void mem_vmm_forked(void)
{
	addrtable_forget(&handles);
	addrtable_forget(&allocations);
	addrtable_forget(&mapping_numbers);
	addrtable_forget(&mapping_bytes);
}
