/* SPDX-License-Identifier: Apache-2.0 */
#include "slo.h"

#include <errno.h>
#include <stdlib.h>

#include "lives.h"
#include "slo_fix.h"

#define REQUEST_MOST_NS 3600000000000ull
/* Best-effort work that was let in beside a busy period's beginning is over so long after it. */
#define BESIDE_TAIL_NS 4000000ull

static struct slo_watch *slo_watch(struct share *share)
{
	if (!share->slo)
		share->slo = calloc(1, sizeof(*share->slo));
	return share->slo;
}

void slo_forget(struct share *share)
{
	free(share->slo);
	share->slo = NULL;
}

/* One after the other, none from the future: what a page claims may be anything. */
static bool request_is_sound(const struct slo_clock *clock, const struct event_request *request,
			     uint64_t now_ns)
{
	return request->start_ns && request->start_ns <= request->end_ns &&
	       request->end_ns <= now_ns && request->end_ns >= clock->end_ns &&
	       request->end_ns - request->start_ns <= REQUEST_MOST_NS &&
	       request->arrival_ns <= request->start_ns &&
	       (!request->arrival_ns || request->end_ns - request->arrival_ns <= REQUEST_MOST_NS);
}

static uint64_t slo_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* In time slices it runs every other one. */
static uint64_t met_until_ns(const struct event_request *request, uint64_t start_ns)
{
	if (request->alone)
		return 0;
	return request->be_in_flight_ns > REQUEST_MOST_NS ? UINT64_MAX
							  : start_ns + 2 * request->be_in_flight_ns;
}

/* A queued request starts before a guard is over: nothing was let in since the one before it ended,
 * but for work beside the beginning of the busy period; and what was in flight then is over. */
static bool request_is_sheltered(const struct device *device, const struct slo_gate *own,
				 uint64_t start_ns)
{
	uint64_t limit_ns = device->slo.busy_limit_ns;

	if (start_ns < own->be_until_ns)
		return false;
	if (!device->slo.cap_sms)
		return true;
	return limit_ns < REQUEST_MOST_NS &&
	       start_ns > own->busy_since_ns + limit_ns + BESIDE_TAIL_NS;
}

/* Keeps gaps and busy periods; returns whether nothing of best-effort tenants ran beside it. */
static bool request_place(struct gate *gate, struct slo_watch *watch,
			  const struct event_request *request)
{
	struct slo_gate *own = &gate->slo;
	uint64_t start_ns = slo_max(request->start_ns, own->request.end_ns);
	uint64_t gap_ns = own->request.end_ns ? start_ns - own->request.end_ns : UINT64_MAX;
	bool chained = gap_ns < slo_max(gate->device->slo.guard_ns, GUARD_LEAST_NS), met_none;

	if (own->request.end_ns)
		slo_gap_add(&watch->gaps, gap_ns);
	if (gap_ns >= slo_max(watch->gaps.guard_ns, GUARD_LEAST_NS)) {
		if (own->busy_since_ns)
			slo_gap_add_period(&watch->gaps, start_ns - own->busy_since_ns);
		own->busy_since_ns = start_ns;
	}
	if (!chained)
		own->be_until_ns = met_until_ns(request, start_ns);
	met_none = request->alone || !request->be_in_flight_ns ||
		   (chained && request_is_sheltered(gate->device, own, start_ns));
	if (!met_none)
		own->met_ns = request->end_ns;
	return met_none;
}

/* The same arrivals at the speed alone: it starts when it has come and the one before it has ended,
 * and as much later as it did in fact. */
static void request_replay(struct slo_clock *clock, struct slo_watch *watch,
			   const struct event_request *request, uint64_t alone_ns, int32_t level)
{
	uint64_t ready_ns = slo_max(request->arrival_ns, clock->end_ns);
	uint64_t late_ns = request->start_ns > ready_ns ? request->start_ns - ready_ns : 0;
	struct slo_pair pair = {
		.arrival_ns = request->arrival_ns, .end_ns = request->end_ns, .level = level};

	clock->alone_end_ns =
		slo_max(request->arrival_ns, clock->alone_end_ns) + late_ns + alone_ns;
	/* Alone it would not have been later. */
	if (clock->alone_end_ns > request->end_ns)
		clock->alone_end_ns = request->end_ns;
	pair.shared_ns = request->end_ns - request->arrival_ns;
	pair.alone_ns = clock->alone_end_ns - request->arrival_ns;
	slo_tail_add(&watch->arrival, &pair);
}

static bool request_is_after_closing(const struct device *device,
				     const struct event_request *request)
{
	return device->slo.closed_ns &&
	       request->start_ns >= device->slo.closed_ns + CLOSED_GUARD_NS;
}

static void request_take(struct gate *gate, struct slo_watch *watch,
			 const struct event_request *request)
{
	struct slo_gate *own = &gate->slo;
	struct slo_clock *clock = request->range ? &own->range : &own->request;
	uint64_t service_ns = request->end_ns - slo_max(request->start_ns, clock->end_ns);
	int32_t level = gate->device->slo.level;
	uint64_t alone_ns;
	bool met_none;

	if (request->range)
		met_none = own->met_ns <= request->start_ns;
	else
		met_none = request_place(gate, watch, request);
	/* What another latency tenant adds says nothing of best-effort work. */
	watch->beside += request->beside;
	alone_ns = request->beside
			   ? 0
			   : slo_alone_service(&watch->alone, request->kind, service_ns, met_none);
	/* Nothing was let in for a second: what is unusual about it is its own. */
	if (alone_ns && met_none && request_is_after_closing(gate->device, request))
		alone_ns = service_ns;
	if (alone_ns && !request->range)
		slo_tail_add(&watch->service, &(struct slo_pair){.shared_ns = service_ns,
								 .alone_ns = alone_ns,
								 .end_ns = request->end_ns,
								 .level = level});
	if (alone_ns && request->arrival_ns)
		request_replay(clock, watch, request, alone_ns, level);
	else
		clock->alone_end_ns = request->end_ns;
	clock->end_ns = request->end_ns;
	watch->requests += !request->range;
	watch->ranges += request->arrival_ns != 0;
	watch->last_ns = request->end_ns;
}

int slo_request(struct engine *engine, const struct event *event)
{
	struct gate *gate = lives_find_gate(engine, event->process, event->device);
	const struct event_request *request = &event->request;
	struct slo_watch *watch;

	if (!gate || !gate->process->latency ||
	    !request_is_sound(request->range ? &gate->slo.range : &gate->slo.request, request,
			      event->now_ns))
		return -EINVAL;
	watch = slo_watch(gate->share);
	if (!watch)
		return -ENOMEM;
	request_take(gate, watch, request);
	return 0;
}

int slo_fix_level(struct engine *engine, const struct event *event)
{
	if (event->level.fixed &&
	    (event->level.level < LEVEL_LEAST || event->level.level > LEVEL_MOST))
		return -EINVAL;
	engine->level = event->level;
	return 0;
}
