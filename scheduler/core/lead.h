/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_LEAD_H
#define CORE_LEAD_H

/*
 * Side by side, for devices on which processes overlap (MPS): every gate is open with a window of
 * its own, and a tenant may run ahead of the slowest one, in virtual time, by a lead. Only who was
 * held since the last look counts as slowest: a tenant that was never held takes all it wants, and
 * nobody need wait for it. Nor is one waited for that is held and has room, and uses less than nine
 * tenths of its share: it is charged as if it did.
 */

#include "entitle.h"
#include "state.h"

#define LEAD_NS 4000000ull

struct lead_terms {
	uint64_t window_ns, guard_ns;
	gate_filter member;
};

void lead_decide(struct engine *engine, struct device *device, const struct lead_terms *terms,
		 uint64_t now_ns);

#endif
