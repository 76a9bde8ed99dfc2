/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config.h"

#include <errno.h>
#include <libconfig.h>
#include <stdarg.h>

#include "daemon/config_keys.h"
#include "sluice/wire_io.h"

void config_fail(struct config_error *error, const char *file, unsigned int line,
		 const char *format, ...)
{
	va_list args;

	sluice_wire_text(error->file, sizeof(error->file), file);
	error->line = line;
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
}

void config_describe(const struct config_error *error, char *ret_text, size_t room)
{
	if (error->line)
		snprintf(ret_text, room, "%s:%u: %s", error->file, error->line, error->message);
	else
		snprintf(ret_text, room, "%s: %s", error->file, error->message);
}

/* Which table a group is read by, and where its values go. */
struct reader {
	const struct config_key *keys;
	unsigned int count;
	void *base;
	unsigned int *key_line; /* NULL: not kept */
	const char *file;
	const char *where; /* for messages: "default", "tenant chat" */
	bool named;	   /* a tenant of the list */
	bool is_root;	   /* where `default` and `tenants` have readers of their own */
	struct config_error *error;
};

static const char *setting_file(const struct reader *reader, const config_setting_t *setting)
{
	const char *file = config_setting_source_file(setting);

	return file ? file : reader->file;
}

static int read_fail(const struct reader *reader, const config_setting_t *setting, const char *path,
		     const char *why)
{
	config_fail(reader->error, setting_file(reader, setting),
		    config_setting_source_line(setting), "%s%s%s: %s", reader->where,
		    *reader->where && *path ? " " : "", path, why);
	return -EINVAL;
}

/* The value as text, where its kind in the file is one that the key takes. */
static bool setting_text(const struct config_key *key, const config_setting_t *setting,
			 char *ret_text, size_t room)
{
	bool number = key->type == KEY_INTEGER || key->type == KEY_USER || key->type == KEY_GROUP ||
		      key->type == KEY_LEVEL;
	const char *text;

	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
		snprintf(ret_text, room, "%d", config_setting_get_int(setting));
		return number;
	case CONFIG_TYPE_INT64:
		snprintf(ret_text, room, "%lld", config_setting_get_int64(setting));
		return number;
	case CONFIG_TYPE_FLOAT:
		snprintf(ret_text, room, "%.3f", config_setting_get_float(setting));
		return key->type == KEY_LEVEL;
	case CONFIG_TYPE_BOOL:
		snprintf(ret_text, room, "%s", config_setting_get_bool(setting) ? "true" : "false");
		return key->type == KEY_BOOLEAN;
	case CONFIG_TYPE_STRING:
		text = config_setting_get_string(setting);
		snprintf(ret_text, room, "%s", text);
		return strlen(text) < room && key->type != KEY_BOOLEAN && key->type != KEY_INTEGER;
	default: return false;
	}
}

static const char *kind_wanted(const struct config_key *key)
{
	switch (key->type) {
	case KEY_INTEGER: return "a number without quotes is wanted";
	case KEY_BOOLEAN: return "true or false is wanted, without quotes";
	case KEY_PERCENT: return "a share in quotes is wanted, like \"30 %\"";
	case KEY_TIME: return "a time in quotes is wanted, like \"20 ms\"";
	case KEY_LEVEL: return "a level is wanted, like \"auto\" or 1.5";
	case KEY_TARGET: return "a time in quotes is wanted, like \"20 ms\" or \"+10 %\"";
	case KEY_SIZE: return "a size in quotes is wanted, like \"8 GiB\"";
	case KEY_USER:
	case KEY_GROUP: return "a name in quotes or a number is wanted";
	default: return "a text in quotes is wanted";
	}
}

static int read_value(const struct reader *reader, const struct config_key *key,
		      const config_setting_t *setting)
{
	char text[CONFIG_PATH_MAX], why[SLUICE_TEXT_MAX];

	if ((key->flags & KEY_NAMED_ONLY) && !reader->named)
		return read_fail(reader, setting, key->path,
				 "only a tenant of the list `tenants` can have it; move it there");
	if (!setting_text(key, setting, text, sizeof(text)))
		return read_fail(reader, setting, key->path, kind_wanted(key));
	if (config_key_parse(key, reader->base, text, why, sizeof(why)))
		return read_fail(reader, setting, key->path, why);
	if (reader->key_line)
		reader->key_line[key - reader->keys] = config_setting_source_line(setting);
	return 0;
}

/* Does any key lie below `path`? */
static bool is_group(const struct reader *reader, const char *path)
{
	size_t length = strlen(path);

	for (unsigned int i = 0; i < reader->count; i++) {
		if (!strncmp(reader->keys[i].path, path, length) &&
		    reader->keys[i].path[length] == '.')
			return true;
	}
	return false;
}

