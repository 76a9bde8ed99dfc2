/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_LATE_H
#define SLUICE_LATE_H

/* What `sluice why` prints of an answer: rows, then sums by tenant and launch unit. Returns 0 or
 * -errno. Single thread. */

#include <stddef.h>
#include <stdio.h>

#include "query.h"

struct late_sum {
	char tenant[SLUICE_NAME_MAX]; /* empty: not for this user to see */
	char unit[SLUICE_NAME_MAX];   /* empty: not known */
	uint64_t requests;	      /* that met it */
	uint64_t in_flight_ns, longest_ns;
};

/* By work in flight, the most first; the caller frees *ret_sum. */
int late_sum(const struct late *late, struct late_sum **ret_sum, size_t *ret_count);

int late_print(const char *tenant, const struct late *late, size_t columns, FILE *out);
int late_print_json(const char *tenant, const struct late *late, FILE *out);

#endif
