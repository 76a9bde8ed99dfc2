/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/frontier_svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/frontier_labels.h"

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
	double over_high, low, high, step; /* of throughput: the axis, and its marks */
	bool cut;			   /* something lies above */
};

static const char *colour_of(uint32_t sweep)
{
	return colours[sweep % (sizeof(colours) / sizeof(colours[0]))];
}

static double x_of(const struct panel *panel, double throughput)
{
	return panel->left + PANEL * (throughput - panel->low) / (panel->high - panel->low);
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
	for (double over = OVER_LEAST; over <= panel->over_high * 1.001; over *= 10) {
		const char *mark = over < OVER_LEAST * 1.5			   ? "&#8804; "
				   : panel->cut && over > panel->over_high * 0.999 ? "&#8805; "
										   : "";

		fprintf(out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e3e3e3\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s%g %%</text>\n",
			panel->left, y_of(panel, over), panel->left + PANEL, y_of(panel, over),
			panel->left - 8, y_of(panel, over) + 4, mark, over * 100);
	}
	for (double at = panel->low; at < panel->high + panel->step / 2; at += panel->step)
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#e3e3e3\"/>"
			"<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g %%</text>\n",
			x_of(panel, at), TOP, x_of(panel, at), TOP + PANEL, x_of(panel, at),
			TOP + PANEL + 18, round(at * 1000) / 10);
	fprintf(out,
		"<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">best-effort throughput against "
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

static void draw_point(const struct frontier_point *point, const struct label *label,
		       uint32_t number, FILE *out)
{
	const char *colour = colour_of(point->sweep);

	if (label->apart)
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#aaa\" "
			"stroke-width=\"0.7\"/>",
			label->x, label->y, label->text_x + LABEL_DIGIT / 2,
			label->text_y - LABEL_HEIGHT / 2);
	fprintf(out,
		"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\" stroke=\"%s\" "
		"stroke-width=\"1.5\"/><text x=\"%.1f\" y=\"%.1f\" font-size=\"10\" "
		"stroke=\"#fff\" paint-order=\"stroke\">%u</text>\n",
		label->x, label->y, point->unstable ? "#fff" : colour, colour, label->text_x,
		label->text_y, number);
}

static int draw_points(const struct frontier *frontier, const struct panel *panel, bool service,
		       FILE *out)
{
	struct label *label = calloc(frontier->points, sizeof(*label));

	if (!label)
		return -ENOMEM;
	for (uint32_t i = 0; i < frontier->points; i++) {
		label[i].x = x_of(panel, frontier->point[i].throughput);
		label[i].y = y_of(panel, over_of(&frontier->point[i], service));
	}
	labels_place(label, frontier->points);
	for (uint32_t i = 0; i < frontier->points; i++)
		draw_point(&frontier->point[i], &label[i], i + 1, out);
	free(label);
	return 0;
}

/* A target below what the picture shows is drawn at its lower edge. */
static void draw_target(const struct frontier *frontier, const struct panel *panel, bool service,
			FILE *out)
{
	double target = service ? frontier->s_target : frontier->a_target;

	if (isnan(target))
		return;
	fprintf(out,
		"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#d1495b\" "
		"stroke-dasharray=\"6 3\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" "
		"fill=\"#d1495b\">target %+.1f %%</text>\n",
		panel->left, y_of(panel, target), panel->left + PANEL, y_of(panel, target),
		panel->left + PANEL - 4, y_of(panel, target) - 4, target * 100);
}

static int draw_panel(const struct frontier *frontier, const struct panel *panel, bool service,
		      FILE *out)
{
	draw_axes(panel, service, out);
	if (frontier->idle > 0)
		fprintf(out,
			"<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#999\" "
			"stroke-dasharray=\"4 3\"/>\n",
			x_of(panel, frontier->idle), TOP, x_of(panel, frontier->idle), TOP + PANEL);
	draw_target(frontier, panel, service, out);
	draw_lines(frontier, panel, service, out);
	return draw_points(frontier, panel, service, out);
}

static bool any_unstable(const struct frontier *frontier)
{
	for (uint32_t i = 0; i < frontier->points; i++) {
		if (frontier->point[i].unstable)
			return true;
	}
	return false;
}

static void draw_legend(const struct frontier *frontier, FILE *out)
{
	uint32_t below = TOP + PANEL + 70 + frontier->points * LINE;

	for (uint32_t i = 0; i < frontier->points; i++) {
		const struct frontier_point *point = &frontier->point[i];
		uint32_t y = TOP + PANEL + 70 + i * LINE;

		fprintf(out, "<circle cx=\"%d\" cy=\"%u\" r=\"4.5\" fill=\"%s\" stroke=\"%s\"/>",
			LEFT, y - 4, point->unstable ? "#fff" : colour_of(point->sweep),
			colour_of(point->sweep));
		fprintf(out, "<text x=\"%d\" y=\"%u\">%u. ", LEFT + 14, y, i + 1);
		print_text(point->label, out);
		fprintf(out, ": A %+.1f %%%s, S %+.1f %%, best-effort %.1f %%</text>\n",
			point->a_over * 100, point->unstable ? " (unstable)" : "",
			point->s_over * 100, point->throughput * 100);
	}
	if (any_unstable(frontier))
		fprintf(out,
			"<text x=\"%d\" y=\"%u\">hollow, unstable: requests are served more slowly "
			"than they come; A grows with the length of the run</text>\n",
			LEFT, below);
}

/* Round marks, four to eight of them, around all there is. */
static void find_throughput(const struct frontier *frontier, struct panel *panel)
{
	static const double steps[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2};
	double low = frontier->point[0].throughput, high = low;
	size_t i = 0;

	if (frontier->idle > 0) {
		low = fmin(low, frontier->idle);
		high = fmax(high, frontier->idle);
	}
	for (uint32_t j = 1; j < frontier->points; j++) {
		low = fmin(low, frontier->point[j].throughput);
		high = fmax(high, frontier->point[j].throughput);
	}
	while (i + 1 < sizeof(steps) / sizeof(steps[0]) && high - low > 6 * steps[i])
		i++;
	panel->step = steps[i];
	panel->low = fmax(floor(low / steps[i] - 0.1) * steps[i], 0);
	panel->high = ceil(high / steps[i] + 0.1) * steps[i];
}

static void find_scale(const struct frontier *frontier, struct panel *panel)
{
	double over = 0.1;

	for (uint32_t i = 0; i < frontier->points; i++)
		over = fmax(over, fmax(frontier->point[i].a_over, frontier->point[i].s_over));
	panel->over_high = fmin(pow(10, ceil(log10(over))), OVER_MOST);
	panel->cut = over > panel->over_high;
	find_throughput(frontier, panel);
}

int frontier_draw(const struct frontier *frontier, FILE *out)
{
	int width = LEFT + 2 * PANEL + BETWEEN + 40;
	int height = TOP + PANEL + 90 + (int)frontier->points * LINE +
		     (any_unstable(frontier) ? LINE : 0);
	struct panel panel = {.left = LEFT};
	int r;

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
	r = draw_panel(frontier, &panel, false, out);
	panel.left = LEFT + PANEL + BETWEEN;
	r = r ? r : draw_panel(frontier, &panel, true, out);
	draw_legend(frontier, out);
	fputs("</svg>\n", out);
	return !r && ferror(out) ? -EIO : r;
}
