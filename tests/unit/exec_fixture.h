/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EXEC_FIXTURE_H
#define TESTS_EXEC_FIXTURE_H

/*
 * Kernels and shorthands for the tests of the executor. All kernels take four 64-bit parameters
 * (address, value, count, unused), run on thread 0 of each block, and touch `count` words of the
 * block: address[block * count ...].
 *
 *	fill   word = value	inc   word += value	mul   word *= value
 *	await  until word == value
 *	spin, whole   as fill, with a cost of their own
 *
 * The cost table makes simulated times exact: spin 40 ms on 4 of the 16 SMs, whole 20 ms on all of
 * them, fill, inc and mul 10 us.
 */

#include "driver_fixture.h"

#include "simgpu/driver/exec.h"
#include "simgpu/driver/queue.h"

#define SPIN_US 40000
#define WHOLE_US 20000
#define GAP_US 1 /* the device's, between kernels of a stream */

#define EXEC_KERNEL(name, load, compute) \
	".visible .entry " name "(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)" \
	"\n{\n" \
	".reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<9>;\n" \
	"mov.u32 %r1, %tid.x;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra DONE;\n" \
	"ld.param.u64 %rd1, [p0];\nld.param.u32 %r2, [p1];\nld.param.u64 %rd2, [p2];\n" \
	"mov.u32 %r3, %ctaid.x;\ncvt.u64.u32 %rd3, %r3;\nmul.lo.u64 %rd4, %rd3, %rd2;\n" \
	"shl.b64 %rd5, %rd4, 2;\nadd.u64 %rd6, %rd1, %rd5;\nmov.u64 %rd7, 0;\n" \
	"LOOP:\nsetp.ge.u64 %p2, %rd7, %rd2;\n@%p2 bra DONE;\n" load compute \
	"st.global.u32 [%rd6], %r4;\nadd.u64 %rd6, %rd6, 4;\nadd.u64 %rd7, %rd7, 1;\n" \
	"bra LOOP;\nDONE:\nret;\n}\n"

#define EXEC_AWAIT \
	"AGAIN:\nld.volatile.global.u32 %r4, [%rd6];\nsetp.ne.u32 %p2, %r4, %r2;\n@%p2 bra " \
	"AGAIN;\n"
#define EXEC_LOAD "ld.global.u32 %r4, [%rd6];\n"

static const char exec_ptx[] = ".version 7.5\n.target sm_75\n.address_size 64\n" EXEC_KERNEL(
	"fill", "", "mov.u32 %r4, %r2;\n") EXEC_KERNEL("spin", "", "mov.u32 %r4, %r2;\n")
	EXEC_KERNEL("whole", "", "mov.u32 %r4, %r2;\n")
		EXEC_KERNEL("inc", EXEC_LOAD, "add.u32 %r4, %r4, %r2;\n")
			EXEC_KERNEL("mul", EXEC_LOAD, "mul.lo.u32 %r4, %r4, %r2;\n")
				EXEC_KERNEL("await", EXEC_AWAIT, "");

struct exec_world {
	CUcontext context;
	CUmodule module;
	CUfunction fill, spin, whole, inc, mul, await;
	CUdeviceptr data; /* 1 MiB, zeroes */
	CUstream a, b, c; /* non-blocking */
	CUevent event[8];
	uint32_t *flag; /* of the gate */
	CUdeviceptr flag_device;
};

#define EXEC_DATA_BYTES (1u << 20)

static struct exec_world w;

static inline void exec_world_costs(const char *path)
{
	FILE *file = fopen(path, "ae");

	if (!file) {
		perror(path);
		exit(2);
	}
	fprintf(file,
		"costs = ( { kernel = \"spin\"; duration_us = %d; sms = 4; },\n"
		"{ kernel = \"whole\"; duration_us = %d; },\n"
		"{ kernel = \"*\"; duration_us = 10.0; sms = 1; } );\n",
		SPIN_US, WHOLE_US);
	if (fclose(file) != 0) {
		perror(path);
		exit(2);
	}
}

/* Before the first call of the driver, once per program. */
static inline void exec_world_start(const char *name)
{
	bool first = secure_getenv("SIMGPU_CONFIG") == NULL;

	fixture_start(name);
	if (first)
		exec_world_costs(secure_getenv("SIMGPU_CONFIG"));
}

