/* SPDX-License-Identifier: Apache-2.0 */
#include "late.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static int by_work(const void *a, const void *b)
{
	const struct late_sum *x = a, *y = b;

	if (x->in_flight_ns != y->in_flight_ns)
		return x->in_flight_ns < y->in_flight_ns ? 1 : -1;
	return strcmp(x->tenant, y->tenant) ? strcmp(x->tenant, y->tenant)
					    : strcmp(x->unit, y->unit);
}

int late_sum(const struct late *late, struct late_sum **ret_sum, size_t *ret_count)
{
	struct late_sum *sum = calloc(late->causes + 1, sizeof(*sum));
	size_t count = 0;

	if (!sum)
		return -ENOMEM;
	for (size_t i = 0; i < late->causes; i++) {
		const struct sluice_msg_why_cause *cause = &late->cause[i];
		size_t at = 0;

		while (at < count && (strncmp(sum[at].tenant, cause->tenant, SLUICE_NAME_MAX) ||
				      strncmp(sum[at].unit, cause->unit, SLUICE_NAME_MAX)))
			at++;
		if (at == count) {
			memcpy(sum[at].tenant, cause->tenant, SLUICE_NAME_MAX - 1);
			memcpy(sum[at].unit, cause->unit, SLUICE_NAME_MAX - 1);
			count++;
		}
		sum[at].requests++;
		sum[at].in_flight_ns += cause->in_flight_ns;
		if (cause->unit_ns > sum[at].longest_ns)
			sum[at].longest_ns = cause->unit_ns;
	}
	qsort(sum, count, sizeof(*sum), by_work);
	*ret_sum = sum;
	*ret_count = count;
	return 0;
}

/* ---- text ---- */

#define CELL 96
#define ROWS_SHOWN 20u

static void whose(const char *tenant, const char *unit, char *ret_tenant, char *ret_unit)
{
	snprintf(ret_tenant, CELL, "%.*s", SLUICE_NAME_MAX, *tenant ? tenant : "(another)");
	if (*unit)
		format_kernel(unit, CELL, ret_unit);
	else
		snprintf(ret_unit, CELL, "-");
}

static int add_cause(struct table *table, const struct sluice_msg_why_cause *cause,
		     const char *const *request)
{
	char tenant[CELL], unit[CELL], in_flight[CELL], unit_ns[CELL];

	whose(cause->tenant, cause->unit, tenant, unit);
	format_ns(cause->in_flight_ns, CELL, in_flight);
	format_ns(cause->unit_ns, CELL, unit_ns);
	return table_row(table,
			 (const char *const[]){request[0], request[1], request[2], request[3],
					       request[4], tenant, in_flight, unit, unit_ns,
					       cause->before ? "yes" : "", NULL});
}

/* A row for each cause, the request's own figures on the first. */
static int add_request(struct table *table, const struct late *late, size_t index)
{
	const struct sluice_msg_why_request *row = &late->request[index];
	char ago[CELL], took[CELL], allowed[CELL], queued[CELL], own[CELL];
	const char *first[] = {ago, took, allowed, queued, own};
	static const char *const next[] = {"", "", "", "", ""};
	const char *const *cells = first;
	int r = 0;

	format_ns(row->ago_ns, CELL, ago);
	format_ns(row->took_ns, CELL, took);
	format_ns(row->limit_ns, CELL, allowed);
	format_ns(row->queued_ns, CELL, queued);
	format_ns(row->own_ns, CELL, own);
	for (size_t i = 0; !r && i < late->causes; i++) {
		if (late->cause[i].request != index)
			continue;
		r = add_cause(table, &late->cause[i], cells);
		cells = next;
	}
	if (!r && cells == first)
		r = table_row(table, (const char *const[]){ago, took, allowed, queued, own, "-",
							   "-", "-", "-", "", NULL});
	return r;
}

