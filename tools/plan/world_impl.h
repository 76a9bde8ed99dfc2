/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_WORLD_IMPL_H
#define PLAN_WORLD_IMPL_H

/*
 * What world.c, host.c, shape.c and record.c know of one another. A *host* is a program: its
 * thread, its stream and its launches. Each host has two points in time at which it does
 * something: step_ns (its thread goes on) and seen_at_ns (a completion becomes visible).
 */

#include "device/model.h"
#include "plan/arrivals.h"
#include "plan/policy.h"
#include "plan/random.h"
#include "plan/workload.h"
#include "plan/world.h"

#define HOST_RING 2048u /* launches not seen complete; a power of two, above MODEL_STREAM_DEPTH */

enum host_state {
	HOST_IDLE,   /* a server with no request */
	HOST_LAUNCH, /* at step_ns it asks for the next launch */
	HOST_HELD,   /* asks again at step_ns */
	HOST_FULL,   /* the stream takes no more: goes on when one ends */
	HOST_SYNC,   /* waits for its work; step_ns once that has ended */
};

/* One operation of a stream: a launch, a piece of one, or a graph's node. */
struct flight {
	uint64_t op;			/* the model's id */
	const struct workload_op *what; /* the launch; a node: its graph */
	uint64_t cost_ns;		/* predicted */
	uint64_t nominal_ns;		/* of the workload: what progress counts */
	uint64_t start_ns;		/* at the earliest; kept for what met whom */
	uint64_t end_ns;
	bool last; /* of its launch or piece: the others are nodes before */
};

/* Rising numbers of flights: seen <= done <= sent. */
struct flights {
	uint32_t sent, done, seen;
	struct flight ring[HOST_RING];
};

struct vector {
	void *item;
	uint32_t count, room;
};

struct host {
	struct plan_proc proc; /* what policies see */
	struct world_tenant tenant;
	struct random gaps, work, lengths;
	uint32_t model_proc, stream;
	enum host_state state;
	uint64_t step_ns, seen_at_ns;
	uint64_t held_from_ns;	/* as proc.held_since_ns */
	uint64_t busy_ns;	/* end of its latest operation so far */
	uint64_t ended_ns;	/* predicted, cumulative: complete, seen or not */
	uint64_t work_ns;	/* what the launch being made takes this time */
	uint32_t work_permille; /* of the request being served, over its workload's */
	uint32_t limit_sms;
	/* Where its program stands: op `cursor` of step `step`, the launch that is being made. */
	uint32_t cursor, step;
	struct plan_launch launch;
	struct flights flights;
	/* Servers. */
	uint64_t arrival_ns; /* of the next request; MODEL_NEVER: none is known */
	struct vector request, service;
	uint32_t arrived, finished; /* requests; finished is also the one being served */
	struct world_service now;   /* open while proc.active */
	/* What is measured. */
	struct vector progress;
	uint64_t progress_ns; /* nominal, from 0 on */
	uint64_t iterations, launches, pieces, copies_in, longest_ns;
	uint32_t longest_key;
	uint64_t start_progress_ns, start_iterations, start_held_ns, start_launches, start_pieces;
};

struct world {
	struct world_config config;
	const struct plan_policy *policy;
	uint64_t values[PLAN_MAX_OPTIONS];
	void *state;
	bool created; /* the policy's state is */
	struct model *model;
	uint64_t now_ns, timer_ns, sample_ns,
		start_ns; /* start: warm-up is over; MODEL_NEVER: not */
	uint64_t events;
	uint32_t hosts;
	int error; /* the first; ends the run */
	struct host *host[WORLD_MAX_PROCS];
};

/* shape.c: an operation as the device takes it. `work_ns`: this launch's own duration. */
void shape_op(const struct world *world, const struct host *host, const struct workload_op *op,
	      uint64_t work_ns, const struct plan_launch *launch, struct model_op_desc *ret_desc);
uint64_t shape_predict(const struct world *world, const struct host *host,
		       const struct workload_op *op);
uint64_t shape_work(struct host *host, const struct workload_op *op);

/* host.c */
int host_create(struct world *world, const struct world_tenant *tenant, struct host **ret_host);
void host_destroy(struct host *host);
void host_start(struct world *world, struct host *host);
void host_step(struct world *world, struct host *host);
void host_arrival(struct world *world, struct host *host);
void host_see(struct world *world, struct host *host);
void host_ended(struct world *world, struct host *host, const struct model_done *done);
bool host_is_warm(const struct world *world, const struct host *host);

/* host_launch.c */
bool host_has_room(const struct world *world, const struct host *host);
/* Asks for the next launch, makes it or is held. */
void host_ask(struct world *world, struct host *host);

/* record.c */
void *vector_add(struct vector *vector, size_t size); /* zeroed; NULL: no memory */
void record_met(const struct world *world, struct world_service *service);
void record_sample(struct world *world);
void record_start(struct world *world); /* warm-up is over */

static inline uint32_t flights_count(const struct flights *flights)
{
	return flights->sent - flights->done;
}

static inline struct flight *flight_at(struct flights *flights, uint32_t number)
{
	return &flights->ring[number & (HOST_RING - 1)];
}

#endif
