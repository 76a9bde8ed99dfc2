/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "result.h"

#define PLOT_WIDTH 44

static void print_table(const struct result *result, FILE *out)
{
	fprintf(out, "\n%-20s %8s %8s %8s  %8s %8s  %8s\n", "latency in ms", "A p50", "A p99",
		"A p99.9", "S p50", "S p99", "training");
	for (int i = 0; i < COLUMNS; i++) {
		const struct column_figures *column = &result->column[i];

		fprintf(out, "%-20s %8.2f %8.2f %8.2f  %8.2f %8.2f  %6.1f %%\n", column_title[i],
			column->a_p50_ms, column->a_p99_ms, column->a_p999_ms, column->s_p50_ms,
			column->s_p99_ms, column->train_rel * 100);
	}
	fputs("A: from arrival to reply, queueing included. S: service, first launch to drain.\n"
	      "training: steps a second, of what it does alone.\n",
	      out);
}

#define LABEL "  p%-5.4g %-20s "
#define LABEL_WIDTH 30

struct bars {
	double low, high; /* ms: of no bar, and of one of the whole width */
};

static int bar_length(const struct bars *bars, double ms)
{
	return (int)lround(log(ms / bars->low) / log(bars->high / bars->low) * PLOT_WIDTH);
}

/* Marks of 1, 2 and 5, each under the end of a bar of that length. */
static void print_scale(const struct bars *bars, FILE *out)
{
	static const double step[] = {1, 2, 5};
	int used = 0;

	fprintf(out, "%*s", LABEL_WIDTH, "ms ");
	for (double decade = 0.001; decade < 1e6; decade *= 10)
		for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
			double ms = decade * step[i];
			char mark[32];
			int length = snprintf(mark, sizeof(mark), "%g|", ms);
			int end = ms > bars->low && ms <= bars->high ? bar_length(bars, ms) : 0;

			if (end < used + length)
				continue;
			fprintf(out, "%*s", end - used, mark);
			used = end;
		}
	fputc('\n', out);
}

/* One bar a percentile, on a logarithmic scale common to all. */
static void print_plot(const struct result *result, FILE *out)
{
	static const unsigned int permille[] = {500, 900, 990, 999};
	struct bars bars = {.low = INFINITY};

	for (int i = 0; i < COLUMNS; i++) {
		const struct phase *phase = result->phase[i];

		bars.low = fmin(bars.low, phase_quantile(phase->arrival_ms, phase->requests, 500));
		bars.high =
			fmax(bars.high, phase_quantile(phase->arrival_ms, phase->requests, 999));
	}
	if (!(bars.low > 0) || !(bars.high > bars.low))
		return;
	bars.low /= 2;
	fputs("\nlatency from arrival (A), on a logarithmic scale\n", out);
	for (size_t p = 0; p < sizeof(permille) / sizeof(permille[0]); p++) {
		for (int i = 0; i < COLUMNS; i++) {
			const struct phase *phase = result->phase[i];
			double ms = phase_quantile(phase->arrival_ms, phase->requests, permille[p]);
			int length = bar_length(&bars, ms);

			fprintf(out, LABEL, permille[p] / 10.0, column_title[i]);
			for (int x = 0; x < length; x++)
				fputs("\u2588", out);
			fprintf(out, " %.1f\n", ms);
		}
	}
	print_scale(&bars, out);
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

/* Broken between words. */
static void print_void(const char *why, FILE *out)
{
	const size_t room = 74;

	fputs("VOID:", out);
	while (*why) {
		size_t length = strlen(why), at = length;

		if (length > room)
			for (at = room; at && why[at] != ' '; at--)
				;
		at = at ? at : length;
		fprintf(out, " %.*s\n", (int)at, why);
		why += at + (why[at] == ' ');
		if (*why)
			fputs("    ", out);
	}
}

/* Late operations alone do not tell of a busy machine: threads that wait for one are late as well. */
static void print_busy(FILE *out)
{
	double load;

	if (getloadavg(&load, 1) == 1)
		fprintf(out,
			"(That is wanted of an idle machine: the %ld processors of this one had a "
			"load average\nof %.1f in the last minute, the demo's own included.)\n",
			sysconf(_SC_NPROCESSORS_ONLN), load);
}

static void print_goals(const struct result *result, FILE *out)
{
	bool missed = false;

	for (int i = 0; i < GOALS; i++) {
		const struct goal *goal = &result->goal[i];

		missed |= !goal_is_met(goal);
		fprintf(out, "%-36s %7.2f  (%s %.2f wanted: %s)\n", goal->what, goal->value,
			goal->at_least ? "at least" : "at most", goal->wanted,
			goal_is_met(goal) ? "met" : "MISSED");
	}
	if (missed && result->simulated)
		print_busy(out);
}

void result_print(const struct result *result, FILE *out)
{
	print_table(result, out);
	print_plot(result, out);
	fprintf(out,
		"\n%s%s: %llu requests a phase at load %.3f, seed %llu\n"
		"%llu kernels run, %llu wrong results\n",
		result->device, result->simulated ? " (simulated)" : "",
		(unsigned long long)result->requests, result->load,
		(unsigned long long)result->seed, (unsigned long long)result->kernels,
		(unsigned long long)result->wrong_results);
	if (result->simulated)
		fprintf(out,
			"%.3f %% of the simulated operations ended later than the model has it "
			"(this\nmachine was too slow for them; above %g %% the figures are void)\n",
			result->late_ops_pct, LATE_OPS_VOID_PCT);
	print_goals(result, out);
	print_disturbed(result, out);
	if (result->void_why[0])
		print_void(result->void_why, out);
}
