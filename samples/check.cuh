/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLES_CHECK_CUH
#define SAMPLES_CHECK_CUH

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

/* A CUDA call that must succeed: else one line says which did not and why, and status 1. */
#define CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)

static inline void check_cuda(cudaError_t error, const char *call, const char *file, int line)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorString(error));
	exit(1);
}

#endif
