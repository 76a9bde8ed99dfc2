/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/cost.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <libconfig.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 256
#define DURATION_MAX_US 1e9

struct cost_entry {
	char *pattern;
	bool has_grid;
	uint32_t grid[3];
	struct cost cost;
};

struct cost_table {
	uint32_t count;
	struct cost_entry entry[];
};

/* ---- names ---- */

/* A <length><identifier>. NULL: not one. */
static const char *skip_identifier(const char *at, const char **ret_start, size_t *ret_length)
{
	size_t length = 0;

	while (isdigit((unsigned char)*at) && length < NAME_MAX_BYTES * 4)
		length = length * 10 + (size_t)(*at++ - '0');
	if (length == 0 || strnlen(at, length) < length)
		return NULL;
	*ret_start = at;
	*ret_length = length;
	return at + length;
}

/* Behind the E of what opens at `at` ('I', 'N', 'L', 'X' or 'J'). NULL: no end. */
static const char *skip_group(const char *at)
{
	unsigned int depth = 0;
	const char *start;
	size_t length;

	while (*at != '\0') {
		if (*at == 'L' && at[1] != 'N' && at[1] != '_') {
			/* A literal: type, value, E. An enumeration's type is an identifier. */
			at++;
			if (isdigit((unsigned char)*at) &&
			    (at = skip_identifier(at, &start, &length)) == NULL)
				return NULL;
			at = strchr(at, 'E');
			if (at == NULL)
				return NULL;
			at++;
		} else if (isdigit((unsigned char)*at)) {
			at = skip_identifier(at, &start, &length);
			if (at == NULL)
				return NULL;
		} else if (*at == 'S' && at[1] != '\0') {
			/* A substitution: S_, S0_, St, Sa ... */
			at++;
			while (isdigit((unsigned char)*at) || isupper((unsigned char)*at))
				at++;
			at++;
		} else {
			if (strchr("INLXJ", *at) != NULL)
				depth++;
			if (*at++ == 'E' && --depth == 0)
				return at;
		}
		if (depth == 0)
			return at;
	}
	return NULL;
}

bool cost_plain_name(const char *mangled, char *ret_name, size_t room)
{
	const char *at = mangled, *start = NULL;
	size_t length = 0;
	bool nested;

	if (strncmp(at, "_Z", 2) != 0)
		return false;
	at += 2;
	nested = *at == 'N';
	at += nested;
	while (nested && *at != '\0' && strchr("rVKRO", *at) != NULL)
		at++;
	for (;;) {
		if (*at == 'L')
			at++;
		if (*at == 'S' && at[1] == 't')
			at += 2;
		else if (*at == 'I' && nested)
			at = skip_group(at);
		else
			at = skip_identifier(at, &start, &length);
		if (at == NULL || *at == '\0' || !nested || *at == 'E')
			break;
	}
	if (start == NULL || length >= room)
		return false;
	memcpy(ret_name, start, length);
	ret_name[length] = '\0';
	return true;
}

bool cost_find(const struct cost_table *table, const char *name, const uint32_t grid[3],
	       struct cost *ret_cost)
{
	char plain[NAME_MAX_BYTES];
	bool has_plain = cost_plain_name(name, plain, sizeof(plain));

	for (uint32_t i = 0; table != NULL && i < table->count; i++) {
		const struct cost_entry *entry = &table->entry[i];

		if (entry->has_grid && memcmp(entry->grid, grid, sizeof(entry->grid)) != 0)
			continue;
		if (fnmatch(entry->pattern, name, 0) != 0 &&
		    (!has_plain || fnmatch(entry->pattern, plain, 0) != 0))
			continue;
		*ret_cost = entry->cost;
		return true;
	}
	return false;
}

/* ---- the file ---- */

struct reader {
	const char *path;
	char *error; /* COST_ERROR_MAX */
};

static int wrong(struct reader *reader, const config_setting_t *setting, const char *text)
{
	const char *name = config_setting_name(setting);

	snprintf(reader->error, COST_ERROR_MAX, "%s:%d: %s%s%s", reader->path,
		 (int)config_setting_source_line(setting), name != NULL ? name : "",
		 name != NULL ? ": " : "", text);
	return -EINVAL;
}

static int read_us(struct reader *reader, const config_setting_t *setting, uint64_t *ret_ns)
{
	double us;

	if (config_setting_type(setting) == CONFIG_TYPE_FLOAT)
		us = config_setting_get_float(setting);
	else if (config_setting_type(setting) == CONFIG_TYPE_INT)
		us = config_setting_get_int(setting);
	else
		return wrong(reader, setting, "must be a number of microseconds");
	if (!(us >= 0.001 && us <= DURATION_MAX_US))
		return wrong(reader, setting, "must be from 0.001 to 1000000000 microseconds");
	*ret_ns = (uint64_t)llround(us * 1000);
	return 0;
}

static int read_count(struct reader *reader, const config_setting_t *setting, int64_t high,
		      uint32_t *ret_count)
{
	int64_t value;

	if (config_setting_type(setting) != CONFIG_TYPE_INT &&
	    config_setting_type(setting) != CONFIG_TYPE_INT64)
		return wrong(reader, setting, "must be a whole number");
	value = config_setting_get_int64(setting);
	if (value < 1 || value > high)
		return wrong(reader, setting, "is out of range");
	*ret_count = (uint32_t)value;
	return 0;
}

