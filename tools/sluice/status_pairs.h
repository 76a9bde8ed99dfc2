/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_STATUS_PAIRS_H
#define SLUICE_STATUS_PAIRS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

struct status;

/* `sluice status --pairs`: for each GPU who slows whom, a row for the slowed and a column for the
 * other. `columns`: of the terminal, 0: none. 0 or -errno. */
int pairs_print(const struct status *status, size_t columns, FILE *out);
json_t *pairs_json(const struct status *status);

#endif
