/* SPDX-License-Identifier: Apache-2.0 */

/* What `sluice status` makes of rows, for people and for programs. */

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/query.h"
#include "sluice/status_pairs.h"
#include "sluice/status_text.h"

/* The command's main.c has this one; the archive leaves main.c out. */
int cmd_fail(const char *format, ...);
int cmd_fail(const char *format, ...)
{
	(void)format;
	return 1;
}

static struct sluice_msg_status_tenant row;
static json_t *root;

/* The row's object; valid until the next. */
static const json_t *as_json(void)
{
	struct status status = {.tenant = &row, .tenants = 1};
	struct query query = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(status_print_json(&query, &status, out), 0);
	fclose(out);
	json_decref(root);
	root = json_loads(text, 0, NULL);
	free(text);
	ck_assert_ptr_nonnull(root);
	return json_array_get(json_object_get(root, "tenants"), 0);
}

static void begin(void)
{
	row = (struct sluice_msg_status_tenant){.device = UINT32_MAX, .name = "train"};
}

static void end(void)
{
	json_decref(root);
	root = NULL;
}

/* A page may claim anything. */
START_TEST(large_numbers_stay_positive)
{
	static const char *const fields[] = {"requests", "requests_late", "forced", "unpredicted",
					     "longest_unit_ns"};

	row.requests = row.requests_late = row.forced = row.unpredicted = UINT64_MAX;
	row.longest_unit_ns = 1ull << 63;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		ck_assert_int_eq(json_integer_value(json_object_get(as_json(), fields[i])),
				 INT64_MAX);
	row.requests = INT64_MAX - 1;
	ck_assert_int_eq(json_integer_value(json_object_get(as_json(), "requests")), INT64_MAX - 1);
}
END_TEST

START_TEST(what_is_not_there_is_null)
{
	static const char *const fields[] = {"service_p50_ns",	    "service_p99_ns",
					     "be_in_flight_p99_ns", "longest_unit_ns",
					     "longest_unit",	    "target_ns"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		ck_assert_msg(json_is_null(json_object_get(as_json(), fields[i])), "%s", fields[i]);
	ck_assert_int_eq(json_integer_value(json_object_get(as_json(), "requests")), 0);
	ck_assert(json_is_integer(json_object_get(as_json(), "requests")));
	row.service_p50_ns = row.service_p99_ns = row.be_in_flight_p99_ns = 5;
	row.longest_unit_ns = row.target_ns = 5;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		ck_assert_int_eq(json_integer_value(json_object_get(as_json(), fields[i])),
				 i == 4 ? 0 : 5);
	memcpy(row.longest_unit, "gemm", 5);
	ck_assert_str_eq(json_string_value(json_object_get(as_json(), "longest_unit")), "gemm");
}
END_TEST

/* As the text shows it. */
static bool text_has(const char *part)
{
	struct sluice_msg_status_device device = {.index = 0, .name = "GPU", .policy = "slo"};
	struct status status = {.device = &device, .devices = 1, .tenant = &row, .tenants = 1};
	struct query query = {0};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool has;

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(status_print(&query, &status, 0, out), 0);
	fclose(out);
	has = strstr(text, part) != NULL;
	free(text);
	return has;
}

START_TEST(without_a_process_nothing_is_due)
{
	row.device = 0;
	row.entitled_permille = 666;
	ck_assert(json_is_null(json_object_get(as_json(), "gpu_entitled")));
	ck_assert(text_has("0.0 / -  "));
	ck_assert(!text_has("66.6"));
	row.processes = 1;
	ck_assert_double_eq_tol(json_real_value(json_object_get(as_json(), "gpu_entitled")), 0.666,
				1e-6);
	ck_assert(text_has("0.0 / 66.6 %  "));
}
END_TEST

static char *pairs_text(const struct status *status)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(pairs_print(status, 0, out), 0);
	fclose(out);
	return text;
}

