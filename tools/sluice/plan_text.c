/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_text.h"

#include <errno.h>
#include <stdlib.h>

#include "plan/report.h"
#include "plan/workload.h"
#include "table.h"

#define CELL 64
#define BESIDE_PERMILLE 100u /* of a server's requests: worth a word */
#define DELAYS_SHOWN 3u

/* "+1.2 %", with half its interval where there are seeds enough for one: "+1.2 +-0.3 %". */
static void format_part(const struct metrics_interval *part, const char *sign, size_t size,
			char *ret_text)
{
	int at = sign ? snprintf(ret_text, size, "%+.1f", part->mean * 100)
		      : snprintf(ret_text, size, "%.1f", part->mean * 100);

	if (part->count > 1 && at > 0 && (size_t)at < size)
		at += snprintf(ret_text + at, size - (size_t)at, " +-%.1f", part->half * 100);
	if (at > 0 && (size_t)at < size)
		(void)snprintf(ret_text + at, size - (size_t)at, " %%");
}

static void format_mean_ns(const struct metrics_interval *time, size_t size, char *ret_text)
{
	format_ns((uint64_t)time->mean, size, ret_text);
}

/* ---- a row per policy and tenant ---- */

/* A decode loop's services are its steps. */
static bool has_steps(const struct scenario_tenant *tenant)
{
	return tenant->workload->steps > 1;
}

static int add_server(struct table *table, const char *label, const struct scenario_tenant *server,
		      const struct report_tenant *tenant)
{
	char a_p50[CELL], a_p99[CELL], a_over[CELL], a_p999[CELL], s_p50[CELL], s_p99[CELL];
	char s_over[CELL], s_p999[CELL], late[CELL] = "-", note[CELL] = "", beside[CELL] = "";

	format_mean_ns(&tenant->a_p50_ns, sizeof(a_p50), a_p50);
	format_mean_ns(&tenant->a_p99_ns, sizeof(a_p99), a_p99);
	format_mean_ns(&tenant->a_p999_ns, sizeof(a_p999), a_p999);
	format_mean_ns(&tenant->s_p50_ns, sizeof(s_p50), s_p50);
	format_mean_ns(&tenant->s_p99_ns, sizeof(s_p99), s_p99);
	format_mean_ns(&tenant->s_p999_ns, sizeof(s_p999), s_p999);
	format_part(&tenant->a_over, "+", sizeof(a_over), a_over);
	format_part(&tenant->s_over, "+", sizeof(s_over), s_over);
	if (tenant->unstable)
		(void)snprintf(a_over, sizeof(a_over), "unstable");
	if (tenant->target_ns)
		(void)snprintf(late, sizeof(late), "%llu of %llu%s",
			       (unsigned long long)tenant->late, (unsigned long long)tenant->judged,
			       has_steps(server) && !server->world.target.from_arrival ? " steps"
										       : "");
	if (tenant->beside_permille >= BESIDE_PERMILLE)
		(void)snprintf(beside, sizeof(beside), ", %u %% beside another server",
			       tenant->beside_permille / 10);
	if (tenant->has_report)
		(void)snprintf(note, sizeof(note), "level %.2f%s%s", tenant->level.mean,
			       tenant->unreachable ? ", target out of reach" : "", beside);
	return table_row(table,
			 (const char *[]){label, server->world.name, a_p50, a_p99, a_over, a_p999,
					  s_p50, s_p99, s_over, s_p999, late, "", note, NULL});
}

static int add_loop(struct table *table, const char *label, const char *name,
		    const struct report_row *row, const struct report_tenant *tenant, bool only)
{
	char throughput[CELL], note[CELL] = "";

	format_part(&tenant->throughput, NULL, sizeof(throughput), throughput);
	if (only && row->idle_part.mean > 0)
		(void)snprintf(note, sizeof(note), "%.1f %% of the idle time",
			       row->idle_part.mean * 100);
	return table_row(table, (const char *[]){label, name, "-", "-", "-", "-", "-", "-", "-",
						 "-", "-", throughput, note, NULL});
}

