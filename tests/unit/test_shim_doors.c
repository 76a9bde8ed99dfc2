/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF walk against what the linker made of this program, and the choice of hooks. */
#include "door_pick.h"
#include "door_resolve.h"
#include "door_table.h"
#include "real.h"

#include <check.h>
#include <dlfcn.h>
#include <unistd.h>

static void set_real(const char *symbol, void *address)
{
	memcpy((char *)&real + hook_by_symbol(symbol)->real_offset, &address, sizeof(address));
}

START_TEST(libc_symbols_are_where_the_linker_says)
{
	ck_assert_ptr_eq(object_libc_symbol("getpid"), (void *)getpid);
	ck_assert_ptr_eq(object_libc_symbol("getppid"), (void *)getppid);
	ck_assert_ptr_nonnull(object_libc_symbol("dlsym"));
	ck_assert_ptr_nonnull(object_libc_symbol("dlvsym"));
	ck_assert_ptr_nonnull(object_libc_symbol("dlopen"));
	ck_assert_ptr_null(object_libc_symbol("cuInit"));
	ck_assert_ptr_null(object_libc_symbol("get"));
	ck_assert_ptr_null(object_libc_symbol(""));
}
END_TEST

START_TEST(a_definer_is_searched_behind_the_caller)
{
	struct object object, self;
	void *symbol = NULL;

	ck_assert(object_find_definer((const void *)set_real, "getpid", &object, &symbol));
	ck_assert_ptr_eq(symbol, (void *)getpid);
	ck_assert_str_eq(object.soname, "libc.so.6");
	ck_assert(object_holds(&object, (const void *)getpid));
	ck_assert(!object_holds(&object, (const void *)set_real));
	/* Nobody behind libc defines it again. */
	ck_assert(!object_find_definer((const void *)getpid, "getpid", &self, &symbol));
	ck_assert(!object_find_definer(NULL, "no_such_symbol_anywhere", &self, &symbol));
	ck_assert(!object_find_driver(&object));
	ck_assert(!real_load());
}
END_TEST

