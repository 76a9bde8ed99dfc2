/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `share`: everyone by weight, within gpu.min and gpu.max; latency targets are not looked at.
 * Start-time fair queueing (Goyal, Vin, Cheng 1996) over GPU time used, in turns where processes
 * cannot overlap, or had better not (pairs.h), side by side with a bounded lead where they can.
 *
 * The window keeps a process from queueing ahead more than it could give back at once; one alone
 * on its device has no window.
 */

#include "lead.h"
#include "turns.h"

#define SHARE_WINDOW_NS 2000000ull

static bool share_member(const struct gate *gate)
{
	return gate_is_managed(gate);
}

static bool share_has_turns(const struct device *device)
{
	return (!device->record.mps && device->gates > 1) || pairs_are_in_turns(device);
}

static void share_decide(struct engine *engine, struct device *device, uint64_t now_ns)
{
	uint64_t window_ns = device->gates > 1 ? SHARE_WINDOW_NS : CORE_NO_LIMIT;

	pairs_look(engine, device, share_member, now_ns);
	if (device->record.mps && !pairs_take_turns(engine, device, now_ns)) {
		struct lead_terms terms = {.window_ns = window_ns, .member = share_member};

		lead_decide(engine, device, &terms, now_ns);
	} else {
		struct turn_terms terms = {
			.window_ns = window_ns, .member = share_member, .copies_pass = true};

		turns_decide(engine, device, &terms, now_ns);
		pairs_watch(device, now_ns);
	}
}

const struct policy policy_share = {
	.name = "share",
	.decide = share_decide,
	.has_turns = share_has_turns,
};
