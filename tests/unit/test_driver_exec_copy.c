/* SPDX-License-Identifier: Apache-2.0 */

/* Copies, memsets and launch arguments. */

#include "exec_fixture.h"

#define WORDS 65536u
#define BYTES (WORDS * 4)

static uint32_t *pinned;
static uint32_t pageable[WORDS];

static void take_pinned(void)
{
	ck_cuda(cuMemHostAlloc((void **)&pinned, BYTES, 0));
	for (uint32_t i = 0; i < WORDS; i++)
		pinned[i] = pageable[i] = i * 7 + 1;
}

static void check_data(uint32_t factor)
{
	for (uint32_t i = 0; i < WORDS; i += 97)
		ck_assert_uint_eq(exec_peek(i), factor * (i * 7 + 1));
}

START_TEST(test_pinned_copies_are_asynchronous)
{
	take_pinned();
	for (int i = 0; i < 5; i++)
		exec_busy(w.spin, w.a);
	ck_cuda(cuMemcpyHtoDAsync_v2(w.data, pinned, BYTES, w.a));
	exec_run(w.mul, w.a, 2, WORDS, 1);
	ck_cuda(cuMemcpyDtoHAsync_v2(pinned, w.data, BYTES, w.a));
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_NOT_READY);
	ck_cuda(cuStreamSynchronize(w.a));
	check_data(2);
	for (uint32_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(pinned[i], 2 * (i * 7 + 1));
	ck_cuda(cuMemFreeHost(pinned));
}
END_TEST

START_TEST(test_pageable_sources_are_taken_at_the_call)
{
	take_pinned();
	exec_busy(w.spin, w.a);
	ck_cuda(cuMemcpyHtoDAsync_v2(w.data, pageable, BYTES, w.a));
	memset(pageable, 0, sizeof(pageable));
	ck_cuda(cuStreamSynchronize(w.a));
	check_data(1);
	/* To pageable memory the call returns when the bytes are there. */
	exec_busy(w.spin, w.a);
	ck_cuda(cuMemcpyDtoHAsync_v2(pageable, w.data, BYTES, w.a));
	for (uint32_t i = 0; i < WORDS; i++)
		ck_assert_uint_eq(pageable[i], pinned[i]);
	ck_cuda(cuMemFreeHost(pinned));
}
END_TEST

START_TEST(test_blocking_copies)
{
	uint32_t small[4] = {1, 2, 3, 4}, back[4];

	take_pinned();
	ck_cuda(cuMemcpyHtoD_v2(w.data, small, sizeof(small)));
	small[0] = 9;
	ck_cuda(cuMemcpyDtoD_v2(w.data + 16, w.data, 16));
	ck_cuda(cuMemcpy(w.data + 8, w.data + 4, 8)); /* overlapping */
	ck_cuda(cuMemcpyDtoH_v2(back, w.data, 16));
	ck_assert_uint_eq(back[0], 1);
	ck_assert_uint_eq(back[1], 2);
	ck_assert_uint_eq(back[2], 2);
	ck_assert_uint_eq(back[3], 3);
	ck_cuda(cuMemcpy((uintptr_t)back, w.data + 16, 16));
	ck_assert_uint_eq(back[3], 4);
	ck_cuda(cuMemcpy((uintptr_t)pageable, (uintptr_t)(pinned + 4), 16));
	ck_assert_uint_eq(pageable[0], 29);
	ck_cuda(cuMemcpyHtoD_v2(w.data, pinned, BYTES));
	check_data(1);
	ck_cuda(cuMemcpyPeer(w.data + BYTES, w.context, w.data, w.context, 64));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(exec_peek(WORDS + 3), 22);
	ck_cuda(cuMemFreeHost(pinned));
}
END_TEST