static int add_order(struct table *table, const struct scenario *scenario,
		     const struct report_row *row)
{
	uint32_t loops = 0;
	int r = 0;

	for (uint32_t i = 0; i < scenario->tenants; i++)
		loops += !scenario->tenant[i].world.latency;
	for (uint32_t i = 0; !r && i < scenario->tenants; i++) {
		const struct scenario_tenant *tenant = &scenario->tenant[i];
		const char *label = i ? "" : row->order->label;

		r = tenant->world.latency ? add_server(table, label, tenant, &row->tenant[i])
					  : add_loop(table, label, tenant->world.name, row,
						     &row->tenant[i], loops == 1);
	}
	return r;
}

static int print_table(const struct scenario *scenario, const struct run_result *result,
		       size_t columns, FILE *out)
{
	struct table table = {.right = 0xffc, .keys = 2};
	int r = table_row(&table, (const char *[]){"POLICY", "TENANT", "A P50", "A P99", "A OVER",
						   "A P99.9", "S P50", "S P99", "S OVER", "S P99.9",
						   "LATE", "OF ALONE", "REMARK", NULL});

	for (uint32_t i = 0; !r && i < scenario->orders; i++) {
		struct report_row row;

		report_make(scenario, &scenario->order[i], &result[i * scenario->seeds], &row);
		r = add_order(&table, scenario, &row);
	}
	if (!r)
		table_print(&table, columns, out);
	table_finish(&table);
	return r;
}

/* ---- the rest ---- */

/* "A p99 28 ms (+10 %)" */
static void format_target(const struct plan_target *target, uint64_t target_ns, size_t size,
			  char *ret_text)
{
	char time[CELL], over[CELL] = "";

	if (!target_ns) {
		(void)snprintf(ret_text, size, "none");
		return;
	}
	format_ns(target_ns, sizeof(time), time);
	if (target->extra_permille)
		(void)snprintf(over, sizeof(over), " (+%g %%)", target->extra_permille / 10.0);
	(void)snprintf(ret_text, size, "%s p99 %s%s", target->from_arrival ? "A" : "S", time, over);
}

static void print_head(const struct scenario *scenario, const struct run_result *result, FILE *out)
{
	struct report_row row;

	fprintf(out, "%s, simulated on %s: %u seed%s", scenario->name, scenario->config.device.name,
		scenario->seeds, scenario->seeds == 1 ? "" : "s");
	if (scenario->requests)
		fprintf(out, " of %u requests", scenario->requests);
	fputs("\n", out);
	report_make(scenario, &scenario->order[0], result, &row);
	for (uint32_t i = 0; i < scenario->tenants; i++) {
		const struct scenario_tenant *server = &scenario->tenant[i];
		const struct report_tenant *tenant = &row.tenant[i];
		char a[CELL], s[CELL], target[2 * CELL];

		if (!server->world.latency)
			continue;
		format_mean_ns(&tenant->alone_a_p99_ns, sizeof(a), a);
		format_mean_ns(&tenant->alone_s_p99_ns, sizeof(s), s);
		format_target(&server->world.target, tenant->target_ns, sizeof(target), target);
		fprintf(out, "%s alone: load %.2f, A p99 %s, S p99 %s%s; target %s\n",
			server->world.name, tenant->load.mean, a, s,
			has_steps(server) ? " a step" : "", target);
	}
	fputc('\n', out);
}

/* "kernel 17 of train (1.93 ms alone)" */
static void format_unit(const struct scenario_tenant *tenant, uint32_t key, size_t size,
			char *ret_text)
{
	static const char *const kinds[] = {[WORKLOAD_KERNEL] = "kernel",
					    [WORKLOAD_COPY_H2D] = "copy",
					    [WORKLOAD_COPY_D2H] = "copy",
					    [WORKLOAD_COPY_D2D] = "copy",
					    [WORKLOAD_GRAPH] = "graph"};
	const struct workload_op *found = NULL;
	char time[CELL] = "-";

	for (uint32_t i = 0; i < tenant->workload->n_ops; i++) {
		const struct workload_op *op = &tenant->workload->ops[i];

		if (op->key == key && (!found || op->ns > found->ns))
			found = op;
	}
	if (found)
		format_ns(found->ns, sizeof(time), time);
	(void)snprintf(ret_text, size, "%s %u of %s (%s alone)",
		       kinds[found ? found->kind : WORKLOAD_KERNEL], key, tenant->world.name, time);
}

