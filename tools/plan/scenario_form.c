/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/scenario_form.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/desc_quantity.h"

int form_fail(struct form *form, const config_setting_t *at, const char *format, ...)
{
	va_list arguments;

	form->err->line = at ? (int)config_setting_source_line(at) : 0;
	va_start(arguments, format);
	(void)vsnprintf(form->err->msg, sizeof(form->err->msg), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* ---- one value ---- */

static bool is_number(const config_setting_t *setting)
{
	int type = config_setting_type(setting);

	return type == CONFIG_TYPE_INT || type == CONFIG_TYPE_INT64;
}

/* Signed thousandths, as two's complement; in quotes too, as sluice.conf has them. */
static const char *parse_milli(const config_setting_t *setting, uint64_t *ret_value)
{
	const char *text = config_setting_get_string(setting);
	double value = is_number(setting) ? (double)config_setting_get_int64(setting)
					  : config_setting_get_float(setting);
	char *end;

	if (text && !strcmp(text, "auto")) {
		*ret_value = PLAN_OPEN;
		return NULL;
	}
	if (text)
		value = strtod(text, &end);
	if (text ? end == text || *end || isnan(value)
		 : !is_number(setting) && config_setting_type(setting) != CONFIG_TYPE_FLOAT)
		return "a number, as 1.5";
	if (value < -1e6 || value > 1e6)
		value = 1e6;
	*ret_value = (uint64_t)(int64_t)(value * 1000 + (value < 0 ? -0.5 : 0.5));
	return NULL;
}

static bool is_within(enum plan_unit unit, uint64_t value, uint64_t least, uint64_t most)
{
	if (unit == PLAN_MILLI)
		return (int64_t)value >= (int64_t)least && (int64_t)value <= (int64_t)most;
	return value >= least && value <= most;
}

static void say_range(enum plan_unit unit, uint64_t least, uint64_t most, size_t size, char *ret)
{
	char low[32], high[32];

	if (unit == PLAN_NS) {
		quantity_print(QUANTITY_NS, least, low, sizeof(low));
		quantity_print(QUANTITY_NS, most, high, sizeof(high));
	} else if (unit == PLAN_PERMILLE) {
		quantity_print(QUANTITY_PERMILLE, least, low, sizeof(low));
		quantity_print(QUANTITY_PERMILLE, most, high, sizeof(high));
	} else if (unit == PLAN_MILLI) {
		(void)snprintf(low, sizeof(low), "%g", (double)(int64_t)least / 1000);
		(void)snprintf(high, sizeof(high), "%g", (double)(int64_t)most / 1000);
	} else {
		(void)snprintf(low, sizeof(low), "%llu", (unsigned long long)least);
		(void)snprintf(high, sizeof(high), "%llu", (unsigned long long)most);
	}
	(void)snprintf(ret, size, "%s to %s", low, high);
}

/* The number itself; what it must be, where it is none. */
static const char *parse_value(const config_setting_t *setting, enum plan_unit unit,
			       uint64_t *ret_value)
{
	const char *text = config_setting_get_string(setting);
	long long number;

	switch (unit) {
	case PLAN_FLAG:
		*ret_value = config_setting_get_bool(setting) != 0;
		return config_setting_type(setting) == CONFIG_TYPE_BOOL ? NULL : "true or false";
	case PLAN_COUNT:
		number = config_setting_get_int64(setting);
		*ret_value = (uint64_t)number;
		return is_number(setting) && number >= 0 ? NULL : "a whole number";
	case PLAN_MILLI: return parse_milli(setting, ret_value);
	case PLAN_NS:
		return text && !quantity_parse(QUANTITY_NS, text, ret_value)
			       ? NULL
			       : "a time in quotes, as \"300 us\"";
	default:
		return text && !quantity_parse(QUANTITY_PERMILLE, text, ret_value)
			       ? NULL
			       : "a percentage in quotes, as \"2.5 %\"";
	}
}

int form_value(struct form *form, const config_setting_t *setting, const char *name,
	       enum plan_unit unit, uint64_t least, uint64_t most, uint64_t *ret_value)
{
	const char *must = parse_value(setting, unit, ret_value);
	char range[80];

	if (must)
		return form_fail(form, setting, "%s must be %s", name, must);
	if (is_within(unit, *ret_value, least, most))
		return 0;
	say_range(unit, least, most, sizeof(range), range);
	return form_fail(form, setting, "%s is out of range: %s", name, range);
}

int form_text(struct form *form, const config_setting_t *group, const char *name, bool must,
	      const char **ret_text)
{
	const config_setting_t *setting = config_setting_get_member(group, name);

	*ret_text = NULL;
	if (!setting && must)
		return form_fail(form, group, "%s is missing", name);
	if (!setting)
		return 0;
	*ret_text = config_setting_get_string(setting);
	if (!*ret_text || !**ret_text)
		return form_fail(form, setting, "%s must be a text in quotes", name);
	return 0;
}

int form_path(struct form *form, const config_setting_t *setting, size_t size, char *ret_path)
{
	const char *text = config_setting_get_string(setting);
	int length;

	if (!text || !*text)
		return form_fail(form, setting, "%s must name a file, in quotes",
				 config_setting_name(setting));
	length = *text == '/' ? snprintf(ret_path, size, "%s", text)
			      : snprintf(ret_path, size, "%s/%s", form->folder, text);
	if (length < 0 || (size_t)length >= size)
		return form_fail(form, setting, "%s is too long a path",
				 config_setting_name(setting));
	return 0;
}

/* ---- groups ---- */

int form_group(struct form *form, const config_setting_t *parent, const char *name,
	       config_setting_t **ret_group)
{
	*ret_group = config_setting_get_member(parent, name);
	if (*ret_group && !config_setting_is_group(*ret_group))
		return form_fail(form, *ret_group, "%s must be a group: { ... }", name);
	return 0;
}

static const struct form_key *find_key(const struct form_key *keys, const char *name)
{
	for (; keys->name; keys++) {
		if (!strcmp(keys->name, name))
			return keys;
	}
	return NULL;
}

static int no_such_key(struct form *form, const config_setting_t *setting, const char *what,
		       const struct form_key *keys)
{
	char all[256];
	size_t at = 0;

	*all = 0;
	for (; keys->name && at < sizeof(all); keys++)
		at += (size_t)snprintf(all + at, sizeof(all) - at, "%s%s", at ? ", " : "",
				       keys->name);
	return form_fail(form, setting, "%s has no key %s; there are %s", what,
			 config_setting_name(setting), all);
}

static int read_key(struct form *form, const config_setting_t *setting, const struct form_key *key,
		    void *into)
{
	static const enum plan_unit unit[] = {
		[FORM_COUNT] = PLAN_COUNT, [FORM_NS] = PLAN_NS, [FORM_PERMILLE] = PLAN_PERMILLE};
	char *at = (char *)into + key->offset;
	uint64_t value;
	uint32_t narrow;
	int r;

	if (key->kind == FORM_GROUP)
		return 0;
	r = form_value(form, setting, key->name, unit[key->kind], key->least, key->most, &value);
	if (r)
		return r;
	narrow = (uint32_t)value;
	if (key->kind == FORM_NS)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
	return 0;
}

int form_read(struct form *form, const config_setting_t *group, const char *what,
	      const struct form_key *keys, void *into)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned int)i);
		const struct form_key *key = find_key(keys, config_setting_name(setting));
		int r = key ? read_key(form, setting, key, into)
			    : no_such_key(form, setting, what, keys);

		if (r)
			return r;
	}
	return 0;
}