START_TEST(test_two_and_three_dimensions)
{
	CUDA_MEMCPY2D two = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = pageable,
		.srcPitch = 64,
		.srcXInBytes = 8,
		.srcY = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = w.data,
		.dstPitch = 256,
		.dstY = 2,
		.WidthInBytes = 16,
		.Height = 3,
	};
	CUDA_MEMCPY3D three = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = w.data,
		.srcPitch = 256,
		.srcHeight = 8,
		.srcY = 2,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = pageable,
		.dstPitch = 32,
		.dstHeight = 4,
		.WidthInBytes = 16,
		.Height = 3,
		.Depth = 2,
	};

	take_pinned();
	ck_cuda(cuMemcpy2D_v2(&two));
	ck_cuda(cuCtxSynchronize());
	for (unsigned int y = 0; y < 3; y++)
		for (unsigned int x = 0; x < 4; x++)
			ck_assert_uint_eq(exec_peek((y + 2) * 64 + x),
					  ((y + 1) * 16 + 2 + x) * 7 + 1);
	ck_cuda(cuMemsetD2D32_v2(w.data + 8 * 256 + 2 * 256, 256, 5, 4, 3));
	memset(pageable, 0, 1024);
	ck_cuda(cuMemcpy3D_v2(&three));
	ck_assert_uint_eq(pageable[1], 134);
	ck_assert_uint_eq(pageable[4], 0);
	ck_assert_uint_eq(pageable[4 * 8], 5);
	ck_assert_uint_eq(pageable[4 * 8 + 2 * 8 + 3], 5);
	ck_assert_uint_eq(pageable[4 * 8 + 3 * 8], 0);
	two.dstPitch = 8; /* narrower than the rows */
	ck_cuda_is(cuMemcpy2D_v2(&two), CUDA_ERROR_INVALID_VALUE);
	two.dstPitch = EXEC_DATA_BYTES; /* the last row is outside */
	ck_cuda_is(cuMemcpy2DAsync_v2(&two, w.a), CUDA_ERROR_INVALID_VALUE);
	two.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	ck_cuda_is(cuMemcpy2D_v2(&two), CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda(cuMemFreeHost(pinned));
}
END_TEST

