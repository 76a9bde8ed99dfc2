/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>

#include "plan/report.h"

/* json_object_set_new takes NULL for a value that could not be made, and fails: one check, of the
 * whole, is enough. */
static json_t *interval(const struct metrics_interval *value)
{
	return json_pack("{s:f, s:f, s:f, s:f}", "mean", value->mean, "half95", value->half,
			 "least", value->least, "most", value->most);
}

static json_t *times(uint64_t value)
{
	return value ? json_integer((json_int_t)value) : json_null();
}

static json_t *server_json(const struct report_tenant *tenant)
{
	json_t *server = json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "A_p50_ns",
		interval(&tenant->a_p50_ns), "A_p99_ns", interval(&tenant->a_p99_ns), "A_p999_ns",
		interval(&tenant->a_p999_ns), "A_over_alone", interval(&tenant->a_over), "S_p50_ns",
		interval(&tenant->s_p50_ns), "S_p99_ns", interval(&tenant->s_p99_ns), "S_p999_ns",
		interval(&tenant->s_p999_ns), "S_over_alone", interval(&tenant->s_over),
		"alone_A_p99_ns", interval(&tenant->alone_a_p99_ns), "alone_S_p99_ns",
		interval(&tenant->alone_s_p99_ns), "load", interval(&tenant->load));
	json_t *counts = json_pack("{s:I, s:I, s:I, s:I, s:i, s:o}", "requests",
				   (json_int_t)tenant->requests, "judged",
				   (json_int_t)tenant->judged, "late", (json_int_t)tenant->late,
				   "unfinished", (json_int_t)tenant->unfinished, "unstable_seeds",
				   (int)tenant->unstable, "target_ns", times(tenant->target_ns));

	if (!server || !counts || json_object_update(server, counts)) {
		json_decref(server);
		server = NULL;
	}
	json_decref(counts);
	if (server && tenant->has_report)
		(void)json_object_set_new(
			server, "controller",
			json_pack("{s:o, s:o, s:o, s:b, s:f}", "level", interval(&tenant->level),
				  "window_ns", interval(&tenant->window_ns), "guard_ns",
				  interval(&tenant->guard_ns), "unreachable", tenant->unreachable,
				  "beside_another", tenant->beside_permille / 1000.0));
	return server;
}

static json_t *loop_json(const struct report_tenant *tenant)
{
	return json_pack("{s:o, s:o, s:o}", "throughput_of_alone", interval(&tenant->throughput),
			 "held_part", interval(&tenant->held), "longest_unit_ns",
			 times(tenant->longest_unit_ns));
}

static json_t *delay_json(const struct scenario *scenario, const struct run_delay *delay)
{
	const char *tenant =
		delay->proc < scenario->tenants ? scenario->tenant[delay->proc].world.name : NULL;

	return json_pack("{s:s, s:s?, s:i, s:i, s:i, s:I, s:I}", "server",
			 scenario->tenant[delay->server].world.name, "tenant", tenant, "kernel",
			 (int)delay->key, "count", (int)delay->count, "late", (int)delay->late,
			 "total_ns", (json_int_t)delay->total_ns, "worst_ns",
			 (json_int_t)delay->worst_ns);
}

static json_t *row_json(const struct scenario *scenario, const struct report_row *row)
{
	json_t *tenants = json_object(), *delays = json_array(), *json;

	for (uint32_t i = 0; i < scenario->tenants; i++)
		(void)json_object_set_new(tenants, scenario->tenant[i].world.name,
					  scenario->tenant[i].world.latency
						  ? server_json(&row->tenant[i])
						  : loop_json(&row->tenant[i]));
	for (uint32_t i = 0; i < row->delays; i++)
		(void)json_array_append_new(delays, delay_json(scenario, &row->delay[i]));
	json = json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o, s:o}", "label", row->order->label,
			 "policy", row->order->policy->name, "mps", row->order->mps,
			 "client_priority", row->order->client_priority, "best_effort",
			 interval(&row->throughput), "best_effort_of_idle",
			 interval(&row->idle_part), "tenants", tenants, "delayed_by", delays);
	if (json && row->has_shares)
		(void)json_object_set_new(json, "share_error",
					  json_pack("{s:o, s:o, s:o}", "mean_1s",
						    interval(&row->share_1s), "worst_1s",
						    interval(&row->share_1s_worst), "p95_100ms",
						    interval(&row->share_100ms_p95)));
	return json;
}

int report_print_json(const struct scenario *scenario, const struct run_result *result, FILE *out)
{
	json_t *rows = json_array(), *json;
	int r;

	for (uint32_t i = 0; i < scenario->orders; i++) {
		struct report_row row;

		report_make(scenario, &scenario->order[i], &result[i * scenario->seeds], &row);
		(void)json_array_append_new(rows, row_json(scenario, &row));
	}
	json = json_pack("{s:s, s:s, s:b, s:i, s:i, s:o}", "scenario", scenario->name, "device",
			 scenario->config.device.name, "simulated", 1, "seeds",
			 (int)scenario->seeds, "requests", (int)scenario->requests, "rows", rows);
	if (!json || json_array_size(rows) != scenario->orders) {
		json_decref(json);
		return -ENOMEM;
	}
	r = json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) ? -EIO : 0;
	(void)fputc('\n', out);
	json_decref(json);
	return r;
}
