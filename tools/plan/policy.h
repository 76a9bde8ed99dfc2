/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_POLICY_H
#define PLAN_POLICY_H

/*
 * A policy as the planner plays it: asked before each launch, told of what its real counterpart
 * would see (completions config->visible_ns late, never the model's future). A policy is a file
 * policy_NAME.c and a line in policy.c. It keeps its state in what `create` returns, and in
 * plan_proc.own per process. `native` is no policy at all: time slices or MPS as the device has it,
 * and the tenants' priorities.
 */

#include <stdbool.h>
#include <stdint.h>

struct world;
struct workload;
struct workload_op;

#define PLAN_MAX_OPTIONS 16
#define PLAN_OPEN UINT64_MAX /* preset of an option that may be left open */

/* p99 at most so much: 0 where there is none. `extra_permille` is over alone. */
struct plan_target {
	uint64_t p99_ns;
	uint32_t extra_permille;
	bool from_arrival; /* A; else S */
};

/* A process, as a launch gate sees it. Kept by the world; policies read. */
struct plan_proc {
	uint32_t index;
	bool latency;
	uint32_t weight, gpu_max_permille, gpu_min_permille;
	struct plan_target target;
	const struct workload *workload;
	uint64_t launched_ns, seen_ns; /* predicted, cumulative: launched, and seen complete */
	uint32_t in_flight;	       /* launches (pieces) not seen complete */
	uint64_t moved_ns;	       /* when something last completed, or entered an empty pipe */
	/* A server: from a request's (or step's) first launch until its drain was seen. */
	bool active;
	uint64_t busy_since_ns, idle_since_ns; /* idle_since 0: never was active */
	/* Of the request being served; only for policies whose programs say so (process ranges). */
	uint64_t arrival_ns;
	uint64_t held_since_ns; /* 0: no launch is held */
	uint64_t held_ns;	/* cumulative, earlier holds */
	void *own;		/* the policy's */
};

/* One launch about to be made. `op`, `predicted_ns` and `piece` are given. What the policy sets at
 * piece 0 holds for the launch's other pieces, each of which is asked about in its turn. */
struct plan_launch {
	const struct workload_op *op;
	uint64_t predicted_ns;	   /* of the whole launch, on all SMs; given */
	uint64_t cost_ns;	   /* what it counts in flight; preset: predicted_ns */
	uint32_t piece;		   /* from 0 */
	uint32_t pieces;	   /* 1: whole. No more than its waves (plan_waves) */
	uint32_t max_sms;	   /* at most so many; preset: all */
	uint32_t stretch_permille; /* kernel time; preset 1000 */
	uint64_t gpu_extra_ns;	   /* added to each piece's time on the GPU */
	uint64_t host_extra_ns;	   /* added to the launching thread's time for each piece */
	uint64_t copy_in_ns;	   /* a copy to the device before it, in an empty stream; 0: none */
};

enum plan_verdict { PLAN_GO, PLAN_HOLD };

/* PLAN_MILLI: thousandths, signed (as two's complement). */
enum plan_unit { PLAN_COUNT, PLAN_NS, PLAN_PERMILLE, PLAN_FLAG, PLAN_MILLI };

struct plan_option {
	const char *name; /* in scenarios */
	enum plan_unit unit;
	uint64_t preset, least, most;
	const char *help;
};

/* Where a controller stands, time-weighted means over the run after warm-up. */
struct plan_report {
	double level;
	uint64_t window_ns, guard_ns;
	bool unreachable;	  /* it says that the target cannot be met */
	uint32_t beside_permille; /* of its requests: beside another server's, which do not steer */
	/* p99 as it sees it, with and without best-effort work; 0: not known. */
	uint64_t a_ns, a_alone_ns, s_ns, s_alone_ns;
};

struct plan_policy {
	const char *name;
	const char *about; /* one line: what it stands for, and what it leaves out */
	const struct plan_option *options; /* ended by name NULL; may be NULL */
	/* Processes are there (world_procs). 0 or -errno. Optional, as are all but admit. */
	int (*create)(struct world *world, const uint64_t *values, void **ret_state);
	void (*destroy)(void *state);
	/* PLAN_HOLD: asked again at *ret_wake_ns (preset UINT64_MAX: only when woken). */
	enum plan_verdict (*admit)(void *state, struct plan_proc *proc, struct plan_launch *launch,
				   uint64_t *ret_wake_ns);
	void (*launched)(void *state, struct plan_proc *proc, const struct plan_launch *launch);
	/* Seen complete; cost_ns as it was launched, part of the whole for a piece. */
	void (*completed)(void *state, struct plan_proc *proc, const struct workload_op *op,
			  uint64_t cost_ns);
	/* A server's first launch is about to be asked about; its drain was seen. */
	void (*request_begin)(void *state, struct plan_proc *proc);
	void (*request_end)(void *state, struct plan_proc *proc, uint64_t start_ns);
	/* Only for policies whose programs say so (process ranges): a request was accepted; it
	 * is finished. */
	void (*arrived)(void *state, struct plan_proc *proc, uint64_t arrival_ns);
	void (*finished)(void *state, struct plan_proc *proc, uint64_t arrival_ns,
			 uint64_t start_ns);
	/* A loop waits for its own work: it has nothing to launch. */
	void (*waiting)(void *state, struct plan_proc *proc);
	void (*timer)(void *state);
	/* What it has learned of a server, for tables; false: nothing. */
	bool (*report)(void *state, const struct plan_proc *proc, struct plan_report *ret_report);
};

const struct plan_policy *plan_policy_find(const char *name); /* NULL: none of that name */
const struct plan_policy *plan_policy_at(unsigned int index); /* NULL past the end */
uint32_t plan_policy_options(const struct plan_policy *policy);
/* Index of the option; -ENOENT. */
int plan_policy_option(const struct plan_policy *policy, const char *name);

/* Waves of the operation's kernel on so many SMs of the world's device. */
uint32_t plan_waves(const struct world *world, const struct workload_op *op, uint32_t sms);

#endif
