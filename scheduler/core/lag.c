/* SPDX-License-Identifier: Apache-2.0 */
#include "lag.h"

#include <stddef.h>

#define LOOK_LEAST_NS 500000ull
#define MEMORY_NS 200000000ull
#define FORGET_NS 1000000000ull
#define ALL (1ll << 20)
#define QUANTUM_RATIO 4u   /* of what is usual at most: others may be far off by a charge */
#define FAR_NS (1ll << 44) /* no further: sums of it fit */

static int64_t lag_from_base_ns(const struct lag *lag, const struct share *share)
{
	int64_t from_ns = (int64_t)(share->virtual_ns - lag->base_ns);

	return from_ns > FAR_NS ? FAR_NS : from_ns < -FAR_NS ? -FAR_NS : from_ns;
}

struct lag lag_survey(const struct engine *engine, const struct device *device)
{
	struct lag lag = {.base_ns = device->virtual_ns};
	int64_t sum = 0;

	for (uint32_t t = 0; t < engine->tenants; t++) {
		const struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device->index] : NULL;
		if (!share || !share->busy)
			continue;
		sum += lag_from_base_ns(&lag, share) * share->entitled_permille;
		lag.weight += share->entitled_permille;
	}
	if (lag.weight)
		lag.mean_ns = sum / lag.weight;
	return lag;
}

int64_t lag_ns(const struct lag *lag, const struct share *share, uint64_t more_ns)
{
	int64_t behind_ns = lag->mean_ns - lag_from_base_ns(lag, share);

	return behind_ns * share->entitled_permille / ENTITLE_WHOLE - (int64_t)more_ns;
}

/* The mean goes along: only what is used beyond the own part of it puts one ahead. */
uint64_t lag_quantum_ns(const struct lag *lag, const struct device *device,
			const struct share *share)
{
	int64_t ahead_ns = (int64_t)lag_ahead_ns(device);
	int64_t room_ns = lag_ns(lag, share, 0) + ahead_ns;
	uint32_t others;

	if (lag->weight <= share->entitled_permille)
		return 0;
	others = lag->weight - share->entitled_permille;
	if (room_ns < ahead_ns / 2)
		room_ns = ahead_ns / 2;
	if (room_ns > ahead_ns * QUANTUM_RATIO)
		room_ns = ahead_ns * QUANTUM_RATIO;
	return (uint64_t)room_ns * lag->weight / others;
}

void lag_look(struct device *device, gate_filter filter, uint64_t now_ns)
{
	uint64_t others_ns = entitle_others_ns(device, filter);
	uint64_t wall_ns = now_ns - device->left_at_ns;

	if (!device->left_at_ns || wall_ns > FORGET_NS) {
		device->left = ALL;
	} else if (wall_ns < LOOK_LEAST_NS) {
		return;
	} else {
		uint64_t left_ns = entitle_unused_ns(wall_ns, others_ns, device->left_others_ns);
		int64_t left = (int64_t)left_ns * ALL / (int64_t)wall_ns;

		device->left +=
			(left - device->left) * (int64_t)wall_ns / (int64_t)(wall_ns + MEMORY_NS);
	}
	device->left_at_ns = now_ns;
	device->left_others_ns = others_ns;
}

uint64_t lag_ahead_ns(const struct device *device)
{
	uint64_t left = (uint64_t)device->left;
	uint64_t ahead_ns = LAG_AHEAD_NS * (left * left / ALL) / ALL;

	return ahead_ns > LAG_LEAST_NS ? ahead_ns : LAG_LEAST_NS;
}
