/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SLUICE_GATE_H
#define PLAN_SLUICE_GATE_H

/*
 * The shim's side of one process: its grant, whether a launch may go (the shim's own
 * gate_decide.c), what is noted of holds, and when the arbiter is told of one. Virtual ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "gate_decide.h"
#include "plan/policy.h"

struct sluice_gate {
	struct plan_proc *proc;
	struct grant grant; /* as the process sees it */
	uint32_t word;	    /* odd: closed */
	bool watched;	    /* by the arbiter, before it decides */
	bool counts;	    /* a server's activity closes the others' gates */
	enum gate_reason reason;
	bool counted; /* the present hold is one that status counts */
	uint64_t counted_since_ns, counted_ns;
	uint64_t forced;
	uint64_t want_ns;    /* when the arbiter was last told that a launch is held ... */
	uint32_t want_word;  /* ... and what the gate's word was then */
	uint64_t want_at_ns; /* when that reaches the arbiter; UINT64_MAX: nothing is under way */
	uint64_t completed_at_ns; /* when something was last seen complete */
	/* A server's activity page: survives gaps shorter than its grant's guard. */
	uint64_t busy_since_ns;
	/* The busy period that a best-effort process last met, and with how much in flight. */
	uint64_t met_since_ns, met_ns;
	uint64_t rest_launched_ns; /* launched at the last slow tick */
	/* Of the latest run of large copies: launched before it, and after it. */
	uint64_t copies_from_ns, copies_until_ns;
};

/* What a best-effort gate reads from the activity pages. */
struct sluice_activity_seen {
	bool active;
	uint64_t idle_since_ns, busy_since_ns; /* the latest */
};

struct sluice_gate_terms {
	uint64_t progress_ns;
	uint64_t wake_ns;    /* a thread that sleeps runs so long after it was woken */
	uint64_t message_ns; /* to the arbiter */
	bool copies;	     /* large ones are told from other work ... */
	bool collectives; /* ... and kernels that exchange data with other GPUs, as if they were */
};

/* True: go. Else *ret_wake_ns: when the thread looks again by itself. */
bool sluice_gate_ask(struct sluice_gate *gate, const struct sluice_activity_seen *seen,
		     const struct sluice_gate_terms *terms, const struct workload_op *op,
		     uint64_t cost_ns, uint64_t now_ns, uint64_t *ret_wake_ns);
/* A launch of cost_ns has been made. */
void sluice_gate_launched(struct sluice_gate *gate, const struct sluice_gate_terms *terms,
			  const struct workload_op *op, uint64_t cost_ns);
/* A server's request begins: its activity page. */
void sluice_gate_begin(struct sluice_gate *gate, uint64_t now_ns);
/* What the process had in flight when it met the busy period; UINT64_MAX: it does not say. */
uint64_t sluice_gate_met(const struct sluice_gate *gate, uint64_t busy_since_ns);
/* As the arbiter reads it from the pages. */
struct event_usage sluice_gate_usage(const struct sluice_gate *gate, uint64_t now_ns);
void sluice_gate_grant(struct sluice_gate *gate, const struct grant *grant);

#endif
