/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_STATUS_SLO_H
#define SLUICE_STATUS_SLO_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "sluice/wire.h"

/* A latency tenant's target and where the controller stands with it, for people and for programs. */

/* "20 ms", "+10 %"; "-": none. */
void slo_format_target(const struct sluice_msg_status_tenant *row, size_t size, char *ret_text);
/* Lines below the table; nothing where the tenant has no controller. */
void slo_print(const struct sluice_msg_status_tenant *row, FILE *out);
/* NULL where it has none. */
json_t *slo_json(const struct sluice_msg_status_tenant *row);

#endif
