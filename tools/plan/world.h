/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_WORLD_H
#define PLAN_WORLD_H

/*
 * One GPU (tools/simgpu/device), the programs on it, and one policy, in virtual time. Each tenant
 * is one process with one thread and one stream: a server (latency-critical: requests arrive, an
 * iteration of its workload each) or a loop (best-effort: one iteration after the other). All is
 * deterministic: the same configuration and seed give the same records, byte for byte.
 *
 * Threads: one a world; worlds share nothing. Lifetime: workloads and arrivals are borrowed until
 * world_destroy. Units: virtual ns from 0, SMs, predicted ns of GPU time where it says so.
 */

#include <stdbool.h>
#include <stdint.h>

#include "device/model.h"
#include "plan/policy.h"

struct workload;
struct arrivals;
struct world;

#define WORLD_MAX_PROCS 16
#define WORLD_NAME_MAX 32

/* What no tenant and no policy decides. world_config_preset fills in the study's figures. */
struct world_config {
	struct model_desc device;
	uint64_t seed;
	uint64_t visible_ns;	/* a completion is seen so long after it (3 us) */
	uint64_t wake_ns;	/* a thread that sleeps runs so long after it is woken (8 us) */
	uint64_t sync_ns;	/* a synchronisation returns so long after the drain (8 us) */
	uint64_t turnaround_ns; /* a server between two queued requests (15 us) */
	uint64_t gap_least_ns, gap_most_ns; /* a server between two launches (5 .. 10 us) */
	uint64_t loop_gap_ns;		    /* a loop between two launches (6 us) */
	uint32_t loop_depth;		    /* launches that a loop's stream takes (1024) */
	uint32_t noise_permille;	    /* of predictions, by kernel; 0: exact */
	uint32_t warmup_requests;	    /* of each server, in no figure (50) */
	uint64_t warmup_ns;		    /* best-effort work before that is in no figure */
	uint64_t share_ns; /* between two samples of best-effort progress (100 ms) */
};

struct world_tenant {
	char name[WORLD_NAME_MAX];
	bool latency;
	int32_t priority; /* of its stream and, with MPS, its process; lower runs first */
	uint32_t weight;  /* 1..10000 */
	uint32_t gpu_max_permille, gpu_min_permille;
	struct plan_target target;
	const struct workload *workload;
	struct arrivals *arrivals; /* servers; its state is advanced */
	/* Servers: a request's work is its workload's times a factor of its own, log-normal of mean 1
	 * with that sigma (1000 is 1), which nobody can predict; 0: always the same. The seed is that
	 * of the arrivals. */
	uint32_t work_sigma_permille;
};

/* One service: from the first launch to the synchronisation that showed it drained. A request is
 * one, or a decoder's many steps; `step` counts them. */
struct world_service {
	uint32_t request, step;
	uint64_t start_ns, end_ns;
	uint64_t met_ns;   /* best-effort work in flight at its start, predicted */
	uint32_t met_proc; /* whose launch unit was the longest then; UINT32_MAX: nothing */
	uint32_t met_key;
	uint64_t met_left_ns; /* what of that unit's duration was left then */
};

struct world_request {
	uint64_t arrival_ns, start_ns, end_ns; /* start: first launch */
	uint32_t work_permille;		       /* of the workload's */
};

/* What a run leaves of one process. Owned by the world. */
struct world_record {
	const struct world_request *request; /* servers: finished ones, warm-up included */
	uint32_t requests;
	const struct world_service *service;
	uint32_t services;
	const uint64_t *progress_ns; /* nominal kernel ns complete, every share_ns from 0 */
	uint32_t samples;
	uint64_t done_ns;     /* nominal kernel ns complete after warm-up */
	uint64_t start_ns;    /* when warm-up was over */
	uint64_t measured_ns; /* time from warm-up to the end */
	uint64_t iterations;  /* loops: complete ones after warm-up */
	uint64_t held_ns, launches, pieces;
	uint64_t copies_in;	  /* that the policy put before launches, from 0 on */
	uint64_t longest_unit_ns; /* nominal */
	uint32_t longest_key;
	uint32_t unfinished; /* arrived and not finished at the end */
};

void world_config_preset(struct world_config *config);

/* `policy` values: one for each of its options, in their order; NULL: presets. -EINVAL: no server
 * or loop fits (shape, more than WORLD_MAX_PROCS); -ENOMEM. */
int world_create(const struct world_config *config, const struct plan_policy *policy,
		 const uint64_t *values, struct world **ret_world);
void world_destroy(struct world *world);
int world_add(struct world *world, const struct world_tenant *tenant, uint32_t *ret_proc);

/* Until every server has finished `requests` beside its warm-up (0: no such bound), or end_ns.
 * -EOVERFLOW: a server's queue passed 2^20 requests: it does not keep up. */
int world_run(struct world *world, uint32_t requests, uint64_t end_ns);
void world_get_record(const struct world *world, uint32_t proc, struct world_record *ret_record);
/* What the policy has learned of a server; false: nothing, or it is none. */
bool world_report(const struct world *world, uint32_t proc, struct plan_report *ret_report);
uint64_t world_events(const struct world *world); /* of the device and the programs, so far */

/* ---- for policies -------------------------------------------------------------------------- */

uint64_t world_now(const struct world *world);
bool world_is_warm(const struct world *world); /* warm-up is over */
const struct world_config *world_get_config(const struct world *world);
uint32_t world_procs(const struct world *world);
struct plan_proc *world_proc(struct world *world, uint32_t index);
/* A held process's launch is asked about again at at_ns (now at the earliest; an earlier time that
 * was set stands). Add config->wake_ns where its thread sleeps. Ignored where none is held. */
void world_wake(struct world *world, uint32_t proc, uint64_t at_ns);
/* The process's kernels, in flight and launched from now on, hold at most so many SMs: 0 stops them
 * where their running blocks end, UINT32_MAX lifts it. For policies that preempt kernels. */
void world_limit(struct world *world, uint32_t proc, uint32_t max_sms);
/* The policy's one timer: calls ->timer; UINT64_MAX: none. */
void world_timer(struct world *world, uint64_t at_ns);

#endif
