/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_PTX_HALF_H
#define SIMGPU_PTX_HALF_H

/* Half precision, exact in every rounding mode: for what need not be quick. */

#include "ptx/insn.h"

uint32_t half_from_double(double value, enum fp_mode mode); /* FP_RN FP_RM FP_RP FP_RZ */

#endif
