/* SPDX-License-Identifier: Apache-2.0 */

/* Virtual memory management: addresses, allocations, mappings and access. */

#include <string.h>

#include "driver_fixture.h"

#define PIECE (2ull << 20)

static const CUmemAllocationProp prop = {
	.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
};

static CUmemAccessDesc access_desc(CUmemAccess_flags flags)
{
	return (CUmemAccessDesc){.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0},
				 .flags = flags};
}

static bool may(uint64_t address, bool write)
{
	uint64_t low, high;

	return sim_memory_checker.check(sim_memory_checker.arg, address, 4, write, &low, &high);
}

START_TEST(test_life_of_a_mapping)
{
	CUmemAccessDesc read_write = access_desc(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;
	unsigned int value = 0;
	size_t before, granularity;

	(void)fixture_context();
	before = fixture_free_bytes();
	ck_cuda(cuMemGetAllocationGranularity(&granularity, &prop,
					      CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	ck_assert_uint_eq(granularity, PIECE);
	ck_cuda(cuMemAddressReserve(&base, 4 * PIECE, 0, 0, 0));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda(cuMemCreate(&handle, PIECE, &prop, 0));
	ck_assert_uint_eq(before - fixture_free_bytes(), PIECE);
	ck_cuda(cuMemMap(base + PIECE, PIECE, 0, handle, 0));
	ck_assert(!may(base + PIECE, false)); /* nobody has access yet */
	ck_cuda_is(cuMemMap(base + PIECE, PIECE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemSetAccess(base, PIECE, &read_write, 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemSetAccess(base + PIECE, PIECE, &read_write, 1));
	ck_assert(may(base + PIECE, true));
	ck_assert(may(base + 2 * PIECE - 4, true));
	ck_assert(!may(base + 2 * PIECE, false));
	ck_cuda(cuMemsetD32_v2(base + PIECE, 0x1234, 16));
	ck_cuda(cuMemcpyDtoH_v2(&value, base + PIECE + 60, 4));
	ck_assert_uint_eq(value, 0x1234);
	ck_cuda_is(cuMemFree_v2(base + PIECE), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemAddressFree(base, 4 * PIECE), CUDA_ERROR_INVALID_VALUE);
	/* The handle may go before the mapping: the memory stays until both are gone. */
	ck_cuda(cuMemRelease(handle));
	ck_cuda_is(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(before - fixture_free_bytes(), PIECE);
	ck_cuda(cuMemUnmap(base + PIECE, PIECE));
	ck_assert(!may(base + PIECE, false));
	ck_assert_uint_eq(fixture_free_bytes(), before);
	ck_cuda(cuMemAddressFree(base, 4 * PIECE));
	ck_cuda_is(cuMemAddressFree(base, 4 * PIECE), CUDA_ERROR_INVALID_VALUE);
	fixture_context_end();
}
END_TEST

START_TEST(test_one_allocation_at_two_addresses)
{
	CUmemAccessDesc read_write = access_desc(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CUmemGenericAllocationHandle handle, again;
	CUmemAllocationProp seen;
	unsigned int value = 0;
	CUdeviceptr base;

	(void)fixture_context();
	ck_cuda(cuMemAddressReserve(&base, 2 * PIECE, 0, 0, 0));
	ck_cuda(cuMemCreate(&handle, PIECE, &prop, 0));
	ck_cuda(cuMemMap(base, PIECE, 0, handle, 0));
	ck_cuda(cuMemMap(base + PIECE, PIECE, 0, handle, 0));
	/* Over both mappings at once. */
	ck_cuda(cuMemSetAccess(base, 2 * PIECE, &read_write, 1));
	ck_cuda(cuMemsetD32_v2(base + 8, 77, 1));
	ck_cuda(cuMemcpyDtoH_v2(&value, base + PIECE + 8, 4));
	ck_assert_uint_eq(value, 77);
	ck_cuda(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(base + PIECE + 99)));
	ck_assert_uint_eq(again, handle);
	ck_cuda(cuMemGetAllocationPropertiesFromHandle(&seen, handle));
	ck_assert_int_eq(seen.location.id, 0);
	ck_cuda(cuMemRelease(again));
	ck_cuda(cuMemRelease(handle));
	ck_cuda(cuMemUnmap(base, 2 * PIECE));
	ck_cuda(cuMemAddressFree(base, 2 * PIECE));
	fixture_context_end();
}
END_TEST

START_TEST(test_sets_and_copies_over_mappings_side_by_side)
{
	CUmemAccessDesc read_write = access_desc(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	CUmemGenericAllocationHandle handle[2];
	unsigned char back[64];
	CUdeviceptr base, seam, plain;

	(void)fixture_context();
	ck_cuda(cuMemAddressReserve(&base, 3 * PIECE, 0, 0, 0));
	seam = base + PIECE;
	for (int i = 0; i < 2; i++) {
		ck_cuda(cuMemCreate(&handle[i], PIECE, &prop, 0));
		ck_cuda(cuMemMap(base + i * PIECE, PIECE, 0, handle[i], 0));
	}
	ck_cuda(cuMemSetAccess(base, PIECE, &read_write, 1));
	ck_cuda_is(cuMemsetD8_v2(seam - 16, 5, 32), CUDA_ERROR_INVALID_VALUE); /* no access */
	ck_cuda(cuMemSetAccess(seam, PIECE, &read_write, 1));
	ck_cuda(cuMemsetD8_v2(base, 1, 2 * PIECE));
	ck_cuda(cuMemsetD8_v2(seam - 16, 5, 32));
	ck_cuda(cuMemcpyDtoH_v2(back, seam - 32, 64));
	for (int i = 0; i < 64; i++)
		ck_assert_uint_eq(back[i], i >= 16 && i < 48 ? 5 : 1);
	/* Beyond the last mapping, and over the end of a plain allocation. */
	ck_cuda_is(cuMemsetD8_v2(base, 1, 2 * PIECE + 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemsetD8_v2(base + 8, 1, SIZE_MAX - 4), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemAlloc_v2(&plain, PIECE));
	ck_cuda_is(cuMemsetD8_v2(plain, 1, PIECE + 1), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemFree_v2(plain));
	ck_cuda(cuMemUnmap(base, 2 * PIECE));
	for (int i = 0; i < 2; i++)
		ck_cuda(cuMemRelease(handle[i]));
	ck_cuda(cuMemAddressFree(base, 3 * PIECE));
	fixture_context_end();
}
END_TEST

START_TEST(test_access_changes)
{
	CUmemAccessDesc desc = access_desc(CU_MEM_ACCESS_FLAGS_PROT_READ);
	CUmemGenericAllocationHandle handle;
	unsigned long long flags;
	CUdeviceptr base;

	(void)fixture_context();
	ck_cuda(cuMemAddressReserve(&base, PIECE, 0, 0, 0));
	ck_cuda(cuMemCreate(&handle, PIECE, &prop, 0));
	ck_cuda(cuMemMap(base, PIECE, 0, handle, 0));
	ck_cuda(cuMemSetAccess(base, PIECE, &desc, 1));
	ck_assert(may(base, false));
	ck_assert(!may(base, true));
	ck_cuda(cuMemGetAccess(&flags, &desc.location, base));
	ck_assert_uint_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	ck_cuda(cuMemSetAccess(base, PIECE, &desc, 1));
	ck_assert(may(base, true));
	desc.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	ck_cuda(cuMemSetAccess(base, PIECE, &desc, 1));
	ck_assert(!may(base, false));
	ck_cuda(cuMemUnmap(base, PIECE));
	ck_cuda(cuMemRelease(handle));
	ck_cuda(cuMemAddressFree(base, PIECE));
	fixture_context_end();
}
END_TEST

START_TEST(test_refusals)
{
	CUmemAllocationProp other = prop;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;
	int fd;

	(void)fixture_context();
	ck_cuda_is(cuMemCreate(&handle, PIECE + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemCreate(&handle, 2 * FIXTURE_MEMORY, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
	other.location.id = 5;
	ck_cuda_is(cuMemCreate(&handle, PIECE, &other, 0), CUDA_ERROR_INVALID_DEVICE);
	other = prop;
	other.location.type = CU_MEM_LOCATION_TYPE_HOST;
	ck_cuda_is(cuMemCreate(&handle, PIECE, &other, 0), CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda(cuMemCreate(&handle, PIECE, &prop, 0));
	ck_cuda_is(cuMemExportToShareableHandle(&fd, handle,
						CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
		   CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda_is(cuMemMap(PIECE, PIECE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemMap(PIECE, PIECE, 0, 12345, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemUnmap(PIECE, PIECE), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemAddressReserve(&base, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuMemAddressReserve(&base, PIECE, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_cuda(cuMemRelease(handle));
	fixture_context_end();
}
END_TEST

START_TEST(test_alignment_and_hint)
{
	CUdeviceptr base, again;

	(void)fixture_context();
	ck_cuda(cuMemAddressReserve(&base, PIECE, 1ull << 30, 0, 0));
	ck_assert_uint_eq(base % (1ull << 30), 0);
	ck_cuda(cuMemAddressFree(base, PIECE));
	ck_cuda(cuMemAddressReserve(&again, PIECE, 0, base, 0));
	ck_assert_uint_eq(again, base);
	ck_cuda(cuMemAddressFree(again, PIECE));
	fixture_context_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("vmm");
	TCase *tcase = tcase_create("all");

	fixture_start("vmm");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_life_of_a_mapping);
	tcase_add_test(tcase, test_one_allocation_at_two_addresses);
	tcase_add_test(tcase, test_sets_and_copies_over_mappings_side_by_side);
	tcase_add_test(tcase, test_access_changes);
	tcase_add_test(tcase, test_refusals);
	tcase_add_test(tcase, test_alignment_and_hint);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