START_TEST(exactly_the_listed_names_are_hooks)
{
	static const char *const others[] = {
		"",	   "c",	    "cu",	    "cuIni",	     "cuInit_",
		"cuInitX", "dlsym", "cublasCreate", "cuMemAlloc_v3", "curl_init",
		"cudaFree"};

	for (unsigned int i = 0; i < HOOK_COUNT; i++)
		ck_assert_ptr_eq(hook_by_symbol(hook_rows[i].symbol), &hook_rows[i]);
	for (unsigned int i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		ck_assert_ptr_null(hook_by_symbol(others[i]));
}
END_TEST

static void *fake(unsigned int number)
{
	return (void *)(uintptr_t)(0x100000 + number * 16);
}

/* Every entry of the driver at an address of its own. */
static void fake_driver(void)
{
	for (unsigned int i = 0; i < HOOK_COUNT; i++)
		set_real(hook_rows[i].symbol, fake(i));
}

START_TEST(an_address_of_the_driver_becomes_its_hook)
{
	fake_driver();
	for (unsigned int i = 0; i < HOOK_COUNT; i++) {
		const struct hook_row *row = &hook_rows[i];

		/* By whatever name the driver gave it out. */
		ck_assert_ptr_eq(hook_for_answer(fake(i), row->base, row->version, 0), row->hook);
		ck_assert_ptr_eq(hook_for_answer(fake(i), "cuOther", 20000, 0), row->hook);
	}
	ck_assert_ptr_eq(hook_for_answer(fake(HOOK_COUNT), "cuCtxGetApiVersion", 12000, 0),
			 fake(HOOK_COUNT));
}
END_TEST

#define HOOK_OF(symbol) hook_by_symbol(symbol)->hook

START_TEST(a_shared_address_goes_to_what_was_asked_for)
{
	fake_driver();
	set_real("cuMemAlloc_v2", fake(5000));
	set_real("cuMemAlloc", fake(5000));
	set_real("cuMemAllocManaged", fake(5000));
	ck_assert_ptr_eq(hook_for_answer(fake(5000), "cuMemAlloc", 3020, 0),
			 HOOK_OF("cuMemAlloc_v2"));
	ck_assert_ptr_eq(hook_for_answer(fake(5000), "cuMemAlloc", 13000, 0),
			 HOOK_OF("cuMemAlloc_v2"));
	ck_assert_ptr_eq(hook_for_answer(fake(5000), "cuMemAlloc", 2000, 0), HOOK_OF("cuMemAlloc"));
	ck_assert_ptr_eq(hook_for_answer(fake(5000), "cuMemAllocManaged", 12000, 0),
			 HOOK_OF("cuMemAllocManaged"));

	set_real("cuLaunchKernel", fake(5001));
	set_real("cuLaunchKernel_ptsz", fake(5001));
	ck_assert_ptr_eq(hook_for_answer(fake(5001), "cuLaunchKernel", 12000, 0),
			 HOOK_OF("cuLaunchKernel"));
	ck_assert_ptr_eq(hook_for_answer(fake(5001), "cuLaunchKernel", 12000, 2),
			 HOOK_OF("cuLaunchKernel_ptsz"));
}
END_TEST

START_TEST(an_unknown_address_goes_by_name_and_version)
{
	void *inner = fake(6000);

	fake_driver();
	ck_assert_ptr_eq(hook_for_answer(inner, "cuLaunchKernel", 12000, 0),
			 HOOK_OF("cuLaunchKernel"));
	ck_assert_ptr_eq(hook_for_answer(inner, "cuLaunchKernel", 12000, 2),
			 HOOK_OF("cuLaunchKernel_ptsz"));
	ck_assert_ptr_eq(hook_for_answer(inner, "cuCtxSynchronize", 12000, 0),
			 HOOK_OF("cuCtxSynchronize"));
	ck_assert_ptr_eq(hook_for_answer(inner, "cuCtxSynchronize", 13000, 0),
			 HOOK_OF("cuCtxSynchronize_v2"));
	ck_assert_ptr_eq(hook_for_answer(inner, "cuMemAlloc", 3010, 0), HOOK_OF("cuMemAlloc"));
	/* What we do not hook, or whose signature may be one that we do not know. */
	ck_assert_ptr_eq(hook_for_answer(inner, "cuCtxGetApiVersion", 12000, 0), inner);
	ck_assert_ptr_eq(hook_for_answer(inner, "cuLaunchKernel", CUDA_VERSION + 10, 0), inner);
	/* A driver that lacks the entry cannot have meant it. */
	set_real("cuCtxCreate_v4", (void *)real_missing);
	ck_assert_ptr_eq(hook_for_answer(inner, "cuCtxCreate", 13000, 0), inner);
}
END_TEST

START_TEST(look_ups_of_other_names_go_on)
{
	struct door_answer answer = door_pick_dlsym(RTLD_DEFAULT, "getpid", (const void *)set_real);
	struct object object;
	void *symbol = NULL;

	ck_assert_ptr_eq(answer.jump, object_libc_symbol("dlsym"));
	answer = door_pick_dlsym(RTLD_NEXT, "dlsym", (const void *)set_real);
	ck_assert_ptr_eq(answer.jump, object_libc_symbol("dlsym"));
	answer = door_pick_dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34", (const void *)set_real);
	ck_assert_ptr_eq(answer.jump, object_libc_symbol("dlvsym"));
	/* A hook's name in the caller's own scope: the loader finds the hook there by itself. */
	answer = door_pick_dlsym(RTLD_DEFAULT, "cuInit", (const void *)set_real);
	ck_assert_ptr_eq(answer.jump, object_libc_symbol("dlsym"));
	/* A sanitizer's runtime has a dlopen of its own, in front of libc's. */
	ck_assert(object_find_definer((const void *)set_real, "dlopen", &object, &symbol));
	ck_assert_ptr_eq(door_pick_dlopen(NULL), symbol);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_doors");
	TCase *tcase = tcase_create("doors");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, libc_symbols_are_where_the_linker_says);
	tcase_add_test(tcase, a_definer_is_searched_behind_the_caller);
	tcase_add_test(tcase, exactly_the_listed_names_are_hooks);
	tcase_add_test(tcase, an_address_of_the_driver_becomes_its_hook);
	tcase_add_test(tcase, a_shared_address_goes_to_what_was_asked_for);
	tcase_add_test(tcase, an_unknown_address_goes_by_name_and_version);
	tcase_add_test(tcase, look_ups_of_other_names_go_on);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