static int print_requests(const struct late *late, size_t columns, FILE *out)
{
	struct table table = {.right = 0x1f | 1 << 6 | 1 << 8, .keys = 2};
	int r = table_row(&table, (const char *const[]){"ENDED AGO", "TOOK", "ALLOWED", "QUEUED",
							"OWN WORK", "TENANT", "IN FLIGHT",
							"LONGEST UNIT", "TAKES", "BEHIND", NULL});

	for (size_t i = 0; !r && i < late->requests && i < ROWS_SHOWN; i++)
		r = add_request(&table, late, i);
	if (!r) {
		fputc('\n', out);
		table_print(&table, columns, out);
		if (late->requests > ROWS_SHOWN)
			fprintf(out, "and %zu more; --json has all\n", late->requests - ROWS_SHOWN);
	}
	table_finish(&table);
	return r;
}

static int print_sums(const struct late *late, size_t columns, FILE *out)
{
	struct table table = {.right = 1 << 2 | 1 << 3 | 1 << 4};
	struct late_sum *sum;
	size_t count;
	int r = late_sum(late, &sum, &count);

	if (r)
		return r;
	r = table_row(&table, (const char *const[]){"TENANT", "LONGEST UNIT", "LATE REQUESTS",
						    "IN FLIGHT, SUM", "TAKES", NULL});
	for (size_t i = 0; !r && i < count; i++) {
		char tenant[CELL], unit[CELL], requests[CELL], in_flight[CELL], takes[CELL];

		whose(sum[i].tenant, sum[i].unit, tenant, unit);
		snprintf(requests, CELL, "%llu", (unsigned long long)sum[i].requests);
		format_ns(sum[i].in_flight_ns, CELL, in_flight);
		format_ns(sum[i].longest_ns, CELL, takes);
		r = table_row(&table, (const char *const[]){tenant, unit, requests, in_flight,
							    takes, NULL});
	}
	if (!r && count) {
		fputc('\n', out);
		table_print(&table, columns, out);
	}
	table_finish(&table);
	free(sum);
	return r;
}

static size_t without_cause(const struct late *late)
{
	size_t count = 0;

	for (size_t i = 0; i < late->requests; i++) {
		size_t at = 0;

		while (at < late->causes && late->cause[at].request != i)
			at++;
		count += at == late->causes;
	}
	return count;
}

/* Late against another target than is set now. Of a relative one that cannot be told: what it allows
 * changes by itself. */
static size_t by_another_target(const struct late *late)
{
	size_t count = 0;

	for (size_t i = 0; late->end.target_ns && i < late->requests; i++)
		count += late->request[i].limit_ns != late->end.target_ns;
	return count;
}

static void print_head(const char *tenant, const struct late *late, FILE *out)
{
	const struct sluice_msg_why_end *end = &late->end;
	size_t others = by_another_target(late);
	char target[CELL];

	if (end->target_ns)
		format_ns(end->target_ns, CELL, target);
	else
		snprintf(target, CELL, "+%u.%u %%", end->target_over_permille / 10,
			 end->target_over_permille % 10);
	fprintf(out, "%s: %zu late request%s in the last %u min (p99 %s of %s", tenant,
		late->requests, late->requests == 1 ? "" : "s", end->minutes, target, end->of);
	if (others)
		fprintf(out, " now; %zu late against the target that was then", others);
	fputs(")\n", out);
}

int late_print(const char *tenant, const struct late *late, size_t columns, FILE *out)
{
	size_t none = without_cause(late);
	int r;

	print_head(tenant, late, out);
	r = print_sums(late, columns, out);
	if (!r && late->requests)
		r = print_requests(late, columns, out);
	if (!r && none)
		print_wrapped(
			none == late->requests
				? "\nNo best-effort work is known to have been in flight when "
				  "they came: queueing, another latency-critical tenant, or "
				  "the program itself.\n"
				: "\nWithout a tenant: no best-effort work is known to have "
				  "been in flight.\n",
			columns, out);
	return r;
}
