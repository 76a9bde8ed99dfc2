/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_H
#define CORE_ENGINE_H

/*
 * The scheduling core: events with a timestamp in, actions out. Pure and deterministic: no clock,
 * descriptor, thread or log, integers only; the same events give the same actions. One thread.
 *
 * The caller numbers devices, tenants and processes with small indexes of its own (0 .. MAX - 1)
 * and may use a number again once the old holder is gone. A process on a device has a *gate*.
 * Times are nanoseconds of one monotonic clock and never go back. After each event the caller
 * takes all actions with engine_take before it brings the next.
 *
 * Readings: EVENT_USAGE only stores what was read; decisions are made at EVENT_WANT, EVENT_TIMER
 * and events that change who is there. So: read the watched gates (ACTION_WATCH), then bring the
 * WANT or TIMER. A slow tick (100 ms) reads all gates and brings a TIMER too.
 */

#include <stdbool.h>
#include <stdint.h>

#define CORE_MAX_DEVICES 16
#define CORE_MAX_TENANTS 256
#define CORE_MAX_PROCESSES 1024
#define CORE_NO_LIMIT UINT64_MAX
#define CORE_NEVER UINT64_MAX
#define CORE_SLOW_TICK_NS 100000000ull

enum event_kind {
	EVENT_POLICY = 1, /* .policy */
	EVENT_DEVICE,	  /* device, .device_added: new, or its record changed */
	EVENT_DEVICE_GONE,
	EVENT_TENANT, /* tenant, .tenant_set: new or reconfigured */
	EVENT_TENANT_GONE,
	EVENT_JOIN, /* process, tenant, .join */
	EVENT_LEAVE,
	EVENT_ATTACH,	     /* process, device, .attach: the process uses the device */
	EVENT_USAGE,	     /* process, device, .usage */
	EVENT_WANT,	     /* process, device: a launch is held */
	EVENT_PAUSE,	     /* tenant, .on */
	EVENT_TIMER,	     /* the time asked for, or the slow tick */
	EVENT_MEM_REQUEST,   /* process, device, .units missing */
	EVENT_MEM_TAKEN,     /* process, device, .units: answer to ACTION_MEM_TAKE_BACK */
	EVENT_MEM_HELD,	     /* tenant, device, .units: of a process that is not there yet or any
				more; they return by EVENT_MEM_RECLAIMED */
	EVENT_MEM_RECLAIMED, /* tenant, device, .units: such memory is free now */
	EVENT_REQUEST,	     /* process, device, .request: a latency process's, that has ended */
	EVENT_LEVEL,	     /* .level: of all devices, for `slo` */
	EVENT_PAIRS,	     /* .pairs */
};

struct event_device {
	bool mps;	 /* processes may overlap */
	bool partitions; /* a launch can be kept to some of the SMs */
	uint32_t sms;
	uint64_t memory_bytes;
};

struct event_tenant {
	bool managed;	 /* false: bypasses the gate */
	uint32_t weight; /* 1..10000 */
	uint32_t gpu_max_permille, gpu_min_permille;
	uint64_t period_ns; /* of gpu.max */
	uint64_t memory_max_bytes, memory_min_bytes;
	/* Of the p99: at most so much, or at most so much over alone; both 0: none. */
	uint64_t target_ns;
	uint32_t target_over_permille;
	bool target_arrival; /* from arrival, queueing included; else from the first launch */
};

struct event_join {
	bool latency; /* latency-critical */
};

struct event_attach {
	uint32_t held_units; /* memory that it holds already: a process registering again */
};

struct event_usage {
	uint64_t launched_ns, completed_ns; /* predicted, cumulative */
	uint64_t completed_at_ns;	    /* when completed_ns last moved; 0: not known */
	uint64_t held_ns;     /* cumulative time with a launch held, the present hold included */
	uint64_t mem_held_ns; /* the same of allocations */
	bool want;	      /* a launch is held now */
	/* The last so much of what was launched: large copies between host and device */
	uint64_t copies_ns;
	/* Latency processes whose activity counts: a request is open; when the last one ended */
	bool active;
	uint64_t idle_since_ns;
};

/* In the order of their ends, process by process. */
struct event_request {
	uint64_t arrival_ns;	   /* 0: not known */
	uint64_t start_ns, end_ns; /* first launch, seen drained */
	uint64_t kind;		   /* like requests have the same */
	uint64_t be_in_flight_ns;  /* best-effort work that it met; UINT64_MAX: not known */
	bool alone;		   /* nothing else was on the device */
	bool beside;		   /* another latency tenant's request ran with it */
	bool range;		   /* told by the program: may hold several drains, which come
				      as requests of their own */
};

struct event_level {
	bool fixed;    /* false: the controller's */
	int32_t level; /* thousandths: slo_ladder.h */
};

/* When best-effort tenants that could overlap take turns all the same (pairs.h). */
enum pairs_test {
	PAIRS_ALWAYS,	  /* never: always side by side */
	PAIRS_PROGRESS,	  /* where they do less together than one after the other */
	PAIRS_COMPLETION, /* where their mean time to completion would be shorter one by one */
};