static void print_delay(const struct scenario *scenario, const struct run_delay *delay, FILE *out)
{
	const struct world_tenant *server = &scenario->tenant[delay->server].world;
	char mean[CELL], worst[CELL], count[CELL], unit[4 * CELL];

	(void)snprintf(count, sizeof(count), "%u %s%s", delay->count,
		       has_steps(&scenario->tenant[delay->server]) ? "step" : "time",
		       delay->count == 1 ? "" : "s");
	format_ns(delay->total_ns / delay->count, sizeof(mean), mean);
	format_ns(delay->worst_ns, sizeof(worst), worst);
	if (delay->proc >= scenario->tenants) {
		fprintf(out, "  %s %s with no best-effort work in flight", server->name, count);
	} else {
		format_unit(&scenario->tenant[delay->proc], delay->key, sizeof(unit), unit);
		fprintf(out, "  %s %s by %s", server->name, count, unit);
	}
	fprintf(out, ": %s each, %s at worst", mean, worst);
	if (server->target.p99_ns || server->target.extra_permille)
		fprintf(out, ", %u late", delay->late);
	fputc('\n', out);
}

/* Half of the services take longer than the median by themselves: where nobody's launch was in the
 * way, less than this part of it is no delay. */
#define DELAY_PART 0.01

static uint32_t pick_delays(const struct scenario *scenario, const struct report_row *row,
			    const struct run_delay *ret[DELAYS_SHOWN])
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < row->delays && count < DELAYS_SHOWN; i++) {
		const struct run_delay *delay = &row->delay[i];
		double mean_ns = (double)delay->total_ns / delay->count;

		if (delay->proc < scenario->tenants ||
		    mean_ns >= DELAY_PART * row->tenant[delay->server].s_p50_ns.mean)
			ret[count++] = delay;
	}
	return count;
}

static void print_remarks(const struct scenario *scenario, const struct report_row *row, FILE *out)
{
	const struct run_delay *delay[DELAYS_SHOWN];
	uint32_t shown = pick_delays(scenario, row, delay);

	if (!shown && !row->has_shares)
		return;
	fprintf(out, "\n%s:\n", row->order->label);
	if (row->has_shares)
		fprintf(out,
			"  shares are off by %.1f %% in windows of 1 s (%.1f %% at worst), by %.1f "
			"%% in 95 of 100 windows of 100 ms\n",
			row->share_1s.mean * 100, row->share_1s_worst.mean * 100,
			row->share_100ms_p95.mean * 100);
	if (shown)
		fputs("  delayed most, by what ran when the service began:\n", out);
	for (uint32_t i = 0; i < shown; i++)
		print_delay(scenario, delay[i], out);
}

/* What the planner can play and the arbiter cannot do. */
static void print_notes(const struct scenario *scenario, FILE *out)
{
	for (uint32_t i = 0; i < scenario->orders; i++) {
		const struct scenario_order *order = &scenario->order[i];
		int option = plan_policy_option(order->policy, "partitions");

		if (option < 0 || !order->value[option])
			continue;
		fputs("\nnote: partitions: no arbiter of this version keeps launches to part of "
		      "the "
		      "GPU; rows with them show what it would do if it could\n",
		      out);
		return;
	}
}

static int print_all(const struct scenario *scenario, const struct run_result *result,
		     size_t columns, FILE *out)
{
	int r;

	print_head(scenario, result, out);
	r = print_table(scenario, result, columns, out);
	for (uint32_t i = 0; !r && i < scenario->orders; i++) {
		struct report_row row;

		/* One of a sweep shows who is in the way. */
		if (i && scenario->order[i].sweep == scenario->order[i - 1].sweep)
			continue;
		report_make(scenario, &scenario->order[i], &result[i * scenario->seeds], &row);
		print_remarks(scenario, &row, out);
	}
	print_notes(scenario, out);
	return r;
}

int plan_print(const struct scenario *scenario, const struct run_result *result, size_t columns,
	       FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int r;

	if (!memory)
		return -ENOMEM;
	r = print_all(scenario, result, columns, memory);
	if (fclose(memory) && !r)
		r = -ENOMEM;
	if (!r)
		print_wrapped(text, columns, out);
	free(text);
	return r;
}
