/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/frontier_svg.h"

#include <errno.h>
#include <math.h>

#define PANEL 400 /* width and height of what is plotted */
#define LEFT 80
#define BETWEEN 90
#define TOP 84
#define LINE 19 /* of the legend */
#define OVER_LEAST 0.001
#define OVER_MOST 100.0

static const char *const colours[] = {"#3b7dd8", "#d1495b", "#2e8b57", "#b8860b",
				      "#7b4fa3", "#008b8b", "#8b5a2b", "#696969"};

struct panel {
	int left;
	double over_high, throughput_high;
};

static const char *colour_of(uint32_t sweep)
{
	return colours[sweep % (sizeof(colours) / sizeof(colours[0]))];
}

static double x_of(const struct panel *panel, double throughput)
{
	return panel->left + PANEL * fmin(fmax(throughput / panel->throughput_high, 0), 1);
}

static double y_of(const struct panel *panel, double over)
{
	double low = log10(OVER_LEAST), high = log10(panel->over_high);
	double at = log10(fmin(fmax(over, OVER_LEAST), panel->over_high));

	return TOP + PANEL * (high - at) / (high - low);
}

static double over_of(const struct frontier_point *point, bool service)
{
	return service ? point->s_over : point->a_over;
}

/* Text that XML takes. */
static void print_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else
			fputc(*text, out);
	}
}

static void draw_axes(const struct panel *panel, bool service, FILE *out)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">p99 of %s over alone</text>\n",
		panel->left, TOP - 12, service ? "service (S)" : "latency from arrival (A)");
	for (double over = OVER_LEAST; over <= panel->over_high * 1.001; over *= 10)
		fprintf(out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e3e3e3\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s%g %%</text>\n",
			panel->left, y_of(panel, over), panel->left + PANEL, y_of(panel, over),
			panel->left - 8, y_of(panel, over) + 4,
			over < OVER_LEAST * 1.5 ? "&#8804; " : "", over * 100);
	for (int i = 0; i <= (int)(panel->throughput_high * 10 + 0.5); i += 2)
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e3e3e3\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.1f</text>\n",
			x_of(panel, i / 10.0), TOP, x_of(panel, i / 10.0), TOP + PANEL,
			x_of(panel, i / 10.0), TOP + PANEL + 18, i / 10.0);
	fprintf(out,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">best-effort throughput, of "
		"alone</text>\n",
		panel->left + PANEL / 2, TOP + PANEL + 38);
}

static void draw_lines(const struct frontier *frontier, const struct panel *panel, bool service,
		       FILE *out)
{
	for (uint32_t i = 1; i < frontier->points; i++) {
		const struct frontier_point *from = &frontier->point[i - 1], *to = from + 1;

		if (from->sweep != to->sweep)
			continue;
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
			"stroke-width=\"1.5\"/>\n",
			x_of(panel, from->throughput), y_of(panel, over_of(from, service)),
			x_of(panel, to->throughput), y_of(panel, over_of(to, service)),
			colour_of(to->sweep));
	}
}

static void draw_points(const struct frontier *frontier, const struct panel *panel, bool service,
			FILE *out)
{
	for (uint32_t i = 0; i < frontier->points; i++) {
		const struct frontier_point *point = &frontier->point[i];
		double x = x_of(panel, point->throughput), y = y_of(panel, over_of(point, service));
		const char *colour = colour_of(point->sweep);

		fprintf(out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\" stroke=\"%s\" "
			"stroke-width=\"1.5\"/><text x=\"%.1f\" y=\"%.1f\" font-size=\"10\">%u"
			"</text>\n",
			x, y, point->unstable ? "#fff" : colour, colour, x + 7, y - 5, i + 1);
	}
}

static void draw_panel(const struct frontier *frontier, const struct panel *panel, bool service,
		       FILE *out)
{
	draw_axes(panel, service, out);
	if (frontier->idle > 0)
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#999\" "
			"stroke-dasharray=\"4 3\"/>\n",
			x_of(panel, frontier->idle), TOP, x_of(panel, frontier->idle), TOP + PANEL);
	draw_lines(frontier, panel, service, out);
	draw_points(frontier, panel, service, out);
}

static void draw_legend(const struct frontier *frontier, FILE *out)
{
	for (uint32_t i = 0; i < frontier->points; i++) {
		const struct frontier_point *point = &frontier->point[i];
		uint32_t y = TOP + PANEL + 70 + i * LINE;

		fprintf(out, "<circle cx=\"%d\" cy=\"%u\" r=\"4.5\" fill=\"%s\" stroke=\"%s\"/>",
			LEFT, y - 4, point->unstable ? "#fff" : colour_of(point->sweep),
			colour_of(point->sweep));
		fprintf(out, "<text x=\"%d\" y=\"%u\">%u. ", LEFT + 14, y, i + 1);
		print_text(point->label, out);
		fprintf(out, ": A %+.1f %%%s, S %+.1f %%, best-effort %.3f</text>\n",
			point->a_over * 100, point->unstable ? " (unstable)" : "",
			point->s_over * 100, point->throughput);
	}
}

static void find_scale(const struct frontier *frontier, struct panel *ret_panel)
{
	double over = 0.1, throughput = 1;

	for (uint32_t i = 0; i < frontier->points; i++) {
		over = fmax(over, fmax(frontier->point[i].a_over, frontier->point[i].s_over));
		throughput = fmax(throughput, frontier->point[i].throughput);
	}
	ret_panel->over_high = fmin(pow(10, ceil(log10(over))), OVER_MOST);
	ret_panel->throughput_high = ceil(throughput * 5) / 5;
}

int frontier_draw(const struct frontier *frontier, FILE *out)
{
	int width = LEFT + 2 * PANEL + BETWEEN + 40;
	int height = TOP + PANEL + 90 + (int)frontier->points * LINE;
	struct panel panel = {.left = LEFT};

	find_scale(frontier, &panel);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
		"<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n"
		"<text x=\"%d\" y=\"26\" font-size=\"16\" font-weight=\"bold\">",
		width, height, width, height, width, height, LEFT);
	print_text(frontier->title, out);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"46\">", LEFT);
	print_text(frontier->subtitle, out);
	fputs("</text>\n", out);
	draw_panel(frontier, &panel, false, out);
	panel.left = LEFT + PANEL + BETWEEN;
	draw_panel(frontier, &panel, true, out);
	draw_legend(frontier, out);
	fputs("</svg>\n", out);
	return ferror(out) ? -EIO : 0;
}
