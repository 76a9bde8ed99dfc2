/* SPDX-License-Identifier: Apache-2.0 */

/* Initialisation, devices, contexts and the thread's stack of them. */

#include <pthread.h>
#include <sys/wait.h>

#include "driver_fixture.h"

START_TEST(test_before_and_after_init)
{
	int count, version;
	CUcontext context;

	const char *fork_mode = secure_getenv("CK_FORK");

	/* Without a process of its own the driver may be up already. */
	if (!fork_mode || strcmp(fork_mode, "no") != 0) {
		ck_cuda_is(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
		ck_cuda_is(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
	}
	ck_cuda(cuDriverGetVersion(&version));
	ck_assert_int_eq(version, 13000);
	ck_cuda_is(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuInit(0));
	ck_cuda(cuInit(0));
	ck_cuda(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, 1);
	ck_cuda(cuCtxGetCurrent(&context));
	ck_assert_ptr_null(context);
}
END_TEST

START_TEST(test_device)
{
	CUuuid one, other;
	char name[64], bus[32];
	CUdevice device;
	size_t total;
	int value;

	ck_cuda(cuInit(0));
	ck_cuda(cuDeviceGet(&device, 0));
	ck_cuda_is(cuDeviceGet(&device, 1), CUDA_ERROR_INVALID_DEVICE);
	ck_cuda_is(cuDeviceGet(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuDeviceGetName(name, sizeof(name), device));
	ck_assert_str_eq(name, "Test GPU");
	ck_cuda(cuDeviceGetName(name, 5, device));
	ck_assert_str_eq(name, "Test");
	ck_cuda(cuDeviceTotalMem_v2(&total, device));
	ck_assert_uint_eq(total, FIXTURE_MEMORY);
	ck_cuda(cuDeviceGetUuid(&one, device));
	ck_cuda(cuDeviceGetUuid_v2(&other, device));
	ck_assert_mem_eq(&one, &other, sizeof(one));
	ck_cuda(cuDeviceGetPCIBusId(bus, sizeof(bus), device));
	ck_cuda(cuDeviceGetByPCIBusId(&device, bus));
	ck_assert_int_eq(device, 0);
	ck_cuda_is(cuDeviceGetByPCIBusId(&device, "0000:7f:00.0"), CUDA_ERROR_INVALID_DEVICE);
	ck_cuda_is(cuDeviceGetByPCIBusId(&device, "x"), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	ck_assert_int_eq(value, FIXTURE_SMS);
	ck_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	ck_assert_int_eq(value, 9);
	ck_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0));
	ck_assert_int_eq(value, 0);
	ck_cuda(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
	ck_assert_int_eq(value, 1);
	ck_cuda_is(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0),
		   CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(test_stack)
{
	CUcontext one, other, seen;

	ck_cuda(cuInit(0));
	ck_cuda(cuCtxCreate_v2(&one, CU_CTX_SCHED_SPIN, 0));
	ck_cuda(cuCtxCreate_v4(&other, NULL, 0, 0));
	ck_cuda(cuCtxGetCurrent(&seen));
	ck_assert_ptr_eq(seen, other);
	ck_cuda(cuCtxPopCurrent_v2(&seen));
	ck_assert_ptr_eq(seen, other);
	ck_cuda(cuCtxGetCurrent(&seen));
	ck_assert_ptr_eq(seen, one);
	for (int i = 0; i < 20; i++)
		ck_cuda(cuCtxPushCurrent_v2(other));
	for (int i = 0; i < 20; i++)
		ck_cuda(cuCtxPopCurrent_v2(NULL));
	ck_cuda(cuCtxSetCurrent(other));
	ck_cuda(cuCtxGetCurrent(&seen));
	ck_assert_ptr_eq(seen, other);
	/* Destroying the current one takes it off the stack. */
	ck_cuda(cuCtxDestroy_v2(other));
	ck_cuda(cuCtxGetCurrent(&seen));
	ck_assert_ptr_null(seen);
	ck_cuda_is(cuCtxPopCurrent_v2(&seen), CUDA_ERROR_INVALID_CONTEXT);
	ck_cuda_is(cuCtxPushCurrent_v2(other), CUDA_ERROR_INVALID_CONTEXT);
	ck_cuda_is(cuCtxDestroy_v2(other), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_cuda(cuCtxDestroy_v2(one));
	ck_cuda_is(cuCtxCreate_v2(&one, 0x100, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuCtxCreate_v2(&one, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, 0),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuCtxCreate_v2(&one, 0, 7), CUDA_ERROR_INVALID_DEVICE);
}
END_TEST

static void *in_thread(void *arg)
{
	CUcontext seen;
	CUdevice device;

	ck_cuda(cuCtxGetCurrent(&seen));
	ck_assert_ptr_null(seen);
	ck_cuda_is(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
	ck_cuda(cuCtxSetCurrent(arg));
	ck_cuda(cuCtxGetDevice(&device));
	ck_assert_int_eq(device, 0);
	return NULL;
}

START_TEST(test_each_thread_has_its_own)
{
	CUcontext context = fixture_context();
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, context), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	fixture_context_end();
}
END_TEST

START_TEST(test_current_and_destroyed_elsewhere)
{
	CUcontext context, seen;
	CUdeviceptr pointer;

	ck_cuda(cuInit(0));
	ck_cuda(cuCtxCreate_v2(&context, 0, 0));
	ck_cuda(cuCtxPushCurrent_v2(context));
	ck_cuda(cuCtxDestroy_v2(context)); /* off the top, and still once below */
	ck_cuda(cuCtxGetCurrent(&seen));
	ck_assert_ptr_eq(seen, context);
	ck_cuda_is(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_cuda_is(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_cuda(cuCtxSetCurrent(NULL));
}
END_TEST

START_TEST(test_primary)
{
	CUcontext one, other, seen;
	CUdeviceptr pointer;
	unsigned int flags;
	int active;
	size_t before;

	ck_cuda(cuInit(0));
	ck_cuda_is(cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
	ck_cuda(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
	ck_cuda(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 0);
	ck_assert_uint_eq(flags, CU_CTX_SCHED_BLOCKING_SYNC);
	ck_cuda(cuDevicePrimaryCtxRetain(&one, 0));
	ck_cuda(cuDevicePrimaryCtxRetain(&other, 0));
	ck_assert_ptr_eq(one, other);
	ck_cuda_is(cuCtxDestroy_v2(one), CUDA_ERROR_INVALID_CONTEXT);
	ck_cuda(cuCtxSetCurrent(one));
	before = fixture_free_bytes();
	ck_cuda(cuMemAlloc_v2(&pointer, 1 << 20));
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	ck_cuda(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 1);
	/* A reset frees what is in it; the handle is good again once retained. */
	ck_cuda(cuDevicePrimaryCtxReset_v2(0));
	ck_cuda_is(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_cuda(cuDevicePrimaryCtxRetain(&seen, 0));
	ck_assert_ptr_eq(seen, one);
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda_is(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	ck_cuda(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 0);
	ck_cuda(cuDevicePrimaryCtxSetFlags_v2(0, 0));
	/* May be made current before anybody retains it, as the runtime does. */
	ck_cuda(cuCtxSetCurrent(one));
	ck_cuda_is(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_cuda(cuCtxSetCurrent(NULL));
}
END_TEST

START_TEST(test_asking)
{
	CUcontext context;
	unsigned long long id, other_id;
	unsigned int flags, version;
	int least, greatest;
	CUdevice device;
	size_t limit;

	ck_cuda(cuInit(0));
	ck_cuda_is(cuCtxGetDevice_v2(NULL, NULL), CUDA_ERROR_INVALID_CONTEXT);
	context = fixture_context();
	ck_cuda(cuCtxGetDevice_v2(&device, context));
	ck_cuda_is(cuCtxGetDevice_v2(NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuCtxGetFlags(&flags));
	ck_cuda(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
	ck_cuda(cuCtxGetFlags(&flags));
	ck_assert_uint_eq(flags, CU_CTX_SCHED_YIELD);
	ck_cuda(cuCtxGetApiVersion(context, &version));
	ck_cuda(cuCtxGetId(context, &id));
	ck_cuda(cuCtxGetStreamPriorityRange(&least, &greatest));
	ck_assert_int_eq(least, 0);
	ck_assert_int_lt(greatest, least);
	ck_cuda(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	ck_cuda(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
	ck_assert_uint_eq(limit, 4096);
	ck_cuda_is(cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuCtxSynchronize_v2(context));
	fixture_context_end();
	context = fixture_context();
	ck_cuda(cuCtxGetId(context, &other_id));
	ck_assert_uint_ne(id, other_id);
	fixture_context_end();
}
END_TEST

START_TEST(test_sticky_error)
{
	CUcontext context = fixture_context();
	CUdeviceptr pointer;
	size_t bytes;
	void *host;

	ck_cuda(cuMemAlloc_v2(&pointer, 4096));
	sim_set_sticky(sim_current_or_null(), CUDA_ERROR_ILLEGAL_ADDRESS);
	sim_set_sticky(sim_current_or_null(), CUDA_ERROR_ASSERT);
	ck_cuda_is(cuMemFree_v2(pointer), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuMemAlloc_v2(&pointer, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuMemHostAlloc(&host, 16, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuMemGetInfo_v2(&bytes, NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_cuda_is(cuCtxSynchronize_v2(context), CUDA_ERROR_ILLEGAL_ADDRESS);
	/* It ends with the context. */
	ck_cuda(cuDevicePrimaryCtxReset_v2(0));
	ck_cuda(cuDevicePrimaryCtxRetain(&context, 0));
	ck_cuda(cuMemAlloc_v2(&pointer, 16));
	ck_cuda(cuMemFree_v2(pointer));
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	fixture_context_end();
}
END_TEST

START_TEST(test_forked_child_has_none)
{
	int status, count;
	CUdeviceptr pointer;
	CUcontext context;
	pid_t child;

	(void)fixture_context();
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
				      cuCtxGetCurrent(&context) == CUDA_ERROR_NOT_INITIALIZED &&
				      cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
				      cuMemPoolTrimTo(NULL, 0) == CUDA_ERROR_NOT_INITIALIZED &&
				      cuMemAlloc_v2(&pointer, 16) == CUDA_ERROR_NOT_INITIALIZED &&
				      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
			      ? 0
			      : 1);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_cuda(cuCtxSynchronize());
	fixture_context_end();
}
END_TEST

START_TEST(test_errors_have_names)
{
	const char *text;

	ck_cuda(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text));
	ck_assert_str_eq(text, "CUDA_ERROR_OUT_OF_MEMORY");
	ck_cuda(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	ck_assert_str_eq(text, "an illegal memory access was encountered");
	ck_cuda_is(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("context");
	TCase *tcase = tcase_create("all");

	fixture_start("context");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_before_and_after_init);
	tcase_add_test(tcase, test_device);
	tcase_add_test(tcase, test_stack);
	tcase_add_test(tcase, test_each_thread_has_its_own);
	tcase_add_test(tcase, test_current_and_destroyed_elsewhere);
	tcase_add_test(tcase, test_primary);
	tcase_add_test(tcase, test_asking);
	tcase_add_test(tcase, test_sticky_error);
	tcase_add_test(tcase, test_forked_child_has_none);
	tcase_add_test(tcase, test_errors_have_names);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
