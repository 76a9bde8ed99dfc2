/* SPDX-License-Identifier: Apache-2.0 */
#include "status_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "status_slo.h"
#include "table.h"

#define CELL 64

const char *status_class(uint32_t tenant_class)
{
	return tenant_class == SLUICE_LATENCY_CRITICAL ? "latency-critical" : "best-effort";
}

/* "1.5/8.0 GiB" would mix units where they differ: both parts carry theirs. */
static void format_memory(uint64_t used, uint64_t max, size_t size, char *ret_text)
{
	char a[24], b[24];

	format_bytes(used, sizeof(a), a);
	format_bytes(max, sizeof(b), b);
	snprintf(ret_text, size, "%s / %s", a, b);
}

static void format_state(uint32_t state, uint32_t processes, size_t size, char *ret_text)
{
	static const struct {
		uint32_t bit;
		const char *word;
	} words[] = {
		{SLUICE_STATE_PAUSED, "paused"},
		{SLUICE_STATE_HELD, "held"},
		{SLUICE_STATE_EXCESS, "above gpu.max"},
		{SLUICE_STATE_STALE, "hung: ignored"},
		{SLUICE_STATE_NO_REQUEST, "no request seen"},
		{SLUICE_STATE_SET, "set by hand"},
	};
	size_t at = 0;

	if (!processes)
		at += (size_t)snprintf(ret_text, size, "no process");
	else if (!(state & (SLUICE_STATE_PAUSED | SLUICE_STATE_HELD)))
		at += (size_t)snprintf(ret_text, size, "%s",
				       state & SLUICE_STATE_OPEN ? "open" : "closed");
	else
		*ret_text = 0;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((state & words[i].bit) && at < size)
			at += (size_t)snprintf(ret_text + at, size - at, "%s%s", at ? ", " : "",
					       words[i].word);
}

static int add_tenant(struct table *table, const struct sluice_msg_status_tenant *row)
{
	char processes[CELL], due[CELL / 2], gpu[CELL], memory[CELL], p50[CELL], p99[CELL],
		target[CELL];
	char late[CELL] = "-", in_flight[CELL], pressure[CELL], state[128];
	int latency = row->tenant_class == SLUICE_LATENCY_CRITICAL;

	snprintf(processes, sizeof(processes), "%u", row->processes);
	if (row->processes)
		format_permille(row->entitled_permille, sizeof(due), due);
	else
		snprintf(due, sizeof(due), "-");
	snprintf(gpu, sizeof(gpu), "%u.%u / %s", row->used_permille / 10, row->used_permille % 10,
		 due);
	format_memory(row->memory_used_bytes, row->memory_max_bytes, sizeof(memory), memory);
	format_ns(row->lately_p50_ns, sizeof(p50), p50);
	format_ns(row->lately_p99_ns, sizeof(p99), p99);
	slo_format_target(row, sizeof(target), target);
	if (latency && row->target_ns + row->target_over_permille)
		snprintf(target + strlen(target), sizeof(target) - strlen(target), " %c",
			 row->target_arrival ? 'A' : 'S');
	if (latency && row->lately_requests)
		snprintf(late, sizeof(late), "%llu of %llu", (unsigned long long)row->lately_late,
			 (unsigned long long)row->lately_requests);
	/* What gates met when latency tenants came: of all of them together. */
	format_ns(latency && (row->processes || row->requests) ? row->be_in_flight_p99_ns : 0,
		  sizeof(in_flight), in_flight);
	snprintf(pressure, sizeof(pressure), "%u.%u %u.%u %u.%u", row->pressure_avg10_permille / 10,
		 row->pressure_avg10_permille % 10, row->pressure_avg60_permille / 10,
		 row->pressure_avg60_permille % 10, row->pressure_avg300_permille / 10,
		 row->pressure_avg300_permille % 10);
	format_state(row->state, row->processes, sizeof(state), state);
	return table_row(table, (const char *[]){row->name, status_class(row->tenant_class),
						 processes, gpu, memory, p50, p99, target, late,
						 in_flight, pressure, state, NULL});
}

/* Credit is more than that, and without quotas more than the GPU has. */
static uint64_t used_bytes(const struct status *status, uint32_t device)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < status->tenants; i++)
		if (status->tenant[i].device == device)
			bytes += status->tenant[i].memory_used_bytes;
	return bytes;
}

