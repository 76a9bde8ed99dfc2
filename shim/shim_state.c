/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state itself and its flags, apart from what brings it about.
 */
#include "shim.h"

struct shim shim = {.flags = SHIM_UNREADY};
_Thread_local struct shim_thread shim_thread;

void shim_set_flags(uint32_t set, uint32_t clear)
{
	uint32_t old = shim_flags();

	while (!atomic_compare_exchange_weak_explicit(&shim.flags, &old, (old | set) & ~clear,
						      memory_order_acq_rel, memory_order_relaxed))
		continue;
}

void shim_capture_opened(void)
{
	atomic_fetch_add_explicit(&shim.captures_open, 1, memory_order_acq_rel);
	shim_set_flags(SHIM_CAPTURES, 0);
}

void shim_capture_closed(void)
{
	uint32_t open = atomic_load_explicit(&shim.captures_open, memory_order_relaxed);

	while (open &&
	       !atomic_compare_exchange_weak_explicit(&shim.captures_open, &open, open - 1,
						      memory_order_acq_rel, memory_order_relaxed))
		continue;
	if (open > 1)
		return;
	shim_set_flags(0, SHIM_CAPTURES);
	/* One may have been opened between the two. */
	if (atomic_load_explicit(&shim.captures_open, memory_order_acquire))
		shim_set_flags(SHIM_CAPTURES, 0);
}
