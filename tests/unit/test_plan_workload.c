/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/workload.h"

#define PAIRS "tools/plan/suites/pairs/"

static const char *const derived[] = {
	"bert-infer-b2",      "efficientnet-infer-b4",	 "mobilenetv2-infer-b4",
	"resnet101-infer-b4", "resnet50-infer-b4",	 "transformer-xl-infer-b4",
	"bert-train-b8",      "mobilenetv2-train-b64",	 "resnet101-train-b32",
	"resnet50-train-b32", "transformer-xl-train-b8",
};
#define DERIVED (sizeof(derived) / sizeof(derived[0]))

static struct workload_error error;

static struct workload *load_pair(const char *name)
{
	struct workload *workload = NULL;
	char path[128];

	(void)snprintf(path, sizeof(path), PAIRS "%s.conf", name);
	ck_assert_msg(workload_load(path, &workload, &error) == 0, "%s:%d: %s", path, error.line,
		      error.msg);
	return workload;
}

/* What the head of the file says of the published table. */
static uint64_t table(const char *name, const char *key)
{
	char path[128];
	long long value = 0;
	config_t config;

	(void)snprintf(path, sizeof(path), PAIRS "%s.conf", name);
	config_init(&config);
	ck_assert_int_eq(config_read_file(&config, path), CONFIG_TRUE);
	value = config_setting_get_int64(
		config_setting_get_member(config_lookup(&config, "table"), key));
	config_destroy(&config);
	ck_assert_int_gt(value, 0);
	return (uint64_t)value;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Quantile of sums over windows of `width` operations. */
static uint64_t window(const struct workload *workload, uint32_t width, uint32_t permille)
{
	uint32_t n = workload->n_ops - width + 1;
	uint64_t *sums = calloc(n, sizeof(*sums)), result;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < width; k++)
			sums[i] += workload->ops[i + k].ns;
	qsort(sums, n, sizeof(*sums), compare);
	result = sums[(uint64_t)(n - 1) * permille / 1000];
	free(sums);
	return result;
}

static void assert_near(uint64_t got, uint64_t want, double share, const char *name,
			const char *what)
{
	double off = (double)got / (double)want - 1;

	ck_assert_msg(off <= share && off >= -share, "%s: %s is %llu, the table has %llu", name,
		      what, (unsigned long long)got, (unsigned long long)want);
}

START_TEST(totals_are_the_tables_to_the_nanosecond)
{
	const char *name = derived[_i];
	struct workload *workload = load_pair(name);
	uint64_t sum = 0, filling = 0, compute = 0, memory = 0;

	for (uint32_t i = 0; i < workload->n_ops; i++) {
		const struct workload_op *op = &workload->ops[i];

		sum += op->ns;
		filling += op->sms >= workload->device_sms ? op->ns : 0;
		compute += op->bw_class == WORKLOAD_COMPUTE ? op->ns : 0;
		memory += op->bw_class == WORKLOAD_MEMORY ? op->ns : 0;
	}
	ck_assert_uint_eq(workload->n_ops, table(name, "operations"));
	ck_assert_uint_eq(workload->step_ns, sum);
	ck_assert_uint_eq(sum, table(name, "total_ns"));
	ck_assert_uint_eq(filling, table(name, "filling_ns"));
	ck_assert_uint_eq(compute, table(name, "compute_ns"));
	ck_assert_uint_eq(memory, table(name, "memory_ns"));
	ck_assert_ptr_nonnull(strstr(workload->source, "licence"));
	workload_free(workload);
}
END_TEST

/* The order matters as much: what a window of 16 launches may hold is what a gate by count lets
 * out. The bounds were set before the phases were chosen. */
START_TEST(quantiles_and_windows_are_near_the_tables)
{
	const char *name = derived[_i];
	struct workload *workload = load_pair(name);

	assert_near(window(workload, 1, 500), table(name, "p50_ns"), 0.25, name, "p50");
	assert_near(window(workload, 1, 900), table(name, "p90_ns"), 0.75, name, "p90");
	assert_near(window(workload, 1, 990), table(name, "p99_ns"), 0.25, name, "p99");
	assert_near(window(workload, 1, 1000), table(name, "max_ns"), 0.25, name, "longest");
	assert_near(window(workload, 16, 500), table(name, "window16_p50_ns"), 0.75, name,
		    "median of 16");
	assert_near(window(workload, 16, 990), table(name, "window16_p99_ns"), 0.35, name,
		    "p99 of 16");
	workload_free(workload);
}
END_TEST

START_TEST(loading_twice_gives_the_same_operations)
{
	struct workload *a = load_pair("resnet50-train-b32"), *b = load_pair("resnet50-train-b32");

	ck_assert_uint_eq(a->n_ops, b->n_ops);
	ck_assert_mem_eq(a->ops, b->ops, a->n_ops * sizeof(*a->ops));
	workload_free(a);
	workload_free(b);
}
END_TEST