static inline void exec_world_setup(void)
{
	w.context = fixture_context();
	ck_cuda(cuModuleLoadData(&w.module, exec_ptx));
	ck_cuda(cuModuleGetFunction(&w.fill, w.module, "fill"));
	ck_cuda(cuModuleGetFunction(&w.spin, w.module, "spin"));
	ck_cuda(cuModuleGetFunction(&w.whole, w.module, "whole"));
	ck_cuda(cuModuleGetFunction(&w.inc, w.module, "inc"));
	ck_cuda(cuModuleGetFunction(&w.mul, w.module, "mul"));
	ck_cuda(cuModuleGetFunction(&w.await, w.module, "await"));
	ck_cuda(cuMemAlloc_v2(&w.data, EXEC_DATA_BYTES));
	ck_cuda(cuMemsetD8_v2(w.data, 0, EXEC_DATA_BYTES));
	ck_cuda(cuStreamCreate(&w.a, CU_STREAM_NON_BLOCKING));
	ck_cuda(cuStreamCreate(&w.b, CU_STREAM_NON_BLOCKING));
	ck_cuda(cuStreamCreate(&w.c, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 8; i++)
		ck_cuda(cuEventCreate(&w.event[i], CU_EVENT_DEFAULT));
	ck_cuda(cuMemHostAlloc((void **)&w.flag, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	ck_cuda(cuMemHostGetDevicePointer_v2(&w.flag_device, w.flag, 0));
	*w.flag = 0;
	ck_cuda(cuCtxSynchronize());
}

static inline void exec_world_teardown(void)
{
	(void)cuMemFreeHost(w.flag); /* refused after a fault that stays */
	fixture_context_end();
}

static inline struct exec *exec_world_exec(void)
{
	return ((struct stream *)w.a)->exec;
}

/* The host was too slow for the simulated time at least once: exact times do not hold then. */
static inline bool exec_world_was_late(void)
{
	struct exec *exec = exec_world_exec();
	bool late;

	pthread_mutex_lock(&exec->lock);
	late = exec->counters.late_ops > 0;
	pthread_mutex_unlock(&exec->lock);
	return late;
}

static inline CUresult exec_try(CUfunction function, CUstream stream, CUdeviceptr address,
				uint64_t value, uint64_t count, unsigned int blocks)
{
	uint64_t none = 0;
	void *params[] = {&address, &value, &count, &none};

	return cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static inline void exec_run(CUfunction function, CUstream stream, uint64_t value, uint64_t count,
			    unsigned int blocks)
{
	ck_cuda(exec_try(function, stream, w.data, value, count, blocks));
}

/* A kernel that only takes time. */
static inline void exec_busy(CUfunction function, CUstream stream)
{
	exec_run(function, stream, 0, 0, 1);
}

/* What is queued behind the gate begins when it is opened, all at the same simulated time: so the
 * program's own pace does not matter. `other` may be NULL. Uses event 7. */
static inline void exec_gate(CUstream stream, CUstream other)
{
	ck_cuda(cuStreamWaitValue32(stream, w.flag_device, 1, CU_STREAM_WAIT_VALUE_EQ));
	ck_cuda(cuEventRecord(w.event[7], stream));
	if (other != NULL)
		ck_cuda(cuStreamWaitEvent(other, w.event[7], 0));
}

static inline void exec_open(void)
{
	__atomic_store_n(w.flag, 1, __ATOMIC_RELEASE);
}

/* Device memory is host memory here. Also for looking at what another thread may be computing, which
 * the thread sanitizer need not hear of. */
__attribute__((no_sanitize("thread"))) static inline uint32_t exec_peek(unsigned int word)
{
	return ((const volatile uint32_t *)(uintptr_t)w.data)[word];
}

/* Microseconds from one event to another, rounded. */
static inline long exec_us(int from, int to)
{
	float ms;

	ck_cuda(cuEventElapsedTime(&ms, w.event[from], w.event[to]));
	return (long)(ms * 1000 + (ms < 0 ? -0.5f : 0.5f));
}

#define ck_us(from, to, expected) \
	do { \
		long us_ = exec_us(from, to); \
\
		if (exec_world_was_late()) \
			ck_assert_int_ge(us_ + 1, expected); \
		else \
			ck_assert_msg(us_ >= (expected)-1 && us_ <= (expected) + 1, \
				      "%ld us, not %ld", us_, (long)(expected)); \
	} while (0)

static inline int exec_world_run(const char *name, TCase *(*make)(void))
{
	Suite *suite = suite_create(name);
	TCase *tcase = make();

	exec_world_start(name);
	tcase_add_checked_fixture(tcase, exec_world_setup, exec_world_teardown);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}

#endif
