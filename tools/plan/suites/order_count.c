/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/order_count.h"

void order_count_add(const struct world_record *record, uint32_t warmup, uint64_t target_ns,
		     uint64_t alone_ns, struct order_count *count)
{
	for (uint32_t i = warmup; i < record->requests; i++) {
		const struct world_request *request = &record->request[i];
		uint64_t took_ns = request->end_ns - request->arrival_ns;

		count->finished++;
		count->on_time += took_ns <= target_ns;
		count->turnaround +=
			(double)took_ns * 1000 / request->work_permille / (double)alone_ns;
	}
	if (record->requests + record->unfinished > warmup)
		count->arrived += record->requests + record->unfinished - warmup;
}

double order_count_late(const struct order_count *count)
{
	return count->arrived ? 1 - (double)count->on_time / count->arrived : 0;
}

double order_count_turnaround(const struct order_count *count)
{
	return count->finished ? count->turnaround / count->finished : 0;
}
