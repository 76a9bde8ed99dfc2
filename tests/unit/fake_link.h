/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_LINK_H
#define FAKE_LINK_H

/*
 * A session without an arbiter behind it, for tests of what asks it for memory: all of link.h but
 * link_mem_request and link_mem_query, which the test defines. Include once in a program.
 */

#include "link.h"
#include "shim.h"
#include "sluice/escrow.h"

#include <errno.h>
#include <stddef.h>

/* What is called with a device that nobody has registered; counts. */
static unsigned int fake_registrations;

int link_attach(void)
{
	return -ENOENT;
}

const char *link_why(int error)
{
	return NULL;
}

int link_device_register(uint32_t ordinal)
{
	fake_registrations++;
	return -ENODEV;
}

uint64_t link_patience_ns(void)
{
	return 0;
}

bool link_is_up(void)
{
	return true;
}

void link_forked(void)
{
}

enum link_state link_tick(uint32_t device_index, uint64_t now_ns)
{
	return LINK_UP;
}

bool link_counts_ranges(void)
{
	return false;
}

uint64_t link_hold_ns(void)
{
	return 0;
}

bool link_want(uint32_t device_index, uint64_t cost_ns)
{
	return true;
}

uint64_t link_target_ns(void)
{
	return 0;
}

bool link_channel(void **ret_base, size_t *ret_bytes)
{
	return false;
}

/* Attached, with that device under management and its account in `word`. */
static inline struct shim_device *fake_device(uint32_t ordinal, _Atomic uint64_t *word)
{
	struct shim_device *device = &shim.device[ordinal];

	atomic_store(&shim.flags, 0);
	*device = (struct shim_device){.ordinal = ordinal, .index = ordinal};
	atomic_store(&device->escrow, word);
	atomic_store(&device->state, SHIM_DEVICE_MANAGED);
	return device;
}

#endif
