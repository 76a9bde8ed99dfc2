/* SPDX-License-Identifier: Apache-2.0 */
/* Processors with AVX-512 (x86-64-v4). */
#include "ptx/half.h"
#include "ptx/ops.h"
#include "ptx/warp.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#define ISA_AVX512 1
#define ISA_SET ops_avx512
#define ISA_NAME "avx512"

#if defined(__clang__)
#pragma clang attribute push( \
	__attribute__((target( \
		"avx,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"))), \
	apply_to = function)
#else
#pragma GCC target( \
	"avx,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512")
#endif

#include "ptx/isa.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
