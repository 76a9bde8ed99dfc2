/* SPDX-License-Identifier: Apache-2.0 */
/* Processors with AVX2, FMA and BMI2 (x86-64-v3). */
#include "ptx/half.h"
#include "ptx/ops.h"
#include "ptx/handlers.h"
#include "ptx/run.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define ISA_AVX2 1
#define ISA_SET ops_avx2
#define ISA_NAME "avx2"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe"))), \
			     apply_to = function)
#else
#pragma GCC target("avx,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe")
#endif

#include "ptx/isa.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
