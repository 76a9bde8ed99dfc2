/* SPDX-License-Identifier: Apache-2.0 */

/* cuGetProcAddress by name, version and flags, before there is a driver too. */

#include <string.h>

#include "driver_fixture.h"
#include "simgpu/driver/proc.h"

#define LEGACY CU_GET_PROC_ADDRESS_LEGACY_STREAM
#define PER_THREAD CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static void *look_up(const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *found = (void *)1, *old = (void *)1;
	CUresult result;

	ck_cuda(cuGetProcAddress_v2(name, &found, version, flags, &status));
	ck_assert_int_eq(status == CU_GET_PROC_ADDRESS_SUCCESS, found != NULL);
	/* The form of CUDA 11 answers the same, with an error where there is none. */
	result = cuGetProcAddress(name, &old, version, flags);
	ck_assert_ptr_eq(old, found);
	ck_cuda_is(result, found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
	return found;
}

START_TEST(test_versions)
{
	ck_assert_ptr_eq(look_up("cuInit", 2000, 0), (void *)cuInit);
	ck_assert_ptr_eq(look_up("cuMemAlloc", 3020, 0), (void *)cuMemAlloc_v2);
	ck_assert_ptr_eq(look_up("cuMemAlloc", 13000, LEGACY), (void *)cuMemAlloc_v2);
	ck_assert_ptr_eq(look_up("cuCtxCreate", 2000, 0), (void *)cuCtxCreate);
	ck_assert_ptr_eq(look_up("cuCtxCreate", 3020, 0), (void *)cuCtxCreate_v2);
	ck_assert_ptr_eq(look_up("cuCtxCreate", 11039, 0), (void *)cuCtxCreate_v2);
	ck_assert_ptr_eq(look_up("cuCtxCreate", 11040, 0), (void *)cuCtxCreate_v3);
	ck_assert_ptr_eq(look_up("cuCtxCreate", 12050, 0), (void *)cuCtxCreate_v4);
	ck_assert_ptr_eq(look_up("cuCtxSynchronize", 12080, 0), (void *)cuCtxSynchronize);
	ck_assert_ptr_eq(look_up("cuCtxSynchronize", 13000, 0), (void *)cuCtxSynchronize_v2);
	ck_assert_ptr_eq(look_up("cuCtxGetDevice", 2000, 0), (void *)cuCtxGetDevice);
	ck_assert_ptr_eq(look_up("cuCtxGetDevice", 13000, 0), (void *)cuCtxGetDevice_v2);
	ck_assert_ptr_eq(look_up("cuGetProcAddress", 11030, 0), (void *)cuGetProcAddress);
	ck_assert_ptr_eq(look_up("cuGetProcAddress", 12000, 0), (void *)cuGetProcAddress_v2);
	ck_assert_ptr_eq(look_up("cuDevicePrimaryCtxReset", 7000, 0),
			 (void *)cuDevicePrimaryCtxReset);
}
END_TEST

START_TEST(test_streams)
{
	ck_assert_ptr_eq(look_up("cuMemAllocAsync", 11020, 0), (void *)cuMemAllocAsync);
	ck_assert_ptr_eq(look_up("cuMemAllocAsync", 11020, LEGACY), (void *)cuMemAllocAsync);
	ck_assert_ptr_eq(look_up("cuMemAllocAsync", 11020, PER_THREAD),
			 (void *)cuMemAllocAsync_ptsz);
	/* Without such a form the plain one. */
	ck_assert_ptr_eq(look_up("cuMemAlloc", 3020, PER_THREAD), (void *)cuMemAlloc_v2);
}
END_TEST

START_TEST(test_not_found)
{
	CUdriverProcAddressQueryResult status;
	void *found = (void *)1;

	ck_assert_ptr_null(look_up("", 0, 0));
	ck_assert_ptr_null(look_up("cuNoSuchName", 13000, 0));
	ck_assert_ptr_null(look_up("cuMemAlloc_v2", 13000, 0));
	/* What is refused by name is not there for who asks. */
	ck_assert_ptr_null(look_up("cuTexRefCreate", 13000, 0));
	ck_cuda(cuGetProcAddress_v2("cuMemAllocAsync", &found, 11010, 0, &status));
	ck_assert_ptr_null(found);
	ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	ck_cuda(cuGetProcAddress_v2("cuNoSuchName", &found, 11010, 0, &status));
	ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	ck_cuda(cuGetProcAddress_v2("cuInit", &found, 2000, 0, NULL));
	ck_cuda_is(cuGetProcAddress_v2("cuInit", &found, 13010, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuGetProcAddress_v2(NULL, &found, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuGetProcAddress_v2("cuInit", &found, 13000, 4, NULL), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(test_table)
{
	unsigned int refused = 0;

	ck_assert_uint_eq(proc_rows, 637);
	for (unsigned int i = 1; i < proc_rows; i++) {
		const struct proc_row *one = &proc_table[i - 1], *next = &proc_table[i];
		int order = strcmp(one->name, next->name);

		ck_assert_int_le(order, 0);
		ck_assert(order < 0 || one->version <= next->version);
		refused += next->address == next->refusal;
	}
	/* A link that lost the files which implement the names would leave refusals alone. */
	ck_assert_uint_lt(refused, proc_rows / 2);
}
END_TEST

START_TEST(test_refusal)
{
	CUtexref texture;

	ck_cuda_is(cuTexRefCreate(&texture), CUDA_ERROR_NOT_SUPPORTED);
}
END_TEST

START_TEST(test_no_private_tables)
{
	const CUuuid id = {{0x12}};
	const void *table = &id;

	ck_cuda_is(cuGetExportTable(&table, &id), CUDA_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(table);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("proc");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, test_versions);
	tcase_add_test(tcase, test_streams);
	tcase_add_test(tcase, test_not_found);
	tcase_add_test(tcase, test_table);
	tcase_add_test(tcase, test_refusal);
	tcase_add_test(tcase, test_no_private_tables);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
