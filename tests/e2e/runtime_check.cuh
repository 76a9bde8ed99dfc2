/* SPDX-License-Identifier: Apache-2.0 */
#ifndef E2E_RUNTIME_CHECK_CUH
#define E2E_RUNTIME_CHECK_CUH

/* Counts checks; the first that fails is the last. */

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static unsigned int checks;

static inline void expect(bool ok, const char *what, int line)
{
	checks++;
	if (ok)
		return;
	fprintf(stderr, "line %d: not so: %s\n", line, what);
	exit(1);
}

static inline void expect_error(cudaError_t got, cudaError_t want, const char *what, int line)
{
	checks++;
	if (got == want)
		return;
	fprintf(stderr, "line %d: %s: %s (%d), not %s\n", line, what, cudaGetErrorName(got), got,
		cudaGetErrorName(want));
	exit(1);
}

#define EXPECT(condition) expect((condition), #condition, __LINE__)
#define FAILS(error, call) expect_error((call), (error), #call, __LINE__)
#define OK(call) FAILS(cudaSuccess, call)

#endif