static void print_device(const struct status *status, const struct sluice_msg_status_device *row,
			 FILE *out)
{
	char total[24], used[24], reclaiming[24];

	format_bytes(row->memory_bytes, sizeof(total), total);
	format_bytes(used_bytes(status, row->index), sizeof(used), used);
	format_bytes(row->reclaiming_bytes, sizeof(reclaiming), reclaiming);
	fprintf(out, "GPU %u  %s%s  %u SMs  policy %s  memory %s of %s", row->index, row->name,
		row->simulated ? " (simulated)" : "", row->sms, row->policy, used, total);
	if (row->reclaiming_bytes)
		fprintf(out, " (%s reclaiming)", reclaiming);
	fputs(!row->mps	   ? "  no MPS: processes take turns\n"
	      : row->turns ? "  MPS: two that slow each other take turns\n"
			   : "  MPS: processes overlap\n",
	      out);
}

static void print_longest(const struct status *status, uint32_t device, FILE *out)
{
	const struct sluice_msg_status_tenant *longest = NULL;
	char text[24], name[SLUICE_NAME_MAX + 1];

	for (size_t i = 0; i < status->tenants; i++) {
		const struct sluice_msg_status_tenant *row = &status->tenant[i];

		if (row->device == device && row->tenant_class == SLUICE_BEST_EFFORT &&
		    row->longest_unit_ns &&
		    (!longest || row->longest_unit_ns > longest->longest_unit_ns))
			longest = row;
	}
	if (!longest)
		return;
	format_ns(longest->longest_unit_ns, sizeof(text), text);
	format_kernel(longest->longest_unit, sizeof(name), name);
	fprintf(out, "longest best-effort launch unit: %s, %s of %s\n", text,
		name[0] ? name : "(unnamed)", longest->name);
}

static void print_targets(const struct status *status, uint32_t device, FILE *out)
{
	for (size_t i = 0; i < status->tenants; i++)
		if (status->tenant[i].device == device)
			slo_print(&status->tenant[i], out);
}

static int print_tenants(const struct status *status, uint32_t device, size_t columns, FILE *out)
{
	static const char *const head[] = {"TENANT",
					   "CLASS",
					   "PROCS",
					   "GPU USED / DUE",
					   "MEMORY",
					   "S P50",
					   "S P99",
					   "TARGET",
					   "LATE",
					   "BE AT ARRIVAL",
					   "HELD % 10 60 300 s",
					   "STATE",
					   NULL};
	struct table table = {.right = 1u << 2 | 1u << 3 | 1u << 5 | 1u << 6 | 1u << 7};
	int r = table_row(&table, head);

	for (size_t i = 0; r == 0 && i < status->tenants; i++)
		if (status->tenant[i].device == device)
			r = add_tenant(&table, &status->tenant[i]);
	if (r == 0 && table.rows > 1)
		table_print(&table, columns, out);
	table_finish(&table);
	return r;
}

static void print_processes(const struct status *status, FILE *out)
{
	for (size_t i = 0; i < status->processes; i++) {
		const struct sluice_msg_status_process *row = &status->process[i];

		if (row->managed)
			continue;
		fprintf(out, "not under Sluice: pid %u ", row->pid);
		if (row->uid == UINT32_MAX)
			fputs("(of whom nothing is seen from here)", out);
		else
			fprintf(out, "(%s, uid %u)", row->program, row->uid);
		fprintf(out, " uses GPU %u\n", row->device);
	}
}

static int print_all(const struct query *query, const struct status *status, size_t columns,
		     FILE *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < status->devices; i++) {
		if (i)
			fputc('\n', out);
		print_device(status, &status->device[i], out);
		r = print_tenants(status, status->device[i].index, columns, out);
		print_targets(status, status->device[i].index, out);
		print_longest(status, status->device[i].index, out);
	}
	if (!status->devices) {
		fputs("no GPU in use: no program uses one under Sluice now\n", out);
		r = print_tenants(status, UINT32_MAX, columns, out);
		print_longest(status, UINT32_MAX, out);
	}
	if (!status->tenants)
		fputs("no tenant to show: root and admin_group see all, others those that admit "
		      "them\n",
		      out);
	print_processes(status, out);
	for (size_t i = 0; i < status->notes; i++)
		fprintf(out, "note: %.*s\n", (int)sizeof(status->note[i].text),
			status->note[i].text);
	fprintf(out, "arbiter: pid %u, %s%s\n", query->arbiter.pid,
		query->arbiter.config[0] ? "configuration "
					 : "no configuration: everyone is "
					   "best-effort, weight 100, no quota",
		query->arbiter.config);
	return r;
}

int status_print(const struct query *query, const struct status *status, size_t columns, FILE *out)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int r;

	if (!memory)
		return -ENOMEM;
	r = print_all(query, status, columns, memory);
	if (fclose(memory) && r == 0)
		r = -ENOMEM;
	if (r == 0)
		print_wrapped(text, columns, out);
	free(text);
	return r;
}