START_TEST(pairs_are_a_matrix)
{
	struct sluice_msg_status_device device[] = {
		{.index = 0, .name = "First", .mps = 1},
		{.index = 1, .name = "Second", .mps = 1},
		{.index = 2, .name = "Third"},
	};
	struct sluice_msg_status_pair pair[] = {
		{.device = 0,
		 .tenant = "train",
		 .partner = "batch",
		 .slowdown_permille = 3333,
		 .samples = 24,
		 .verdict = SLUICE_PAIR_WAIT,
		 .turns = 1},
		{.device = 0,
		 .tenant = "batch",
		 .partner = "train",
		 .slowdown_permille = 1049,
		 .samples = 7,
		 .verdict = 99},
		{.device = 0, .tenant = "chat", .partner = "train", .samples = 1},
	};
	struct status status = {.device = device, .devices = 3, .pair = pair, .pairs = 3};
	char *text = pairs_text(&status);

	ck_assert_str_eq(text, "GPU 0  First  slowdown of the row's tenant beside the column's\n"
			       "TENANT  batch                     train\n"
			       "train   3.33 (24) wait, in turns  -\n"
			       "batch   -                         1.04 (7) unknown\n"
			       "chat    -                         ? (1) unknown\n"
			       "\n"
			       "GPU 1  Second  nobody was seen at work beside one other\n"
			       "\n"
			       "GPU 2  Third  no MPS: nothing runs side by side\n");
	free(text);
	status.devices = 0;
	text = pairs_text(&status);
	ck_assert_str_eq(text, "no GPU in use: no program uses one under Sluice now\n");
	free(text);
}
END_TEST

/* More partners than a table has columns. */
START_TEST(wide_matrices_come_in_parts)
{
	struct sluice_msg_status_device device = {.mps = 1};
	struct sluice_msg_status_pair pair[20] = {0};
	struct status status = {.device = &device, .devices = 1, .pair = pair, .pairs = 20};
	char *text, *second;

	for (uint32_t i = 0; i < 20; i++) {
		memcpy(pair[i].tenant, "train", 6);
		snprintf(pair[i].partner, sizeof(pair[i].partner), "p%u", i);
		pair[i].slowdown_permille = 1000 + i * 10;
	}
	text = pairs_text(&status);
	second = strstr(text, "TENANT");
	ck_assert_ptr_nonnull(second);
	second = strstr(second + 1, "TENANT");
	ck_assert_ptr_nonnull(second);
	ck_assert_ptr_nonnull(strstr(second, "p19"));
	ck_assert_ptr_nonnull(strstr(second, "1.19"));
	ck_assert_ptr_null(strstr(second, "p0 "));
	free(text);
}
END_TEST

START_TEST(pairs_in_json)
{
	struct sluice_msg_status_pair pair[] = {
		{.device = 1,
		 .tenant = "train",
		 .partner = "batch",
		 .slowdown_permille = 2500,
		 .samples = 24,
		 .verdict = SLUICE_PAIR_SHARE},
		{.tenant = "batch", .partner = "train", .turns = 1},
	};
	struct status status = {.pair = pair, .pairs = 2};
	json_t *array = pairs_json(&status), *first = json_array_get(array, 0);
	json_t *second = json_array_get(array, 1);

	ck_assert_uint_eq(json_array_size(array), 2);
	ck_assert_str_eq(json_string_value(json_object_get(first, "tenant")), "train");
	ck_assert_str_eq(json_string_value(json_object_get(first, "partner")), "batch");
	ck_assert_str_eq(json_string_value(json_object_get(first, "verdict")), "share");
	ck_assert_int_eq(json_integer_value(json_object_get(first, "device")), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(first, "samples")), 24);
	ck_assert_double_eq_tol(json_real_value(json_object_get(first, "slowdown")), 2.5, 1e-9);
	ck_assert(json_is_false(json_object_get(first, "turns")));
	ck_assert(json_is_null(json_object_get(second, "slowdown")));
	ck_assert(json_is_true(json_object_get(second, "turns")));
	json_decref(array);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli status");
	TCase *tcase = tcase_create("rows");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, large_numbers_stay_positive);
	tcase_add_test(tcase, what_is_not_there_is_null);
	tcase_add_test(tcase, without_a_process_nothing_is_due);
	tcase_add_test(tcase, pairs_are_a_matrix);
	tcase_add_test(tcase, wide_matrices_come_in_parts);
	tcase_add_test(tcase, pairs_in_json);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