static int read_unknown(const struct reader *reader, const config_setting_t *setting,
			const char *path)
{
	const struct config_key *near = config_nearest_key(reader->keys, reader->count, path);
	char why[160];

	if (!strcmp(path, "memory.swap"))
		return read_fail(reader, setting, path,
				 "swap is not part of this version; remove the key");
	if (near)
		snprintf(why, sizeof(why), "unknown key; did you mean %s?", near->path);
	else
		snprintf(why, sizeof(why), "unknown key; see sluice.conf(5) for those there are");
	return read_fail(reader, setting, path, why);
}

static int read_group(const struct reader *reader, const config_setting_t *group,
		      const char *prefix)
{
	int count = config_setting_length(group), r = 0;

	for (int i = 0; !r && i < count; i++) {
		const config_setting_t *setting = config_setting_get_elem(group, (unsigned int)i);
		const struct config_key *key;
		char path[CONFIG_PATH_MAX];

		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "",
			 config_setting_name(setting));
		if (reader->is_root && (!strcmp(path, "default") || !strcmp(path, "tenants")))
			continue;
		key = config_find_key(reader->keys, reader->count, path);
		if (key)
			r = read_value(reader, key, setting);
		else if (!is_group(reader, path))
			r = read_unknown(reader, setting, path);
		else if (!config_setting_is_group(setting))
			r = read_fail(reader, setting, path, "a group { ... } is wanted");
		else
			r = read_group(reader, setting, path);
	}
	return r;
}

static int read_tenant(struct config *config, struct config_tenant *tenant,
		       const config_setting_t *group, const char *where, struct config_error *error)
{
	struct reader reader = {.keys = config_tenant_keys,
				.count = config_tenant_key_count,
				.base = tenant,
				.key_line = tenant->key_line,
				.file = config->file,
				.where = where,
				.named = tenant != &config->tenant[0],
				.error = error};

	tenant->line = config_setting_source_line(group);
	if (!config_setting_is_group(group))
		return read_fail(&reader, group, "", "a group { ... } is wanted");
	return read_group(&reader, group, "");
}

/* By its name, where it says one; else by its place. */
static void say_where(const config_setting_t *group, int index, char *ret_where, size_t room)
{
	const config_setting_t *name =
		config_setting_is_group(group) ? config_setting_get_member(group, "name") : NULL;
	const char *text = name ? config_setting_get_string(name) : NULL;
	char clean[SLUICE_NAME_MAX] = "";

	if (text)
		sluice_wire_text(clean, sizeof(clean), text);
	if (*clean)
		snprintf(ret_where, room, "tenant %s", clean);
	else
		snprintf(ret_where, room, "tenants[%d]", index);
}

static int read_tenants(struct config *config, const config_setting_t *list,
			struct config_error *error)
{
	int count = config_setting_length(list), r = 0;

	if (!config_setting_is_list(list)) {
		config_fail(error, config->file, config_setting_source_line(list),
			    "tenants: a list ( { ... }, { ... } ) is wanted");
		return -EINVAL;
	}
	if (count > CONFIG_MAX_TENANTS) {
		config_fail(error, config->file, config_setting_source_line(list),
			    "tenants: %d of them, at most %d are possible", count,
			    CONFIG_MAX_TENANTS);
		return -EINVAL;
	}
	for (int i = 0; !r && i < count; i++) {
		struct config_tenant *tenant = &config->tenant[config->tenants++];
		const config_setting_t *group = config_setting_get_elem(list, (unsigned int)i);
		char where[SLUICE_NAME_MAX + 16];

		say_where(group, i, where, sizeof(where));
		config_key_defaults(config_tenant_keys, config_tenant_key_count, tenant);
		r = read_tenant(config, tenant, group, where, error);
	}
	return r;
}

/* `default` and `tenants` have readers of their own; the rest is the arbiter's. */
static int read_root(struct config *config, const config_setting_t *root,
		     struct config_error *error)
{
	struct reader reader = {.keys = config_arbiter_keys,
				.count = config_arbiter_key_count,
				.base = config,
				.file = config->file,
				.where = "",
				.is_root = true,
				.error = error};
	const config_setting_t *standard = config_setting_get_member(root, "default");
	const config_setting_t *tenants = config_setting_get_member(root, "tenants");
	int r = read_group(&reader, root, "");

	if (!r && standard)
		r = read_tenant(config, &config->tenant[0], standard, "default", error);
	if (!r && tenants)
		r = read_tenants(config, tenants, error);
	return r;
}

void config_defaults(struct config *config)
{
	memset(config, 0, sizeof(*config));
	config_key_defaults(config_arbiter_keys, config_arbiter_key_count, config);
	config_key_defaults(config_tenant_keys, config_tenant_key_count, &config->tenant[0]);
	sluice_wire_text(config->tenant[0].name, SLUICE_NAME_MAX, "default");
	config->tenants = 1;
}

