/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/report.h"

#include "plan/suites/orders.h"
#include "plan/suites/scenes.h"
#include "plan/suites/sums.h"

static void print_policies(const struct suite *suite, FILE *out)
{
	bool head = false;

	for (uint32_t row = 0; row < suite->rows; row++) {
		const struct suite_row *at = &suite->row[row];

		for (uint32_t mode = 0; at->use == SUITE_MAIN && mode < SUITE_MODES; mode++) {
			struct suite_sum sum;

			suite_sum_row(suite, row, mode, false, &sum);
			if (!sum.pairs)
				continue;
			if (!head)
				(void)fprintf(out, "%-15s %-4s %5s  %9s %9s %9s %7s %8s\n",
					      "policy", "mode", "pairs", "A mean", "A worst",
					      "S mean", "BE", "of idle");
			head = true;
			(void)fprintf(out,
				      "%-15s %-4s %5u %8.1f %% %7.1f %% %7.1f %% %7.3f %8.3f%s%s\n",
				      at->name, suite_mode_name[mode], sum.pairs, 100 * sum.a_mean,
				      100 * sum.a_worst, 100 * sum.s_mean, sum.be_mean,
				      sum.be_of_idle, sum.unstable ? "  unstable" : "",
				      at->not_credible ? "  not credible" : "");
		}
	}
}

static void print_targets(const struct suite *suite, FILE *out)
{
	bool head = false;

	for (uint32_t i = 0; i < SUITE_TARGETS * SUITE_MODES; i++) {
		struct suite_target_sum sum;

		suite_sum_target(suite, i / SUITE_MODES, i % SUITE_MODES, &sum);
		if (!sum.pairs)
			continue;
		if (!head)
			(void)fprintf(out, "\n%-15s %-4s %5s  %9s %9s %7s %12s %6s\n", "target",
				      "mode", "pairs", "A mean", "A worst", "BE", "of best fixed",
				      "over");
		head = true;
		(void)fprintf(out, "+%-14.0f %-4s %5u %8.1f %% %7.1f %% %7.3f %12.3f %7u\n",
			      suite_target_permille[i / SUITE_MODES] / 10.0,
			      suite_mode_name[i % SUITE_MODES], sum.pairs, 100 * sum.reached_a,
			      100 * sum.reached_worst, sum.be_mean, sum.be_of_best_fixed,
			      sum.pairs_over);
	}
}

static void print_scenes(const struct suite *suite, FILE *out)
{
	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		struct suite_scenes sums;

		suite_sum_scenes(suite, mode, &sums);
		if (sums.jobs)
			(void)fprintf(
				out,
				"\n%s: decode loop, p99 of a step %+.1f %% (worst %+.1f %%), BE "
				"%.3f; "
				"share error %.2f %% in 1 s (worst), %.1f %% in 100 ms (p95)\n",
				suite_mode_name[mode], 100 * sums.step_p99,
				100 * sums.step_p99_worst, sums.be, 100 * sums.err_1s,
				100 * sums.err_100ms_p95);
		for (uint32_t i = 0; i < SETTLE_TARGETS; i++) {
			double settled[2];

			suite_sum_settle(suite, i, mode, settled);
			if (settled[0] >= 0)
				(void)fprintf(out,
					      "%s, %s: settled %.1f s after load 0.3 -> 0.8, %.1f "
					      "s after 0.8 -> 0.3\n",
					      suite_mode_name[mode], suite_target_name[i],
					      settled[0], settled[1]);
		}
	}
}

static void print_goals(const struct suite *suite, FILE *out)
{
	json_t *summary = json_object(), *notes = json_object(), *reached;
	const char *name;

	if (!suite_goals(suite, summary, notes) && json_object_size(summary))
		(void)fputs("\ngoals of the design, simulated:\n", out);
	json_object_foreach(summary, name, reached)
	{
		const char *why = json_string_value(json_object_get(notes, name));

		(void)fprintf(out, "  %-12s %s%s%s\n", name, json_is_true(reached) ? "yes" : "no",
			      why ? ": " : "", why ? why : "");
	}
	json_decref(summary);
	json_decref(notes);
}

static void print_effort(const struct suite *suite, FILE *out)
{
	double cpu_s = 0, simulated_s = 0;

	for (uint32_t i = 0; i < suite->jobs; i++) {
		cpu_s += suite->result[i].cpu_s;
		simulated_s += suite->result[i].simulated_s;
	}
	/* Orders do not say what they simulated. */
	if (simulated_s > 0)
		(void)fprintf(out, "\n%u jobs, %.0f simulated seconds in %.0f s of CPU\n",
			      suite->jobs, simulated_s, cpu_s);
	else
		(void)fprintf(out, "\n%u jobs in %.0f s of CPU\n", suite->jobs, cpu_s);
}

void suite_table_print(const struct suite *suite, FILE *out)
{
	(void)fprintf(
		out,
		"\nSimulated, on a model of a %s; load %.1f, over the same arrivals alone; BE "
		"is throughput of alone.\n\n",
		suite->catalog.device[0].name, SUITE_LOAD_PERMILLE / 1000.0);
	print_policies(suite, out);
	print_targets(suite, out);
	print_scenes(suite, out);
	suite_orders_print(suite, out);
	print_goals(suite, out);
	print_effort(suite, out);
}
