/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SLO_WORLD_H
#define TESTS_SLO_WORLD_H

/*
 * A queue before a GPU, around the scheduling core, in virtual time: each server's requests arrive
 * at random and are served in order; the first of a busy period meets what the best-effort grant
 * let be in flight, and what runs beside it slows it. No kernels: just enough for a level to have a
 * price, so that the controller has something to steer by. Exact and deterministic. Every event and
 * action is kept, for replay.
 */

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine.h"
#include "core/policy.h"
#include "core/slo_fix.h"

#define SLO_US 1000ull
#define SLO_MS 1000000ull
#define SLO_S 1000000000ull
#define SLO_LOG 400000u
#define SLO_SERVERS 2u
#define SLO_LOOP 9u /* the best-effort process and tenant */
#define SLO_KEPT 8192u

struct slo_server {
	uint64_t service_ns, gap_ns; /* mean */
	bool knows_arrivals;
	uint64_t own_ns;       /* that much longer it takes now and then, by itself ... */
	uint32_t own_permille; /* ... so often */
	uint64_t next_ns;      /* arrival */
	uint64_t end_ns, alone_end_ns, busy_since_ns;
	uint32_t requests;
	uint64_t shared_ns[SLO_KEPT], alone_ns[SLO_KEPT]; /* A, the last ones */
};

struct slo_world {
	struct engine *engine;
	uint64_t now_ns, tick_ns, random;
	uint64_t unit_ns; /* of best-effort work, mean */
	uint32_t servers;
	struct slo_server server[SLO_SERVERS];
	struct grant grant; /* the loop's */
	uint64_t loop_ns;   /* GPU time it got */
	uint32_t events, actions;
	struct event event[SLO_LOG];
	struct action action[SLO_LOG];
};

static inline uint64_t slo_draw(struct slo_world *world, uint64_t below)
{
	world->random = world->random * 6364136223846793005ull + 1442695040888963407ull;
	return (world->random >> 33) % below;
}

static inline uint64_t slo_draw_gap(struct slo_world *world, uint64_t mean_ns)
{
	int32_t octaves = (32 << 10) - fix_log2(slo_draw(world, 1ull << 31) * 2 + 1);

	return mean_ns / 1000 * (uint64_t)octaves * 693 / 1024;
}

static inline void slo_take(struct slo_world *world)
{
	struct action action;

	while (engine_take(world->engine, &action)) {
		if (action.kind == ACTION_GRANT && action.process == SLO_LOOP)
			world->grant = action.grant;
		if (world->actions < SLO_LOG)
			world->action[world->actions++] = action;
	}
}

static inline void slo_event(struct slo_world *world, struct event event)
{
	event.now_ns = world->now_ns;
	if (world->events < SLO_LOG)
		world->event[world->events++] = event;
	if (engine_event(world->engine, &event))
		ck_abort_msg("event %d refused", (int)event.kind);
	slo_take(world);
}

static inline struct event_tenant slo_plain(void)
{
	return (struct event_tenant){.managed = true,
				     .weight = 100,
				     .gpu_max_permille = 1000,
				     .period_ns = 100 * SLO_MS,
				     .memory_max_bytes = CORE_NO_LIMIT};
}

static inline void slo_join(struct slo_world *world, uint32_t index, bool latency,
			    struct event_tenant set)
{
	slo_event(world, (struct event){.kind = EVENT_TENANT, .tenant = index, .tenant_set = set});
	slo_event(world, (struct event){.kind = EVENT_JOIN,
					.process = index,
					.tenant = index,
					.join = {.latency = latency}});
	slo_event(world, (struct event){.kind = EVENT_ATTACH, .process = index});
}

static inline struct slo_world *slo_begin(uint64_t seed, bool mps, bool partitions)
{
	struct slo_world *world = calloc(1, sizeof(*world));

	ck_assert_ptr_nonnull(world);
	world->now_ns = world->tick_ns = 5 * SLO_S;
	world->random = seed;
	world->unit_ns = 250 * SLO_US;
	world->engine = engine_create(world->now_ns);
	ck_assert_ptr_nonnull(world->engine);
	slo_event(world, (struct event){.kind = EVENT_POLICY, .policy = &policy_slo});
	slo_event(world, (struct event){.kind = EVENT_DEVICE,
					.device_added = {.mps = mps,
							 .partitions = partitions,
							 .sms = 80,
							 .memory_bytes = 1ull << 34}});
	slo_join(world, SLO_LOOP, false, slo_plain());
	return world;
}

/* At that load, in permille of what it can serve alone. */
static inline struct slo_server *slo_serve(struct slo_world *world, uint64_t service_ns,
					   uint32_t load_permille, struct event_tenant set)
{
	struct slo_server *server = &world->server[world->servers];

	*server = (struct slo_server){.service_ns = service_ns,
				      .gap_ns = service_ns * 1000 / load_permille,
				      .knows_arrivals = true};
	server->next_ns = world->now_ns + slo_draw_gap(world, server->gap_ns);
	slo_join(world, world->servers++, true, set);
	return server;
}

static inline void slo_end(struct slo_world *world)
{
	engine_destroy(world->engine);
	free(world);
}

