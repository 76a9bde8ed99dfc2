/* SPDX-License-Identifier: Apache-2.0 */

/* Memory: allocation and its account, host memory, pointer attributes, what kernels may touch. */

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "driver_fixture.h"

START_TEST(test_alloc_and_free)
{
	CUdeviceptr one, other, base;
	size_t before, size;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_assert_uint_eq(before, FIXTURE_MEMORY - FIXTURE_CONTEXT);
	ck_cuda(cuMemAlloc_v2(&one, 1));
	ck_cuda(cuMemAlloc_v2(&other, 513));
	ck_assert_uint_eq(one % 256, 0);
	ck_assert_uint_eq(before - fixture_free_bytes(), 512 + 1024);
	ck_cuda(cuMemGetAddressRange_v2(&base, &size, other + 512));
	ck_assert_uint_eq(base, other);
	ck_assert_uint_eq(size, 513);
	ck_cuda_is(cuMemGetAddressRange_v2(&base, &size, other + 513), CUDA_ERROR_NOT_FOUND);
	ck_cuda_is(cuMemFree_v2(other + 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFree_v2(other));
	ck_cuda_is(cuMemFree_v2(other), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFree_v2(one));
	ck_cuda(cuMemFree_v2(0));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda_is(cuMemAlloc_v2(&one, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemAlloc_v2(NULL, 1), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_out_of_memory)
{
	CUdeviceptr pointer, rest;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda_is(cuMemAlloc_v2(&pointer, before + 1), CUDA_ERROR_OUT_OF_MEMORY);
	ck_cuda_is(cuMemAlloc_v2(&pointer, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	ck_cuda(cuMemAlloc_v2(&pointer, before));
	ck_assert_uint_eq(fixture_free_bytes(), 0);
	ck_cuda_is(cuMemAlloc_v2(&rest, 1), CUDA_ERROR_OUT_OF_MEMORY);
	ck_cuda(cuMemFree_v2(pointer));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	fixture_context_end();
}
END_TEST

/* What a process takes is gone for another, and comes back with its death. */
START_TEST(test_two_processes)
{
	CUdeviceptr pointer;
	size_t before, half;
	int ready[2], status;
	char byte;
	pid_t child;

	ck_assert_int_eq(pipe(ready), 0);
	child = fork(); /* before this process has a driver */
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		(void)fixture_context();
		ck_cuda(cuMemAlloc_v2(&pointer, 512ull << 20));
		ck_assert_int_eq(write(ready[1], "x", 1), 1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	(void)fixture_context();
	before = fixture_free_bytes();
	ck_assert_uint_eq(before, FIXTURE_MEMORY - 2 * FIXTURE_CONTEXT - (512ull << 20));
	half = 500ull << 20;
	ck_cuda_is(cuMemAlloc_v2(&pointer, half), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_cuda(cuMemAlloc_v2(&pointer, half));
	ck_cuda(cuMemFree_v2(pointer));
	ck_assert_uint_eq(fixture_free_bytes(), FIXTURE_MEMORY - FIXTURE_CONTEXT);
	fixture_context_end();
	close(ready[0]);
	close(ready[1]);
}
END_TEST

START_TEST(test_pitch)
{
	CUdeviceptr pointer, base;
	size_t pitch, size;

	(void)fixture_context();
	ck_cuda(cuMemAllocPitch_v2(&pointer, &pitch, 1000, 7, 4));
	ck_assert_uint_ge(pitch, 1000);
	ck_assert_uint_eq(pitch % 32, 0);
	ck_cuda(cuMemGetAddressRange_v2(&base, &size, pointer));
	ck_assert_uint_eq(size, pitch * 7);
	ck_cuda(cuMemFree_v2(pointer));
	ck_cuda_is(cuMemAllocPitch_v2(&pointer, &pitch, 1000, 7, 3), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemAllocPitch_v2(&pointer, &pitch, SIZE_MAX / 2, 7, 4),
		   CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_pinned)
{
	CUdeviceptr device;
	unsigned int flags;
	void *host;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuMemHostAlloc(&host, 5000, CU_MEMHOSTALLOC_PORTABLE));
	memset(host, 1, 5000);
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda(cuMemHostGetDevicePointer_v2(&device, (char *)host + 10, 0));
	ck_assert_uint_eq(device, (uintptr_t)host + 10);
	ck_cuda(cuMemHostGetFlags(&flags, host));
	ck_assert_uint_eq(flags & CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
	ck_cuda_is(cuMemFree_v2((uintptr_t)host), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFreeHost(host));
	ck_cuda_is(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemHostAlloc(&host, 16, 0x80), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_registered)
{
	static char memory[10000];
	CUdeviceptr device;
	void *hole = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)fixture_context();
	ck_cuda(cuMemHostRegister_v2(memory + 100, 5000, 0));
	ck_cuda_is(cuMemHostRegister_v2(memory + 5099, 10, 0),
		   CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	ck_cuda(cuMemHostRegister_v2(memory + 5100, 10, CU_MEMHOSTREGISTER_READ_ONLY));
	ck_cuda(cuMemHostGetDevicePointer_v2(&device, memory + 200, 0));
	ck_cuda_is(cuMemHostGetDevicePointer_v2(&device, memory, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemHostUnregister(memory + 101), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	ck_cuda(cuMemHostUnregister(memory + 5100));
	ck_cuda(cuMemHostUnregister(memory + 100));
	ck_cuda_is(cuMemHostUnregister(memory + 100), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	/* Memory that is not there cannot be registered. */
	ck_assert_int_eq(munmap(hole, 8192), 0);
	ck_cuda_is(cuMemHostRegister_v2(hole, 4096, 0), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_managed)
{
	CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
	CUdeviceptr pointer, large;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuMemAllocManaged(&pointer, 1000, CU_MEM_ATTACH_GLOBAL));
	((char *)(uintptr_t)pointer)[999] = 1;
	ck_assert_uint_lt(fixture_free_bytes(), before);
	/* More than the device has lives on the host. */
	ck_cuda(cuMemAllocManaged(&large, 2 * FIXTURE_MEMORY, CU_MEM_ATTACH_GLOBAL));
	ck_cuda(cuMemAdvise_v2(pointer, 1000, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
	ck_cuda_is(cuMemAdvise_v2(pointer, 1001, CU_MEM_ADVISE_SET_READ_MOSTLY, here),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemAdvise(pointer, 8, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
	ck_cuda(cuMemPrefetchAsync_v2(pointer, 1000, here, 0, NULL));
	ck_cuda(cuStreamAttachMemAsync(NULL, pointer, 0, CU_MEM_ATTACH_GLOBAL));
	ck_cuda_is(cuStreamAttachMemAsync(NULL, pointer, 10, CU_MEM_ATTACH_GLOBAL),
		   CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFree_v2(large));
	ck_cuda(cuMemFree_v2(pointer));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda_is(cuMemAllocManaged(&pointer, 1000, 7), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

static unsigned int type_of(CUdeviceptr pointer)
{
	unsigned int type = 99;

	ck_cuda(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
	return type;
}

START_TEST(test_pointer_attributes)
{
	CUpointer_attribute asked[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT,	     CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	CUcontext context = fixture_context(), seen;
	unsigned int type, managed;
	unsigned long long id, other_id;
	CUdeviceptr device, unified, base;
	void *pinned, *host;
	int ordinal, plain = 0;
	size_t size;
	void *into[] = {&seen, &type, &ordinal, &managed, &host, &size};

	ck_cuda(cuMemAlloc_v2(&device, 4096));
	ck_cuda(cuMemAllocManaged(&unified, 4096, CU_MEM_ATTACH_GLOBAL));
	ck_cuda(cuMemHostAlloc(&pinned, 4096, 0));
	ck_assert_uint_eq(type_of(device + 100), CU_MEMORYTYPE_DEVICE);
	ck_assert_uint_eq(type_of((uintptr_t)pinned), CU_MEMORYTYPE_HOST);
	ck_cuda(cuPointerGetAttributes(6, asked, into, device + 1));
	ck_assert_ptr_eq(seen, context);
	ck_assert_int_eq(ordinal, 0);
	ck_assert_uint_eq(managed, 0);
	ck_assert_ptr_null(host);
	ck_assert_uint_eq(size, 4096);
	managed = 0xffffffff;
	ck_cuda(cuPointerGetAttributes(6, asked, into, (uintptr_t)pinned));
	ck_assert_uint_eq(managed, 0);
	ck_assert_ptr_eq(host, pinned);
	ck_cuda(cuPointerGetAttributes(6, asked, into, unified));
	ck_assert_uint_eq(managed, 1);
	/* Memory that is none of the driver's: an error for one, null values for several. */
	ck_cuda_is(
		cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&plain),
		CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuPointerGetAttributes(6, asked, into, (uintptr_t)&plain));
	ck_assert_ptr_null(seen);
	ck_assert_uint_eq(type, 0);
	ck_assert_int_eq(ordinal, -2);
	ck_cuda(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 5));
	ck_assert_uint_eq(base, device);
	ck_cuda(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, device));
	ck_cuda(cuPointerGetAttribute(&other_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, unified));
	ck_assert_uint_ne(id, other_id);
	ck_cuda_is(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, device),
		   CUDA_ERROR_INVALID_VALUE);
	type = 1;
	ck_cuda(cuPointerSetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
	type = 0;
	ck_cuda(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, device));
	ck_assert_uint_eq(type, 1);
	ck_cuda(cuMemFree_v2(device));
	ck_cuda(cuMemFree_v2(unified));
	ck_cuda(cuMemFreeHost(pinned));
	fixture_context_end();
}
END_TEST

static bool may(uint64_t address, uint32_t size, bool write)
{
	uint64_t low = 0, high = 0;
	bool fine =
		sim_memory_checker.check(sim_memory_checker.arg, address, size, write, &low, &high);

	if (fine) {
		ck_assert_uint_le(low, address);
		ck_assert_uint_ge(high, address + size);
	}
	return fine;
}

START_TEST(test_what_kernels_may_touch)
{
	static char memory[4096];
	CUdeviceptr pointer;
	void *pinned;

	(void)fixture_context();
	ck_cuda(cuMemAlloc_v2(&pointer, 1000));
	ck_cuda(cuMemHostAlloc(&pinned, 64, 0));
	ck_cuda(cuMemHostRegister_v2(memory, 64, CU_MEMHOSTREGISTER_READ_ONLY));
	ck_assert(may(pointer, 8, true));
	ck_assert(may(pointer + 992, 8, true));
	ck_assert(!may(pointer + 996, 8, false));
	ck_assert(!may(pointer - 1, 1, false));
	ck_assert(!may(0, 4, false));
	ck_assert(!may(UINT64_MAX - 3, 4, false));
	ck_assert(may((uintptr_t)pinned + 60, 4, true));
	ck_assert(may((uintptr_t)memory, 4, false));
	ck_assert(!may((uintptr_t)memory, 4, true));
	ck_assert(!may((uintptr_t)memory + 64, 4, false));
	ck_cuda(cuMemFree_v2(pointer));
	ck_assert(!may(pointer, 8, false));
	ck_cuda(cuMemHostUnregister(memory));
	ck_assert(!may((uintptr_t)memory, 4, false));
	ck_cuda(cuMemFreeHost(pinned));
	fixture_context_end();
}
END_TEST

START_TEST(test_a_context_takes_its_memory_along)
{
	CUcontext context;
	CUdeviceptr pointer, kept;
	void *pinned;
	size_t before;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuMemAlloc_v2(&kept, 4096));
	ck_cuda(cuCtxCreate_v2(&context, 0, 0));
	ck_cuda(cuMemAlloc_v2(&pointer, 1 << 20));
	ck_cuda(cuMemHostAlloc(&pinned, 4096, 0));
	ck_cuda(cuCtxDestroy_v2(context));
	ck_assert_uint_eq(fixture_free_bytes(), before - 4096);
	ck_cuda_is(cuMemFree_v2(pointer), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFree_v2(kept));
	fixture_context_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tcase = tcase_create("all");

	fixture_start("memory");
	tcase_set_timeout(tcase, 60);
	/* First, since it forks before there is a driver. */
	tcase_add_test(tcase, test_two_processes);
	tcase_add_test(tcase, test_alloc_and_free);
	tcase_add_test(tcase, test_out_of_memory);
	tcase_add_test(tcase, test_pitch);
	tcase_add_test(tcase, test_pinned);
	tcase_add_test(tcase, test_registered);
	tcase_add_test(tcase, test_managed);
	tcase_add_test(tcase, test_pointer_attributes);
	tcase_add_test(tcase, test_what_kernels_may_touch);
	tcase_add_test(tcase, test_a_context_takes_its_memory_along);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
