/* SPDX-License-Identifier: Apache-2.0 */
#include "status_pairs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "number_json.h"
#include "query.h"
#include "table.h"

#define CELL 64

static const char *const verdicts[] = {
	[SLUICE_PAIR_UNKNOWN] = "unknown",
	[SLUICE_PAIR_SHARE] = "share",
	[SLUICE_PAIR_WAIT] = "wait",
};

static const char *verdict_of(const struct sluice_msg_status_pair *row)
{
	return row->verdict < sizeof(verdicts) / sizeof(verdicts[0]) ? verdicts[row->verdict]
								     : "unknown";
}

/* ---- for people ------------------------------------------------------------------------------ */

/* Tenants of one device, rows and columns of its matrix; names are the status's. */
struct names {
	const char **name;
	size_t count;
};

static bool names_has(const struct names *names, const char *name)
{
	for (size_t i = 0; i < names->count; i++) {
		if (!strncmp(names->name[i], name, SLUICE_NAME_MAX))
			return true;
	}
	return false;
}

static int names_collect(const struct status *status, uint32_t device, struct names *ret_rows,
			 struct names *ret_partners)
{
	ret_rows->name = calloc(status->pairs + 1, sizeof(*ret_rows->name));
	ret_partners->name = calloc(status->pairs + 1, sizeof(*ret_partners->name));
	if (!ret_rows->name || !ret_partners->name)
		return -ENOMEM;
	for (size_t i = 0; i < status->pairs; i++) {
		const struct sluice_msg_status_pair *row = &status->pair[i];

		if (row->device != device)
			continue;
		if (!names_has(ret_rows, row->tenant))
			ret_rows->name[ret_rows->count++] = row->tenant;
		if (!names_has(ret_partners, row->partner))
			ret_partners->name[ret_partners->count++] = row->partner;
	}
	return 0;
}

static const struct sluice_msg_status_pair *find_pair(const struct status *status, uint32_t device,
						      const char *tenant, const char *partner)
{
	for (size_t i = 0; i < status->pairs; i++) {
		const struct sluice_msg_status_pair *row = &status->pair[i];

		if (row->device == device && !strncmp(row->tenant, tenant, SLUICE_NAME_MAX) &&
		    !strncmp(row->partner, partner, SLUICE_NAME_MAX))
			return row;
	}
	return NULL;
}

static void format_pair(const struct sluice_msg_status_pair *row, size_t size, char *ret_text)
{
	if (!row)
		snprintf(ret_text, size, "-");
	else if (!row->slowdown_permille)
		snprintf(ret_text, size, "? (%u) %s", row->samples, verdict_of(row));
	else
		snprintf(ret_text, size, "%u.%02u (%u) %s%s", row->slowdown_permille / 1000,
			 row->slowdown_permille % 1000 / 10, row->samples, verdict_of(row),
			 row->turns ? ", in turns" : "");
}

static int add_row(struct table *table, const struct status *status, uint32_t device,
		   const char *tenant, const struct names *partners, size_t first, size_t count)
{
	const char *cells[TABLE_COLUMNS + 1] = {0};
	char cell[TABLE_COLUMNS][CELL];

	cells[0] = tenant;
	for (size_t i = 0; i < count; i++) {
		format_pair(find_pair(status, device, tenant, partners->name[first + i]),
			    sizeof(cell[i]), cell[i]);
		cells[1 + i] = cell[i];
	}
	return table_row(table, cells);
}

/* As many partners as a table has columns. */
static int print_part(const struct status *status, uint32_t device, const struct names *rows,
		      const struct names *partners, size_t first, size_t columns, FILE *out)
{
	size_t left = partners->count - first,
	       count = left < TABLE_COLUMNS - 2 ? left : TABLE_COLUMNS - 2;
	const char *head[TABLE_COLUMNS + 1] = {"TENANT"};
	struct table table = {0};
	int r;

	for (size_t i = 0; i < count; i++)
		head[1 + i] = partners->name[first + i];
	r = table_row(&table, head);
	for (size_t i = 0; r == 0 && i < rows->count; i++)
		r = add_row(&table, status, device, rows->name[i], partners, first, count);
	if (r == 0)
		table_print(&table, columns, out);
	table_finish(&table);
	return r;
}

static int print_device(const struct status *status, const struct sluice_msg_status_device *device,
			size_t columns, FILE *out)
{
	struct names rows = {0}, partners = {0};
	int r = names_collect(status, device->index, &rows, &partners);

	fprintf(out, "GPU %u  %.*s  ", device->index, (int)sizeof(device->name), device->name);
	if (!device->mps)
		fputs("no MPS: nothing runs side by side\n", out);
	else if (!rows.count)
		fputs("nobody was seen at work beside one other\n", out);
	else
		fputs("slowdown of the row's tenant beside the column's\n", out);
	for (size_t i = 0; r == 0 && rows.count && i < partners.count; i += TABLE_COLUMNS - 2)
		r = print_part(status, device->index, &rows, &partners, i, columns, out);
	free(rows.name);
	free(partners.name);
	return r;
}

int pairs_print(const struct status *status, size_t columns, FILE *out)
{
	int r = 0;

	if (!status->devices)
		fputs("no GPU in use: no program uses one under Sluice now\n", out);
	for (size_t i = 0; r == 0 && i < status->devices; i++) {
		if (i)
			fputc('\n', out);
		r = print_device(status, &status->device[i], columns, out);
	}
	return r;
}

/* ---- for programs ---------------------------------------------------------------------------- */

static json_t *name_json(const char *name)
{
	json_t *string = json_stringn(name, strnlen(name, SLUICE_NAME_MAX));

	return string ? string : json_string("(not UTF-8)");
}

json_t *pairs_json(const struct status *status)
{
	json_t *array = json_array();

	for (size_t i = 0; i < status->pairs; i++) {
		const struct sluice_msg_status_pair *row = &status->pair[i];
		json_t *object = json_object();

		json_object_set_new(object, "device", number_json(row->device));
		json_object_set_new(object, "tenant", name_json(row->tenant));
		json_object_set_new(object, "partner", name_json(row->partner));
		json_object_set_new(object, "slowdown",
				    row->slowdown_permille
					    ? json_real(row->slowdown_permille / 1000.0)
					    : json_null());
		json_object_set_new(object, "samples", number_json(row->samples));
		json_object_set_new(object, "verdict", json_string(verdict_of(row)));
		json_object_set_new(object, "turns", json_boolean(row->turns));
		json_array_append_new(array, object);
	}
	return array;
}
