/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demo/result.h"

static char folder[] = "/tmp/sluice-demo-XXXXXX";

static void write_text(const char *name, const char *text)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "we");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static bool file_has(const char *path, const char *part)
{
	static char text[1 << 16];
	FILE *in = fopen(path, "re");

	ck_assert_ptr_nonnull(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	return strstr(text, part) != NULL;
}

static void make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/sluice-demo-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
	static const char *const names[] = {"serve.json",    "train.json",  "a.simgpu.json",
					    "b.simgpu.json", "report.json", "latency.svg"};
	char path[256];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

START_TEST(quantiles_are_nearest_rank)
{
	double values[1000];

	for (int i = 0; i < 1000; i++)
		values[i] = i + 1;
	ck_assert_double_eq(phase_quantile(values, 1000, 500), 500);
	ck_assert_double_eq(phase_quantile(values, 1000, 990), 990);
	ck_assert_double_eq(phase_quantile(values, 1000, 999), 999);
	ck_assert_double_eq(phase_quantile(values, 1, 999), 1);
	ck_assert_double_eq(phase_quantile(values, 0, 500), 0);
}
END_TEST

START_TEST(steps_count_inside_the_servers_time)
{
	struct phase phase;
	char why[512];

	write_text("serve.json",
		   "{\"A_ms\":[30,10,20],\"S_ms\":[9,7,8],\"load\":0.5,\"seed\":7,"
		   "\"start_ns\":1000000000,\"end_ns\":3000000000,\"wrong_results\":1}");
	/* Three of five inside, the first and last of them 1.0 s apart: two steps a second. */
	write_text("train.json", "{\"wrong_results\":2,\"step_end_ns\":[500000000,1500000000,"
				 "2000000000,2500000000,3500000000]}");
	write_text("a.simgpu.json", "{\"kernels_run\":5,\"ops\":100,\"late_ops\":1}");
	write_text("b.simgpu.json", "{\"kernels_run\":6,\"ops\":100,\"late_ops\":2}");
	ck_assert_int_eq(phase_load(folder, &phase, sizeof(why), why), 0);
	ck_assert_uint_eq(phase.requests, 3);
	ck_assert_double_eq(phase.arrival_ms[2], 30);
	ck_assert_double_eq_tol(phase.steps_per_s, 2.0, 1e-9);
	ck_assert_uint_eq(phase.wrong_results, 3);
	ck_assert_uint_eq(phase.kernels, 11);
	ck_assert_uint_eq(phase.late_ops, 3);
	phase_finish(&phase);
}
END_TEST

START_TEST(what_cannot_be_read_is_named)
{
	struct phase phase;
	char why[512];

	ck_assert_int_lt(phase_load(folder, &phase, sizeof(why), why), 0);
	ck_assert_ptr_nonnull(strstr(why, "neither serve.json nor train.json"));
	write_text("serve.json", "{\"A_ms\":[1,2],\"S_ms\":[1]}");
	ck_assert_int_lt(phase_load(folder, &phase, sizeof(why), why), 0);
	ck_assert_ptr_nonnull(strstr(why, "serve.json"));
	write_text("serve.json", "{\"A_ms\":[1,");
	ck_assert_int_lt(phase_load(folder, &phase, sizeof(why), why), 0);
	ck_assert_ptr_nonnull(strstr(why, "serve.json"));
}
END_TEST

static struct phase make_phase(double *arrival_ms, size_t requests, double steps_per_s)
{
	struct phase phase = {.has_serve = requests != 0,
			      .has_train = true,
			      .arrival_ms = arrival_ms,
			      .service_ms = arrival_ms,
			      .requests = requests,
			      .load = 0.51,
			      .seed = 42,
			      .steps_per_s = steps_per_s,
			      .ops = 1000};

	return phase;
}

START_TEST(more_than_one_percent_late_is_void)
{
	double a[] = {1, 2, 3, 4}, b[] = {2, 4, 6, 8}, c[] = {1, 2, 3, 5};
	struct phase serve = make_phase(a, 4, 0), train = make_phase(NULL, 0, 10);
	struct phase shared = make_phase(b, 4, 5), sluice = make_phase(c, 4, 4.5);
	struct result result;
	char path[256];
	json_t *root, *goal;
	json_error_t error;

	result_make("X", true, &serve, &train, &shared, &sluice, &result);
	ck_assert_str_eq(result.void_why, "");
	ck_assert_double_eq(result.column[SHARED].a_p99_ms, 8);
	ck_assert_double_eq_tol(result.column[SLUICE].train_rel, 0.45, 1e-9);
	ck_assert(goal_is_met(&result.goal[0]) && goal_is_met(&result.goal[2]));
	ck_assert(!goal_is_met(&result.goal[1])); /* 5 over 4 */

	sluice.late_ops = 41; /* of 4,000 */
	result_make("X", true, &serve, &train, &shared, &sluice, &result);
	ck_assert_ptr_nonnull(strstr(result.void_why, "late"));
	sluice.late_ops = 0;
	serve.load = 0.56;
	result_make("X", true, &serve, &train, &shared, &sluice, &result);
	ck_assert_ptr_nonnull(strstr(result.void_why, "0.560"));

	snprintf(path, sizeof(path), "%s/report.json", folder);
	ck_assert_int_eq(result_write_json(&result, path), 0);
	root = json_load_file(path, 0, &error);
	ck_assert_ptr_nonnull(root);
	ck_assert(json_is_true(json_object_get(root, "void")));
	ck_assert(json_is_true(json_object_get(root, "simulated")));
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(json_object_get(root, "sluice"), "A_p99_ms")), 5,
		1e-9);
	goal = json_object_get(json_object_get(root, "goals"), "sluice_A_p99_of_alone");
	ck_assert(json_is_false(json_object_get(goal, "met")));
	ck_assert_double_eq_tol(json_number_value(json_object_get(goal, "value")), 1.25, 1e-9);
	ck_assert_double_eq_tol(json_number_value(json_object_get(goal, "at_most")), 1.15, 1e-9);
	json_decref(root);
	snprintf(path, sizeof(path), "%s/latency.svg", folder);
	ck_assert_int_eq(result_write_svg(&result, path), 0);
	ck_assert(file_has(path, "VOID: the load was 0.560"));
}
END_TEST

