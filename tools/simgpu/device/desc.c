/* SPDX-License-Identifier: Apache-2.0 */
#include "device/desc.h"

#include <errno.h>
#include <libconfig.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "device/desc_quantity.h"

enum { FIELD_COUNT, FIELD_QUANTITY, FIELD_BOOL, FIELD_NAME, FIELD_VERSION, FIELD_IGNORED };

struct field {
	const char *name;
	int type;
	enum quantity_kind quantity;
	uint32_t offset, width;
	uint64_t min, max;
	bool optional;
};

#define MEMBER(member) offsetof(struct model_desc, member), sizeof(((struct model_desc *)0)->member)
#define COUNT(key, member, low, high) \
	{ \
		key, FIELD_COUNT, 0, MEMBER(member), low, high, false \
	}
#define QUANTITY(key, kind, member, low, high) \
	{ \
		key, FIELD_QUANTITY, QUANTITY_##kind, MEMBER(member), low, high, false \
	}

#define EFFECT(key, kind, member, high) \
	{ \
		key, FIELD_QUANTITY, QUANTITY_##kind, MEMBER(member), 0, high, true \
	}
#define SATURATION(key, class) \
	{ \
		key, FIELD_COUNT, 0, MEMBER(saturation_sms[MODEL_CLASS_##class]), 1, 100000, true \
	}

#define SECOND_NS 1000000000ull
#define GIB (1ull << 30)

/* Every key there is. Bounds are far outside of what has been built, and inside of what the model
 * can count. */
static const struct field fields[] = {
	{"name", FIELD_NAME, 0, MEMBER(name), 0, 0, false},
	{"compute_capability", FIELD_VERSION, 0, MEMBER(cc_major), 5, 99, false},
	COUNT("sms", sms, 1, 256),
	COUNT("blocks_per_sm", blocks_per_sm, 1, 64),
	COUNT("threads_per_sm", threads_per_sm, 1024, 4096),
	COUNT("registers_per_sm", regs_per_sm, 32768, 1048576),
	QUANTITY("shared_per_sm", BYTES, smem_per_sm_bytes, 49152, 1048576),
	QUANTITY("shared_per_block", BYTES, smem_per_block_bytes, 49152, 1048576),
	COUNT("copy_engines", copy_engines, 1, 8),
	{"mps", FIELD_BOOL, 0, MEMBER(mps), 0, 0, true},
	QUANTITY("clock", KHZ, clock_khz, 100000, 10000000),
	QUANTITY("memory", BYTES, memory_bytes, 64ull << 20, 4096 * GIB),
	QUANTITY("context", BYTES, context_bytes, 0, 64 * GIB),
	QUANTITY("memory_bandwidth", BYTES_PER_US, memory_bytes_per_us, 1000, 100000000),
	QUANTITY("pinned_bandwidth", BYTES_PER_US, pinned_bytes_per_us, 100, 100000000),
	QUANTITY("pageable_bandwidth", BYTES_PER_US, pageable_bytes_per_us, 100, 100000000),
	QUANTITY("slice", NS, slice_ns, 10000, 10 * SECOND_NS),
	QUANTITY("switch", NS, switch_ns, 0, SECOND_NS),
	QUANTITY("idle_hold", NS, idle_hold_ns, 0, SECOND_NS),
	QUANTITY("launch_latency", NS, launch_latency_ns, 0, SECOND_NS),
	QUANTITY("kernel_gap", NS, kernel_gap_ns, 0, SECOND_NS),
	QUANTITY("copy_latency", NS, copy_latency_ns, 0, SECOND_NS),
	/* Effects of sharing: none where they are not said. */
	SATURATION("saturation_memory", MEMORY),
	SATURATION("saturation_unknown", UNKNOWN),
	SATURATION("saturation_compute", COMPUTE),
	EFFECT("corun_slowdown", PERMILLE, corun_permille, 10000),
	EFFECT("stagger", PERMILLE, stagger_permille, 500),
	EFFECT("merge", NS, merge_ns, SECOND_NS),
	EFFECT("coalesce", NS, coalesce_ns, SECOND_NS),
	{"age_from_ready", FIELD_BOOL, 0, MEMBER(age_from_ready), 0, 0, true},
	{"costs", FIELD_IGNORED, 0, 0, 0, 0, 0, true},
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

__attribute__((format(printf, 3, 4))) static int fail(struct desc_error *ret_error, int line,
						      const char *format, ...)
{
	va_list arguments;

	ret_error->line = line;
	va_start(arguments, format);
	(void)vsnprintf(ret_error->text, sizeof(ret_error->text), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static void store(struct model_desc *desc, const struct field *field, uint64_t value)
{
	char *at = (char *)desc + field->offset;
	uint32_t narrow = (uint32_t)value;

	if (field->width == sizeof(narrow))
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &value, sizeof(value));
}

static int check_range(const struct field *field, int line, uint64_t value,
		       struct desc_error *ret_error)
{
	char low[32], high[32];

	if (value >= field->min && value <= field->max)
		return 0;
	if (field->type == FIELD_QUANTITY) {
		quantity_print(field->quantity, field->min, low, sizeof(low));
		quantity_print(field->quantity, field->max, high, sizeof(high));
	} else {
		(void)snprintf(low, sizeof(low), "%llu", (unsigned long long)field->min);
		(void)snprintf(high, sizeof(high), "%llu", (unsigned long long)field->max);
	}
	return fail(ret_error, line, "%s is out of range: %s to %s", field->name, low, high);
}

/* ---- one kind of value each ---- */

static int load_count(const struct field *field, const config_setting_t *setting,
		      struct model_desc *desc, struct desc_error *ret_error)
{
	int line = (int)config_setting_source_line(setting), type = config_setting_type(setting);
	long long value;

	if (type != CONFIG_TYPE_INT && type != CONFIG_TYPE_INT64)
		return fail(ret_error, line, "%s must be a whole number", field->name);
	value = config_setting_get_int64(setting);
	store(desc, field, (uint64_t)value);
	return check_range(field, line, value < 0 ? MODEL_NEVER : (uint64_t)value, ret_error);
}

static int load_quantity(const struct field *field, const config_setting_t *setting,
			 struct model_desc *desc, struct desc_error *ret_error)
{
	int line = (int)config_setting_source_line(setting);
	const char *text = config_setting_get_string(setting);
	uint64_t value;

	if (!text || quantity_parse(field->quantity, text, &value))
		return fail(ret_error, line, "%s must be a number and a unit in quotes: %s",
			    field->name, quantity_units(field->quantity));
	store(desc, field, value);
	return check_range(field, line, value, ret_error);
}

static int load_name(const struct field *field, const config_setting_t *setting,
		     struct model_desc *desc, struct desc_error *ret_error)
{
	const char *text = config_setting_get_string(setting);

	if (!text || !*text || strlen(text) >= sizeof(desc->name))
		return fail(ret_error, (int)config_setting_source_line(setting),
			    "%s must be a text of 1 to %zu characters in quotes", field->name,
			    sizeof(desc->name) - 1);
	memcpy(desc->name, text, strlen(text) + 1);
	return 0;
}

static int load_version(const struct field *field, const config_setting_t *setting,
			struct model_desc *desc, struct desc_error *ret_error)
{
	int line = (int)config_setting_source_line(setting), length = 0;
	const char *text = config_setting_get_string(setting);

	if (!text || strspn(text, "0123456789.") != strlen(text) ||
	    sscanf(text, "%2u.%1u%n", &desc->cc_major, &desc->cc_minor, &length) != 2 ||
	    text[length])
		return fail(ret_error, line, "%s must be a text as \"9.0\"", field->name);
	return check_range(field, line, desc->cc_major, ret_error);
}

static int load_bool(const struct field *field, const config_setting_t *setting,
		     struct model_desc *desc, struct desc_error *ret_error)
{
	if (config_setting_type(setting) != CONFIG_TYPE_BOOL)
		return fail(ret_error, (int)config_setting_source_line(setting),
			    "%s must be true or false", field->name);
	store(desc, field, config_setting_get_bool(setting) != 0);
	return 0;
}

static int load_field(const struct field *field, const config_setting_t *setting,
		      struct model_desc *desc, struct desc_error *ret_error)
{
	switch (field->type) {
	case FIELD_COUNT: return load_count(field, setting, desc, ret_error);
	case FIELD_QUANTITY: return load_quantity(field, setting, desc, ret_error);
	case FIELD_BOOL: return load_bool(field, setting, desc, ret_error);
	case FIELD_NAME: return load_name(field, setting, desc, ret_error);
	case FIELD_VERSION: return load_version(field, setting, desc, ret_error);
	default: return 0; /* the cost table's */
	}
}

/* ---- the file as a whole ---- */

static const struct field *find_field(const char *name)
{
	for (size_t i = 0; i < FIELDS; i++)
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	return NULL;
}

static int line_of(const config_setting_t *root, const char *name)
{
	const config_setting_t *setting = config_setting_get_member(root, name);

	return setting ? (int)config_setting_source_line(setting) : 0;
}

static bool is_passed(const char *const *passed, const char *name)
{
	for (; passed && *passed; passed++) {
		if (!strcmp(*passed, name))
			return true;
	}
	return false;
}

static int load_members(const config_setting_t *root, const char *const *passed,
			struct model_desc *desc, struct desc_error *ret_error)
{
	for (int i = 0; i < config_setting_length(root); i++) {
		const config_setting_t *setting = config_setting_get_elem(root, (unsigned int)i);
		const char *name = config_setting_name(setting);
		const struct field *field = find_field(name);
		int error;

		if (is_passed(passed, name))
			continue;
		if (!field)
			return fail(ret_error, (int)config_setting_source_line(setting),
				    "unknown key %s", name);
		error = load_field(field, setting, desc, ret_error);
		if (error)
			return error;
	}
	return 0;
}

int desc_load_group(const config_setting_t *group, const char *const *passed, bool partial,
		    struct model_desc *desc, struct desc_error *ret_error)
{
	int error = load_members(group, passed, desc, ret_error);

	if (error)
		return error;
	for (size_t i = 0; !partial && i < FIELDS; i++)
		if (!fields[i].optional && !config_setting_get_member(group, fields[i].name))
			return fail(ret_error, 0, "%s is missing", fields[i].name);
	if (desc->smem_per_block_bytes > desc->smem_per_sm_bytes)
		return fail(ret_error, line_of(group, "shared_per_block"),
			    "shared_per_block is more than shared_per_sm");
	if (desc->context_bytes >= desc->memory_bytes)
		return fail(ret_error, line_of(group, "context"),
			    "context is not less than memory: no process could start");
	return 0;
}

static int load_file(FILE *file, enum desc_mps mps, struct model_desc *ret_desc,
		     struct desc_error *ret_error)
{
	struct model_desc desc;
	config_t config;
	int error;

	memset(&desc, 0, sizeof(desc));
	config_init(&config);
	if (config_read(&config, file) != CONFIG_TRUE)
		error = fail(ret_error, config_error_line(&config), "%s",
			     config_error_text(&config));
	else
		error = desc_load_group(config_root_setting(&config), NULL, false, &desc,
					ret_error);
	config_destroy(&config);
	if (error)
		return error;
	if (mps != DESC_MPS_FILE)
		desc.mps = mps == DESC_MPS_ON;
	*ret_desc = desc;
	return 0;
}

int desc_load(const char *path, enum desc_mps mps, struct model_desc *ret_desc,
	      struct desc_error *ret_error)
{
	FILE *file = fopen(path, "re");
	struct stat status;
	int error;

	if (!file) {
		error = -errno;
		(void)fail(ret_error, 0, "cannot open it: %s", strerror(errno));
		return error;
	}
	/* libconfig ends the process when a read fails, as it does for a folder. */
	if (fstat(fileno(file), &status) || S_ISDIR(status.st_mode)) {
		(void)fail(ret_error, 0, "is a folder");
		error = -EISDIR;
	} else {
		error = load_file(file, mps, ret_desc, ret_error);
	}
	(void)fclose(file);
	return error;
}