/* What the first request of a busy period meets. */
static inline uint64_t slo_meet(struct slo_world *world, uint64_t idle_ns)
{
	uint64_t unit_ns = world->unit_ns / 2 + slo_draw(world, world->unit_ns), most_ns;

	if (idle_ns < world->grant.guard_ns || !world->grant.open)
		return 0;
	world->loop_ns += idle_ns - world->grant.guard_ns;
	most_ns = unit_ns > world->grant.window_ns ? unit_ns : world->grant.window_ns;
	return slo_draw(world, most_ns) * 4 / 5;
}

/* How much longer it takes with work beside it, from start_ns on. */
static inline uint64_t slo_beside(struct slo_world *world, const struct slo_server *server,
				  uint64_t start_ns, uint64_t service_ns)
{
	const struct grant *grant = &world->grant;
	uint64_t end_ns, beside_ns, slow_ns;

	if (!grant->cap_sms)
		return service_ns;
	end_ns = grant->busy_limit_ns == CORE_NO_LIMIT
			 ? UINT64_MAX
			 : server->busy_since_ns + grant->busy_limit_ns;
	if (end_ns <= start_ns)
		return service_ns;
	slow_ns = service_ns + service_ns * grant->cap_sms / 80;
	beside_ns = end_ns - start_ns < slow_ns ? end_ns - start_ns : slow_ns;
	world->loop_ns += beside_ns * grant->cap_sms / 80;
	return service_ns + (slow_ns - service_ns) * beside_ns / slow_ns;
}

static inline void slo_tick_until(struct slo_world *world, uint64_t until_ns)
{
	while (world->tick_ns + CORE_SLOW_TICK_NS <= until_ns) {
		world->tick_ns += CORE_SLOW_TICK_NS;
		world->now_ns = world->tick_ns;
		slo_event(world, (struct event){.kind = EVENT_TIMER});
	}
}

/* The server's next request, from arrival to end. */
static inline void slo_request_one(struct slo_world *world, uint32_t index)
{
	struct slo_server *server = &world->server[index];
	uint64_t arrival_ns = server->next_ns, start_ns, service_ns = server->service_ns;
	uint32_t at = server->requests++ % SLO_KEPT;
	bool queued = server->end_ns > arrival_ns;
	uint64_t met_ns = UINT64_MAX; /* of a queued one nobody tells */

	slo_tick_until(world, arrival_ns);
	service_ns += slo_draw(world, server->service_ns / 200);
	if (server->own_permille && slo_draw(world, 1000) < server->own_permille)
		service_ns += server->own_ns;
	start_ns = (queued ? server->end_ns : arrival_ns) + 15 * SLO_US;
	server->alone_end_ns =
		(server->alone_end_ns > arrival_ns ? server->alone_end_ns : arrival_ns) +
		15 * SLO_US + service_ns;
	if (!server->end_ns || start_ns - server->end_ns >= 60 * SLO_US) {
		met_ns = slo_meet(world, server->end_ns ? start_ns - server->end_ns : 0);
		service_ns += met_ns;
		met_ns++; /* never nothing: what it takes alone, the queued ones tell */
		server->busy_since_ns = start_ns;
	}
	server->end_ns = start_ns + slo_beside(world, server, start_ns, service_ns);
	server->shared_ns[at] = server->end_ns - arrival_ns;
	server->alone_ns[at] = server->alone_end_ns - arrival_ns;
	server->next_ns = arrival_ns + slo_draw_gap(world, server->gap_ns);
	slo_tick_until(world, server->end_ns);
	world->now_ns = server->end_ns;
	slo_event(world,
		  (struct event){.kind = EVENT_REQUEST,
				 .process = index,
				 .request = {.arrival_ns = server->knows_arrivals ? arrival_ns : 0,
					     .start_ns = start_ns,
					     .end_ns = server->end_ns,
					     .kind = 1 + index,
					     .be_in_flight_ns = met_ns}});
}

/* So many requests of the first server; the others keep up with it in time. */
static inline void slo_run(struct slo_world *world, uint32_t requests)
{
	uint32_t until = world->server[0].requests + requests;

	while (world->server[0].requests < until) {
		uint32_t next = 0;

		for (uint32_t i = 1; i < world->servers; i++) {
			if (world->server[i].next_ns < world->server[next].next_ns)
				next = i;
		}
		slo_request_one(world, next);
	}
}

static inline struct engine_slo slo_report_of(const struct slo_world *world, uint32_t index)
{
	struct engine_slo slo;

	ck_assert(engine_slo_report(world->engine, index, 0, &slo));
	return slo;
}

/* p99 over alone of the server's last `count` requests, permille. */
static inline int64_t slo_over(const struct slo_server *server, uint32_t count)
{
	static uint64_t shared_ns[SLO_KEPT], alone_ns[SLO_KEPT];

	ck_assert_uint_le(count, SLO_KEPT);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = (server->requests - 1 - i) % SLO_KEPT;

		shared_ns[i] = server->shared_ns[at];
		alone_ns[i] = server->alone_ns[at];
	}
	return (int64_t)(fix_select(shared_ns, count, count * 99 / 100) * 1000 /
			 fix_select(alone_ns, count, count * 99 / 100)) -
	       1000;
}

#endif
