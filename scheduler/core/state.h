/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_H
#define CORE_STATE_H

/*
 * The core's own objects, seen by its files and policies only. The engine owns them all: tenants,
 * processes and devices sit in tables by the caller's number, a gate belongs to its process and
 * is listed, in order of arrival, by its device.
 */

#include "account.h"
#include "engine.h"
#include "pairs.h"
#include "policy.h"
#include "slo.h"

#define CORE_MAX_GATES 512 /* processes on one device */

/* A tenant on one device. */
struct share {
	struct account account;
	struct pressure pressure;
	uint32_t gates, latency_gates;
	bool active;	     /* used the device lately: shares are split among these */
	bool busy, was_busy; /* wants or uses it in this round, in the one before */
	bool backlogged;     /* was held since the last round: wants more than it gets */
	uint64_t seen_ns;    /* last time it wanted or used it */
	uint64_t virtual_ns; /* GPU time used over the share it is entitled to */
	uint32_t entitled_permille;
	uint64_t in_flight_ns; /* side by side: sum over its gates, in this round */
	uint32_t members;      /* and how many of them launch */
	/* Side by side: what virtual_ns should be by now, had it used its share since it has room */
	uint64_t floor_ns;
	bool had_room;		/* the last round left it some */
	uint64_t held_seen_ns;	/* last round that found it held */
	uint64_t backlogged_ns; /* side by side: last round that found it backlogged */
	/* gpu.max: launched in this period, with what earlier ones overdrew; end 0: not counted */
	uint64_t spent_ns;
	uint64_t period_end_ns;
	/* The same of time in which its activity kept others out who want the device */
	uint64_t kept_ns;
	uint64_t looked_ns;	/* up to here */
	uint32_t took_permille; /* of its last period, the more of the two */
	uint64_t granted_units, reclaiming_units;
	struct slo_watch *slo;	/* owned; NULL: no request of it was seen */
	struct pair_set *pairs; /* owned; NULL: never beside another */
};

struct tenant {
	uint32_t index;
	struct event_tenant set;
	bool paused;
	struct share on[CORE_MAX_DEVICES];
};

struct gate {
	struct process *process;
	struct device *device;
	struct share *share;
	struct event_usage usage;    /* last reading, made monotone */
	uint64_t read_ns;	     /* when */
	uint64_t moved_ns;	     /* last reading that showed launched_ns moved */
	uint64_t launched_at_ns;     /* nothing was launched after that */
	uint64_t closed_ns;	     /* last time the gate was closed */
	uint64_t flight_ns;	     /* in flight when last it moved or was closed */
	uint64_t copied_ns;	     /* last decision that found it at a long copy; 0: none */
	uint64_t used_ns;	     /* charged, cumulative */
	bool gave_way;		     /* its last turn ended because it had nothing to launch */
	bool was_held;		     /* held time moved since the last decision */
	uint64_t looked_launched_ns; /* launched by the last decision */
	uint64_t stretch_held_ns;    /* held since the last slow tick */
	uint32_t granted_units;
	struct gate_account account;
	/* Decided in the present round, and what the caller was last told. */
	struct grant next, told;
	bool next_watch, told_watch;
	bool next_counts, told_counts; /* latency: activity counts */
	bool told_any;
	struct slo_gate slo; /* latency */
};

struct process {
	uint32_t index;
	struct tenant *tenant;
	bool latency;
	struct gate *gate[CORE_MAX_DEVICES];
};

enum turn_state { TURN_FREE, TURN_OPEN, TURN_DRAINING };

struct turn {
	enum turn_state state;
	struct gate *gate; /* NULL when free */
	uint64_t opened_ns, closed_ns;
	uint64_t opened_others_ns; /* what those who take no turns had used by then */
	uint64_t start_launched_ns;
	uint64_t quantum_ns;
	/* Since when others wait, all the time (0: they do not), and what was used by then, by the
	 * holder and by those who take no turns. */
	uint64_t waited_ns, used_ns, others_ns;
	bool by_clock; /* it ended, or its drain did, because time was up */
};

/* A memory request, or a limit lowered, that waits for credit taken back. */
struct quota_round {
	bool busy;
	struct gate *asker;    /* NULL: a limit was lowered */
	struct tenant *tenant; /* whose pool is short */
	uint32_t units;
	uint32_t cursor;    /* next gate to look at */
	bool own_asked;	    /* the tenant's own processes were: now the others */
	struct gate *asked; /* has to answer with EVENT_MEM_TAKEN */
};

struct device {
	uint32_t index;
	struct event_device record;
	struct gate *gate[CORE_MAX_GATES];
	uint32_t gates;
	struct turn turn;
	bool keeps_out;	      /* somebody was held lately: time of activity is counted */
	uint64_t look_at_ns;  /* when to look at activity next, and ... */
	uint32_t look_random; /* ... what these times are drawn from */
	uint64_t virtual_ns;  /* of the tenant served; who comes back starts here */
	uint64_t next_ns;     /* when the policy wants to look again */
	/* Side by side: the last round, and what gates beside it had used by then */
	uint64_t looked_ns, looked_others_ns;
	/* Turns: what gates beside have left lately, as of a look and what they had used by then */
	int64_t left; /* of 2^20 */
	uint64_t left_at_ns, left_others_ns;
	struct slo_device slo;
	struct pairs_device pairs;
	struct quota_round quota;
	uint32_t quota_tenant; /* last looked at by a slow tick */
};

struct engine {
	const struct policy *policy;
	struct device *device[CORE_MAX_DEVICES];
	struct tenant *tenant[CORE_MAX_TENANTS];
	struct process *process[CORE_MAX_PROCESSES];
	uint32_t tenants; /* one past the highest in use */
	uint32_t gates;	  /* on all devices */
	uint64_t now_ns;
	uint64_t tick_ns; /* last slow tick */
	uint64_t told_timer_ns;
	struct event_level level;
	enum pairs_test pairs;
	struct action *actions;
	uint32_t action_room, action_head, action_count;
};

/* Actions: room for all that one event can bring is made when gates are made. */
void engine_emit(struct engine *engine, const struct action *action);
int engine_make_room(struct engine *engine, uint32_t gates);

static inline bool gate_in_flight(const struct gate *gate)
{
	return gate->usage.launched_ns > gate->usage.completed_ns;
}

/* Claims of more than two seconds are taken for two: nobody is waited for longer. */
#define GATE_FLIGHT_MAX_NS 2000000000ull

static inline uint64_t gate_in_flight_ns(const struct gate *gate)
{
	uint64_t flight_ns =
		gate_in_flight(gate) ? gate->usage.launched_ns - gate->usage.completed_ns : 0;

	return flight_ns < GATE_FLIGHT_MAX_NS ? flight_ns : GATE_FLIGHT_MAX_NS;
}

/* Its window is what holds it: waits for the window are not counted as held. */
static inline bool gate_is_full(const struct gate *gate)
{
	return gate->told_any && gate->told.window_ns != CORE_NO_LIMIT &&
	       gate_in_flight_ns(gate) >= gate->told.window_ns / 2;
}

static inline const struct event_tenant *gate_set(const struct gate *gate)
{
	return &gate->process->tenant->set;
}

/* Under the gate at all: not a tenant that bypasses. */
static inline bool gate_is_managed(const struct gate *gate)
{
	return gate_set(gate)->managed;
}

static inline bool gate_is_paused(const struct gate *gate)
{
	return gate->process->tenant->paused;
}

#endif