struct event {
	enum event_kind kind;
	uint32_t device, tenant, process;
	uint64_t now_ns;
	union {
		const struct policy *policy; /* policy.h */
		struct event_device device_added;
		struct event_tenant tenant_set;
		struct event_join join;
		struct event_attach attach;
		struct event_usage usage;
		struct event_request request;
		struct event_level level;
		enum pairs_test pairs;
		bool on;
		bool reclaim; /* LEAVE: its memory returns by EVENT_MEM_RECLAIMED, not at once */
		uint32_t units;
	};
};

enum action_kind {
	ACTION_GRANT = 1,     /* process, device, .grant: write it, wake its sleepers */
	ACTION_ACTIVITY,      /* process, device, .on: others' gates count its activity, or not */
	ACTION_WATCH,	      /* process, device, .on: read it before every WANT and TIMER */
	ACTION_TIMER,	      /* .at_ns; CORE_NEVER: none but the slow tick */
	ACTION_MEM_GRANT,     /* process, device, .units: raise its escrow */
	ACTION_MEM_TAKE_BACK, /* process, device, .units at most: EVENT_MEM_TAKEN says how many */
	ACTION_MEM_REFUSE,    /* process, device, .status: -ENOMEM or -EAGAIN (reclaiming) */
};

/* Flags are SLUICE_GRANT_* of sluice/pages.h. */
struct grant {
	bool open;
	uint32_t flags;
	uint64_t credit_ns; /* cumulative launched_ns to stay below */
	uint64_t window_ns;
	uint64_t guard_ns;
	/* Beside an active latency tenant: on so many SMs (0: not at all), for so long from the
	 * beginning of its busy period. */
	uint32_t cap_sms;
	uint64_t busy_limit_ns;
	/* Its next arrival is expected then, counted from there too; until 0: not expected. */
	uint64_t quiet_from_ns, quiet_until_ns;
};

struct action {
	enum action_kind kind;
	uint32_t device, process;
	union {
		struct grant grant;
		bool on;
		uint64_t at_ns;
		uint32_t units;
		int32_t status;
	};
};

/* What status shows of a tenant on a device. */
struct engine_report {
	uint32_t processes;
	uint32_t used_permille, entitled_permille;
	uint64_t used_ns;
	uint64_t granted_bytes, reclaiming_bytes;
	uint32_t avg10_permille, avg60_permille, avg300_permille;
	uint64_t held_total_ns;
	bool open, held, excess;
};

/* Where the controller stands with a latency tenant on a device. */
enum slo_state {
	SLO_NO_TARGET,
	SLO_FIXED,	 /* the configuration fixes the level */
	SLO_LEARNING,	 /* too few requests, or none that met no best-effort work */
	SLO_NO_ARRIVALS, /* the target counts from arrival, and no arrival is known */
	SLO_STEERED,
	SLO_UNREACHABLE, /* not even with nothing beside it */
	SLO_AT_FLOOR,	 /* late still at the least level; with nothing beside it it would not be */
};

struct engine_slo {
	enum slo_state state;
	int32_t level;
	uint64_t window_ns, guard_ns;
	uint32_t cap_sms;
	uint64_t busy_limit_ns, quiet_from_ns, quiet_until_ns;
	/* p99 of the last thousand requests, and of the same ones alone; 0: not known. */
	uint64_t service_ns, service_alone_ns; /* S */
	uint64_t arrival_ns, arrival_alone_ns; /* A */
	uint64_t alone_median_ns;	       /* service of its most frequent kind of request */
	uint64_t reachable_ns;	  /* these two: the p99 with nothing beside it, estimated */
	uint32_t pairs;		  /* requests that the target's metric is made of */
	uint32_t beside_permille; /* of all its requests: beside another latency tenant's */
};

enum pair_verdict { PAIR_UNKNOWN, PAIR_SHARE, PAIR_WAIT };

/* A tenant beside another one, on a device. */
struct engine_pair {
	uint32_t slowdown_permille; /* its slowdown; 0: not known */
	uint32_t samples;	    /* of 10 ms, beside that one; latency tenants: requests */
	enum pair_verdict verdict;
	bool turns; /* the two take turns now */
};

struct engine;

struct engine *engine_create(uint64_t now_ns); /* NULL: no memory */
void engine_destroy(struct engine *engine);
/* 0; -EINVAL: names what is not there, or is there already; -ENOMEM. Then nothing changed. */
int engine_event(struct engine *engine, const struct event *event);
bool engine_take(struct engine *engine, struct action *ret_action);

bool engine_report(const struct engine *engine, uint32_t tenant, uint32_t device,
		   struct engine_report *ret_report);
/* false: no latency tenant's, or the policy is not `slo`. */
bool engine_slo_report(const struct engine *engine, uint32_t tenant, uint32_t device,
		       struct engine_slo *ret_slo);
/* false: the two have not been seen side by side. */
bool engine_pair_report(const struct engine *engine, uint32_t tenant, uint32_t partner,
			uint32_t device, struct engine_pair *ret_pair);
bool engine_is_paused(const struct engine *engine, uint32_t tenant);
bool engine_has_turns(const struct engine *engine, uint32_t device);
/* Units granted to the process on the device. */
uint32_t engine_granted_units(const struct engine *engine, uint32_t process, uint32_t device);

#endif
