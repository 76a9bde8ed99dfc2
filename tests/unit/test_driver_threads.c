/* SPDX-License-Identifier: Apache-2.0 */

/* Many threads at once in what they share: memory, its table and account, pools, code, contexts.
 * Each checks its own bytes; at the end the device has all of its memory back. */

#include <pthread.h>
#include <string.h>

#include "driver_fixture.h"

#define THREADS 4
#define STEPS 300

static const char code[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
			   ".visible .global .align 4 .u32 value = 7;\n"
			   ".visible .entry set(.param .u32 what)\n"
			   "{\n"
			   "	.reg .b32 %r<2>;\n"
			   "	ld.param.u32 %r1, [what];\n"
			   "	st.global.u32 [value], %r1;\n"
			   "	ret;\n"
			   "}\n";

static CUlibrary library;

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static void check_bytes(CUdeviceptr pointer, size_t bytes, unsigned char value)
{
	unsigned char seen[64];
	size_t count = bytes < sizeof(seen) ? bytes : sizeof(seen);

	ck_cuda(cuMemcpyDtoH_v2(seen, pointer + bytes - count, count));
	for (size_t i = 0; i < count; i++)
		ck_assert_uint_eq(seen[i], value);
}

static void use_plain(uint64_t *seed)
{
	size_t bytes = 1 + next_random(seed) % 100000;
	unsigned char value = (unsigned char)next_random(seed);
	CUdeviceptr pointer;

	ck_cuda(cuMemAlloc_v2(&pointer, bytes));
	ck_cuda(cuMemsetD8_v2(pointer, value, bytes));
	check_bytes(pointer, bytes, value);
	ck_cuda(cuMemFree_v2(pointer));
}

static void use_pool(uint64_t *seed, CUstream stream)
{
	size_t bytes = 512 * (1 + next_random(seed) % 4);
	unsigned char value = (unsigned char)next_random(seed);
	CUdeviceptr pointer;

	ck_cuda(cuMemAllocAsync(&pointer, bytes, stream));
	ck_cuda(cuMemsetD8Async(pointer, value, bytes, stream));
	ck_cuda(cuStreamSynchronize(stream));
	check_bytes(pointer, bytes, value);
	ck_cuda(cuMemFreeAsync(pointer, stream));
}

static void use_host(uint64_t *seed)
{
	size_t bytes = 1 + next_random(seed) % 10000;
	unsigned int type;
	void *host;

	ck_cuda(cuMemHostAlloc(&host, bytes, 0));
	memset(host, 1, bytes);
	ck_cuda(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				      (uintptr_t)host + bytes - 1));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_HOST);
	ck_cuda(cuMemFreeHost(host));
}

static void use_module(uint64_t *seed, CUstream stream)
{
	unsigned int what = (unsigned int)next_random(seed), seen;
	void *params[] = {&what};
	CUfunction function;
	CUdeviceptr value;
	CUmodule module;

	ck_cuda(cuModuleLoadData(&module, code));
	ck_cuda(cuModuleGetFunction(&function, module, "set"));
	ck_cuda(cuModuleGetGlobal_v2(&value, NULL, module, "value"));
	ck_cuda(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	ck_cuda(cuStreamSynchronize(stream));
	ck_cuda(cuMemcpyDtoH_v2(&seen, value, sizeof(seen)));
	ck_assert_uint_eq(seen, what);
	ck_cuda(cuModuleUnload(module));
}

/* A context of this thread's own, in which the library's kernel has a variable of its own. */
static void use_context(uint64_t *seed)
{
	unsigned int what = (unsigned int)next_random(seed), seen;
	void *params[] = {&what};
	CUcontext context;
	CUdeviceptr value;
	CUkernel kernel;

	ck_cuda(cuCtxCreate_v2(&context, 0, 0));
	ck_cuda(cuLibraryGetKernel(&kernel, library, "set"));
	ck_cuda(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	ck_cuda(cuLibraryGetGlobal(&value, NULL, library, "value"));
	ck_cuda(cuMemcpyDtoH_v2(&seen, value, sizeof(seen)));
	ck_assert_uint_eq(seen, what);
	ck_cuda(cuCtxDestroy_v2(context));
}

static void *run(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	CUcontext context;
	CUstream stream;

	ck_cuda(cuDevicePrimaryCtxRetain(&context, 0));
	ck_cuda(cuCtxSetCurrent(context));
	ck_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int step = 0; step < STEPS; step++) {
		switch (next_random(&seed) % 16) {
		case 0: use_module(&seed, stream); break;
		case 1:
			if (step % 4 == 0)
				use_context(&seed);
			ck_cuda(cuCtxSetCurrent(context));
			break;
		case 2:
		case 3: use_host(&seed); break;
		case 4:
		case 5:
		case 6:
		case 7:
		case 8: use_pool(&seed, stream); break;
		default: use_plain(&seed); break;
		}
	}
	ck_cuda(cuStreamDestroy_v2(stream));
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	return NULL;
}

START_TEST(test_together)
{
	pthread_t thread[THREADS];
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)(i + 1)),
				 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuLibraryUnload(library));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	fixture_context_end();
}
END_TEST

static void *start(void *arg)
{
	CUcontext context;

	ck_cuda(cuInit(0));
	ck_cuda(cuDevicePrimaryCtxRetain(&context, 0));
	ck_cuda(cuCtxSetCurrent(context));
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	return context;
}

START_TEST(test_starting_together)
{
	pthread_t thread[THREADS];
	void *context[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, start, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(thread[i], &context[i]), 0);
	for (int i = 1; i < THREADS; i++)
		ck_assert_ptr_eq(context[i], context[0]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("threads");
	TCase *tcase = tcase_create("all");

	fixture_start("threads");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_starting_together);
	tcase_add_test(tcase, test_together);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
