/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_FOLD_IMPL_H
#define PLAN_FOLD_IMPL_H

/* What fold.c (records and steps) and fold_make.c (the workload) know of one another. */

#include "plan/fold.h"

/* Launches record[from] .. record[to - 1], with drains of other streams among them; record[to] is the
 * drain that ends it, record[from - 1] that of the step before. */
struct step {
	uint32_t from, to, launches;
	uint64_t hash, work_ns;
};

struct steps {
	struct step *step;
	uint32_t count;
};

static inline uint32_t fold_kind(const struct sluice_trace_record *record)
{
	return record->what & 0xff;
}

static inline bool fold_is_launch(const struct sluice_trace_record *record)
{
	return fold_kind(record) >= SLUICE_TRACE_KERNEL && fold_kind(record) < SLUICE_TRACE_DRAINED;
}

/* Complete ones; free() ret->step, on errors too. */
int fold_find_steps(const struct fold *fold, struct steps *ret);
int fold_find_gaps(const struct fold *fold, const struct steps *steps, struct fold_result *result);

#endif
