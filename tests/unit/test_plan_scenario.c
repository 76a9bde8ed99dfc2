/* SPDX-License-Identifier: Apache-2.0 */
/* Scenario files: what a good one becomes, and that each mistake is told with its line and a
 * remedy; then runs of one: the same on any number of processes. */

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/report.h"
#include "plan/scenario.h"
#include "plan/workload.h"

#define LINES 40

static char folder[64], scenario_path[128];

static const char *const good[] = {
	"name = \"case\";",					   /* 1 */
	"device = { preset = \"test\"; mps = true; };",		   /* 2 */
	"tenants = (",						   /* 3 */
	"{ name = \"serve\"; class = \"latency-critical\";",	   /* 4 */
	"  workload = \"serve.conf\";",				   /* 5 */
	"  arrivals = { kind = \"poisson\"; load = \"50 %\";",	   /* 6 */
	"    steps = ( { at = \"1 s\"; rate = \"120 %\"; } ); };", /* 7 */
	"  target = { p99 = \"+10 %\"; of = \"arrival\"; };",	   /* 8 */
	"  lengths = \"60 %\"; gpu = { max = \"90 %\"; }; },",	   /* 9 */
	"{ name = \"train\"; workload = \"train.conf\";",	   /* 10 */
	"  gpu = { weight = 300; min = \"10 %\"; }; },",	   /* 11 */
	"{ name = \"other\"; workload = \"train\"; }",		   /* 12 */
	");",							   /* 13 */
	"policies = ( \"native\",",				   /* 14 */
	"  { name = \"slo\"; mps = false;",			   /* 15 */
	"    window = (\"100 us\", \"1 ms\");",			   /* 16 */
	"    level = (0.5, \"1.5\"); } );",			   /* 17 */
	"run = { requests = 60; warmup = 5; seeds = (7, 8);",	   /* 18 */
	"  time = \"60 s\"; };",				   /* 19 */
	"assumed = { wake = \"9 us\";",				   /* 20 */
	"  prediction_error = \"30 %\"; };",			   /* 21 */
	NULL};

static void write_text(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

/* The good one, with `instead` in place of line `line` (1: the first; 0: none). */
static void write_scenario(int line, const char *instead)
{
	char text[4096];
	size_t at = 0;

	for (int i = 0; good[i]; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s\n",
				       i + 1 == line ? instead : good[i]);
	write_text("case.cfg", text);
}

static int find_preset(const char *name, size_t size, char *ret_path)
{
	if (strcmp(name, "test"))
		return -ENOENT;
	snprintf(ret_path, size, "%s/device.conf", folder);
	return 0;
}

static int find_workload(const char *name, size_t size, char *ret_path)
{
	if (strcmp(name, "train"))
		return -ENOENT;
	snprintf(ret_path, size, "%s/train.conf", folder);
	return 0;
}

static const struct scenario_files files = {.preset = find_preset, .workload = find_workload};

static void write_device(unsigned int sms)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "name = \"test\"; compute_capability = \"7.0\"; sms = %u; blocks_per_sm = 32;\n"
		 "threads_per_sm = 2048; registers_per_sm = 65536; shared_per_sm = \"96 KiB\";\n"
		 "shared_per_block = \"96 KiB\"; clock = \"1530 MHz\"; copy_engines = 2;\n"
		 "memory = \"16 GiB\"; context = \"300 MiB\"; memory_bandwidth = \"900 GB/s\";\n"
		 "pinned_bandwidth = \"12 GB/s\"; pageable_bandwidth = \"6 GB/s\";\n"
		 "slice = \"2 ms\"; switch = \"100 us\"; idle_hold = \"50 us\";\n"
		 "launch_latency = \"4 us\"; kernel_gap = \"1 us\"; copy_latency = \"6 us\";\n",
		 sms);
	write_text("device.conf", text);
}

