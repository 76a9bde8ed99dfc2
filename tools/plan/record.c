/* SPDX-License-Identifier: Apache-2.0 */
/* What a run leaves behind. */

#include <stdlib.h>
#include <string.h>

#include "plan/world_impl.h"

#define VECTOR_MOST (1u << 24)

void *vector_add(struct vector *vector, size_t size)
{
	char *item;

	if (vector->count == vector->room) {
		uint32_t room = vector->room ? vector->room * 2 : 256;

		item = room <= VECTOR_MOST ? realloc(vector->item, room * size) : NULL;
		if (!item)
			return NULL;
		vector->item = item;
		vector->room = room;
	}
	item = (char *)vector->item + vector->count++ * size;
	memset(item, 0, size);
	return item;
}

/* ---- who met whom ---- */

/* What runs of the host now, as one launch unit: how long it still has, by its nominal duration. */
static uint64_t unit_left_ns(const struct world *world, struct host *host, uint64_t *ret_run_ns)
{
	struct flights *flights = &host->flights;
	const struct flight *first = flight_at(flights, flights->done);
	uint64_t start_ns = first->start_ns > host->busy_ns ? first->start_ns : host->busy_ns;
	uint64_t left_ns = 0;

	*ret_run_ns = world->now_ns > start_ns ? world->now_ns - start_ns : 0;
	if (*ret_run_ns > first->nominal_ns)
		*ret_run_ns = first->nominal_ns;
	for (uint32_t i = flights->done; i != flights->sent; i++) {
		left_ns += flight_at(flights, i)->nominal_ns;
		if (flight_at(flights, i)->last)
			break;
	}
	return left_ns - *ret_run_ns;
}

void record_met(const struct world *world, struct world_service *service)
{
	service->met_proc = UINT32_MAX;
	for (uint32_t i = 0; i < world->hosts; i++) {
		struct host *host = world->host[i];
		uint64_t left_ns, run_ns, flight_ns;

		if (host->tenant.latency || !flights_count(&host->flights))
			continue;
		left_ns = unit_left_ns(world, host, &run_ns);
		flight_ns = host->proc.launched_ns - host->ended_ns;
		service->met_ns += flight_ns > run_ns ? flight_ns - run_ns : 0;
		if (service->met_proc != UINT32_MAX && left_ns <= service->met_left_ns)
			continue;
		service->met_proc = i;
		service->met_left_ns = left_ns;
		service->met_key = flight_at(&host->flights, host->flights.done)->what->key;
	}
}

/* ---- progress ---- */

void record_sample(struct world *world)
{
	for (uint32_t i = 0; i < world->hosts; i++) {
		struct host *host = world->host[i];
		uint64_t *sample = vector_add(&host->progress, sizeof(*sample));

		if (sample)
			*sample = host->progress_ns;
	}
	world->sample_ns += world->config.share_ns;
}

void record_start(struct world *world)
{
	world->start_ns = world->now_ns;
	for (uint32_t i = 0; i < world->hosts; i++) {
		struct host *host = world->host[i];

		host->start_progress_ns = host->progress_ns;
		host->start_iterations = host->iterations;
		host->start_held_ns = host->proc.held_ns;
		host->start_launches = host->launches;
		host->start_pieces = host->pieces;
	}
}

void world_get_record(const struct world *world, uint32_t proc, struct world_record *ret_record)
{
	const struct host *host = world->host[proc];
	uint64_t start_ns = world->start_ns < world->now_ns ? world->start_ns : world->now_ns;

	*ret_record = (struct world_record){
		.request = host->request.item,
		.requests = host->finished,
		.service = host->service.item,
		.services = host->service.count,
		.progress_ns = host->progress.item,
		.samples = host->progress.count,
		.done_ns = host->progress_ns - host->start_progress_ns,
		.start_ns = start_ns,
		.measured_ns = world->now_ns - start_ns,
		.iterations = host->iterations - host->start_iterations,
		.held_ns = host->proc.held_ns - host->start_held_ns,
		.launches = host->launches - host->start_launches,
		.pieces = host->pieces - host->start_pieces,
		.copies_in = host->copies_in,
		.longest_unit_ns = host->longest_ns,
		.longest_key = host->longest_key,
		.unfinished = host->arrived - host->finished,
	};
}
