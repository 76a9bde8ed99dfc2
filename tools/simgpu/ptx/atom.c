/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations, on the host's own, since other threads run other blocks of the grid; and
 * loads and stores that order memory or are volatile. */
#include "ptx/atom.h"

#include <string.h>

#define ATOMIC_FETCH(name, type, builtin) \
	static void name(void *address, uint64_t b, uint64_t c, uint64_t *ret_old) \
	{ \
		*ret_old = builtin((type *)address, (type)b, __ATOMIC_SEQ_CST); \
	}
/* What the host has no instruction for: compute, then compare and swap until it holds. */
#define ATOMIC_LOOP(name, type, expr) \
	static void name(void *address, uint64_t b_bits, uint64_t c_bits, uint64_t *ret_old) \
	{ \
		type *at = address; \
		type old = __atomic_load_n(at, __ATOMIC_SEQ_CST); \
		type b = (type)b_bits; \
		type next; \
		do \
			next = (type)(expr); \
		while (!__atomic_compare_exchange_n(at, &old, next, true, __ATOMIC_SEQ_CST, \
						    __ATOMIC_SEQ_CST)); \
		*ret_old = old; \
	}
#define ATOMIC_CAS(name, type) \
	static void name(void *address, uint64_t b, uint64_t c, uint64_t *ret_old) \
	{ \
		type old = (type)b; \
		__atomic_compare_exchange_n((type *)address, &old, (type)c, false, \
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
		*ret_old = old; \
	}

static uint32_t add_f32(uint32_t x, uint32_t y)
{
	float a;
	float b;

	memcpy(&a, &x, sizeof(a));
	memcpy(&b, &y, sizeof(b));
	a += b;
	memcpy(&x, &a, sizeof(x));
	return x;
}

static uint64_t add_f64(uint64_t x, uint64_t y)
{
	double a;
	double b;

	memcpy(&a, &x, sizeof(a));
	memcpy(&b, &y, sizeof(b));
	a += b;
	memcpy(&x, &a, sizeof(x));
	return x;
}

ATOMIC_FETCH(add_32, uint32_t, __atomic_fetch_add)
ATOMIC_FETCH(add_64, uint64_t, __atomic_fetch_add)
ATOMIC_FETCH(and_32, uint32_t, __atomic_fetch_and)
ATOMIC_FETCH(and_64, uint64_t, __atomic_fetch_and)
ATOMIC_FETCH(or_32, uint32_t, __atomic_fetch_or)
ATOMIC_FETCH(or_64, uint64_t, __atomic_fetch_or)
ATOMIC_FETCH(xor_32, uint32_t, __atomic_fetch_xor)
ATOMIC_FETCH(xor_64, uint64_t, __atomic_fetch_xor)
ATOMIC_FETCH(exch_32, uint32_t, __atomic_exchange_n)
ATOMIC_FETCH(exch_64, uint64_t, __atomic_exchange_n)
ATOMIC_CAS(cas_16, uint16_t)
ATOMIC_CAS(cas_32, uint32_t)
ATOMIC_CAS(cas_64, uint64_t)
ATOMIC_LOOP(min_u32, uint32_t, old < b ? old : b)
ATOMIC_LOOP(max_u32, uint32_t, old > b ? old : b)
ATOMIC_LOOP(min_s32, uint32_t, (int32_t)old < (int32_t)b ? old : b)
ATOMIC_LOOP(max_s32, uint32_t, (int32_t)old > (int32_t)b ? old : b)
ATOMIC_LOOP(min_u64, uint64_t, old < b ? old : b)
ATOMIC_LOOP(max_u64, uint64_t, old > b ? old : b)
ATOMIC_LOOP(min_s64, uint64_t, (int64_t)old < (int64_t)b ? old : b)
ATOMIC_LOOP(max_s64, uint64_t, (int64_t)old > (int64_t)b ? old : b)
ATOMIC_LOOP(inc_u32, uint32_t, old >= b ? 0 : old + 1)
ATOMIC_LOOP(dec_u32, uint32_t, old == 0 || old > b ? b : old - 1)
ATOMIC_LOOP(add_f32_, uint32_t, add_f32(old, b))
ATOMIC_LOOP(add_f64_, uint64_t, add_f64(old, b))

static const struct atom_row atom_rows[] = {
	{"add", "u32 s32", add_32, 4, 2},
	{"add", "u64 s64", add_64, 8, 2},
	{"add", "f32", add_f32_, 4, 2},
	{"add", "f64", add_f64_, 8, 2},
	{"min", "u32", min_u32, 4, 2},
	{"max", "u32", max_u32, 4, 2},
	{"min", "s32", min_s32, 4, 2},
	{"max", "s32", max_s32, 4, 2},
	{"min", "u64", min_u64, 8, 2},
	{"max", "u64", max_u64, 8, 2},
	{"min", "s64", min_s64, 8, 2},
	{"max", "s64", max_s64, 8, 2},
	{"and", "b32", and_32, 4, 2},
	{"and", "b64", and_64, 8, 2},
	{"or", "b32", or_32, 4, 2},
	{"or", "b64", or_64, 8, 2},
	{"xor", "b32", xor_32, 4, 2},
	{"xor", "b64", xor_64, 8, 2},
	{"exch", "b32 u32 s32", exch_32, 4, 2},
	{"exch", "b64 u64 s64", exch_64, 8, 2},
	{"cas", "b16", cas_16, 2, 3},
	{"cas", "b32 u32 s32", cas_32, 4, 3},
	{"cas", "b64 u64 s64", cas_64, 8, 3},
	{"inc", "u32", inc_u32, 4, 2},
	{"dec", "u32", dec_u32, 4, 2},
};

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; *at;) {
		size_t here = strcspn(at, " ");

		if (here == length && !memcmp(at, word, length))
			return true;
		at += here + (at[here] == ' ');
	}
	return false;
}

