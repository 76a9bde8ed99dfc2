/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/arbiter.h"
#include "daemon/options.h"

static int say_error(const struct config_error *error)
{
	char text[CONFIG_ERROR_TEXT_MAX];

	config_describe(error, text, sizeof(text));
	fprintf(stderr, "%s\n", text);
	return 1;
}

static int check_config(const char *path, bool print)
{
	static struct config config;
	struct config_error error;
	char text[CONFIG_ERROR_TEXT_MAX];

	if (path && config_load(&config, path, 0, &error))
		return say_error(&error);
	if (!path)
		config_defaults(&config);
	for (uint32_t i = 0; !print && config_warning(&config, i, &error); i++) {
		config_describe(&error, text, sizeof(text));
		fprintf(stderr, "warning: %s\n", text);
	}
	config_summary(&config, text, sizeof(text));
	if (print)
		config_print(&config, stdout);
	else
		puts(text);
	return 0;
}

static int run(const struct options *options)
{
	struct arbiter *arbiter;
	int r = arbiter_create(options, &arbiter);

	if (r)
		return 1;
	r = arbiter_run(arbiter);
	arbiter_destroy(arbiter);
	if (r < 0)
		log_error("ended: %s", strerror(-r));
	return r < 0;
}

int main(int argc, char **argv)
{
	struct command_line line;

	options_parse(argc, argv, &line);
	log_init(line.log_prefix);
	switch (line.mode) {
	case OPTIONS_PRINT_KEYS: config_print_manual(stdout); return 0;
	case OPTIONS_PRINT_CONFIG: return check_config(line.options.config, true);
	case OPTIONS_CHECK: return check_config(line.check, false);
	case OPTIONS_RUN: break;
	}
	return run(&line.options);
}
