/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SLO_FIX_H
#define CORE_SLO_FIX_H

/*
 * What the controller needs of arithmetic, in integers: logarithm and power of two in 1/1024 of an
 * octave, and the k smallest of a list. Pure.
 */

#include <stdint.h>

#define FIX_OCTAVE 1024 /* log2 of 2 */

/* log2(value), value > 0; error below 1/1024 of an octave. */
int32_t fix_log2(uint64_t value);
/* value * 2^(octaves / 1024), saturated. */
uint64_t fix_scale(uint64_t value, int32_t octaves);
/* value * numerator / denominator without overflow between; denominator > 0; saturated. */
uint64_t fix_muldiv(uint64_t value, uint64_t numerator, uint64_t denominator);

/* Reorders so that value[k] is what it would be if sorted, with none larger before and none
 * smaller behind it. k < count. Returns value[k]. */
uint64_t fix_select(uint64_t *value, uint32_t count, uint32_t k);
/* Ascending. */
void fix_sort(uint64_t *value, uint32_t count);

#endif
