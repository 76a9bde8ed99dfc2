/* SPDX-License-Identifier: Apache-2.0 */

/* Modules and libraries from PTX text: functions, variables, settings, and that they run. */

#include <string.h>

#include "driver_fixture.h"

static const char code[] = ".version 7.5\n"
			   ".target sm_75\n"
			   ".address_size 64\n"
			   ".visible .global .align 4 .u32 counter = 40;\n"
			   ".visible .const .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
			   ".visible .entry store(\n"
			   "	.param .u64 where,\n"
			   "	.param .u32 what\n"
			   ")\n"
			   "{\n"
			   "	.reg .b32 %r<2>;\n"
			   "	.reg .b64 %rd<3>;\n"
			   "	ld.param.u64 %rd1, [where];\n"
			   "	ld.param.u32 %r1, [what];\n"
			   "	cvta.to.global.u64 %rd2, %rd1;\n"
			   "	st.global.u32 [%rd2], %r1;\n"
			   "	ret;\n"
			   "}\n"
			   ".visible .entry count()\n"
			   "{\n"
			   "	.reg .b32 %r<3>;\n"
			   "	ld.global.u32 %r1, [counter];\n"
			   "	add.s32 %r2, %r1, 1;\n"
			   "	st.global.u32 [counter], %r2;\n"
			   "	ret;\n"
			   "}\n"
			   ".visible .entry uses_shared()\n"
			   ".maxntid 256, 1, 1\n"
			   "{\n"
			   "	.shared .align 4 .b8 scratch[40000];\n"
			   "	.reg .b32 %r<2>;\n"
			   "	mov.u32 %r1, scratch;\n"
			   "	st.shared.u32 [scratch], %r1;\n"
			   "	ret;\n"
			   "}\n";

