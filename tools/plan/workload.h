/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_WORKLOAD_H
#define PLAN_WORKLOAD_H

/*
 * A workload: what one iteration of a program gives to the GPU, in issue order. An iteration is one
 * inference request or one training step; the host synchronises at its end, or at the end of each
 * of its `steps` (a decode loop).
 *
 * A file (libconfig) holds either figures derived from a kernel table (phases of groups, with
 * counts, totals and quantiles) or a recorded list of operations. From the figures the operations
 * are drawn deterministically: each group keeps its count and its total time to the nanosecond, and
 * the operations of a phase stand in an order that spreads every group over it.
 *
 * A loaded workload is read-only, but for workload_restate, and may be shared by any number of
 * worlds. Times in ns, on a device of `device_sms` SMs.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum workload_kind {
	WORKLOAD_KERNEL,
	WORKLOAD_COPY_H2D,
	WORKLOAD_COPY_D2H,
	WORKLOAD_COPY_D2D, /* and memset */
	WORKLOAD_GRAPH,	   /* one launch unit: the `nodes` operations after it; never held inside */
};

enum workload_class { WORKLOAD_UNKNOWN, WORKLOAD_MEMORY, WORKLOAD_COMPUTE };

struct workload_op {
	uint64_t ns;	  /* of the whole operation alone; a graph: the sum of its nodes */
	uint64_t bytes;	  /* copies; kernels: exchanged with other GPUs (a collective) */
	uint32_t key;	  /* same kernel, same key; from 1 */
	uint32_t sms;	  /* SMs that hold the whole grid at once; above the device's: waves */
	uint32_t nodes;	  /* graphs */
	uint8_t kind;	  /* enum workload_kind */
	uint8_t bw_class; /* enum workload_class */
	/* How far the work of this key varies from one launch to the next: uniform in +-
	 * spread_permille around ns. 0: always the same. */
	uint16_t spread_permille;
};

struct workload {
	char name[64];
	char source[256]; /* where the figures come from, with the licence */
	uint32_t device_sms;
	uint32_t n_ops; /* operations of one step, graphs' nodes included */
	struct workload_op *ops;
	uint64_t step_ns;     /* sum of ns, graphs' nodes counted once */
	uint32_t steps;	      /* 1, or the steps of a decode loop */
	uint64_t step_gap_ns; /* the host's time between two steps */
	bool has_gaps;	      /* each operation was timed with the gap before it: by events */
};

struct workload_error {
	char file[256];
	int line; /* 0: none */
	char msg[256];
};

/* -errno with *reterr filled: file, line, what is wrong and what would be right. */
int workload_load(const char *path, struct workload **ret, struct workload_error *reterr);
/* From operations already at hand (copied), e.g. a recorded trace. -EINVAL: no operations. */
int workload_create(const char *name, const char *source, uint32_t device_sms,
		    const struct workload_op *ops, uint32_t n_ops, struct workload **ret);
void workload_free(struct workload *workload);

/* On a device of so many SMs: a kernel has another number of waves there, each as long as before.
 * What was timed with its gaps is taken without: the device has gap_ns between the operations of a
 * stream by itself. All that is kept in terms of the device's time (loads, quotas, predictions)
 * starts from this. */
void workload_restate(struct workload *workload, uint32_t device_sms, uint64_t gap_ns);

/* Writes what workload_load reads, as a list of operations. */
int workload_write(const struct workload *workload, FILE *out);

/* steps * (step_ns + gap), without the host's launch and synchronisation times. */
uint64_t workload_iteration_ns(const struct workload *workload);

#endif
