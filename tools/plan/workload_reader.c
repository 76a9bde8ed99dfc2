/* SPDX-License-Identifier: Apache-2.0 */
#include "workload_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "workload_impl.h"

int reader_fail(struct reader *reader, const config_setting_t *at, const char *format, ...)
{
	va_list arguments;

	reader->err->line = at ? (int)config_setting_source_line(at) : 0;
	va_start(arguments, format);
	(void)vsnprintf(reader->err->msg, sizeof(reader->err->msg), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

int reader_known_keys(struct reader *reader, const config_setting_t *group,
		      const char *const *known, const char *what)
{
	for (int i = 0; i < config_setting_length(group); i++) {
		config_setting_t *member = config_setting_get_elem(group, (unsigned int)i);
		const char *name = config_setting_name(member);
		const char *const *key = known;

		while (*key && strcmp(*key, name))
			key++;
		if (!*key)
			return reader_fail(reader, member, "%s has no key \"%s\"", what, name);
	}
	return 0;
}

/* ---- values ---- */

int reader_number(struct reader *reader, const config_setting_t *value, const char *what,
		  uint64_t least, uint64_t most, uint64_t *ret)
{
	int type = value ? config_setting_type(value) : CONFIG_TYPE_NONE;
	long long number;

	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return reader_fail(reader, value, "%s must be a whole number", what);
	number = config_setting_get_int64(value);
	if (number < 0 || (uint64_t)number < least || (uint64_t)number > most)
		return reader_fail(reader, value, "%s is out of range: %llu to %llu", what,
				   (unsigned long long)least, (unsigned long long)most);
	*ret = (uint64_t)number;
	return 0;
}

int reader_member(struct reader *reader, const config_setting_t *group, const char *key,
		  uint64_t least, uint64_t most, uint64_t *ret)
{
	const config_setting_t *member = config_setting_get_member(group, key);

	if (!member)
		return reader_fail(reader, group, "%s is missing", key);
	return reader_number(reader, member, key, least, most, ret);
}

int reader_optional(struct reader *reader, const config_setting_t *group, const char *key,
		    uint64_t least, uint64_t most, uint64_t *ret)
{
	return config_setting_get_member(group, key)
		       ? reader_member(reader, group, key, least, most, ret)
		       : 0;
}

int reader_class(struct reader *reader, const config_setting_t *value, uint8_t *ret)
{
	static const char *const names[] = {"unknown", "memory", "compute"};
	const char *text = value ? config_setting_get_string(value) : NULL;

	for (uint8_t i = 0; text && i < 3; i++)
		if (!strcmp(text, names[i])) {
			*ret = i;
			return 0;
		}
	return reader_fail(reader, value, "a class is \"compute\", \"memory\" or \"unknown\"");
}

int reader_text(struct reader *reader, const config_setting_t *group, const char *key, char *ret,
		size_t size)
{
	const config_setting_t *member = config_setting_get_member(group, key);
	const char *text = member ? config_setting_get_string(member) : NULL;

	if (!text || !*text || strlen(text) >= size)
		return reader_fail(reader, member ? member : group,
				   "%s must be a text of 1 to %zu characters in quotes", key,
				   size - 1);
	(void)snprintf(ret, size, "%s", text);
	return 0;
}

/* One value stands for all; else as many as there are levels, rising. */
int reader_rising(struct reader *reader, const config_setting_t *group, const char *key,
		  uint64_t most, uint64_t *ret, int levels)
{
	const config_setting_t *array = config_setting_get_member(group, key);
	int n = array ? config_setting_length(array) : 0;

	if (n != 1 && n != levels)
		return reader_fail(reader, array ? array : group, "%s must have 1 or %d values",
				   key, levels);
	for (int i = 0; i < levels; i++) {
		int r = reader_number(reader, config_setting_get_elem(array, n == 1 ? 0 : i), key,
				      1, most, &ret[i]);

		if (r)
			return r;
		if (i && ret[i] < ret[i - 1])
			return reader_fail(reader, array, "%s must rise", key);
	}
	return 0;
}

int reader_reserve(struct reader *reader, const config_setting_t *at, uint64_t count)
{
	struct workload *workload = reader->workload;
	struct workload_op *ops;

	if (count > WORKLOAD_MAX_OPS - workload->n_ops)
		return reader_fail(reader, at, "more than %u operations", WORKLOAD_MAX_OPS);
	if (workload->n_ops + count <= reader->room)
		return 0;
	reader->room = (uint32_t)(workload->n_ops + count) * 2;
	ops = realloc(workload->ops, reader->room * sizeof(*ops));
	if (!ops)
		return -ENOMEM;
	workload->ops = ops;
	return 0;
}