START_TEST(test_memsets)
{
	ck_cuda(cuMemsetD8Async(w.data, 0x11, 16, w.a));
	ck_cuda(cuMemsetD16Async(w.data + 4, 0x2222, 2, w.a));
	ck_cuda(cuMemsetD32Async(w.data + 8, 0x33333333, 1, w.a));
	ck_cuda(cuMemsetD2D8Async(w.data + 32, 32, 0x44, 8, 3, w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 0x11111111);
	ck_assert_uint_eq(exec_peek(1), 0x22222222);
	ck_assert_uint_eq(exec_peek(2), 0x33333333);
	ck_assert_uint_eq(exec_peek(3), 0x11111111);
	ck_assert_uint_eq(exec_peek(9), 0x44444444);
	ck_assert_uint_eq(exec_peek(10), 0);
	ck_assert_uint_eq(exec_peek(24), 0x44444444);
	ck_assert_uint_eq(exec_peek(32), 0);
	ck_cuda(cuMemsetD32_v2(w.data, 7, EXEC_DATA_BYTES / 4));
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(exec_peek(EXEC_DATA_BYTES / 4 - 1), 7);
	ck_cuda_is(cuMemsetD32_v2(w.data + 2, 7, 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemsetD8_v2(w.data, 7, 1ull << 40), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(test_ranges_are_checked)
{
	CUdeviceptr gone;

	ck_cuda(cuMemAlloc_v2(&gone, 4096));
	ck_cuda(cuMemFree_v2(gone));
	ck_cuda_is(cuMemcpyHtoD_v2(gone, pageable, 16), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemcpyDtoH_v2(pageable, w.data + EXEC_DATA_BYTES - 8, 16),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemcpyDtoDAsync_v2(w.data, (uintptr_t)pageable, 16, w.a),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemcpyHtoDAsync_v2(w.data, NULL, 16, w.a), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemcpyHtoD_v2(gone, pageable, 0));
}
END_TEST

static CUresult launch(const unsigned int grid[3], const unsigned int block[3], unsigned int shared,
		       void **params, void **extra)
{
	return cuLaunchKernel(w.fill, grid[0], grid[1], grid[2], block[0], block[1], block[2],
			      shared, w.a, params, extra);
}

START_TEST(test_launch_arguments)
{
	const unsigned int one[3] = {1, 1, 1}, zero[3] = {1, 0, 1}, deep[3] = {1, 1, 65536};
	const unsigned int large[3] = {1025, 1, 1}, cube[3] = {32, 32, 2}, thick[3] = {1, 1, 65};
	uint64_t value[4] = {w.data, 12, 2, 0};
	void *params[4] = {&value[0], &value[1], &value[2], &value[3]}, *hole[4] = {&value[0]};
	size_t size = sizeof(value), tiny = 8;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, value, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};

	ck_cuda(launch(one, one, 0, NULL, extra));
	/* Copied at the call. */
	value[1] = 99;
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(1), 12);
	ck_cuda_is(launch(one, one, 0, params, extra), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, one, 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, one, 0, hole, NULL), CUDA_ERROR_INVALID_VALUE);
	extra[3] = &tiny;
	ck_cuda_is(launch(one, one, 0, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(zero, one, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, zero, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(deep, one, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, large, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, cube, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, thick, 0, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(launch(one, one, 49153, params, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, w.a, params, NULL),
		   CUDA_ERROR_INVALID_HANDLE);
	ck_cuda_is(cuLaunchCooperativeKernel(w.fill, 100000, 1, 1, 1024, 1, 1, 0, w.a, params),
		   CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}
END_TEST

START_TEST(test_launch_attributes)
{
	uint64_t value[4] = {w.data, 3, 1, 0};
	void *params[4] = {&value[0], &value[1], &value[2], &value[3]};
	CUlaunchAttribute attribute[2];
	CUlaunchConfig config = {
		.gridDimX = 2,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.hStream = w.a,
		.attrs = attribute,
		.numAttrs = 2,
	};

	memset(attribute, 0, sizeof(attribute));
	attribute[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
	attribute[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
	attribute[1].value.cooperative = 1;
	ck_cuda(cuLaunchKernelEx(&config, w.fill, params, NULL));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(1), 3);
	attribute[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	attribute[0].value.clusterDim.x = 2;
	ck_cuda_is(cuLaunchKernelEx(&config, w.fill, params, NULL), CUDA_ERROR_NOT_SUPPORTED);
	attribute[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
	ck_cuda_is(cuLaunchKernelEx(&config, w.fill, params, NULL), CUDA_ERROR_NOT_SUPPORTED);
	config.attrs = NULL;
	ck_cuda_is(cuLaunchKernelEx(&config, w.fill, params, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* The form before CUDA 4: settings stay with the function from one launch to the next. */
START_TEST(test_launch_by_settings)
{
	uint64_t value[4] = {w.data, 21, 2, 0};

	ck_cuda_is(cuLaunch(w.fill), CUDA_ERROR_INVALID_VALUE); /* no block shape */
	ck_cuda(cuFuncSetBlockShape(w.fill, 1, 1, 1));
	ck_cuda(cuFuncSetSharedSize(w.fill, 0));
	ck_cuda_is(cuLaunch(w.fill), CUDA_ERROR_INVALID_VALUE); /* no parameters */
	ck_cuda(cuParamSetSize(w.fill, sizeof(value)));
	ck_cuda(cuParamSetv(w.fill, 0, value, sizeof(value)));
	ck_cuda(cuLaunch(w.fill));
	ck_cuda(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(exec_peek(1), 21);
	ck_cuda(cuParamSeti(w.fill, 8, 22));
	ck_cuda(cuLaunchGridAsync(w.fill, 1, 1, w.a));
	/* Copied at the call. */
	ck_cuda(cuParamSeti(w.fill, 8, 23));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(1), 22);
	ck_cuda(cuLaunchGrid(w.fill, 1, 1));
	ck_cuda(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(exec_peek(1), 23);
	ck_cuda(cuParamSetf(w.fill, 8, 1.0f));
	ck_cuda(cuLaunchGrid(w.fill, 1, 1));
	ck_cuda(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(exec_peek(1), 0x3f800000);
	ck_cuda_is(cuLaunchGrid(w.fill, 0, 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuFuncSetBlockShape(w.fill, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuParamSetv(w.fill, 4090, value, 8), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuParamSetSize(w.fill, 4097), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuLaunch(NULL), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

static TCase *make(void)
{
	TCase *tcase = tcase_create("copies");

	tcase_add_test(tcase, test_pinned_copies_are_asynchronous);
	tcase_add_test(tcase, test_pageable_sources_are_taken_at_the_call);
	tcase_add_test(tcase, test_blocking_copies);
	tcase_add_test(tcase, test_two_and_three_dimensions);
	tcase_add_test(tcase, test_memsets);
	tcase_add_test(tcase, test_ranges_are_checked);
	tcase_add_test(tcase, test_launch_arguments);
	tcase_add_test(tcase, test_launch_attributes);
	tcase_add_test(tcase, test_launch_by_settings);
	return tcase;
}

int main(void)
{
	return exec_world_run("exec-copy", make);
}
