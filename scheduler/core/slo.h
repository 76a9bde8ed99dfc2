/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SLO_H
#define CORE_SLO_H

/*
 * What the core knows of latency tenants' requests, and the level at which best-effort work runs
 * beside them. Requests come as events; each tenant keeps, per device, its gaps, what its requests
 * would have taken alone, and the two tails side by side (slo_gap, slo_alone, slo_tail). A step of
 * the controller (slo_control.c) moves the device's level; the policy turns it into grants.
 *
 * Integers only; everything follows from the events. Memory is taken at a tenant's first request.
 */

#include <stdbool.h>
#include <stdint.h>

#include "slo_alone.h"
#include "slo_gap.h"
#include "slo_ladder.h"
#include "slo_tail.h"

struct device;
struct engine;
struct event;
struct gate;
struct share;
struct tenant;

#define SLO_PAIRS_LEAST 40u /* before a target is steered by */

/* Of one process: where its last request ended, and would have ended alone. */
struct slo_clock {
	uint64_t end_ns; /* 0: none seen */
	uint64_t alone_end_ns;
};

struct slo_gate {
	struct slo_clock request, range;
	uint64_t busy_since_ns; /* survives gaps shorter than the guard */
	uint64_t met_ns;	/* end of the last request that met best-effort work */
	uint64_t be_until_ns;	/* what the busy period met at its beginning may run until then */
};

/* Of one tenant on one device. */
struct slo_watch {
	struct slo_gaps gaps;
	struct slo_alone alone;
	struct slo_tail service, arrival; /* S and A */
	uint64_t requests;		  /* ever, ranges not counted */
	uint64_t ranges;
	uint64_t beside;  /* ... and of both: beside another latency tenant's */
	uint64_t last_ns; /* the last one's end */
	/* The controller's: */
	uint64_t stepped_ns, stepped_pairs; /* at the last step */
	uint64_t learned_ns;		    /* when gaps were last looked at */
	int32_t wish;			    /* the level that it wants, as of then */
	uint32_t floor_steps;		    /* steps in a row that ended at the least level, late */
	uint32_t alone_steps;		    /* that found it late with nothing beside it */
	uint64_t alone_tail_ns;		    /* with nothing beside it, at the last step */
};

/* Of one device. */
struct slo_device {
	int32_t level;
	bool begun; /* level counts */
	struct slo_setting setting;
	uint64_t guard_ns;	/* in force */
	uint64_t closed_ns;	/* next to nothing is let in since; 0: more is */
	uint64_t busy_guard_ns; /* learned: a shorter gap does not end a busy period */
	uint64_t busy_limit_ns;
	uint64_t quiet_from_ns, quiet_until_ns;
	uint32_t cap_sms;
};

/* EVENT_REQUEST. 0; -EINVAL: not a request that can have been; -ENOMEM. */
int slo_request(struct engine *engine, const struct event *event);
/* Late at the least level; with nothing beside it too. Not by chance: step after step. */
bool slo_is_at_floor(const struct slo_watch *watch);
bool slo_is_late_alone(const struct slo_watch *watch);
/* EVENT_LEVEL */
int slo_fix_level(struct engine *engine, const struct event *event);

/* Steps those tenants that are due, then fills in device->slo. At every round. */
void slo_control(struct engine *engine, struct device *device, uint64_t now_ns);

void slo_forget(struct share *share);

#endif
