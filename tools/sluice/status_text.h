/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_STATUS_TEXT_H
#define SLUICE_STATUS_TEXT_H

#include <stdint.h>
#include <stdio.h>

struct query;
struct status;

/* What `sluice status` prints, for people (a terminal of `columns`, 0: no terminal) and for programs.
 * Both return 0 or -errno. */
int status_print(const struct query *query, const struct status *status, size_t columns, FILE *out);
int status_print_json(const struct query *query, const struct status *status, FILE *out);

/* The word of the configuration for an enum sluice_class. */
const char *status_class(uint32_t tenant_class);

#endif
