/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PLAN_TEXT_H
#define SLUICE_PLAN_TEXT_H

#include <stddef.h>
#include <stdio.h>

/*
 * A played scenario for people: a row for each policy and tenant, then share errors and who
 * delayed whom. `columns`: of the terminal; 0: as wide as it is. Returns 0 or -ENOMEM.
 */

struct run_result;
struct scenario;

int plan_print(const struct scenario *scenario, const struct run_result *result, size_t columns,
	       FILE *out);
/* What a scenario may name: policies, their options and presets. */
int plan_print_policies(size_t columns, FILE *out);

#endif