/* In columns: a bar's block is one of three bytes. */
static size_t width_of(const char *line)
{
	size_t width = 0;

	for (; *line; line++)
		width += ((unsigned char)*line & 0xc0) != 0x80;
	return width;
}

START_TEST(what_is_printed_fits_a_terminal)
{
	double a[] = {10.8, 24.5, 43.1, 59.1}, b[] = {450, 713, 801, 830};
	struct phase serve = make_phase(a, 4, 0), train = make_phase(NULL, 0, 10);
	struct phase shared = make_phase(b, 4, 5), sluice = make_phase(a, 4, 4.5);
	struct result result;
	char *text = NULL, *line, *rest, path[256];
	size_t size = 0, void_lines = 0;
	FILE *out = open_memstream(&text, &size);

	sluice.late_ops = 41;
	result_make("NVIDIA H100 80GB HBM3", true, &serve, &train, &shared, &sluice, &result);
	result_print(&result, out);
	fclose(out);
	/* The scale of the bars, and what late means. */
	ck_assert_ptr_nonnull(strstr(text, " 20|"));
	ck_assert_ptr_nonnull(strstr(text, " 500|\n"));
	ck_assert_ptr_null(strstr(text, "1000|"));
	ck_assert_ptr_nonnull(strstr(text, "1.025 % of the simulated operations ended later than"));
	for (rest = text; (line = strsep(&rest, "\n"));) {
		ck_assert_msg(width_of(line) <= 80, "%zu: %s", width_of(line), line);
		void_lines += !strncmp(line, "VOID: 1.02 %", 12);
	}
	ck_assert_uint_eq(void_lines, 1);
	free(text);

	snprintf(path, sizeof(path), "%s/latency.svg", folder);
	ck_assert_int_eq(result_write_svg(&result, path), 0);
	ck_assert(file_has(path, ">the server alone: p99 59.1 ms</text>"));
	ck_assert(file_has(path, "p99 830.0 ms; training does 50 % of what it does alone</text>"));
	ck_assert(file_has(path, ">percentile of the requests"));
	ck_assert(file_has(path, ">from arrival to reply, logarithmic</text>"));
}
END_TEST

static bool printed(const struct result *result, const char *what)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool found;

	result_print(result, out);
	fclose(out);
	found = strstr(text, what) != NULL;
	free(text);
	return found;
}

START_TEST(a_phase_of_many_late_operations_is_named)
{
	double a[] = {1, 2, 3, 4};
	struct phase serve = make_phase(a, 4, 0), train = make_phase(NULL, 0, 10);
	struct phase shared = make_phase(a, 4, 5), sluice = make_phase(a, 4, 4.5);
	struct result result;

	sluice.late_ops = 10; /* of 1,000 */
	result_make("X", true, &serve, &train, &shared, &sluice, &result);
	ck_assert(!printed(&result, "note: "));
	sluice.late_ops = 20;
	result_make("X", true, &serve, &train, &shared, &sluice, &result);
	ck_assert_str_eq(result.void_why, "");
	ck_assert(printed(&result, "note: both, under Sluice: 2.0 % of operations late"));
	/* Goals are missed, by the machine perhaps. */
	ck_assert(printed(&result, "(That is wanted of an idle machine: "));
	result.simulated = false;
	ck_assert(!printed(&result, "note: "));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("demo");
	TCase *tcase = tcase_create("demo");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, make_folder, remove_folder);
	tcase_add_test(tcase, quantiles_are_nearest_rank);
	tcase_add_test(tcase, steps_count_inside_the_servers_time);
	tcase_add_test(tcase, what_cannot_be_read_is_named);
	tcase_add_test(tcase, more_than_one_percent_late_is_void);
	tcase_add_test(tcase, what_is_printed_fits_a_terminal);
	tcase_add_test(tcase, a_phase_of_many_late_operations_is_named);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
