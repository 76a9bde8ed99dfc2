/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_WORKLOAD_IMPL_H
#define PLAN_WORKLOAD_IMPL_H

/*
 * Between the parts of the workload module: reading a file (workload_file.c and what workload_reader.h
 * names), drawing operations from derived figures (workload_draw.c), the rest (workload.c).
 */

#include "workload.h"

#define WORKLOAD_MAX_OPS 1000000u
#define WORKLOAD_MAX_NS (1ull << 50)
#define WORKLOAD_LEVELS 6

/* Where the values of a group's `ns` stand, in permille of its operations sorted. */
extern const uint32_t workload_levels[WORKLOAD_LEVELS];

/* Operations of one class and width within one phase. */
struct workload_group {
	uint32_t count;
	uint8_t bw_class;
	uint16_t spread_permille;
	uint64_t total_ns;
	uint64_t ns[WORKLOAD_LEVELS];
	uint32_t sms[3]; /* least, median, most */
};

/* Appends the group's operations to ops[0..count), sorted by ns; keys from first_key on. Their sum
 * is total_ns exactly; false where no such draw exists. */
bool workload_draw_group(const struct workload_group *group, uint32_t first_key,
			 struct workload_op *ops);
/* Puts the drawn groups of one phase, one after the other in ops[0..n), into issue order. */
int workload_interleave(const uint32_t *counts, uint32_t n_groups, uint64_t seed,
			struct workload_op *ops, uint32_t n);
/* Sums, and what graphs hold. */
void workload_sum(struct workload *workload);

#endif
