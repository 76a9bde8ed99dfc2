/* SPDX-License-Identifier: Apache-2.0 */

/* Allocation in stream order and the pools behind it. */

#include "driver_fixture.h"

static CUmemoryPool default_pool(void)
{
	CUmemoryPool pool;

	ck_cuda(cuDeviceGetDefaultMemPool(&pool, 0));
	return pool;
}

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	cuuint64_t value = 0;

	ck_cuda(cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

static void set_threshold(CUmemoryPool pool, cuuint64_t bytes)
{
	ck_cuda(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes));
}

START_TEST(test_alloc_and_free)
{
	CUmemoryPool pool, of_pointer;
	CUdeviceptr pointer;
	CUstream stream;
	size_t before;

	(void)fixture_context();
	pool = default_pool();
	ck_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	before = fixture_free_bytes();
	ck_cuda(cuMemAllocAsync(&pointer, 1000, stream));
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 1024);
	ck_cuda(cuPointerGetAttribute(&of_pointer, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, pointer));
	ck_assert_ptr_eq(of_pointer, pool);
	ck_cuda(cuMemsetD8Async(pointer, 5, 1000, stream));
	ck_cuda(cuMemFreeAsync(pointer, stream));
	ck_cuda_is(cuMemFreeAsync(pointer, stream), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	ck_cuda(cuStreamSynchronize(stream));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda_is(cuMemsetD8Async(pointer, 5, 1, stream), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFreeAsync(0, stream));
	ck_cuda_is(cuMemAllocAsync(&pointer, 0, stream), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemAllocAsync(&pointer, FIXTURE_MEMORY, stream), CUDA_ERROR_OUT_OF_MEMORY);
	ck_cuda(cuStreamDestroy_v2(stream));
	fixture_context_end();
}
END_TEST

START_TEST(test_threshold_keeps_memory)
{
	CUmemoryPool pool;
	CUdeviceptr pointer, again;
	size_t before;

	(void)fixture_context();
	pool = default_pool();
	before = fixture_free_bytes();
	set_threshold(pool, UINT64_MAX);
	ck_cuda(cuMemAllocAsync(&pointer, 4096, NULL));
	ck_cuda(cuMemFreeAsync(pointer, NULL));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(before - fixture_free_bytes(), 4096);
	ck_cuda(cuMemAllocAsync(&again, 4000, NULL));
	ck_assert_uint_eq(again, pointer);
	ck_cuda(cuMemFree_v2(again));
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4096);
	ck_cuda(cuMemPoolTrimTo(pool, 4096));
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4096);
	ck_cuda(cuMemPoolTrimTo(pool, 0));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	set_threshold(pool, 0);
	fixture_context_end();
}
END_TEST

/* A loop that frees before it allocates never waits, however large its blocks. */
START_TEST(test_same_stream_uses_again)
{
	CUdeviceptr pointer = 0, first = 0;
	size_t bytes = 600ull << 20;
	CUstream stream;

	(void)fixture_context();
	ck_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 50; i++) {
		ck_cuda(cuMemAllocAsync(&pointer, bytes, stream));
		if (!first)
			first = pointer;
		ck_cuda(cuMemsetD8Async(pointer, (unsigned char)i, 16, stream));
		ck_cuda(cuMemFreeAsync(pointer, stream));
	}
	/* Another stream has to wait for the memory, and gets it. */
	ck_cuda(cuMemAllocAsync(&pointer, bytes, NULL));
	ck_cuda(cuMemFreeAsync(pointer, NULL));
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuStreamDestroy_v2(stream));
	fixture_context_end();
}
END_TEST

START_TEST(test_marks)
{
	cuuint64_t zero = 0, one = 1;
	CUmemoryPool pool;
	CUdeviceptr pointer;

	(void)fixture_context();
	pool = default_pool();
	ck_cuda(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	ck_cuda(cuMemAllocAsync(&pointer, 1 << 20, NULL));
	ck_cuda(cuMemFreeAsync(pointer, NULL));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1 << 20);
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	ck_cuda_is(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
	ck_cuda_is(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero),
		   CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_own_pool)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				.maxSize = 1 << 20};
	CUmemoryPool pool, seen;
	CUdeviceptr pointer, more;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuMemPoolCreate(&pool, &props));
	ck_cuda(cuMemAllocFromPoolAsync(&pointer, 1 << 20, pool, NULL));
	ck_cuda_is(cuMemAllocFromPoolAsync(&more, 512, pool, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	ck_cuda(cuDeviceSetMemPool(0, pool));
	ck_cuda(cuDeviceGetMemPool(&seen, 0));
	ck_assert_ptr_eq(seen, pool);
	ck_cuda_is(cuMemAllocAsync(&more, 512, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	/* Destroyed, it is the device's no longer; what it gave stays until it is freed. */
	ck_cuda(cuMemPoolDestroy(pool));
	ck_cuda_is(cuMemPoolDestroy(pool), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuDeviceGetMemPool(&seen, 0));
	ck_assert_ptr_eq(seen, default_pool());
	ck_cuda(cuMemsetD8Async(pointer, 1, 1 << 20, NULL));
	ck_cuda(cuMemFreeAsync(pointer, NULL));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda_is(cuMemPoolDestroy(default_pool()), CUDA_ERROR_INVALID_VALUE);
	props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	ck_cuda_is(cuMemPoolCreate(&pool, &props), CUDA_ERROR_NOT_SUPPORTED);
	fixture_context_end();
}
END_TEST

START_TEST(test_plain_memory_freed_in_order)
{
	CUdeviceptr pointer;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuMemAlloc_v2(&pointer, 4096));
	ck_cuda(cuMemsetD8Async(pointer, 1, 4096, NULL));
	ck_cuda(cuMemFreeAsync(pointer, NULL));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda_is(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_reset_frees_blocks)
{
	CUmemoryPool pool;
	CUdeviceptr pointer;
	CUcontext context;
	size_t before;

	(void)fixture_context();
	pool = default_pool();
	before = fixture_free_bytes();
	set_threshold(pool, UINT64_MAX);
	ck_cuda(cuMemAllocAsync(&pointer, 1 << 20, NULL));
	ck_cuda(cuMemAllocAsync(&pointer, 1 << 20, NULL));
	ck_cuda(cuMemFreeAsync(pointer, NULL));
	ck_cuda(cuDevicePrimaryCtxReset_v2(0));
	ck_cuda(cuDevicePrimaryCtxRetain(&context, 0));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	ck_assert_uint_eq(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	set_threshold(pool, 0);
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	fixture_context_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("all");

	fixture_start("pool");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_alloc_and_free);
	tcase_add_test(tcase, test_threshold_keeps_memory);
	tcase_add_test(tcase, test_same_stream_uses_again);
	tcase_add_test(tcase, test_marks);
	tcase_add_test(tcase, test_own_pool);
	tcase_add_test(tcase, test_plain_memory_freed_in_order);
	tcase_add_test(tcase, test_reset_frees_blocks);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
