/* SPDX-License-Identifier: Apache-2.0 */
/* What every x86-64 processor runs. */
#include "ptx/half.h"
#include "ptx/ops.h"
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define ISA_BASE 1
#define ISA_SET ops_base
#define ISA_NAME "base"

#include "ptx/isa.inc"
