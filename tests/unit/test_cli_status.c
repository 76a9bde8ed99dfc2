/* SPDX-License-Identifier: Apache-2.0 */

/* What `sluice status` makes of rows, for people and for programs. */

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/query.h"
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
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