static unsigned int read_word(CUdeviceptr address)
{
	unsigned int value;

	ck_cuda(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
	return value;
}

static void launch(CUfunction function, void **params)
{
	ck_cuda(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	ck_cuda(cuCtxSynchronize());
}

START_TEST(test_module)
{
	CUfunction store, count, all[3];
	CUdeviceptr counter, table, word;
	unsigned int what = 17, functions;
	void *params[] = {&word, &what};
	const char *name;
	CUmodule module, owner;
	size_t bytes, before, offset;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuModuleLoadData(&module, code));
	ck_cuda(cuModuleGetFunction(&store, module, "store"));
	ck_cuda(cuModuleGetFunction(&count, module, "count"));
	ck_cuda_is(cuModuleGetFunction(&count, module, "none"), CUDA_ERROR_NOT_FOUND);
	ck_cuda(cuModuleGetFunction(&count, module, "count"));
	ck_cuda(cuModuleGetFunctionCount(&functions, module));
	ck_assert_uint_eq(functions, 3);
	ck_cuda(cuModuleEnumerateFunctions(all, 3, module));
	ck_cuda(cuFuncGetName(&name, store));
	ck_assert_str_eq(name, "store");
	ck_cuda(cuFuncGetModule(&owner, store));
	ck_assert_ptr_eq(owner, module);
	ck_cuda(cuFuncGetParamInfo(store, 1, &offset, &bytes));
	ck_assert_uint_eq(offset, 8);
	ck_assert_uint_eq(bytes, 4);
	ck_cuda_is(cuFuncGetParamInfo(store, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);

	ck_cuda(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
	ck_assert_uint_eq(bytes, 4);
	ck_assert_uint_eq(read_word(counter), 40);
	ck_cuda(cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
	ck_assert_uint_eq(bytes, 8);
	ck_assert_uint_eq(read_word(table + 4), 0x08070605);
	ck_cuda_is(cuModuleGetGlobal_v2(&table, &bytes, module, "none"), CUDA_ERROR_NOT_FOUND);

	ck_cuda(cuMemAlloc_v2(&word, 4));
	launch(store, params);
	ck_assert_uint_eq(read_word(word), 17);
	launch(count, NULL);
	launch(count, NULL);
	ck_assert_uint_eq(read_word(counter), 42);

	ck_cuda(cuMemFree_v2(word));
	ck_cuda(cuModuleUnload(module));
	ck_cuda_is(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
	ck_cuda_is(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
		   CUDA_ERROR_INVALID_HANDLE);
	ck_cuda_is(cuMemcpyDtoH_v2(&what, counter, 4), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(fixture_free_bytes(), before);
	fixture_context_end();
}
END_TEST

/* A kernel of a library is a function in every context, with variables of its own in each. */
START_TEST(test_library)
{
	CUlibrary library, owner;
	CUkernel count, all[3];
	CUfunction function;
	CUdeviceptr here, there, seen;
	CUcontext other;
	CUmodule module;
	unsigned int kernels;
	size_t bytes;

	ck_cuda(cuInit(0));
	ck_cuda(cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
	ck_cuda(cuLibraryGetKernel(&count, library, "count"));
	ck_cuda_is(cuLibraryGetKernel(&count, library, "none"), CUDA_ERROR_NOT_FOUND);
	ck_cuda(cuLibraryGetKernel(&count, library, "count"));
	ck_cuda(cuLibraryGetKernelCount(&kernels, library));
	ck_assert_uint_eq(kernels, 3);
	ck_cuda(cuLibraryEnumerateKernels(all, 3, library));
	ck_cuda(cuKernelGetLibrary(&owner, count));
	ck_assert_ptr_eq(owner, library);
	ck_cuda_is(cuLibraryGetGlobal(&here, &bytes, library, "counter"),
		   CUDA_ERROR_INVALID_CONTEXT);

	(void)fixture_context();
	ck_cuda(cuLibraryGetGlobal(&here, &bytes, library, "counter"));
	ck_cuda_is(cuLibraryGetManaged(&seen, &bytes, library, "counter"), CUDA_ERROR_NOT_FOUND);
	launch((CUfunction)count, NULL);
	ck_cuda(cuKernelGetFunction(&function, count));
	launch(function, NULL);
	ck_assert_uint_eq(read_word(here), 42);
	ck_cuda(cuLibraryGetModule(&module, library));
	ck_cuda(cuModuleGetGlobal_v2(&seen, &bytes, module, "counter"));
	ck_assert_uint_eq(seen, here);
	ck_cuda_is(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);

	ck_cuda(cuCtxCreate_v2(&other, 0, 0));
	ck_cuda(cuLibraryGetGlobal(&there, &bytes, library, "counter"));
	ck_assert_uint_ne(there, here);
	launch((CUfunction)count, NULL);
	ck_assert_uint_eq(read_word(there), 41);
	ck_cuda(cuCtxDestroy_v2(other));
	ck_cuda(cuDevicePrimaryCtxReset_v2(0));

	/* Fresh again after a reset. */
	(void)fixture_context();
	ck_cuda(cuLibraryGetGlobal(&here, &bytes, library, "counter"));
	launch((CUfunction)count, NULL);
	ck_assert_uint_eq(read_word(here), 41);
	ck_cuda(cuLibraryUnload(library));
	ck_cuda_is(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
	ck_cuda_is(cuLaunchKernel((CUfunction)count, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		   CUDA_ERROR_INVALID_HANDLE);
	ck_cuda(cuDevicePrimaryCtxRelease_v2(0));
	fixture_context_end();
}
END_TEST

static int attribute(CUfunction function, CUfunction_attribute which)
{
	int value = -9;

	ck_cuda(cuFuncGetAttribute(&value, which, function));
	return value;
}

START_TEST(test_attributes)
{
	CUfunction shared, function;
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;
	int value;

	(void)fixture_context();
	ck_cuda(cuModuleLoadData(&module, code));
	ck_cuda(cuModuleGetFunction(&shared, module, "uses_shared"));
	ck_assert_int_eq(attribute(shared, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 256);
	ck_assert_int_eq(attribute(shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 40000);
	ck_assert_int_eq(attribute(shared, CU_FUNC_ATTRIBUTE_PTX_VERSION), 75);
	ck_assert_int_eq(attribute(shared, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 90);
	ck_assert_int_gt(attribute(shared, CU_FUNC_ATTRIBUTE_NUM_REGS), 0);
	ck_assert_int_eq(attribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
			 48 * 1024 - 40000);
	ck_cuda(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				   100000));
	ck_cuda_is(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				      227 * 1024 - 40000 + 1),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
	ck_cuda_is(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_NUM_REGS, 1),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2),
		   CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda_is(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, shared),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL),
		   CUDA_ERROR_INVALID_HANDLE);
	ck_cuda(cuModuleUnload(module));

	/* What is set for a kernel holds for its functions, there already or not. */
	ck_cuda(cuLibraryLoadData(&library, code, NULL, NULL, 0, NULL, NULL, 0));
	ck_cuda(cuLibraryGetKernel(&kernel, library, "uses_shared"));
	ck_cuda(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 50000, kernel,
				     0));
	ck_cuda(cuKernelGetFunction(&function, kernel));
	ck_assert_int_eq(attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
			 50000);
	ck_cuda(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, kernel,
				     0));
	ck_assert_int_eq(attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
			 60000);
	ck_cuda(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 0));
	ck_assert_int_eq(value, 40000);
	ck_cuda_is(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel, 3),
		   CUDA_ERROR_INVALID_DEVICE);
	ck_cuda(cuLibraryUnload(library));
	fixture_context_end();
}
END_TEST

START_TEST(test_logs)
{
	static char bad[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
			    ".visible .entry k()\n{\n\tmov.u32 %nowhere, 1;\n\tret;\n}\n";
	char log[200] = "", info[50] = "x", tiny[8] = "";
	CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
				 CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
	void *value[] = {log, (void *)sizeof(log), info, (void *)sizeof(info)};
	CUmodule module;

	(void)fixture_context();
	ck_cuda_is(cuModuleLoadDataEx(&module, bad, 4, option, value), CUDA_ERROR_INVALID_PTX);
	ck_assert_ptr_nonnull(strstr(log, "%nowhere"));
	ck_assert_ptr_nonnull(strstr(log, "line 6"));
	ck_assert_uint_eq((uintptr_t)value[1], strlen(log));
	ck_assert_str_eq(info, "");
	value[0] = tiny;
	value[1] = (void *)sizeof(tiny);
	value[3] = (void *)sizeof(info);
	ck_cuda_is(cuModuleLoadDataEx(&module, bad, 4, option, value), CUDA_ERROR_INVALID_PTX);
	ck_assert_uint_eq(strlen(tiny), sizeof(tiny) - 1);
	option[0] = CU_JIT_NUM_OPTIONS;
	ck_cuda_is(cuModuleLoadDataEx(&module, code, 1, option, value), CUDA_ERROR_INVALID_VALUE);
	option[0] = CU_JIT_ERROR_LOG_BUFFER;
	ck_cuda_is(cuModuleLoadDataEx(&module, code, 1, option, value), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuModuleLoad(&module, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
	ck_cuda_is(cuModuleLoadData(&module, "nonsense"), CUDA_ERROR_INVALID_IMAGE);
	ck_cuda_is(cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_file)
{
	char path[] = "/tmp/simgpu-unit-XXXXXX";
	int fd = mkstemp(path);
	CUfunction function;
	CUlibrary library;
	CUmodule module;

	(void)fixture_context();
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, code, sizeof(code) - 1), sizeof(code) - 1);
	ck_cuda(cuModuleLoad(&module, path));
	ck_cuda(cuModuleGetFunction(&function, module, "count"));
	ck_cuda(cuModuleUnload(module));
	ck_cuda(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	ck_cuda(cuLibraryUnload(library));
	close(fd);
	unlink(path);
	fixture_context_end();
}
END_TEST

/* A variable larger than what is left of the device. */
START_TEST(test_variables_are_charged)
{
	static const char large[] = ".version 7.5\n.target sm_75\n.address_size 64\n"
				    ".visible .global .align 4 .b8 large[1048576];\n";
	CUdeviceptr rest;
	CUmodule module;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuModuleLoadData(&module, large));
	ck_assert_uint_eq(before - fixture_free_bytes(), 1048576);
	ck_cuda(cuModuleUnload(module));
	ck_cuda(cuMemAlloc_v2(&rest, before - 4096));
	ck_cuda_is(cuModuleLoadData(&module, large), CUDA_ERROR_OUT_OF_MEMORY);
	ck_cuda(cuMemFree_v2(rest));
	fixture_context_end();
}
END_TEST

START_TEST(test_occupancy)
{
	CUfunction store, shared;
	CUmodule module;
	int blocks, grid, block;
	size_t dynamic;

	(void)fixture_context();
	ck_cuda(cuModuleLoadData(&module, code));
	ck_cuda(cuModuleGetFunction(&store, module, "store"));
	ck_cuda(cuModuleGetFunction(&shared, module, "uses_shared"));
	/* 2048 threads and 32 blocks of an SM; few registers. */
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 1024, 0));
	ck_assert_int_eq(blocks, 2);
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 32, 0));
	ck_assert_int_eq(blocks, 32);
	/* 228 KiB of shared memory by 40000 bytes, 1 KiB reserved with each block. */
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 256, 0));
	ck_assert_int_eq(blocks, 228 * 1024 / (40000 + 1024));
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 257, 0));
	ck_assert_int_eq(blocks, 0);
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 32, 200000));
	ck_assert_int_eq(blocks, 0);
	ck_cuda(cuOccupancyMaxPotentialBlockSize(&grid, &block, store, NULL, 0, 0));
	ck_assert_int_eq(block, 1024);
	ck_assert_int_eq(grid, 2 * FIXTURE_SMS);
	ck_cuda(cuOccupancyMaxPotentialBlockSize(&grid, &block, store, NULL, 0, 100));
	ck_assert_int_le(block, 100);
	ck_cuda(cuOccupancyAvailableDynamicSMemPerBlock(&dynamic, shared, 2, 256));
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 256, dynamic));
	ck_assert_int_eq(blocks, 2);
	ck_cuda(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 256, dynamic + 256));
	ck_assert_int_lt(blocks, 2);
	ck_cuda_is(cuOccupancyAvailableDynamicSMemPerBlock(&dynamic, shared, 30, 256),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 0, 0),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuModuleUnload(module));
	fixture_context_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("module");
	TCase *tcase = tcase_create("all");

	fixture_start("module");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_module);
	tcase_add_test(tcase, test_library);
	tcase_add_test(tcase, test_attributes);
	tcase_add_test(tcase, test_logs);
	tcase_add_test(tcase, test_file);
	tcase_add_test(tcase, test_variables_are_charged);
	tcase_add_test(tcase, test_occupancy);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
