/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_keys.h"

/* Opens and closes groups so that the key's own name can be printed next. */
struct printer {
	FILE *out;
	char group[64]; /* dotted, without the key's own name; empty: none open */
	const char *indent;
};

static void print_group(struct printer *printer, const char *path)
{
	const char *dot = strrchr(path, '.');
	int length = dot ? (int)(dot - path) : 0;

	if ((int)strlen(printer->group) == length && !strncmp(printer->group, path, (size_t)length))
		return;
	if (*printer->group)
		fprintf(printer->out, "%s};\n", printer->indent);
	snprintf(printer->group, sizeof(printer->group), "%.*s", length, path);
	if (length)
		fprintf(printer->out, "%s%s = {\n", printer->indent, printer->group);
}

static void print_keys(FILE *out, const struct config_key *keys, unsigned int count,
		       const void *base, unsigned int without, const char *indent)
{
	struct printer printer = {.out = out, .indent = indent};
	char text[2 * CONFIG_GLOB_MAX + 4];

	for (unsigned int i = 0; i < count; i++) {
		const char *dot = strrchr(keys[i].path, '.');

		if ((keys[i].flags & without) ||
		    !config_key_format(&keys[i], base, text, sizeof(text)))
			continue;
		print_group(&printer, keys[i].path);
		fprintf(out, "%s%s%s = %s;\n", indent, dot ? "\t" : "",
			dot ? dot + 1 : keys[i].path, text);
	}
	print_group(&printer, "");
}

void config_summary(const struct config *config, char *ret_text, size_t size)
{
	snprintf(ret_text, size, "%s: %u tenant%s, policy %s",
		 *config->file ? config->file : "no configuration file, all is default",
		 config->tenants - 1, config->tenants == 2 ? "" : "s", config_policy_name(config));
}

void config_print(const struct config *config, FILE *out)
{
	if (*config->file)
		fprintf(out, "# %s\n", config->file);
	else
		fputs("# no configuration file: all defaults\n", out);
	print_keys(out, config_arbiter_keys, config_arbiter_key_count, config, 0, "");
	fputs("default = {\n", out);
	print_keys(out, config_tenant_keys, config_tenant_key_count, &config->tenant[0],
		   KEY_NAMED_ONLY, "\t");
	fputs("};\ntenants = (\n", out);
	for (uint32_t i = 1; i < config->tenants; i++) {
		fputs("\t{\n", out);
		print_keys(out, config_tenant_keys, config_tenant_key_count, &config->tenant[i], 0,
			   "\t\t");
		fprintf(out, "\t}%s\n", i + 1 < config->tenants ? "," : "");
	}
	fputs(");\n", out);
}

static void print_manual_key(FILE *out, const struct config_key *key)
{
	static const char *const kinds[] = {
		[KEY_INTEGER] = "number", [KEY_PERCENT] = "share",
		[KEY_TIME] = "time",	  [KEY_SIZE] = "size",
		[KEY_CHOICE] = "choice",  [KEY_BOOLEAN] = "true or false",
		[KEY_TEXT] = "text",	  [KEY_USER] = "user",
		[KEY_GROUP] = "group",	  [KEY_TARGET] = "time or share",
		[KEY_LEVEL] = "level"};

	fprintf(out, ".TP\n.B %s\n(%s", key->path, kinds[key->type]);
	for (unsigned int i = 0; key->choices && key->choices[i]; i++)
		fprintf(out, "%s %s", i ? "," : ":", key->choices[i]);
	if (key->standard)
		fprintf(out, "; default %s", key->standard);
	if (key->flags & KEY_SETTABLE)
		fputs("; settable", out);
	fputs(") ", out);
	for (const char *c = key->help; *c; c++) {
		if (*c == '-')
			fputs("\\-", out);
		else if (*c != '`')
			fputc(*c, out);
	}
	fputc('\n', out);
}

void config_print_manual(FILE *out)
{
	fputs(".SS The arbiter\n", out);
	for (unsigned int i = 0; i < config_arbiter_key_count; i++)
		print_manual_key(out, &config_arbiter_keys[i]);
	fputs(".SS A tenant, and default\n", out);
	for (unsigned int i = 0; i < config_tenant_key_count; i++)
		print_manual_key(out, &config_tenant_keys[i]);
}