const struct atom_row *atom_find(const char *op, const char *type)
{
	for (size_t i = 0; i < sizeof(atom_rows) / sizeof(atom_rows[0]); i++) {
		if (!strcmp(atom_rows[i].op, op) && has_word(atom_rows[i].types, type))
			return &atom_rows[i];
	}
	return NULL;
}

/* ---- handlers ---- */

static uint64_t lane_get(const struct warp *w, uint32_t operand, bool wide, uint32_t lane)
{
	if (operand == OPERAND_NONE)
		return 0;
	return wide ? ((const uint64_t *)reg(w, operand))[lane]
		    : ((const uint32_t *)reg(w, operand))[lane];
}

static void lane_put(const struct warp *w, uint32_t operand, bool wide, uint32_t lane,
		     uint64_t value)
{
	if (wide)
		((uint64_t *)reg(w, operand))[lane] = value;
	else
		((uint32_t *)reg(w, operand))[lane] = (uint32_t)value;
}

static void atom_lanes(struct warp *w, const struct insn *in, const uint64_t *address)
{
	bool wide = (in->n & MEM_BYTES) == 8;

	FOR_LANES(lane, w->mask)
	{
		uint64_t old;

		in->aux.atomic((void *)(uintptr_t)address[lane], lane_get(w, in->b, wide, lane),
			       lane_get(w, in->c, wide, lane), &old);
		if (in->d != OPERAND_NONE)
			lane_put(w, in->d, wide, lane, old);
	}
}

HANDLER(mem_atom)
{
	const uint64_t *base = reg(w, in->a);
	uint64_t address[LANES];

	FOR_LANES(lane, w->mask)
	address[lane] = base[lane] + (uint64_t)in->imm;
	if (!memory_check_lanes(w, in, address, in->n & MEM_BYTES, ACCESS_WRITE,
				in->n & MEM_GENERIC))
		return LEAVE;
	warp_poll(w);
	atom_lanes(w, in, address);
	return in + 1;
}

HANDLER(mem_atom_shared)
{
	uint64_t address[LANES];

	FOR_LANES(lane, w->mask)
	address[lane] =
		(uint32_t)(lane_get(w, in->a, in->n & MEM_GENERIC, lane) + (uint64_t)in->imm);
	if (!memory_check_shared(w, in, address, in->n & MEM_BYTES))
		return LEAVE;
	FOR_LANES(lane, w->mask)
	address[lane] += (uint64_t)(uintptr_t)w->block->shared;
	warp_poll(w);
	atom_lanes(w, in, address);
	return in + 1;
}

static uint64_t load_acquire(uint64_t address, uint32_t bytes)
{
	const void *at = (const void *)(uintptr_t)address;

	switch (bytes) {
	case 1: return __atomic_load_n((const uint8_t *)at, __ATOMIC_SEQ_CST);
	case 2: return __atomic_load_n((const uint16_t *)at, __ATOMIC_SEQ_CST);
	case 4: return __atomic_load_n((const uint32_t *)at, __ATOMIC_SEQ_CST);
	default: return __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST);
	}
}

static void store_release(uint64_t address, uint32_t bytes, uint64_t value)
{
	void *at = (void *)(uintptr_t)address;

	switch (bytes) {
	case 1: __atomic_store_n((uint8_t *)at, (uint8_t)value, __ATOMIC_SEQ_CST); break;
	case 2: __atomic_store_n((uint16_t *)at, (uint16_t)value, __ATOMIC_SEQ_CST); break;
	case 4: __atomic_store_n((uint32_t *)at, (uint32_t)value, __ATOMIC_SEQ_CST); break;
	default: __atomic_store_n((uint64_t *)at, value, __ATOMIC_SEQ_CST); break;
	}
}

HANDLER(mem_load_strong)
{
	const uint64_t *base = reg(w, in->a);
	uint32_t bytes = in->n & MEM_BYTES;
	uint64_t address[LANES];

	FOR_LANES(lane, w->mask)
	address[lane] = base[lane] + (uint64_t)in->imm;
	if (!memory_check_lanes(w, in, address, bytes, ACCESS_READ, in->n & MEM_GENERIC))
		return LEAVE;
	warp_poll(w);
	FOR_LANES(lane, w->mask)
	{
		uint64_t value = load_acquire(address[lane], bytes);
		unsigned unused = 64 - 8 * bytes;

		if (in->n & MEM_SIGNED)
			value = (uint64_t)((int64_t)(value << unused) >> unused);
		lane_put(w, in->d, in->n & MEM_WIDE, lane, value);
	}
	return in + 1;
}

HANDLER(mem_store_strong)
{
	const uint64_t *base = reg(w, in->a);
	uint32_t bytes = in->n & MEM_BYTES;
	uint64_t address[LANES];

	FOR_LANES(lane, w->mask)
	address[lane] = base[lane] + (uint64_t)in->imm;
	if (!memory_check_lanes(w, in, address, bytes, ACCESS_WRITE, in->n & MEM_GENERIC))
		return LEAVE;
	FOR_LANES(lane, w->mask)
	store_release(address[lane], bytes, lane_get(w, in->b, in->n & MEM_WIDE, lane));
	return in + 1;
}