START_TEST(a_decode_loop_has_steps_and_gaps)
{
	struct workload *workload = load_pair("decode");

	ck_assert_uint_eq(workload->step_ns, 5000000);
	ck_assert_uint_eq(workload->steps, 40);
	ck_assert_uint_eq(workload_iteration_ns(workload), 40 * 5000000ull + 39 * 200000);
	workload_free(workload);
}
END_TEST

/* ---- files written here ---- */

static int load_text(const char *text, struct workload **ret)
{
	char path[] = "/tmp/sluice-workload-XXXXXX";
	int fd = mkstemp(path), r;
	FILE *file = fdopen(fd, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	r = workload_load(path, ret, &error);
	unlink(path);
	return r;
}

#define HEAD "name = \"n\"; source = \"s\"; device_sms = 80;\n"

START_TEST(what_is_written_is_read_back)
{
	const struct workload_op ops[] = {
		{.ns = 5000, .bytes = 4096, .key = 1, .kind = WORKLOAD_COPY_H2D},
		{.key = 2, .nodes = 2, .kind = WORKLOAD_GRAPH},
		{.ns = 7000, .key = 3, .sms = 40, .bw_class = WORKLOAD_MEMORY},
		{.ns = 9000000000,
		 .key = 4,
		 .sms = 400,
		 .bw_class = WORKLOAD_COMPUTE,
		 .spread_permille = 300},
		{.ns = 1, .key = 5, .kind = WORKLOAD_COPY_D2H},
	};
	struct workload *made, *read;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(workload_create("a \"name\"", "a source \\", 108, ops, 5, &made), 0);
	ck_assert_uint_eq(made->ops[1].ns, 9000007000);
	ck_assert_uint_eq(made->step_ns, 9000012001);
	made->has_gaps = true;
	ck_assert_int_eq(workload_write(made, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_msg(load_text(text, &read) == 0, "line %d: %s", error.line, error.msg);
	ck_assert_str_eq(read->name, made->name);
	ck_assert_str_eq(read->source, made->source);
	ck_assert_uint_eq(read->device_sms, 108);
	ck_assert_uint_eq(read->n_ops, 5);
	ck_assert(read->has_gaps);
	ck_assert_mem_eq(read->ops, made->ops, sizeof(ops));
	free(text);
	workload_free(made);
	workload_free(read);
	ck_assert_int_eq(workload_create("n", "s", 80, ops, 0, &made), -EINVAL);
}
END_TEST

#define GROUP "class = \"memory\"; count = 4; total_ns = 4000; ns = [1000]; sms = [8];"

START_TEST(a_phase_may_be_one_graph)
{
	struct workload *workload;

	ck_assert_int_eq(load_text(HEAD "phases = (({" GROUP "}), { graph = true; groups = ({" GROUP
					"}); });",
				   &workload),
			 0);
	ck_assert_uint_eq(workload->n_ops, 9);
	ck_assert_int_eq(workload->ops[4].kind, WORKLOAD_GRAPH);
	ck_assert_uint_eq(workload->ops[4].nodes, 4);
	ck_assert_uint_eq(workload->ops[4].ns, 4000);
	ck_assert_uint_eq(workload->step_ns, 8000);
	workload_free(workload);
}
END_TEST

static const struct {
	const char *text;
	int line;
	const char *word;
} mistakes[] = {
	{"name = \"n\";\nsource = \"s\"\ndevice_sms = ;", 3, "syntax"},
	{HEAD "speed = 3;", 2, "no key \"speed\""},
	{HEAD "", 0, "either phases or operations"},
	{HEAD "phases = ();", 0, "at least one"},
	{HEAD "phases = (({ class = \"big\"; count = 1; total_ns = 1; ns = [1]; sms = [1]; }));", 2,
	 "a class is"},
	{HEAD "phases = (({" GROUP " colour = 3; }));", 2, "no key \"colour\""},
	{HEAD "phases = ({ graph = 1; groups = ({" GROUP "}); });", 2, "true or false"},
	{HEAD "phases = (({ class = \"memory\"; count = 1; total_ns = 5; ns = [3, 4]; sms = [1]; "
	      "}));",
	 2, "1 or 6 values"},
	{HEAD
	 "phases = (({ class = \"memory\"; count = 1; total_ns = 5; ns = [5]; sms = [3, 2, 1]; "
	 "}));",
	 2, "must rise"},
	{HEAD "phases = (({ class = \"memory\"; count = 5; total_ns = 4; ns = [5]; sms = [1]; }));",
	 2, "out of range"},
	{HEAD "phases = (7);", 2, "list of groups"},
	{HEAD "operations = ((\"kernel\", 1, 1));", 2, "a kernel is"},
	{HEAD "operations = ((\"warp\", 1));", 2, "begins with"},
	{HEAD "operations = ((\"graph\", 2, 1), (\"h2d\", 1, 1, 1));", 2, "out of range"},
	{HEAD "operations = ((\"graph\", 2, 1), (\"graph\", 1, 1), (\"h2d\", 1, 1, 1));", 2,
	 "inside"},
	{HEAD "device_sms = 0;", 2, "duplicate"},
};

START_TEST(on_another_device_kernels_have_other_waves)
{
	struct workload_op ops[] = {
		{.kind = WORKLOAD_KERNEL, .ns = 300000, .sms = 120, .key = 1}, /* 2 waves of 80 */
		{.kind = WORKLOAD_KERNEL, .ns = 300000, .sms = 40, .key = 2},
		{.kind = WORKLOAD_COPY_H2D, .ns = 1000, .bytes = 1000, .key = 3},
		{.kind = WORKLOAD_GRAPH, .nodes = 1, .key = 4},
		{.kind = WORKLOAD_KERNEL, .ns = 7, .sms = 400, .key = 5}, /* 5 waves */
	};
	struct workload *workload;

	ck_assert_int_eq(workload_create("w", "made up", 80, ops, 5, &workload), 0);
	workload_restate(workload, 80, 1);
	ck_assert_uint_eq(workload->step_ns, 601007);
	workload_restate(workload, 132, 1);
	ck_assert_uint_eq(workload->device_sms, 132);
	ck_assert_uint_eq(workload->ops[0].ns, 150000);
	ck_assert_uint_eq(workload->ops[1].ns, 300000);
	ck_assert_uint_eq(workload->ops[2].ns, 1000);
	ck_assert_uint_eq(workload->ops[3].ns, 5);
	ck_assert_uint_eq(workload->step_ns, 451005);
	workload_free(workload);
}
END_TEST

/* What events are recorded around takes the gap before it as well, which the device has by itself. */
START_TEST(a_gap_is_not_played_twice)
{
	struct workload_op ops[] = {
		{.kind = WORKLOAD_KERNEL, .ns = 301000, .sms = 120, .key = 1}, /* 2 waves of 80 */
		{.kind = WORKLOAD_GRAPH, .nodes = 2, .key = 2},
		{.kind = WORKLOAD_KERNEL, .ns = 6000, .sms = 1, .key = 2},
		{.kind = WORKLOAD_KERNEL, .ns = 6000, .sms = 1, .key = 2},
		{.kind = WORKLOAD_KERNEL, .ns = 700, .sms = 1, .key = 3},
		{.kind = WORKLOAD_COPY_H2D, .ns = 9000, .bytes = 1000, .key = 4},
	};
	struct workload *workload;

	ck_assert_int_eq(workload_create("w", "made up", 80, ops, 6, &workload), 0);
	workload->has_gaps = true;
	workload_restate(workload, 132, 1000);
	ck_assert_uint_eq(workload->ops[0].ns, 150000);
	ck_assert_uint_eq(workload->ops[1].ns, 10000);
	ck_assert_uint_eq(workload->ops[3].ns, 5000);
	ck_assert_uint_eq(workload->ops[4].ns, 1);
	ck_assert_uint_eq(workload->ops[5].ns, 8000);
	ck_assert_uint_eq(workload->step_ns, 168001);
	/* Once. */
	workload_restate(workload, 132, 1000);
	ck_assert_uint_eq(workload->step_ns, 168001);
	workload_free(workload);
}
END_TEST

START_TEST(mistakes_name_their_line)
{
	struct workload *workload = NULL;

	ck_assert_int_eq(load_text(mistakes[_i].text, &workload), -EINVAL);
	ck_assert_ptr_null(workload);
	ck_assert_msg(error.line == mistakes[_i].line && strstr(error.msg, mistakes[_i].word),
		      "case %d: line %d: %s", _i, error.line, error.msg);
}
END_TEST

START_TEST(a_missing_file_says_so)
{
	struct workload *workload = NULL;

	ck_assert_int_eq(workload_load("/nowhere/at/all", &workload, &error), -ENOENT);
	ck_assert_str_eq(error.file, "/nowhere/at/all");
	ck_assert_ptr_nonnull(strstr(error.msg, "cannot be opened"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_workload");
	TCase *tcase = tcase_create("workload");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tcase, totals_are_the_tables_to_the_nanosecond, 0, DERIVED);
	tcase_add_loop_test(tcase, quantiles_and_windows_are_near_the_tables, 0, DERIVED);
	tcase_add_test(tcase, loading_twice_gives_the_same_operations);
	tcase_add_test(tcase, a_decode_loop_has_steps_and_gaps);
	tcase_add_test(tcase, what_is_written_is_read_back);
	tcase_add_test(tcase, a_phase_may_be_one_graph);
	tcase_add_test(tcase, on_another_device_kernels_have_other_waves);
	tcase_add_test(tcase, a_gap_is_not_played_twice);
	tcase_add_loop_test(tcase, mistakes_name_their_line, 0,
			    sizeof(mistakes) / sizeof(mistakes[0]));
	tcase_add_test(tcase, a_missing_file_says_so);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
