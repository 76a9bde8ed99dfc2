/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int table_row(struct table *table, const char *const *cells)
{
	if (table->rows == table->room) {
		size_t room = table->room ? table->room * 2 : 16;
		void *cell = realloc(table->cell, room * sizeof(*table->cell));

		if (!cell)
			return -ENOMEM;
		table->cell = cell;
		table->room = room;
	}
	memset(table->cell[table->rows], 0, sizeof(*table->cell));
	for (size_t i = 0; i < TABLE_COLUMNS && cells[i]; i++) {
		table->cell[table->rows][i] = strdup(cells[i]);
		if (!table->cell[table->rows][i])
			return -ENOMEM;
	}
	table->rows++;
	return 0;
}

static void find_widths(const struct table *table, size_t *ret_width, size_t *ret_columns)
{
	*ret_columns = 0;
	memset(ret_width, 0, TABLE_COLUMNS * sizeof(*ret_width));
	for (size_t row = 0; row < table->rows; row++)
		for (size_t i = 0; i < TABLE_COLUMNS && table->cell[row][i]; i++) {
			size_t length = strlen(table->cell[row][i]);

			if (length > ret_width[i])
				ret_width[i] = length;
			if (i + 1 > *ret_columns)
				*ret_columns = i + 1;
		}
}

/* *blanks are owed: no line ends with any. */
static void print_cell(const struct table *table, size_t row, size_t i, size_t width,
		       size_t *blanks, FILE *out)
{
	const char *cell = table->cell[row][i] ? table->cell[row][i] : "";
	size_t rest = width - strlen(cell);

	if (table->right & (1u << i)) {
		*blanks += rest;
		rest = 0;
	}
	if (*cell) {
		fprintf(out, "%*s%s", (int)*blanks, "", cell);
		*blanks = 0;
	} else {
		rest = table->right & (1u << i) ? 0 : width;
	}
	*blanks += rest + 2;
}

/* How far the columns from `from` on fit beside the rows' names: at least one does. */
static size_t part_end(const size_t *width, size_t columns, size_t keys, size_t from, size_t room)
{
	size_t used = 0, to = from;

	for (size_t i = 0; from && i < keys; i++)
		used += width[i] + 2;
	do
		used += width[to++] + 2;
	while (to < columns && (to < keys || !room || used + width[to] <= room));
	return to;
}

void table_print(const struct table *table, size_t columns, FILE *out)
{
	size_t width[TABLE_COLUMNS], count, from = 0, to;
	size_t keys = table->keys ? table->keys : 1;

	find_widths(table, width, &count);
	for (; from < count; from = to) {
		to = part_end(width, count, keys, from, columns);
		for (size_t row = 0; row < table->rows; row++) {
			size_t blanks = 0;

			for (size_t i = 0; from && i < keys; i++)
				print_cell(table, row, i, width[i], &blanks, out);
			for (size_t i = from; i < to; i++)
				print_cell(table, row, i, width[i], &blanks, out);
			fputc('\n', out);
		}
	}
}

/* The length of the part of a line that fits, up to a space where there is one. */
static size_t wrap_at(const char *line, size_t length, size_t room)
{
	size_t at;

	if (length <= room)
		return length;
	for (at = room; at && line[at] != ' '; at--)
		;
	return at ? at : room;
}

void print_wrapped(const char *lines, size_t columns, FILE *out)
{
	const size_t indent = 4;

	while (*lines) {
		size_t length = strcspn(lines, "\n"),
		       room = columns > 2 * indent ? columns : length;
		size_t at = wrap_at(lines, length, room);

		fprintf(out, "%.*s\n", (int)at, lines);
		while (at < length) {
			size_t next;

			at += lines[at] == ' ';
			next = wrap_at(lines + at, length - at, room - indent);
			fprintf(out, "%*s%.*s\n", (int)indent, "", (int)next, lines + at);
			at += next;
		}
		lines += length + (lines[length] == '\n');
	}
}

size_t terminal_columns(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

void table_finish(struct table *table)
{
	for (size_t row = 0; row < table->rows; row++)
		for (size_t i = 0; i < TABLE_COLUMNS; i++)
			free(table->cell[row][i]);
	free(table->cell);
	memset(table, 0, sizeof(*table));
}

void format_bytes(uint64_t bytes, size_t size, char *ret_text)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	double value = (double)bytes;
	size_t i = 0;

	if (bytes == UINT64_MAX) {
		snprintf(ret_text, size, "-");
		return;
	}
	for (; value >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0]); i++)
		value /= 1024;
	snprintf(ret_text, size, value < 10 && i ? "%.1f %s" : "%.0f %s", value, unit[i]);
}

void format_ns(uint64_t ns, size_t size, char *ret_text)
{
	double value = (double)ns;

	if (!ns)
		snprintf(ret_text, size, "-");
	else if (ns < 1000)
		snprintf(ret_text, size, "%.0f ns", value);
	else if (ns < 1000000)
		snprintf(ret_text, size, "%.3g us", value / 1e3);
	else if (ns < 1000000000)
		snprintf(ret_text, size, "%.3g ms", value / 1e6);
	else
		snprintf(ret_text, size, "%.3g s", value / 1e9);
}

void format_permille(uint32_t permille, size_t size, char *ret_text)
{
	snprintf(ret_text, size, "%u.%u %%", permille / 10, permille % 10);
}

/* Of the Itanium C++ ABI only <source-name> and <nested-name> are read: _Z [N] (length name)... */
void format_kernel(const char *symbol, size_t size, char *ret_text)
{
	const char *at = symbol;

	snprintf(ret_text, size, "%s", symbol);
	if (strncmp(at, "_Z", 2))
		return;
	at += 2;
	at += *at == 'N';
	while (*at >= '1' && *at <= '9') {
		char *name;
		unsigned long length = strtoul(at, &name, 10);

		if (length > strlen(name))
			return; /* cut short */
		snprintf(ret_text, size, "%.*s", (int)length, name);
		if (symbol[2] != 'N')
			return;
		at = name + length;
	}
}