/* The whole file: where a read fails, as on a folder, the library's scanner ends the process. */
static int read_text(const char *path, char **ret_text)
{
	FILE *in = fopen(path, "re");
	size_t size = 0;
	ssize_t length;
	int r = 0;

	*ret_text = NULL;
	if (!in)
		return -errno;
	errno = 0;
	length = getdelim(ret_text, &size, 0, in);
	if (ferror(in) || !*ret_text)
		r = errno ? -errno : -EIO;
	else if (length < 0)
		**ret_text = 0; /* an empty file */
	else if (!(*ret_text)[length - 1])
		r = -EILSEQ;
	fclose(in);
	return r;
}

/* The line itself, without the blanks around it; empty where there is none of that number. */
static void find_line(const char *text, int number, char *ret_line, size_t room)
{
	size_t length;

	for (; number > 1 && text; number--) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	*ret_line = 0;
	if (!text)
		return;
	text += strspn(text, " \t");
	length = strcspn(text, "\r\n");
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	snprintf(ret_line, room, "%.*s", (int)length, text);
}

/* The file that a mistake is in, and what is wrong with its syntax. */
static void say_syntax(const struct config *config, const config_t *file, const char *text,
		       struct config_error *error)
{
	const char *where = config_error_file(file), *what = config_error_text(file);
	unsigned int number = (unsigned int)config_error_line(file);
	char line[120] = "";

	/* Of an included file the text is not at hand. */
	if (!where || !strcmp(where, config->file))
		find_line(text, config_error_line(file), line, sizeof(line));
	if (!strcmp(what, "syntax error"))
		config_fail(error, where ? where : config->file, number,
			    "%s here or just before; write name = value; and name = { ... }; with "
			    "no dot in a name and no comma at the end of a list",
			    what);
	else
		config_fail(error, where ? where : config->file, number, "%s%s%s%s", what,
			    strcmp(what, "duplicate setting name")
				    ? ""
				    : ": one group has a name twice; remove or rename one",
			    *line ? ": " : "", line);
}

static int read_file(struct config *config, config_t *file, struct config_error *error)
{
	char *text;
	int r = read_text(config->file, &text);

	if (r < 0) {
		config_fail(error, config->file, 0, "cannot be read: %s",
			    r == -EILSEQ ? "it is no text, there is a zero byte in it"
					 : strerror(-r));
		free(text);
		return -EINVAL;
	}
	if (config_read_string(file, text) == CONFIG_TRUE) {
		r = read_root(config, config_root_setting(file), error);
	} else {
		say_syntax(config, file, text, error);
		r = -EINVAL;
	}
	free(text);
	return r;
}

int config_load(struct config *config, const char *path, uint64_t device_bytes,
		struct config_error *reterr)
{
	config_t file;
	int r;

	config_defaults(config);
	if (strlen(path) >= sizeof(config->file)) {
		config_fail(reterr, path, 0, "the path is longer than %zu characters",
			    sizeof(config->file) - 1);
		return -EINVAL;
	}
	sluice_wire_text(config->file, sizeof(config->file), path);
	config_init(&file);
	r = read_file(config, &file, reterr);
	config_destroy(&file);
	return r ? r : config_check(config, device_bytes, reterr);
}

int config_set(struct config *config, const char *tenant, const char *key, const char *value,
	       uint64_t device_bytes, struct config_error *reterr)
{
	const struct config_key *found =
		config_find_key(config_tenant_keys, config_tenant_key_count, key);
	struct config_tenant *whose = (struct config_tenant *)config_find(config, tenant);
	struct config_tenant before;
	char why[SLUICE_TEXT_MAX];
	int r;

	if (!whose) {
		config_fail(reterr, "", 0, "there is no tenant %s; `sluice status` lists them",
			    tenant);
		return -EINVAL;
	}
	if (!found || !(found->flags & KEY_SETTABLE)) {
		const struct config_key *near =
			config_nearest_key(config_tenant_keys, config_tenant_key_count, key);

		if (!found && near)
			config_fail(reterr, "", 0, "%s: unknown key; did you mean %s?", key,
				    near->path);
		else
			config_fail(reterr, "", 0, "%s: %s", key,
				    found ? "only the file can change it; edit it and reload"
					  : "unknown key; see sluice.conf(5)");
		return -EINVAL;
	}
	if ((found->flags & KEY_NAMED_ONLY) && whose == &config->tenant[0]) {
		config_fail(reterr, "", 0, "%s: the default tenant has none", key);
		return -EINVAL;
	}
	before = *whose;
	if (config_key_parse(found, whose, value, why, sizeof(why))) {
		config_fail(reterr, "", 0, "%s: %s", key, why);
		*whose = before;
		return -EINVAL;
	}
	whose->changed = true;
	r = config_check(config, device_bytes, reterr);
	if (r)
		*whose = before;
	return r;
}
