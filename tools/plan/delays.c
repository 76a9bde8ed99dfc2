/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/delays.h"

#include <errno.h>
#include <stdlib.h>

/* All there are, while they are summed: more than a result keeps. */
struct delays {
	struct run_delay *item;
	uint32_t count, room;
};

static struct run_delay *delay_of(struct delays *delays, uint32_t server, uint32_t proc,
				  uint32_t key)
{
	struct run_delay *item;

	for (uint32_t i = 0; i < delays->count; i++) {
		item = &delays->item[i];
		if (item->proc == proc && item->key == key)
			return item;
	}
	if (delays->count == delays->room) {
		uint32_t room = delays->room ? delays->room * 2 : 64;

		item = realloc(delays->item, room * sizeof(*item));
		if (!item)
			return NULL;
		delays->item = item;
		delays->room = room;
	}
	item = &delays->item[delays->count++];
	*item = (struct run_delay){.server = server, .proc = proc, .key = key};
	return item;
}

static int compare(const void *a, const void *b)
{
	const struct run_delay *left = a, *right = b;

	if (left->total_ns != right->total_ns)
		return left->total_ns > right->total_ns ? -1 : 1;
	if (left->server != right->server)
		return left->server < right->server ? -1 : 1;
	if (left->proc != right->proc)
		return left->proc < right->proc ? -1 : 1;
	return left->key < right->key ? -1 : left->key > right->key;
}

/* The largest of both; what does not fit is dropped from the end. */
static void keep_largest(struct run_result *result, const struct delays *delays)
{
	for (uint32_t i = 0; i < delays->count; i++) {
		struct run_delay *last = &result->delay[RUN_MAX_DELAYS - 1];

		if (result->delays < RUN_MAX_DELAYS)
			result->delay[result->delays++] = delays->item[i];
		else if (compare(&delays->item[i], last) < 0)
			*last = delays->item[i];
		if (result->delays == RUN_MAX_DELAYS)
			delays_sort(result);
	}
}

/* By the target's own measure: a service may be slow in a request that arrives in time. */
static bool is_late(const struct world_record *record, const struct world_service *service,
		    const struct run_tenant *tenant, bool from_arrival)
{
	const struct world_request *request = &record->request[service->request];

	if (!tenant->target_ns || service->request >= record->requests)
		return false;
	return from_arrival ? request->end_ns - request->arrival_ns > tenant->target_ns
			    : service->end_ns - service->start_ns > tenant->target_ns;
}

int delays_add(const struct world_record *record, uint32_t server, uint32_t warmup,
	       const struct run_tenant *tenant, bool from_arrival, struct run_result *result)
{
	uint64_t median_ns = tenant->service_alone.p50_ns;
	struct delays delays = {0};

	for (uint32_t i = 0; i < record->services; i++) {
		const struct world_service *service = &record->service[i];
		uint64_t took_ns = service->end_ns - service->start_ns;
		struct run_delay *delay;

		if (service->request < warmup || took_ns <= median_ns)
			continue;
		delay = delay_of(&delays, server, service->met_proc, service->met_key);
		if (!delay) {
			free(delays.item);
			return -ENOMEM;
		}
		delay->count++;
		delay->late += is_late(record, service, tenant, from_arrival);
		delay->total_ns += took_ns - median_ns;
		if (took_ns - median_ns > delay->worst_ns)
			delay->worst_ns = took_ns - median_ns;
	}
	keep_largest(result, &delays);
	free(delays.item);
	return 0;
}

void delays_sort(struct run_result *result)
{
	qsort(result->delay, result->delays, sizeof(result->delay[0]), compare);
}
