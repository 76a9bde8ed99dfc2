/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SCENARIO_H
#define PLAN_SCENARIO_H

/*
 * A scenario (libconfig): a device, tenants with workloads and arrivals, the policies to compare
 * and what a run is. An option of a policy that is given as a list is a sweep: the policy is
 * played once for each value. Unknown keys, wrong values and files that cannot be read are errors
 * that name file and line and say what would be right. Lifetime: scenario_load .. scenario_finish;
 * read-only in between.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/arrivals.h"
#include "plan/policy.h"
#include "plan/world.h"

#define SCENARIO_MAX_ORDERS 128u
#define SCENARIO_MAX_SEEDS 32u
#define SCENARIO_LABEL_MAX 128

struct scenario_error {
	char file[256];
	int line; /* 0: not of one line */
	char msg[384];
};

struct scenario_tenant {
	struct world_tenant world; /* but for `arrivals`, which each run makes anew */
	struct workload *workload;
	/* Servers. */
	struct arrivals_desc arrivals;
	uint32_t load_permille; /* of what it can serve alone; 0: arrivals.mean_ns is given */
	uint64_t *gaps;
};

/* A policy with its constants: a row of the table. */
struct scenario_order {
	char label[SCENARIO_LABEL_MAX];
	const struct plan_policy *policy;
	uint64_t value[PLAN_MAX_OPTIONS];
	bool mps;
	bool client_priority; /* with MPS: latency-critical processes come first */
	uint32_t sweep;	      /* orders of one sweep have one number */
};

struct scenario {
	char name[64];
	struct world_config config;
	uint32_t tenants, orders, seeds;
	struct scenario_tenant tenant[WORLD_MAX_PROCS];
	struct scenario_order order[SCENARIO_MAX_ORDERS];
	uint64_t seed[SCENARIO_MAX_SEEDS];
	uint32_t requests; /* of each server, in figures; 0: none, the run ends by time */
	uint64_t time_ns;  /* the longest a run may be; without servers: how long it is */
};

/* Where what is named without a folder lies: device presets, and workloads that come with Sluice. */
struct scenario_files {
	int (*preset)(const char *name, size_t size, char *ret_path); /* 0 or -ENOENT */
	int (*workload)(const char *name, size_t size, char *ret_path);
};

/* 0, or -errno with *reterr; then nothing is to be finished. */
int scenario_load(const char *path, const struct scenario_files *files,
		  struct scenario **ret_scenario, struct scenario_error *reterr);
void scenario_finish(struct scenario *scenario);

#endif
