/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch unit is called, and which of the latest is the longest: for status and `why`.
 */
#include <string.h>

#include "kernel.h"
#include "launch.h"

void launch_longest(uint64_t in_flight_ns, struct launch_unit *ret_unit)
{
	uint64_t sum_ns = 0;

	*ret_unit = (struct launch_unit){0};
	for (uint32_t i = 1; i <= LAUNCH_RECENT && sum_ns < in_flight_ns; i++) {
		uint32_t number =
			launch_thread.recent[(launch_thread.recents - i) & (LAUNCH_RECENT - 1)];
		struct predict_entry *entry;
		uint32_t cost_ns;

		if (!number || number > PREDICT_SLOTS)
			break;
		entry = &launch_predict.entry[number - 1];
		cost_ns = predict_cost_ns(entry);
		sum_ns += cost_ns;
		ret_unit->launches++;
		if (cost_ns <= ret_unit->cost_ns)
			continue;
		ret_unit->cost_ns = cost_ns;
		ret_unit->key = predict_stat_of(&launch_predict, entry)->key;
	}
}

void launch_name(struct sample_what what, char *ret_name, size_t size)
{
	static const char *const names[] = {
		[PREDICT_KERNEL] = "a kernel",
		[PREDICT_GRAPH] = "a graph",
		[PREDICT_COPY_TO_DEVICE] = "a copy in",
		[PREDICT_COPY_TO_HOST] = "a copy out",
		[PREDICT_COPY_DEVICE] = "a copy",
		[PREDICT_COPY_PEER] = "a peer copy",
		[PREDICT_COPY] = "a copy",
		[PREDICT_MEMSET] = "a memset",
		[PREDICT_PREFETCH] = "a prefetch",
		[PREDICT_DECOMPRESS] = "a decompression",
	};
	const char *name = what.kind == PREDICT_KERNEL ? kernel_name(what.handle) : NULL;
	size_t length;

	if (!name)
		name = names[what.kind];
	length = strnlen(name, size - 1);
	memset(ret_name, 0, size);
	memcpy(ret_name, name, length);
}
