/* SPDX-License-Identifier: Apache-2.0 */
#include "keep.h"

/* So often, on average, is activity looked at while it keeps somebody out. */
#define LOOK_NS 2000000ull
#define KEPT_MAX_NS (1ull << 62)

/* Does the gate's activity, or the guard after it, hold the others now? */
static bool keep_holds(const struct gate *gate, uint64_t guard_ns, uint64_t now_ns)
{
	uint64_t idle_since_ns = gate->usage.idle_since_ns;

	if (!gate->told_counts || gate->usage.active)
		return gate->told_counts;
	/* A time in the future is a lie that holds them all the same. */
	return idle_since_ns > now_ns || (idle_since_ns && now_ns - idle_since_ns < guard_ns);
}

/* Its tenant's activity holds, or does not, at `now_ns`: so it did since the look before. */
static void keep_charge(struct share *share, bool holds, bool counted, uint64_t now_ns)
{
	if (counted && holds && share->looked_ns && share->kept_ns < KEPT_MAX_NS)
		share->kept_ns += now_ns - share->looked_ns;
	share->looked_ns = now_ns;
}

void keep_round(struct engine *engine, struct device *device, gate_filter filter, uint64_t now_ns)
{
	bool read[CORE_MAX_TENANTS] = {false}, holds[CORE_MAX_TENANTS] = {false};
	bool counted = device->keeps_out, looks = now_ns >= device->look_at_ns;
	bool held = false;
	uint64_t guard_ns = 0;

	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];

		if (!filter(gate))
			continue;
		held |= entitle_is_short(gate->share, now_ns);
		if (gate->told_any && gate->told.guard_ns > guard_ns)
			guard_ns = gate->told.guard_ns;
	}
	device->keeps_out = false;
	for (uint32_t i = 0; i < device->gates; i++) {
		struct gate *gate = device->gate[i];
		uint32_t tenant = gate->process->tenant->index;

		if (filter(gate) || !gate->process->latency)
			continue;
		device->keeps_out = held;
		/* What was read before says nothing about now; nor does what was read when its owner
		 * may have known. */
		if (!looks || gate->read_ns != now_ns)
			continue;
		read[tenant] = true;
		holds[tenant] |= keep_holds(gate, guard_ns, now_ns);
	}
	for (uint32_t t = 0; t < engine->tenants; t++) {
		if (read[t])
			keep_charge(&engine->tenant[t]->on[device->index], holds[t], counted,
				    now_ns);
	}
}

void keep_look(struct device *device, uint64_t now_ns)
{
	if (!device->keeps_out)
		return;
	if (now_ns >= device->look_at_ns) {
		/* The same at each replay of the same events. */
		device->look_random =
			device->look_random * 1664525u + 1013904223u + (uint32_t)now_ns;
		device->look_at_ns = now_ns + LOOK_NS / 2 + (device->look_random >> 8) % LOOK_NS;
	}
	if (device->look_at_ns < device->next_ns)
		device->next_ns = device->look_at_ns;
}
