/* SPDX-License-Identifier: Apache-2.0 */
/* What `sluice plan` prints for people, of figures that are made up. */

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/run.h"
#include "plan/workload.h"
#include "sluice/plan_text.h"

/* The command's main.c has these; the archive leaves main.c out. */
int cmd_fail(const char *format, ...);
int cmd_misused(const char *format, ...);
int cmd_fail(const char *format, ...)
{
	(void)format;
	return 1;
}

int cmd_misused(const char *format, ...)
{
	(void)format;
	return 2;
}

#define MS 1000000ull

static struct scenario scenario;
static struct run_result result[2];

static struct workload *make_workload(const char *name, uint32_t steps)
{
	static const struct workload_op ops[] = {
		{.ns = 100000, .key = 1, .sms = 40},
		{.ns = 8 * MS, .key = 2, .sms = 40},
		{.ns = 2 * MS, .key = 3, .kind = WORKLOAD_COPY_H2D, .bytes = 1 << 20},
	};
	struct workload *workload;

	ck_assert_int_eq(workload_create(name, "made", 80, ops, 3, &workload), 0);
	workload->steps = steps;
	return workload;
}

static struct metrics_tail tail(uint64_t ns)
{
	return (struct metrics_tail){.p50_ns = ns, .p99_ns = 2 * ns, .p999_ns = 3 * ns};
}

/* Two seeds of a server with `steps` to a request, beside a loop. */
static void setup_scenario(uint32_t steps)
{
	memset(&scenario, 0, sizeof(scenario));
	memset(result, 0, sizeof(result));
	(void)snprintf(scenario.name, sizeof(scenario.name), "case");
	(void)snprintf(scenario.tenant[0].world.name, WORLD_NAME_MAX, "serve");
	(void)snprintf(scenario.tenant[1].world.name, WORLD_NAME_MAX, "train");
	(void)snprintf(scenario.order[0].label, SCENARIO_LABEL_MAX, "slo on MPS");
	scenario.order[0].policy = plan_policy_find("slo");
	scenario.tenant[0].world.latency = true;
	scenario.tenant[0].world.target.extra_permille = 100;
	scenario.tenants = 2;
	scenario.orders = 1;
	scenario.seeds = 2;
	scenario.requests = 100;
	scenario.tenant[0].workload = make_workload("serve", steps);
	scenario.tenant[1].workload = make_workload("train", 1);
	for (uint32_t i = 0; i < 2; i++) {
		struct run_tenant *server = &result[i].tenant[0], *loop = &result[i].tenant[1];

		*server = (struct run_tenant){.arrival = tail((i + 1) * MS),
					      .service = tail(MS),
					      .arrival_alone = tail(MS),
					      .service_alone = tail(MS),
					      .target_ns = (20 + i) * MS,
					      .judged = 100 * steps,
					      .late = 3};
		*loop = (struct run_tenant){.throughput = 0.5};
		result[i].delays = 2;
		result[i].delay[0] = (struct run_delay){
			.proc = 1, .key = 2, .count = 6, .late = 1, .total_ns = MS, .worst_ns = MS};
		result[i].delay[1] = (struct run_delay){
			.proc = 1, .key = 3, .count = 5, .total_ns = 1000, .worst_ns = 1000};
		result[i].has_shares = true;
	}
}

static char *print(size_t columns)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(plan_print(&scenario, result, columns, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	workload_free(scenario.tenant[0].workload);
	workload_free(scenario.tenant[1].workload);
	return text;
}

START_TEST(no_line_is_wider_than_the_terminal)
{
	char *text, *line, *rest;
	unsigned int lines = 0;

	setup_scenario(1);
	text = print(80);
	for (rest = text; (line = strsep(&rest, "\n")); lines++)
		ck_assert_uint_le(strlen(line), 80);
	ck_assert_uint_gt(lines, 12);
	free(text);
	/* The same lines are wide where nothing bounds them. */
	setup_scenario(1);
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "in windows of 1 s (0.0 % at worst), by 0.0 % in 95 of "
					   "100 windows of 100 ms\n"));
	free(text);
}
END_TEST

START_TEST(what_is_counted_is_said)
{
	char *text;

	setup_scenario(1);
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "; target S p99 20.5 ms (+10 %)\n"));
	ck_assert_ptr_nonnull(strstr(text, "  6 of 200\n"));
	ck_assert_ptr_null(strstr(text, "steps"));
	ck_assert_ptr_nonnull(strstr(text, "  serve 12 times by kernel 2 of train (8 ms alone): "
					   "167 us each, 1 ms at worst, 2 late\n"));
	ck_assert_ptr_nonnull(strstr(text, " by copy 3 of train (2 ms alone): "));
	free(text);

	/* A decoder's target is on each step, unless it is on the whole request. */
	setup_scenario(40);
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "S p99 2 ms a step; target S p99"));
	ck_assert_ptr_nonnull(strstr(text, "  6 of 8000 steps\n"));
	ck_assert_ptr_nonnull(strstr(text, "  serve 12 steps by kernel 2"));
	free(text);
	setup_scenario(40);
	scenario.tenant[0].world.target.from_arrival = true;
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "; target A p99"));
	ck_assert_ptr_null(strstr(text, "of 8000 steps"));
	free(text);

	/* What no arbiter does is not shown as if one did. */
	setup_scenario(1);
	scenario.order[0].value[plan_policy_option(scenario.order[0].policy, "partitions")] = 1;
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "\nnote: partitions: no arbiter of this version"));
	free(text);

	/* One is one. */
	setup_scenario(1);
	result[0].delay[1].count = 1;
	result[1].delays = 1;
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "  serve 1 time by copy 3 of train"));
	free(text);

	/* What varies by itself is nobody's delay. */
	for (uint32_t i = 0; i < 2; i++) {
		setup_scenario(1);
		result[0].delay[0].proc = result[1].delay[0].proc = UINT32_MAX;
		result[0].delay[0].total_ns = result[1].delay[0].total_ns = i ? MS : MS / 100;
		text = print(0);
		ck_assert_int_eq(strstr(text, "with no best-effort work in flight: ") != NULL, i);
		ck_assert_ptr_nonnull(strstr(text, "  serve 10 times by copy 3 of train"));
		free(text);
	}

	/* Without a target nothing is late. */
	setup_scenario(1);
	scenario.tenant[0].world.target.extra_permille = 0;
	result[0].tenant[0].target_ns = result[1].tenant[0].target_ns = 0;
	text = print(0);
	ck_assert_ptr_nonnull(strstr(text, "; target none\n"));
	ck_assert_ptr_null(strstr(text, " late\n"));
	ck_assert_ptr_null(strstr(text, "note: "));
	free(text);
}
END_TEST

START_TEST(policies_fit_the_terminal_too)
{
	char *text = NULL, *line, *rest;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	unsigned int lines = 0, options = 0;

	ck_assert_int_eq(plan_print_policies(80, out), 0);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "\nslo: Sluice: "));
	ck_assert_ptr_nonnull(strstr(text, "\n  window           predicted work in flight"));
	for (rest = text; (line = strsep(&rest, "\n")); lines++) {
		ck_assert_uint_le(strlen(line), 80);
		options += *line && line[strlen(line) - 1] == ')';
	}
	ck_assert_uint_gt(lines, 40);
	ck_assert_uint_gt(options, 30);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_plan");
	TCase *tcase = tcase_create("cli_plan");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, no_line_is_wider_than_the_terminal);
	tcase_add_test(tcase, what_is_counted_is_said);
	tcase_add_test(tcase, policies_fit_the_terminal_too);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
