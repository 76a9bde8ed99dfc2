/* SPDX-License-Identifier: Apache-2.0 */
#include "mem.h"

#include <stddef.h>

#include "addrtable.h"
#include "escrow_client.h"
#include "mem_context.h"
#include "mem_vmm.h"
#include "shim_log.h"

_Static_assert(SHIM_MAX_ORDINALS <= 256 && MEM_CONTEXTS < (1u << 16), "fields of a booked charge");

/* {units:32, context:16, ordinal:8, kind:8} */
static struct addrtable addresses;
static struct addrtable arrays;

static struct addrtable *table_of(enum mem_kind kind)
{
	return kind == MEM_ARRAY ? &arrays : &addresses;
}

static uint64_t charge_pack(const struct mem_charge *charge)
{
	return (uint64_t)charge->units << 32 | (uint64_t)charge->context << 16 |
	       (uint64_t)charge->device->ordinal << 8 | (uint64_t)charge->kind;
}

static uint32_t packed_context(uint64_t value)
{
	return (uint32_t)value >> 16;
}

static struct mem_charge charge_unpack(uint64_t value)
{
	return (struct mem_charge){.units = (uint32_t)(value >> 32),
				   .context = packed_context(value),
				   .device = &shim.device[value >> 8 & 0xff],
				   .kind = (enum mem_kind)(value & 0xff)};
}

struct mem_place mem_place_current(void)
{
	struct mem_place place = {0};
	CUdevice ordinal;

	if (mem_context_current(&place.context, &ordinal))
		place.device = shim_device(ordinal);
	return place;
}

CUresult mem_charge(struct mem_charge *charge, enum mem_kind kind, struct mem_place place,
		    uint64_t bytes)
{
	*charge = (struct mem_charge){.device = place.device,
				      .context = kind == MEM_POOL ? 0 : place.context,
				      .kind = kind};
	if (!place.device)
		return CUDA_SUCCESS;
	charge->units = sluice_escrow_units(bytes);
	return escrow_reserve(charge->device, charge->units) ? CUDA_ERROR_OUT_OF_MEMORY
							     : CUDA_SUCCESS;
}

CUresult mem_recharge(struct mem_charge *charge, uint64_t bytes)
{
	uint32_t units = sluice_escrow_units(bytes);

	if (!charge->device)
		return CUDA_SUCCESS;
	if (units > charge->units && escrow_reserve(charge->device, units - charge->units))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (units < charge->units)
		escrow_release(charge->device, charge->units - units);
	charge->units = units;
	return CUDA_SUCCESS;
}

void mem_refund(struct mem_charge *charge)
{
	if (charge->device)
		escrow_release(charge->device, charge->units);
	charge->units = 0;
}

static void give_back(uint64_t value)
{
	struct mem_charge charge = charge_unpack(value);

	mem_refund(&charge);
}

void mem_book(const struct mem_charge *charge, uint64_t address)
{
	uint64_t old = 0;

	if (!charge->device)
		return;
	if (addrtable_replace(table_of(charge->kind), address, charge_pack(charge), &old))
		shim_log(SHIM_LOG_ERROR, "no memory for books: %lu bytes stay charged",
			 (unsigned long)charge->units * SLUICE_ESCROW_UNIT);
	/* The driver gives an address again as soon as its context is gone, which may be before the
	 * context is swept out of the books; and some ends it does not tell us. */
	give_back(old);
}

void mem_unbook(struct mem_charge *charge, enum mem_kind kind, uint64_t address)
{
	uint64_t value;

	*charge = (struct mem_charge){0};
	if (addrtable_take(table_of(kind), address, &value))
		*charge = charge_unpack(value);
}

void mem_settle(struct mem_charge *charge, CUresult result, uint64_t address)
{
	if (!charge->device)
		return;
	if (result == CUDA_SUCCESS)
		mem_refund(charge);
	else
		mem_book(charge, address);
}

static bool drop_context(uint64_t key, uint64_t value, void *context)
{
	if ((value & 0xff) == MEM_POOL || packed_context(value) != *(const uint32_t *)context)
		return false;
	give_back(value);
	return true;
}

static bool drop_pool(uint64_t key, uint64_t value, void *ordinal)
{
	if ((value & 0xff) != MEM_POOL || (value >> 8 & 0xff) != *(const uint32_t *)ordinal)
		return false;
	give_back(value);
	return true;
}

void mem_context_gone(uint32_t context)
{
	if (!context)
		return;
	addrtable_sweep(&addresses, drop_context, &context);
	addrtable_sweep(&arrays, drop_context, &context);
}

void mem_device_gone(uint32_t ordinal)
{
	mem_context_each_primary((CUdevice)ordinal, mem_context_gone);
	addrtable_sweep(&addresses, drop_pool, &ordinal);
}

void mem_forked(void)
{
	addrtable_forget(&addresses);
	addrtable_forget(&arrays);
	mem_context_forked();
	mem_vmm_forked();
}