static int read_grid(struct reader *reader, const config_setting_t *setting,
		     struct cost_entry *entry)
{
	int err = 0;

	if (config_setting_type(setting) != CONFIG_TYPE_ARRAY ||
	    config_setting_length(setting) != 3)
		return wrong(reader, setting, "must be three whole numbers, like [ 64, 1, 1 ]");
	for (unsigned int i = 0; i < 3 && err == 0; i++)
		err = read_count(reader, config_setting_get_elem(setting, i), INT32_MAX,
				 &entry->grid[i]);
	entry->has_grid = true;
	return err;
}

static int read_member(struct reader *reader, const config_setting_t *member,
		       struct cost_entry *entry, bool *has_duration, bool *has_block)
{
	const char *key = config_setting_name(member);

	if (strcmp(key, "kernel") == 0) {
		if (config_setting_type(member) != CONFIG_TYPE_STRING ||
		    *config_setting_get_string(member) == '\0')
			return wrong(reader, member, "must be a pattern in quotes");
		entry->pattern = strdup(config_setting_get_string(member));
		return entry->pattern != NULL ? 0 : -ENOMEM;
	}
	if (strcmp(key, "grid") == 0)
		return read_grid(reader, member, entry);
	if (strcmp(key, "duration_us") == 0) {
		*has_duration = true;
		return read_us(reader, member, &entry->cost.duration_ns);
	}
	if (strcmp(key, "block_us") == 0) {
		*has_block = true;
		return read_us(reader, member, &entry->cost.duration_ns);
	}
	if (strcmp(key, "sms") == 0)
		return read_count(reader, member, 4096, &entry->cost.sms);
	if (strcmp(key, "blocks_per_sm") == 0)
		return read_count(reader, member, 64, &entry->cost.blocks_per_sm);
	return wrong(reader, member,
		     "is not known here: kernel, grid, duration_us, sms, block_us, blocks_per_sm");
}

static int read_entry(struct reader *reader, const config_setting_t *group,
		      struct cost_entry *entry)
{
	bool has_duration = false, has_block = false;
	int err = 0;

	if (config_setting_type(group) != CONFIG_TYPE_GROUP)
		return wrong(reader, group, "must be a group, like { kernel = \"...\"; ... }");
	for (int i = 0; i < config_setting_length(group) && err == 0; i++)
		err = read_member(reader, config_setting_get_elem(group, (unsigned int)i), entry,
				  &has_duration, &has_block);
	if (err != 0)
		return err;
	if (entry->pattern == NULL)
		return wrong(reader, group, "lacks kernel = \"PATTERN\"");
	if (has_duration == has_block)
		return wrong(reader, group, "needs either duration_us or block_us");
	if (has_duration && entry->cost.blocks_per_sm != 0)
		return wrong(reader, group, "blocks_per_sm goes with block_us");
	if (has_block && entry->cost.sms != 0)
		return wrong(reader, group, "sms goes with duration_us");
	entry->cost.whole = has_duration;
	return 0;
}

static int read_costs(struct reader *reader, const config_t *config, struct cost_table **ret_table)
{
	const config_setting_t *list = config_lookup(config, "costs");
	struct cost_table *table;
	uint32_t count = list != NULL ? (uint32_t)config_setting_length(list) : 0;
	int err = 0;

	if (list != NULL && config_setting_type(list) != CONFIG_TYPE_LIST)
		return wrong(reader, list, "must be a list, like ( { ... }, { ... } )");
	table = calloc(1, sizeof(*table) + count * sizeof(table->entry[0]));
	if (table == NULL)
		return -ENOMEM;
	table->count = count;
	for (uint32_t i = 0; i < count && err == 0; i++)
		err = read_entry(reader, config_setting_get_elem(list, i), &table->entry[i]);
	if (err != 0) {
		cost_table_free(table);
		return err;
	}
	*ret_table = table;
	return 0;
}

int cost_table_load(const char *path, struct cost_table **ret_table, char ret_error[COST_ERROR_MAX])
{
	struct reader reader = {path, ret_error};
	config_t config;
	int err;

	ret_error[0] = '\0';
	config_init(&config);
	if (config_read_file(&config, path) == CONFIG_TRUE) {
		err = read_costs(&reader, &config, ret_table);
	} else {
		err = -EINVAL;
		if (config_error_type(&config) == CONFIG_ERR_FILE_IO)
			snprintf(ret_error, COST_ERROR_MAX, "%s: cannot be read", path);
		else
			snprintf(ret_error, COST_ERROR_MAX, "%s:%d: %s", path,
				 config_error_line(&config), config_error_text(&config));
	}
	config_destroy(&config);
	if (err == -ENOMEM)
		snprintf(ret_error, COST_ERROR_MAX, "%s: not enough memory", path);
	return err;
}

void cost_table_free(struct cost_table *table)
{
	for (uint32_t i = 0; table != NULL && i < table->count; i++)
		free(table->entry[i].pattern);
	free(table);
}
