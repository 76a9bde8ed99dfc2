/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "result.h"

#define PLOT_WIDTH 56

static void print_table(const struct result *result, FILE *out)
{
	fprintf(out, "\n%-22s %9s %9s %9s   %9s %9s   %9s\n", "latency in ms", "A p50", "A p99",
		"A p99.9", "S p50", "S p99", "training");
	for (int i = 0; i < COLUMNS; i++) {
		const struct column_figures *column = &result->column[i];

		fprintf(out, "%-22s %9.2f %9.2f %9.2f   %9.2f %9.2f   %8.1f%%\n", column_title[i],
			column->a_p50_ms, column->a_p99_ms, column->a_p999_ms, column->s_p50_ms,
			column->s_p99_ms, column->train_rel * 100);
	}
	fputs("A: from arrival to reply, queueing included. S: service, first launch to drain.\n"
	      "training: steps a second, of what it does alone.\n",
	      out);
}

/* One bar a percentile, on a logarithmic scale common to all. */
static void print_plot(const struct result *result, FILE *out)
{
	static const unsigned int permille[] = {500, 900, 990, 999};
	double low = INFINITY, high = 0;

	for (int i = 0; i < COLUMNS; i++) {
		const struct phase *phase = result->phase[i];

		low = fmin(low, phase_quantile(phase->arrival_ms, phase->requests, 500));
		high = fmax(high, phase_quantile(phase->arrival_ms, phase->requests, 999));
	}
	if (!(low > 0) || !(high > low))
		return;
	low /= 2;
	fputs("\nlatency from arrival (A), logarithmic\n", out);
	for (size_t p = 0; p < sizeof(permille) / sizeof(permille[0]); p++) {
		for (int i = 0; i < COLUMNS; i++) {
			const struct phase *phase = result->phase[i];
			double ms = phase_quantile(phase->arrival_ms, phase->requests, permille[p]);
			int length = (int)lround(log(ms / low) / log(high / low) * PLOT_WIDTH);

			fprintf(out, "  p%-5.4g %-20s ", permille[p] / 10.0, column_title[i]);
			for (int x = 0; x < length; x++)
				fputs("\u2588", out);
			fprintf(out, " %.1f\n", ms);
		}
	}
}

/* The whole can stand while one phase had a bad time: its figures are worse than they would be. */
static void print_disturbed(const struct result *result, FILE *out)
{
	for (int i = 0; result->simulated && !result->void_why[0] && i < COLUMNS; i++) {
		const struct column_figures *column = &result->column[i];

		if (column->late_ops_pct > LATE_OPS_VOID_PCT)
			fprintf(out,
				"note: %s: %.1f %% of operations late; this machine was busy with "
				"something else in that phase, and its figures suffer\n",
				column_title[i], column->late_ops_pct);
	}
}

static void print_goals(const struct result *result, FILE *out)
{
	for (int i = 0; i < GOALS; i++) {
		const struct goal *goal = &result->goal[i];

		fprintf(out, "%-36s %7.2f  (%s %.2f wanted: %s)\n", goal->what, goal->value,
			goal->at_least ? "at least" : "at most", goal->wanted,
			goal_is_met(goal) ? "met" : "MISSED");
	}
}

void result_print(const struct result *result, FILE *out)
{
	print_table(result, out);
	print_plot(result, out);
	fprintf(out,
		"\n%s%s: %llu requests a phase at load %.3f, seed %llu; %llu kernels run, %llu "
		"wrong "
		"results",
		result->device, result->simulated ? " (simulated)" : "",
		(unsigned long long)result->requests, result->load,
		(unsigned long long)result->seed, (unsigned long long)result->kernels,
		(unsigned long long)result->wrong_results);
	if (result->simulated)
		fprintf(out, ", %.3f %% of operations late", result->late_ops_pct);
	fputs("\n", out);
	print_goals(result, out);
	print_disturbed(result, out);
	if (result->void_why[0])
		fprintf(out, "VOID: %s\n", result->void_why);
}
