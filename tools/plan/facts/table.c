/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts.cfg. Strict: an unknown or missing key, or a bound that is none, is an error. */

#include <errno.h>
#include <libconfig.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "plan/facts/facts.h"

static const char *const figure_name[FACTS_FIGURES] = {"s_p99", "a_p99", "be"};

__attribute__((format(printf, 3, 4))) static int fail(struct facts_error *reterr,
						      const config_setting_t *at,
						      const char *format, ...)
{
	va_list arguments;

	reterr->line = at ? (int)config_setting_source_line(at) : 0;
	va_start(arguments, format);
	(void)vsnprintf(reterr->text, sizeof(reterr->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- values ---- */

static int find_name(const char *text, const char *const *names, uint32_t count, uint32_t *ret)
{
	for (uint32_t i = 0; text && i < count; i++) {
		if (!strcmp(text, names[i])) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int read_text(const config_setting_t *group, const char *key, char *ret, size_t size,
		     struct facts_error *reterr)
{
	const config_setting_t *setting = config_setting_get_member(group, key);
	const char *text = setting ? config_setting_get_string(setting) : NULL;

	if (!text || !*text || strlen(text) >= size)
		return fail(reterr, setting ? setting : group,
			    "%s must be a text of 1 to %zu characters", key, size - 1);
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

static int read_number(const config_setting_t *group, const char *key, double *ret,
		       struct facts_error *reterr)
{
	const config_setting_t *setting = config_setting_get_member(group, key);

	if (!setting || config_setting_type(setting) != CONFIG_TYPE_FLOAT)
		return fail(reterr, setting ? setting : group, "%s must be a number with a point",
			    key);
	*ret = config_setting_get_float(setting);
	return 0;
}

static int read_count(const config_setting_t *group, const char *key, uint32_t *ret,
		      struct facts_error *reterr)
{
	const config_setting_t *setting = config_setting_get_member(group, key);

	if (!setting || config_setting_type(setting) != CONFIG_TYPE_INT ||
	    config_setting_get_int(setting) < 1)
		return fail(reterr, setting ? setting : group,
			    "%s must be a whole number, 1 or more", key);
	*ret = (uint32_t)config_setting_get_int(setting);
	return 0;
}

static int read_figure(const config_setting_t *group, enum facts_figure *ret,
		       struct facts_error *reterr)
{
	const config_setting_t *setting = config_setting_get_member(group, "figure");
	uint32_t figure;

	if (!setting ||
	    find_name(config_setting_get_string(setting), figure_name, FACTS_FIGURES, &figure))
		return fail(reterr, setting ? setting : group,
			    "figure must be \"s_p99\", \"a_p99\" or \"be\"");
	*ret = figure;
	return 0;
}

static int read_mode(const config_setting_t *setting, const config_setting_t *group, uint32_t *ret,
		     struct facts_error *reterr)
{
	if (!setting ||
	    find_name(config_setting_get_string(setting), suite_mode_name, SUITE_MODES, ret))
		return fail(reterr, setting ? setting : group, "a mode is \"time\" or \"mps\"");
	return 0;
}

static int check_keys(const config_setting_t *group, const char *const *keys,
		      struct facts_error *reterr)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *member = config_setting_get_elem(group, (unsigned int)i);
		const char *name = config_setting_name(member);
		uint32_t k = 0;

		while (keys[k] && (!name || strcmp(keys[k], name)))
			k++;
		if (!keys[k])
			return fail(reterr, member, "unknown key %s",
				    name ? name : "without a name");
	}
	return 0;
}

static bool read_missed(const config_setting_t *group)
{
	const config_setting_t *setting = config_setting_get_member(group, "missed");

	return setting && config_setting_get_bool(setting);
}

/* ---- one entry ---- */

static int load_bounds(const config_setting_t *group, struct fact *fact, struct facts_error *reterr)
{
	int r = read_number(group, "published", &fact->published, reterr);

	if (!r)
		r = read_number(group, "low", &fact->low, reterr);
	if (!r)
		r = read_number(group, "high", &fact->high, reterr);
	fact->study = -1;
	if (!r && config_setting_get_member(group, "study"))
		r = read_number(group, "study", &fact->study, reterr);
	if (!r && !(fact->low <= fact->published && fact->published <= fact->high))
		r = fail(reterr, group, "%s: what was published is outside of its bounds",
			 fact->name);
	return r;
}

static int load_kind(const config_setting_t *group, struct fact *fact, struct facts_error *reterr)
{
	int r = 0;

	if (fact->kind == FACTS_PAIRS) {
		r = read_mode(config_setting_get_member(group, "mode"), group, &fact->place.mode,
			      reterr);
		return r ? r : read_figure(group, &fact->figure, reterr);
	}
	fact->place.mode = SUITE_TIME;
	if (fact->kind == FACTS_TWINS)
		return 0;
	r = read_count(group, "threshold", &fact->threshold, reterr);
	if (!r)
		r = read_count(group, "batch", &fact->batch, reterr);
	return r ? r : read_count(group, "kernel_us", &fact->kernel_us, reterr);
}

static int load_fact(const config_setting_t *group, enum facts_kind kind, struct facts_table *table,
		     struct facts_error *reterr)
{
	static const char *const keys[] = {"name",	"row",	 "mode",      "figure", "published",
					   "study",	"low",	 "high",      "source", "missed",
					   "threshold", "batch", "kernel_us", NULL};
	struct fact *fact = &table->fact[table->facts];
	int r = check_keys(group, keys, reterr);

	if (!r && table->facts == FACTS_MOST)
		r = fail(reterr, group, "more than %d facts", FACTS_MOST);
	if (r)
		return r;
	fact->kind = kind;
	fact->missed = read_missed(group);
	r = read_text(group, "name", fact->name, sizeof(fact->name), reterr);
	if (!r)
		r = read_text(group, "row", fact->place.row, sizeof(fact->place.row), reterr);
	if (!r)
		r = read_text(group, "source", fact->source, sizeof(fact->source), reterr);
	if (!r)
		r = load_bounds(group, fact, reterr);
	if (!r)
		r = load_kind(group, fact, reterr);
	table->facts += !r;
	return r;
}

static int load_place(const config_setting_t *setting, struct facts_order *order,
		      struct facts_error *reterr)
{
	struct facts_place *place = &order->place[order->places];
	const char *row = config_setting_get_string_elem(setting, 0);

	if (order->places == FACTS_PLACES || !row || strlen(row) >= sizeof(place->row) ||
	    config_setting_length(setting) != 2)
		return fail(reterr, setting, "rows are up to %d of (\"row\", \"mode\")",
			    FACTS_PLACES);
	memcpy(place->row, row, strlen(row) + 1);
	order->places++;
	return read_mode(config_setting_get_elem(setting, 1), setting, &place->mode, reterr);
}

static int load_order(const config_setting_t *group, struct facts_table *table,
		      struct facts_error *reterr)
{
	static const char *const keys[] = {"name", "figure", "rows", "missed", NULL};
	struct facts_order *order = &table->order[table->orders];
	const config_setting_t *rows = config_setting_get_member(group, "rows");
	int r = check_keys(group, keys, reterr);

	if (!r && table->orders == FACTS_MOST)
		r = fail(reterr, group, "more than %d orders", FACTS_MOST);
	if (!r && (!rows || config_setting_length(rows) < 2))
		r = fail(reterr, group, "an order wants two rows or more");
	if (r)
		return r;
	order->missed = read_missed(group);
	r = read_text(group, "name", order->name, sizeof(order->name), reterr);
	if (!r)
		r = read_figure(group, &order->figure, reterr);
	for (int i = 0; !r && i < config_setting_length(rows); i++)
		r = load_place(config_setting_get_elem(rows, (unsigned int)i), order, reterr);
	table->orders += !r;
	return r;
}

/* ---- the file ---- */

static int load_list(const config_setting_t *root, const char *key, enum facts_kind kind,
		     struct facts_table *table, struct facts_error *reterr)
{
	const config_setting_t *list = config_setting_get_member(root, key);
	int r = 0;

	for (int i = 0; list && !r && i < config_setting_length(list); i++)
		r = load_fact(config_setting_get_elem(list, (unsigned int)i), kind, table, reterr);
	return r;
}

static int load_root(const config_setting_t *root, struct facts_table *table,
		     struct facts_error *reterr)
{
	static const char *const keys[] = {"facts", "orders", "twins", "flights", NULL};
	const config_setting_t *orders = config_setting_get_member(root, "orders");
	int r = check_keys(root, keys, reterr);

	if (!r)
		r = load_list(root, "facts", FACTS_PAIRS, table, reterr);
	if (!r)
		r = load_list(root, "twins", FACTS_TWINS, table, reterr);
	if (!r)
		r = load_list(root, "flights", FACTS_FLIGHT, table, reterr);
	for (int i = 0; orders && !r && i < config_setting_length(orders); i++)
		r = load_order(config_setting_get_elem(orders, (unsigned int)i), table, reterr);
	return r;
}

int facts_table_load(const char *path, struct facts_table *ret_table, struct facts_error *reterr)
{
	FILE *file = fopen(path, "re");
	config_t config;
	int r;

	*reterr = (struct facts_error){0};
	if (!file) {
		r = -errno;
		(void)fail(reterr, NULL, "cannot open it: %s", strerror(errno));
		return r;
	}
	/* libconfig ends the process when a read fails, as it does for a folder. */
	if (fgetc(file) == EOF) {
		(void)fclose(file);
		return fail(reterr, NULL, "is empty or cannot be read");
	}
	rewind(file);
	memset(ret_table, 0, sizeof(*ret_table));
	config_init(&config);
	if (config_read(&config, file) == CONFIG_TRUE) {
		r = load_root(config_root_setting(&config), ret_table, reterr);
	} else {
		r = fail(reterr, NULL, "%s", config_error_text(&config));
		reterr->line = config_error_line(&config);
	}
	config_destroy(&config);
	(void)fclose(file);
	return r;
}
