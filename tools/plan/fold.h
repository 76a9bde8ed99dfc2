/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_FOLD_H
#define PLAN_FOLD_H

/*
 * Folds a trace (sluice/pages.h), as a process wrote it, into a workload. What lies between two
 * drains of its busiest stream is a step. A server's iteration is its most frequent step; that of
 * a loop may be several steps, if they come around. Each operation takes the median of what was
 * predicted for it at its place. Pure but for malloc. Times ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "sluice/pages.h"

struct workload;

/* Grows as records come. Zeroed is empty; fold_finish. */
struct fold {
	struct sluice_trace_record *record;
	uint32_t records, room;
	uint64_t next; /* number of the record expected next */
};

/* Records first .. first + count - 1; where some are missing, the step they were in is not used.
 * -ENOMEM. */
int fold_add(struct fold *fold, uint64_t first, const struct sluice_trace_record *record,
	     uint32_t count);
void fold_finish(struct fold *fold);

struct fold_terms {
	const char *name, *source;
	uint32_t device_sms;
	bool latency;	/* a server: one step is an iteration */
	bool simulated; /* grids say nothing: a kernel takes the whole device */
};

struct fold_result {
	uint32_t steps;		/* complete ones */
	uint32_t used;		/* of them, like the iteration that was taken */
	uint32_t period;	/* steps in an iteration */
	uint32_t work_permille; /* of all predicted work, what `used` make up */
	uint64_t
		launch_gap_ns; /* between two launches, where nothing holds the host: a low quantile */
	uint64_t turn_gap_ns; /* from a drain to the next launch, likewise */
};

/* -ENODATA: no complete step. */
int fold_make(const struct fold *fold, const struct fold_terms *terms,
	      struct workload **ret_workload, struct fold_result *ret_result);

/* Times between the first launches of consecutive steps, malloc'ed. -ENODATA, -ENOMEM. */
int fold_gaps(const struct fold *fold, uint64_t **ret_gaps, uint32_t *ret_count);

#endif
