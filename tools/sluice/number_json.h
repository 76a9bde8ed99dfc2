/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_NUMBER_JSON_H
#define SLUICE_NUMBER_JSON_H

#include <jansson.h>
#include <stdint.h>

/* Figures for programs. Some are a tenant's claims, of any size: JSON integers are signed here, and
 * what is more than the largest is shown as that. */
static inline json_t *number_json(uint64_t value)
{
	return json_integer(value < INT64_MAX ? (json_int_t)value : INT64_MAX);
}

/* Where 0 says "not known" or "not there". */
static inline json_t *number_json_known(uint64_t value)
{
	return value ? number_json(value) : json_null();
}

#endif
