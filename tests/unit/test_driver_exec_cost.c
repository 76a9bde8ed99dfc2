/* SPDX-License-Identifier: Apache-2.0 */

/* The cost table: patterns, mangled names, and what the file may hold. */

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "simgpu/driver/cost.h"

static char path[64], message[COST_ERROR_MAX];

static int load(const char *text, struct cost_table **ret_table)
{
	FILE *file = fopen(path, "we");
	int err;

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	err = cost_table_load(path, ret_table, message);
	unlink(path);
	return err;
}

static void check_wrong(const char *text, int line, const char *part)
{
	struct cost_table *table = NULL;
	char place[96];

	snprintf(place, sizeof(place), "%s:%d: ", path, line);
	ck_assert_int_eq(load(text, &table), -EINVAL);
	ck_assert_ptr_null(table);
	ck_assert_msg(strncmp(message, place, strlen(place)) == 0, "%s", message);
	ck_assert_msg(strstr(message, part) != NULL, "%s lacks: %s", message, part);
}

START_TEST(test_names)
{
	static const struct {
		const char *mangled, *plain;
	} names[] = {
		{"_Z7conv3x3PfS_i", "conv3x3"},
		{"_ZL6kernelPf", "kernel"},
		{"_Z4gemmILi64ELi32EfEvPKT1_S2_PS0_", "gemm"},
		{"_ZN4sgem4tileILi64EEEvPfS1_i", "tile"},
		{"_ZN12_GLOBAL__N_16kernelEPfi", "kernel"},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
		 "St5arrayIPcLm1EEEEviT0_T1_",
		 "vectorized_elementwise_kernel"},
		{"_ZN1aI1bE1cEv", "c"},
		{"_Z3addILN2ns4ModeE1EEvPf", "add"},
		{"_ZN7cutlass6KernelI4GemmIfLNS_6LayoutE0EEEEvNT_6ParamsE", "Kernel"},
	};
	char plain[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ck_assert_msg(cost_plain_name(names[i].mangled, plain, sizeof(plain)), "%s",
			      names[i].mangled);
		ck_assert_str_eq(plain, names[i].plain);
	}
	ck_assert(!cost_plain_name("plain_c_name", plain, sizeof(plain)));
	ck_assert(!cost_plain_name("_Z", plain, sizeof(plain)));
	ck_assert(!cost_plain_name("_Z9999x", plain, sizeof(plain)));
	ck_assert(!cost_plain_name("_ZN4name", plain, 3));
}
END_TEST

START_TEST(test_first_match_counts)
{
	const uint32_t one[3] = {64, 1, 1}, other[3] = {65, 1, 1};
	struct cost_table *table;
	struct cost cost;

	ck_assert_int_eq(load("name = \"other keys are the device's\";\n"
			      "costs = (\n"
			      " { kernel = \"gemm_*\"; grid = [ 64, 1, 1 ]; duration_us = 120.5; "
			      "sms = 80; },\n"
			      " { kernel = \"gemm_*\"; duration_us = 7; },\n"
			      " { kernel = \"conv3x3\"; block_us = 5.0; blocks_per_sm = 2; } );\n",
			      &table),
			 0);
	ck_assert(cost_find(table, "gemm_nt", one, &cost));
	ck_assert(cost.whole);
	ck_assert_uint_eq(cost.duration_ns, 120500);
	ck_assert_uint_eq(cost.sms, 80);
	ck_assert(cost_find(table, "gemm_nt", other, &cost));
	ck_assert_uint_eq(cost.duration_ns, 7000);
	ck_assert_uint_eq(cost.sms, 0);
	ck_assert(cost_find(table, "_Z7conv3x3PfS_i", one, &cost));
	ck_assert(!cost.whole);
	ck_assert_uint_eq(cost.duration_ns, 5000);
	ck_assert_uint_eq(cost.blocks_per_sm, 2);
	ck_assert(!cost_find(table, "_Z8conv3x3bPf", one, &cost));
	ck_assert(!cost_find(NULL, "gemm_nt", one, &cost));
	cost_table_free(table);
	cost_table_free(NULL);
}
END_TEST

START_TEST(test_wrong_files)
{
	struct cost_table *table = NULL;

	check_wrong("costs = (\n { kern = \"x\"; duration_us = 1.0; } );", 2, "kern:");
	check_wrong("costs = (\n { kernel = \"x\"; } );", 2, "duration_us");
	check_wrong("costs = ( { kernel = \"x\";\n duration_us = 1.0; block_us = 1.0; } );", 1,
		    "either");
	check_wrong("costs = (\n { duration_us = 1.0; } );", 2, "kernel");
	check_wrong("costs = ( { kernel = \"x\";\n duration_us = \"1 ms\"; } );", 2, "number");
	check_wrong("costs = ( { kernel = \"x\";\n duration_us = -1; } );", 2, "0.001");
	check_wrong("costs = ( { kernel = \"x\"; duration_us = 1;\n grid = [ 1, 1 ]; } );", 2,
		    "three");
	check_wrong("costs = ( { kernel = \"x\"; duration_us = 1;\n grid = [ 0, 1, 1 ]; } );", 2,
		    "range");
	check_wrong("costs = ( { kernel = \"x\"; duration_us = 1; blocks_per_sm = 1; } );", 1,
		    "block_us");
	check_wrong("costs = ( { kernel = \"x\"; block_us = 1; sms = 1; } );", 1, "duration_us");
	check_wrong("costs = ( { kernel = \"\"; block_us = 1; } );", 1, "pattern");
	check_wrong("\ncosts = { };", 2, "list");
	check_wrong("costs = ( 1 );", 1, "group");
	check_wrong("costs = (\n{ kernel = ; } );", 2, "syntax");
	ck_assert_int_eq(cost_table_load("/nonexistent/costs", &table, message), -EINVAL);
	ck_assert_str_eq(message, "/nonexistent/costs: cannot be read");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exec-cost");
	TCase *tcase = tcase_create("cost");
	SRunner *runner;
	int failed;

	snprintf(path, sizeof(path), "/tmp/simgpu-cost-%d.conf", (int)getpid());
	tcase_add_test(tcase, test_names);
	tcase_add_test(tcase, test_first_match_counts);
	tcase_add_test(tcase, test_wrong_files);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
