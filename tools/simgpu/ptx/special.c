/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, addresses of variables that differ by lane, and kernel parameters. */
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <string.h>

#define CYCLES_PER_STEP 4u /* a warp instruction's latency, roughly, on any GPU */

static uint64_t special_clock(const struct warp *w, const struct insn *in)
{
	const struct run *r = w->run;

	return r->launch->clock_ns + r->clock_ahead + warp_clock(w, in) * CYCLES_PER_STEP;
}

/* imm: enum special. Clocks go by instructions that ran, so that a run repeats exactly. */
HANDLER(special_read)
{
	uint64_t value = special_clock(w, in);
	bool wide = in->imm == SPECIAL_CLOCK64 || in->imm == SPECIAL_GLOBALTIMER;

	if (in->imm == SPECIAL_CLOCK_HI || in->imm == SPECIAL_GLOBALTIMER_HI)
		value >>= 32;
	FOR_LANES(lane, w->mask)
	{
		if (wide)
			((uint64_t *)reg(w, in->d))[lane] = value;
		else
			((uint32_t *)reg(w, in->d))[lane] = (uint32_t)value;
	}
	return in + 1;
}

static bool is_in(uint64_t address, const void *start, uint64_t size)
{
	return address - (uint64_t)(uintptr_t)start < size;
}

/* Shared, local and parameter addresses are known; everything else is global, constants too. */
HANDLER(special_isspacep)
{
	const uint64_t *a = reg(w, in->a);
	uint32_t bits = 0;

	FOR_LANES(lane, w->mask)
	{
		bool shared = is_in(a[lane], w->block->shared, w->block->shared_bytes);
		bool local = is_in(a[lane], w->local_start, w->local_stride * LANES);
		bool param = is_in(a[lane], w->run->params, w->run->fn->info.param_bytes);
		bool answer = in->n == SPACEP_SHARED  ? shared
			      : in->n == SPACEP_LOCAL ? local
			      : in->n == SPACEP_PARAM ? param
						      : !shared && !local && !param;

		bits |= (uint32_t)answer << lane;
	}
	pred_write(w, in->d, bits);
	return in + 1;
}

HANDLER(special_local_address)
{
	uint64_t *d = reg(w, in->d);

	FOR_LANES(lane, w->mask)
	d[lane] = (uint64_t)(uintptr_t)w->local + lane * w->local_stride + (uint64_t)in->imm;
	return in + 1;
}

HANDLER(special_param_address)
{
	uint64_t *d = reg(w, in->d);

	FOR_LANES(lane, w->mask)
	d[lane] = (uint64_t)(uintptr_t)w->run->params + (uint64_t)in->imm;
	return in + 1;
}

HANDLER(special_shared_to_generic)
{
	const uint64_t *a = reg(w, in->a);
	uint64_t *d = reg(w, in->d);

	FOR_LANES(lane, w->mask)
	d[lane] = (uint64_t)(uintptr_t)w->block->shared + (uint32_t)a[lane];
	return in + 1;
}

HANDLER(special_generic_to_shared)
{
	const uint64_t *a = reg(w, in->a);
	uint64_t *d = reg(w, in->d);

	FOR_LANES(lane, w->mask)
	d[lane] = (uint32_t)(a[lane] - (uint64_t)(uintptr_t)w->block->shared);
	return in + 1;
}

/* n: bytes, plus 16 for signed, plus 32 for a 64-bit register; imm: offset. The parser has
 * checked offset and alignment. */
HANDLER(special_load_param)
{
	uint32_t bytes = in->n & 15;
	uint64_t value = 0;

	memcpy(&value, w->run->params + in->imm, bytes);
	if (in->n & 16)
		value = (uint64_t)((int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	if (in->n & 32) {
		uint64_t *d = reg(w, in->d);

		FOR_LANES(lane, w->mask)
		d[lane] = value;
	} else {
		uint32_t *d = reg(w, in->d);

		FOR_LANES(lane, w->mask)
		d[lane] = (uint32_t)value;
	}
	return in + 1;
}
