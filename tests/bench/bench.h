/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

/*
 * What the bench programs share. They are ordinary CUDA programs, linked to a driver that does
 * nothing, and print lines of `name value`; run.sh runs each without and with the shim in front,
 * in turn, and compares.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "sluice/clock.h"

#define BENCH_FUNCTION(n) ((CUfunction)(uintptr_t)(0x100000 + 0x40 * (uintptr_t)(n)))

static inline void bench_check(CUresult result, const char *what)
{
	if (result == CUDA_SUCCESS)
		return;
	fprintf(stderr, "%s: error %d\n", what, result);
	exit(EXIT_FAILURE);
}

static inline void bench_start(void)
{
	CUcontext context;

	bench_check(cuInit(0), "cuInit");
	bench_check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	bench_check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

static inline uint64_t bench_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SLUICE_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t bench_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double bench_quantile(double *values, size_t count, double q)
{
	size_t rank = (size_t)(q * (double)count);

	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), bench_compare);
	return values[rank < count ? rank : count - 1];
}

static inline unsigned int bench_number(const char *text)
{
	return (unsigned int)strtoul(text, NULL, 10);
}

#endif
