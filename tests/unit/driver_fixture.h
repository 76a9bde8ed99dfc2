/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DRIVER_FIXTURE_H
#define TESTS_DRIVER_FIXTURE_H

/*
 * For tests that use the whole simulated driver, linked in: a device of their own, so that runs
 * beside one another do not meet, small enough to be filled.
 */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "simgpu/driver/sim.h"

#define FIXTURE_MEMORY (1ull << 30)
#define FIXTURE_CONTEXT (64ull << 20) /* taken by the first context */
#define FIXTURE_SMS 16

#define ck_cuda(call) ck_assert_int_eq(call, CUDA_SUCCESS)
#define ck_cuda_is(call, expected) ck_assert_int_eq(call, expected)

static inline void fixture_describe(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file) {
		perror(path);
		exit(2);
	}
	fprintf(file,
		"name = \"Test GPU\"; compute_capability = \"9.0\"; sms = %d;\n"
		"blocks_per_sm = 32; threads_per_sm = 2048; registers_per_sm = 65536;\n"
		"shared_per_sm = \"228 KiB\"; shared_per_block = \"227 KiB\"; clock = \"1 GHz\";\n"
		"copy_engines = 2; mps = false; memory = \"1 GiB\"; context = \"64 MiB\";\n"
		"memory_bandwidth = \"1 TB/s\"; pinned_bandwidth = \"50 GB/s\";\n"
		"pageable_bandwidth = \"10 GB/s\"; slice = \"2 ms\"; switch = \"100 us\";\n"
		"idle_hold = \"50 us\"; launch_latency = \"4 us\"; kernel_gap = \"1 us\";\n"
		"copy_latency = \"6 us\";\n",
		FIXTURE_SMS);
	if (fclose(file) != 0) {
		perror(path);
		exit(2);
	}
}

/* Once per process, before the first call of the driver. `name`: of the test program. */
static inline void fixture_start(const char *name)
{
	char path[256], instance[64];

	if (secure_getenv("SIMGPU_CONFIG"))
		return;
	snprintf(instance, sizeof(instance), "unit-%s-%d", name, getpid());
	snprintf(path, sizeof(path), "/tmp/simgpu-%s.conf", instance);
	fixture_describe(path);
	setenv("SIMGPU_INSTANCE", instance, 1);
	setenv("SIMGPU_CONFIG", path, 1);
	unsetenv("SIMGPU_PRESET");
	unsetenv("CUDA_VISIBLE_DEVICES");
}

/* In the process that called fixture_start. */
static inline void fixture_end(void)
{
	const char *path = secure_getenv("SIMGPU_CONFIG");

	if (path)
		(void)unlink(path);
}

static inline CUcontext fixture_context(void)
{
	CUcontext context;

	ck_cuda(cuInit(0));
	ck_cuda(cuDevicePrimaryCtxRetain(&context, 0));
	ck_cuda(cuCtxSetCurrent(context));
	return context;
}

static inline void fixture_context_end(void)
{
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	ck_cuda(cuCtxSetCurrent(NULL));
}

static inline size_t fixture_free_bytes(void)
{
	size_t bytes;

	ck_cuda(cuMemGetInfo_v2(&bytes, NULL));
	return bytes;
}

static inline int fixture_run(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	fixture_end();
	return failed != 0;
}

#endif
