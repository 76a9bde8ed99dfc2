/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "result.h"

/* Percentile curves of A: x is how far out in the tail (p50 .. p99.9, by decades of 1 - p), y is
 * milliseconds; both logarithmic. */

#define WIDTH 860
#define HEIGHT 536
#define LEFT 92
#define RIGHT 30
#define TOP 64
#define BOTTOM 158

static const char *const colour[COLUMNS] = {"#3b7dd8", "#d1495b", "#2e8b57"};

struct scale {
	double low_ms, high_ms;
};

static double x_of(double p)
{
	double least = -log10(0.5), most = -log10(0.001);

	return LEFT + (-log10(1 - p) - least) / (most - least) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct scale *scale, double ms)
{
	double part = log(ms / scale->low_ms) / log(scale->high_ms / scale->low_ms);

	return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void find_scale(const struct result *result, struct scale *ret_scale)
{
	double low = INFINITY, high = 0;

	for (int i = 0; i < COLUMNS; i++) {
		const struct phase *phase = result->phase[i];

		low = fmin(low, phase_quantile(phase->arrival_ms, phase->requests, 500));
		high = fmax(high, phase_quantile(phase->arrival_ms, phase->requests, 999));
	}
	low = low > 0 ? low : 1;
	ret_scale->low_ms = low / 1.5;
	ret_scale->high_ms = fmax(high * 1.2, ret_scale->low_ms * 2);
}

static void draw_axes(const struct scale *scale, FILE *out)
{
	static const double mark[] = {0.5, 0.9, 0.99, 0.999};
	static const char *const label[] = {"p50", "p90", "p99", "p99.9"};
	static const double step[] = {1, 2, 5};

	for (size_t i = 0; i < sizeof(mark) / sizeof(mark[0]); i++)
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e3e3e3\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			x_of(mark[i]), TOP, x_of(mark[i]), HEIGHT - BOTTOM, x_of(mark[i]),
			HEIGHT - BOTTOM + 20, label[i]);
	for (double decade = 0.001; decade < 1e6; decade *= 10)
		for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
			double ms = decade * step[i];

			if (ms < scale->low_ms || ms > scale->high_ms)
				continue;
			fprintf(out,
				"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" "
				"stroke=\"#e3e3e3\"/><text x=\"%d\" y=\"%.1f\" "
				"text-anchor=\"end\">%g ms</text>\n",
				LEFT, y_of(scale, ms), WIDTH - RIGHT, y_of(scale, ms), LEFT - 8,
				y_of(scale, ms) + 4, ms);
		}
	fprintf(out,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">percentile of the requests, spread "
		"towards the slowest</text>\n"
		"<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">from "
		"arrival "
		"to reply, logarithmic</text>\n",
		(LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 42, (TOP + HEIGHT - BOTTOM) / 2);
}

static void draw_curve(const struct result *result, const struct scale *scale, int column,
		       FILE *out)
{
	const struct phase *phase = result->phase[column];
	double last = 0.999;

	fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2.5\" points=\"",
		colour[column]);
	for (size_t i = phase->requests / 2; i < phase->requests; i++) {
		double p = (double)(i + 1) / (double)phase->requests;

		if (p < 0.5 || p > last)
			continue;
		fprintf(out, "%.1f,%.1f ", x_of(p), y_of(scale, phase->arrival_ms[i]));
	}
	fputs("\"/>\n", out);
}

/* Alone, each of the two: the curve is the server's. */
static void draw_legend(const struct result *result, FILE *out)
{
	for (int i = 0; i < COLUMNS; i++) {
		int y = HEIGHT - BOTTOM + 68 + i * 20;
		char training[80] = "";

		if (i != ALONE)
			snprintf(training, sizeof(training),
				 "; training does %.0f %% of what it does alone",
				 result->column[i].train_rel * 100);
		fprintf(out,
			"<rect x=\"%d\" y=\"%d\" width=\"18\" height=\"4\" fill=\"%s\"/>"
			"<text x=\"%d\" y=\"%d\">%s: p99 %.1f ms%s</text>\n",
			LEFT, y, colour[i], LEFT + 26, y + 6,
			i == ALONE ? "the server alone" : column_title[i],
			result->column[i].a_p99_ms, training);
	}
}

int result_write_svg(const struct result *result, const char *path)
{
	struct scale scale;
	FILE *out = fopen(path, "we");

	if (!out)
		return -errno;
	find_scale(result, &scale);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"26\" font-size=\"16\" font-weight=\"bold\">Inference latency "
		"from arrival, beside a training loop</text>\n"
		"<text x=\"%d\" y=\"46\">%s%s, load %.2f, %llu requests a curve</text>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, LEFT, result->device,
		result->simulated ? " (simulated)" : "", result->load,
		(unsigned long long)result->requests);
	draw_axes(&scale, out);
	for (int i = 0; i < COLUMNS; i++)
		draw_curve(result, &scale, i, out);
	draw_legend(result, out);
	if (result->void_why[0])
		fprintf(out,
			"<text x=\"%d\" y=\"%d\" fill=\"#d1495b\" font-size=\"11\">VOID: "
			"%s</text>\n",
			20, HEIGHT - 14, result->void_why);
	fputs("</svg>\n", out);
	return fclose(out) ? -EIO : 0;
}
