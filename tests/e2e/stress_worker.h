/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STRESS_WORKER_H
#define TESTS_STRESS_WORKER_H

/*
 * A thread of the stress program: what it has launched and must therefore see. To be included once;
 * any thread, each with its own worker.
 */

#include <cuda.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "count_kernel.h"

/* Names that the header hides behind macros. */
CUresult CUDAAPI cuLaunchKernel_ptsz(CUfunction f, unsigned int gx, unsigned int gy,
				     unsigned int gz, unsigned int bx, unsigned int by,
				     unsigned int bz, unsigned int shared, CUstream stream,
				     void **params, void **extra);
CUresult CUDAAPI cuStreamSynchronize_ptsz(CUstream stream);

struct worker {
	pthread_t thread;
	unsigned int number, rounds;
	uint64_t state;
	CUdeviceptr word;
	unsigned long long launched, expected, wrong, refused;
};

static CUcontext context;
static CUfunction kernel;
static CUmodule module;

static void fail(CUresult result, const char *call, int line)
{
	const char *name = "?";

	cuGetErrorName(result, &name);
	printf("line %d: %s: %s\n", line, call, name);
	fflush(stdout);
	_exit(1);
}

#define CHECK(call) \
	do { \
		CUresult check_result = call; \
\
		if (check_result != CUDA_SUCCESS) \
			fail(check_result, #call, __LINE__); \
	} while (0)

/* Refused for want of memory is an answer; anything else is not. */
static bool is_there(struct worker *w, CUresult result, const char *call, int line)
{
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_OUT_OF_MEMORY)
		fail(result, call, line);
	w->refused += result != CUDA_SUCCESS;
	return result == CUDA_SUCCESS;
}

#define ALLOC(call) is_there(w, call, #call, __LINE__)

static unsigned int roll(struct worker *w, unsigned int sides)
{
	w->state ^= w->state << 13;
	w->state ^= w->state >> 7;
	w->state ^= w->state << 17;
	return (unsigned int)(w->state >> 33) % sides;
}

static void expect(struct worker *w, unsigned long long seen, int line)
{
	if (seen == w->expected)
		return;
	w->wrong++;
	printf("line %d: thread %u sees %llu, not %llu\n", line, w->number, seen, w->expected);
}

static void launch_on(struct worker *w, CUstream stream)
{
	void *params[] = {&w->word};

	CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, roll(w, 4) * 16, stream, params, NULL));
	w->launched++;
	w->expected++;
}

static CUstream stream_new(struct worker *w)
{
	CUstream stream;

	CHECK(cuStreamCreate(&stream, roll(w, 2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
	return stream;
}

/* A blocking one that captures forbids everybody the legacy stream. */
static CUstream stream_to_capture(void)
{
	CUstream stream;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

/* Waits for the stream in one of the ways there are, and looks. */
static void look(struct worker *w, CUstream stream)
{
	unsigned long long seen = ~0ull;
	CUresult result;
	CUevent event;

	switch (roll(w, 5)) {
	case 0: CHECK(cuStreamSynchronize(stream)); break;
	case 1:
		while ((result = cuStreamQuery(stream)) == CUDA_ERROR_NOT_READY)
			usleep(100);
		CHECK(result);
		break;
	case 2:
		CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
		CHECK(cuEventRecord(event, stream));
		CHECK(cuEventSynchronize(event));
		CHECK(cuEventDestroy(event));
		break;
	case 3:
		CHECK(cuEventCreate(&event, CU_EVENT_DEFAULT));
		CHECK(cuEventRecord(event, stream));
		while ((result = cuEventQuery(event)) == CUDA_ERROR_NOT_READY)
			usleep(100);
		CHECK(result);
		CHECK(cuEventDestroy(event));
		break;
	default:
		/* Into pageable memory: returns with the data. */
		CHECK(cuMemcpyDtoHAsync(&seen, w->word, sizeof(seen), stream));
		expect(w, seen, __LINE__);
		return;
	}
	CHECK(cuMemcpyDtoH(&seen, w->word, sizeof(seen)));
	expect(w, seen, __LINE__);
}

#endif
