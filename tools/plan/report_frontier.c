/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/frontier_svg.h"
#include "plan/report.h"

static int first_server(const struct scenario *scenario)
{
	for (uint32_t i = 0; i < scenario->tenants; i++) {
		if (scenario->tenant[i].world.latency)
			return (int)i;
	}
	return -EINVAL;
}

static bool has_loop(const struct scenario *scenario)
{
	for (uint32_t i = 0; i < scenario->tenants; i++) {
		if (!scenario->tenant[i].world.latency)
			return true;
	}
	return false;
}

/* The first server's; the idle part is what all of them leave. */
static void make_points(const struct scenario *scenario, const struct run_result *result,
			uint32_t server, struct frontier *frontier, struct frontier_point *point)
{
	for (uint32_t i = 0; i < scenario->orders; i++) {
		struct report_row row;

		report_make(scenario, &scenario->order[i], &result[i * scenario->seeds], &row);
		point[i] = (struct frontier_point){.label = scenario->order[i].label,
						   .throughput = row.throughput.mean,
						   .a_over = row.tenant[server].a_over.mean,
						   .s_over = row.tenant[server].s_over.mean,
						   .unstable = row.tenant[server].unstable != 0,
						   .sweep = scenario->order[i].sweep};
		frontier->idle = 1;
		for (uint32_t j = 0; j < scenario->tenants; j++)
			frontier->idle -= row.tenant[j].load.mean;
	}
}

static void find_target(const struct scenario *scenario, const struct run_result *result,
			uint32_t server, struct frontier *frontier)
{
	const struct plan_target *target = &scenario->tenant[server].world.target;
	const struct report_tenant *tenant;
	struct report_row row;
	double over;

	frontier->a_target = frontier->s_target = NAN;
	report_make(scenario, &scenario->order[0], result, &row);
	tenant = &row.tenant[server];
	if (!tenant->target_ns)
		return;
	over = (double)tenant->target_ns / (target->from_arrival ? tenant->alone_a_p99_ns.mean
								 : tenant->alone_s_p99_ns.mean) -
	       1;
	*(target->from_arrival ? &frontier->a_target : &frontier->s_target) = over;
}

bool frontier_is_there(const struct scenario *scenario)
{
	return first_server(scenario) >= 0 && has_loop(scenario) && scenario->orders > 1;
}

int frontier_print_svg(const struct scenario *scenario, const struct run_result *result, FILE *out)
{
	char title[160], subtitle[200];
	struct frontier frontier = {
		.title = title, .subtitle = subtitle, .points = scenario->orders};
	struct frontier_point *point;
	int server = first_server(scenario), r;

	if (!frontier_is_there(scenario))
		return -EINVAL;
	point = calloc(scenario->orders, sizeof(*point));
	if (!point)
		return -ENOMEM;
	make_points(scenario, result, (uint32_t)server, &frontier, point);
	find_target(scenario, result, (uint32_t)server, &frontier);
	frontier.point = point;
	(void)snprintf(title, sizeof(title), "%s: what best-effort work gets, and what %s pays",
		       scenario->name, scenario->tenant[server].world.name);
	(void)snprintf(
		subtitle, sizeof(subtitle),
		"simulated: %s; %s%u seed%s of %u requests; dashed: the part of the time that is "
		"idle without best-effort work",
		scenario->config.device.name, scenario->seeds == 1 ? "" : "mean of ",
		scenario->seeds, scenario->seeds == 1 ? "" : "s", scenario->requests);
	r = frontier_draw(&frontier, out);
	free(point);
	return r;
}