static void setup(void)
{
	struct workload_op ops[30] = {0};

	snprintf(folder, sizeof(folder), "/tmp/sluice-scenario-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(scenario_path, sizeof(scenario_path), "%s/case.cfg", folder);
	for (uint32_t i = 0; i < 30; i++)
		ops[i] = (struct workload_op){.ns = 50000 + 20000 * i, .key = i + 1, .sms = 40 + i};
	for (int i = 0; i < 2; i++) {
		struct workload *workload;
		char path[128];
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s.conf", folder, i ? "train" : "serve");
		ck_assert_int_eq(workload_create(i ? "train" : "serve", "made", 80, ops,
						 i ? 30 : 10, &workload),
				 0);
		file = fopen(path, "w");
		ck_assert_ptr_nonnull(file);
		ck_assert_int_eq(workload_write(workload, file), 0);
		ck_assert_int_eq(fclose(file), 0);
		workload_free(workload);
	}
	write_device(80);
}

static void teardown(void)
{
	static const char *const names[] = {"case.cfg", "serve.conf", "train.conf", "device.conf"};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

static struct scenario *load(void)
{
	struct scenario_error error;
	struct scenario *scenario;
	int r = scenario_load(scenario_path, &files, &scenario, &error);

	if (r)
		ck_abort_msg("%s:%d: %s", error.file, error.line, error.msg);
	return scenario;
}

START_TEST(test_a_good_one)
{
	struct scenario *scenario;
	const struct scenario_tenant *serve;

	write_scenario(0, NULL);
	scenario = load();
	ck_assert_str_eq(scenario->name, "case");
	ck_assert_uint_eq(scenario->config.device.mps, 1);
	ck_assert_uint_eq(scenario->config.device.sms, 80);
	ck_assert_uint_eq(scenario->config.wake_ns, 9000);
	ck_assert_uint_eq(scenario->config.noise_permille, 300);
	ck_assert_uint_eq(scenario->tenants, 3);
	serve = &scenario->tenant[0];
	ck_assert(serve->world.latency && serve->world.target.from_arrival);
	ck_assert_uint_eq(serve->world.target.extra_permille, 100);
	ck_assert_uint_eq(serve->world.gpu_max_permille, 900);
	ck_assert_uint_eq(serve->load_permille, 500);
	ck_assert_uint_eq(serve->world.work_sigma_permille, 600);
	ck_assert_uint_eq(serve->arrivals.n_steps, 1);
	ck_assert_uint_eq(serve->arrivals.steps[0].rate_permille, 1200);
	ck_assert_uint_eq(scenario->tenant[1].world.weight, 300);
	ck_assert_uint_eq(scenario->tenant[1].world.gpu_min_permille, 100);
	ck_assert_uint_eq(scenario->tenant[2].world.weight, 100);
	ck_assert_uint_eq(scenario->requests, 60);
	ck_assert_uint_eq(scenario->seeds, 2);
	ck_assert_uint_eq(scenario->seed[1], 8);
	scenario_finish(scenario);
}
END_TEST

/* Its kernels take two waves there, or one: quotas and loads are of that device's time. */
START_TEST(test_workloads_are_stated_on_the_device)
{
	struct scenario *scenario;
	uint64_t ns;

	write_scenario(0, NULL);
	scenario = load();
	ns = scenario->tenant[1].workload->ops[29].ns;
	ck_assert_uint_eq(scenario->tenant[1].workload->device_sms, 80);
	scenario_finish(scenario);
	write_device(60);
	scenario = load();
	ck_assert_uint_eq(scenario->tenant[1].workload->device_sms, 60);
	ck_assert_uint_eq(scenario->tenant[1].workload->ops[29].ns, 2 * ns);
	scenario_finish(scenario);
}
END_TEST

/* Two lists of two: four orders, in the order in which they are written. */
START_TEST(test_sweeps_are_multiplied)
{
	static const char *const label[] = {"native on MPS",
					    "slo on time slices, level 0.5, window 100 us",
					    "slo on time slices, level 0.5, window 1 ms",
					    "slo on time slices, level 1.5, window 100 us",
					    "slo on time slices, level 1.5, window 1 ms"};
	struct scenario *scenario;

	write_scenario(0, NULL);
	scenario = load();
	ck_assert_uint_eq(scenario->orders, 5);
	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_str_eq(scenario->order[i].label, label[i]);
		ck_assert_uint_eq(scenario->order[i].sweep, i ? 1 : 0);
		ck_assert_int_eq(scenario->order[i].mps, i == 0);
	}
	ck_assert(!scenario->order[0].client_priority);
	ck_assert(scenario->order[1].client_priority);
	scenario_finish(scenario);
}
END_TEST

static const struct mistake {
	int line;
	const char *instead, *says;
	int told; /* on another line */
} mistakes[] = {
	{1, "nam = \"case\";", "a scenario has no key nam; there are name, device, tenants", 0},
	{2, "device = \"h2000\";", "there is no device preset h2000", 0},
	{2, "device = { preset = \"test\"; mpz = true; };", "device: unknown key mpz", 0},
	{2, "device = { preset = \"test\"; slice = 2; };", "slice must be a number and a unit", 0},
	{2, "device = { sms = 80; };", "is missing", 0},
	{4, "{ nick = \"serve\"; class = \"latency-critical\";", "a tenant has no key nick", 0},
	{4, "{ name = \"serve\"; class = \"urgent\";", "class must be \"latency-critical\" or", 0},
	{4, "{ name = \"serve\";", "only a latency-critical tenant has a target", 8},
	{5, "  workload = 5;", "workload must name a file", 0},
	{5, "  workload = \"serf\";", "no workload serf comes with Sluice", 0},
	{6, "  arrivals = { kind = \"poison\"; load = \"50 %\";", "there are poisson, periodic", 0},
	{6, "  arrivals = { kind = \"poisson\"; load = \"50\";", "load must be a percentage", 0},
	{6, "  arrivals = { kind = \"poisson\"; load = \"900 %\";", "load is out of range", 0},
	{6, "  arrivals = { kind = \"poisson\"; load = \"50 %\"; mean = \"1 ms\";",
	 "either load or mean", 0},
	{6, "  arrivals = { kind = \"poisson\";", "say how many: load", 0},
	{6, "  arrivals = { kind = \"recorded\"; load = \"50 %\";", "file = \"gaps.txt\"", 0},
	{7, "    steps = ( { at = \"1 s\"; } ); };", "a step of the rate is { at", 0},
	{8, "  target = { p99 = \"10 %\"; of = \"arrival\"; };", "\"+10 %\"", 0},
	{8, "  target = { p99 = \"20 ms\"; of = \"both\"; };", "of must be", 0},
	{9, "  gpu = { max = \"90 %\"; wait = 3; }; },", "gpu has no key wait; there are weight",
	 0},
	{9, "  gpu = { max = \"20 %\"; min = \"30 %\"; }; },", "gpu.min is more than gpu.max", 0},
	{11, "  gpu = { weight = 0; }; },", "weight is out of range: 1 to 10000", 0},
	{9, "  lengths = \"400 %\"; },", "lengths is out of range", 0},
	{11, "  lengths = \"60 %\"; },", "lengths are of requests", 0},
	{11, "  target = { p99 = \"1 ms\"; }; },", "only a latency-critical tenant has a target",
	 0},
	{12, "{ name = \"train\"; workload = \"train.conf\"; }", "there is a tenant train already",
	 0},
	{14, "policies = ( \"lottery\",", "there is no policy \"lottery\"; there are native", 0},
	{16, "    windw = (\"100 us\", \"1 ms\");", "policy slo has no key windw; there are name",
	 0},
	{14, "policies = ( { name = \"share\"; level = 1; },",
	 "policy share has no key level, it belongs to slo; there are name, mps", 0},
	{14, "policies = ( { name = \"share\"; partitions = true; },", "it belongs to slo;", 0},
	{14, "policies = ( { name = \"native\"; slice = \"1 ms\"; },", "it belongs to share, slo;",
	 0},
	{16, "    window = (\"100 us\", 7);", "window must be a time in quotes", 0},
	{16, "    window = ();", "an empty list", 0},
	{17, "    level = [0.5, 9.5]; } );", "level is out of range: -1 to 5", 0},
	{17, "    level = \"high\"; } );", "level must be a number", 0},
	{17, "    level = \"1.5x\"; } );", "level must be a number", 0},
	{17, "    level = \"nan\"; } );", "level must be a number", 0},
	{17, "    level = true; } );", "level must be a number", 0},
	{17, "    level = \"7\"; } );", "level is out of range: -1 to 5", 0},
	{18, "run = { requests = 2; warmup = 5; seeds = (7, 8);", "requests is out of range: 40",
	 0},
	{18, "run = { requests = 60; seeds = 99;", "seeds is out of range: 1 to 32", 0},
	{19, "  tim = \"60 s\"; };", "run has no key tim", 0},
	{20, "assumed = { wake = \"9 parsecs\";", "wake must be a time", 0},
	{13, ") ??", "syntax error", 0},
	{1, "name = \"a\"; name = \"b\";", "one group has a name twice; remove or rename one", 0},
};

START_TEST(test_mistakes_are_told)
{
	const struct mistake *mistake = &mistakes[_i];
	struct scenario_error error;
	struct scenario *scenario;

	write_scenario(mistake->line, mistake->instead);
	ck_assert_int_lt(scenario_load(scenario_path, &files, &scenario, &error), 0);
	if (!strstr(error.msg, mistake->says) || strcmp(error.file, scenario_path))
		ck_abort_msg("\"%s\": %s:%d: %s", mistake->instead, error.file, error.line,
			     error.msg);
	/* Where the mistake is, or where the group begins that lacks something. */
	ck_assert_int_eq(error.line, mistake->told ? mistake->told : mistake->line);
}
END_TEST

START_TEST(test_other_files_are_told)
{
	struct scenario_error error;
	struct scenario *scenario;

	ck_assert_int_lt(scenario_load("/nowhere/case.cfg", &files, &scenario, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.msg, "cannot read it"));
	ck_assert_int_lt(scenario_load("/tmp", &files, &scenario, &error), 0);
	write_scenario(5, "  workload = \"other.conf\";");
	ck_assert_int_lt(scenario_load(scenario_path, &files, &scenario, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.file, "other.conf"));
	write_scenario(0, NULL);
	write_text("train.conf", "name = \"x\";\nsource = \"y\";\nspeed = 3;\n");
	ck_assert_int_lt(scenario_load(scenario_path, &files, &scenario, &error), 0);
	ck_assert_ptr_nonnull(strstr(error.file, "train.conf"));
	ck_assert_int_eq(error.line, 3);
}
END_TEST

/* ---- runs ---- */

static char *to_json(const struct scenario *scenario, uint32_t workers)
{
	struct run_result *result;
	char *text = NULL;
	size_t size;
	FILE *out;

	ck_assert_int_eq(run_scenario(scenario, workers, &result), 0);
	out = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(report_print_json(scenario, result, out), 0);
	fclose(out);
	free(result);
	return text;
}

START_TEST(test_same_on_any_number_of_processes)
{
	struct scenario *scenario;
	char *one, *three;

	write_scenario(0, NULL);
	scenario = load();
	one = to_json(scenario, 1);
	three = to_json(scenario, 3);
	ck_assert_str_eq(one, three);
	free(one);
	free(three);
	scenario_finish(scenario);
}
END_TEST

static double number_at(json_t *json, const char *group, const char *tenant, const char *key)
{
	json_t *value = json_object_get(json, group);

	if (tenant)
		value = json_object_get(json_object_get(value, tenant), key);
	return json_number_value(json_object_get(value, "mean"));
}

START_TEST(test_report_says_what_happened)
{
	struct scenario *scenario;
	json_t *json, *row, *serve;
	char *text;

	write_scenario(0, NULL);
	scenario = load();
	text = to_json(scenario, 0);
	json = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(json);
	ck_assert(json_is_true(json_object_get(json, "simulated")));
	ck_assert_uint_eq(json_array_size(json_object_get(json, "rows")), 5);
	row = json_array_get(json_object_get(json, "rows"), 4);
	ck_assert_str_eq(json_string_value(json_object_get(row, "label")),
			 "slo on time slices, level 1.5, window 1 ms");
	serve = json_object_get(json_object_get(row, "tenants"), "serve");
	ck_assert_int_eq(json_integer_value(json_object_get(serve, "requests")), 2 * 60);
	ck_assert_double_eq_tol(number_at(row, "tenants", "serve", "load"), 0.5, 0.1);
	ck_assert_double_eq_tol(
		json_number_value(json_object_get(
			json_object_get(json_object_get(serve, "controller"), "level"), "mean")),
		1.5, 1e-9);
	/* A relative target is shown as of the figure alone that stands beside it. */
	ck_assert_double_eq_tol((double)json_integer_value(json_object_get(serve, "target_ns")),
				1.1 * json_number_value(json_object_get(
					      json_object_get(serve, "alone_A_p99_ns"), "mean")),
				2);
	/* Both loops together run in the idle time and no more. */
	ck_assert_double_eq_tol(number_at(row, "best_effort", NULL, NULL),
				number_at(row, "tenants", "train", "throughput_of_alone") +
					number_at(row, "tenants", "other", "throughput_of_alone"),
				1e-9);
	ck_assert_double_gt(number_at(row, "best_effort", NULL, NULL), 0.2);
	ck_assert_double_lt(number_at(row, "best_effort", NULL, NULL), 0.6);
	ck_assert_double_gt(number_at(row, "tenants", "serve", "S_over_alone"), 0);
	ck_assert_uint_gt(json_array_size(json_object_get(row, "delayed_by")), 0);
	ck_assert_ptr_nonnull(json_object_get(row, "share_error"));
	json_decref(json);
	free(text);
	scenario_finish(scenario);
}
END_TEST

/* "20 ms" instead of "+10 %": the same figure for every seed, and for each request. */
START_TEST(test_absolute_target)
{
	static const struct {
		const char *line;
		uint64_t p99_ns;
		bool from_arrival, late;
	} cases[] = {
		{"  target = { p99 = \"20 s\"; };", 20000000000, false, false},
		{"  target = { p99 = \"20 s\"; of = \"range:infer\"; };", 20000000000, true, false},
		{"  target = { p99 = \"20 us\"; of = \"arrival\"; };", 20000, true, true},
		{"  target = { p99 = \"20 us\"; of = \"service\"; };", 20000, false, true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scenario *scenario;
		const struct plan_target *target;
		json_t *json, *serve;
		char *text;

		write_scenario(8, cases[i].line);
		scenario = load();
		target = &scenario->tenant[0].world.target;
		ck_assert_uint_eq(target->p99_ns, cases[i].p99_ns);
		ck_assert_uint_eq(target->extra_permille, 0);
		ck_assert_int_eq(target->from_arrival, cases[i].from_arrival);
		text = to_json(scenario, 0);
		json = json_loads(text, 0, NULL);
		ck_assert_ptr_nonnull(json);
		serve = json_array_get(json_object_get(json, "rows"), 1);
		serve = json_object_get(json_object_get(serve, "tenants"), "serve");
		ck_assert_uint_eq((uint64_t)json_integer_value(json_object_get(serve, "target_ns")),
				  cases[i].p99_ns);
		ck_assert_int_eq(json_integer_value(json_object_get(serve, "late")),
				 cases[i].late ? 2 * 60 : 0);
		json_decref(json);
		free(text);
		scenario_finish(scenario);
	}
}
END_TEST

static uint32_t count_of(const char *text, const char *what)
{
	uint32_t count = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		count++;
	return count;
}

/* Each order is a point in both panels and a line of the legend; the four of the sweep are joined. */
START_TEST(test_frontier)
{
	struct scenario *scenario;
	struct run_result *result;
	char *text = NULL;
	size_t size;
	FILE *out;

	write_scenario(0, NULL);
	scenario = load();
	ck_assert(frontier_is_there(scenario));
	ck_assert_int_eq(run_scenario(scenario, 0, &result), 0);
	out = open_memstream(&text, &size);
	ck_assert_int_eq(frontier_print_svg(scenario, result, out), 0);
	fclose(out);
	ck_assert_uint_eq(count_of(text, "<circle"), 3 * 5);
	ck_assert_uint_eq(count_of(text, "stroke-width=\"1.5\"/>\n<line") +
				  count_of(text, "stroke-width=\"1.5\"/>\n<circle"),
			  2 * 3);
	ck_assert_uint_eq(count_of(text, "slo on time slices, level 0.5, window 1 ms"), 1);
	free(text);
	scenario->orders = 1;
	ck_assert(!frontier_is_there(scenario));
	out = open_memstream(&text, &size);
	ck_assert_int_eq(frontier_print_svg(scenario, result, out), -EINVAL);
	fclose(out);
	free(text);
	free(result);
	scenario_finish(scenario);
}
END_TEST

static Suite *scenario_suite(void)
{
	Suite *suite = suite_create("plan_scenario");
	TCase *tcase = tcase_create("files");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_a_good_one);
	tcase_add_test(tcase, test_workloads_are_stated_on_the_device);
	tcase_add_test(tcase, test_sweeps_are_multiplied);
	tcase_add_loop_test(tcase, test_mistakes_are_told, 0,
			    (int)(sizeof(mistakes) / sizeof(mistakes[0])));
	tcase_add_test(tcase, test_other_files_are_told);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("runs");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_same_on_any_number_of_processes);
	tcase_add_test(tcase, test_report_says_what_happened);
	tcase_add_test(tcase, test_absolute_target);
	tcase_add_test(tcase, test_frontier);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	SRunner *runner = srunner_create(scenario_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
