/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "query.h"

/* set, pause, resume, reload: one question to the arbiter, one answer. */

struct options {
	const char *socket;
	char *word[3];
	unsigned int words, wanted;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'S': options->socket = arg; return 0;
	case ARGP_KEY_ARG:
		if (options->words == options->wanted)
			argp_usage(state);
		options->word[options->words++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->words < options->wanted)
			argp_usage(state);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{"socket", 'S', "PATH", 0, "the arbiter's socket", 0},
	{0},
};

static int ask(const struct options *options, uint32_t type, const char *key, const char *value)
{
	char why[QUERY_WHY_MAX], remark[SLUICE_TEXT_MAX];
	struct query query;
	int r = query_open(&query, options->socket, why);

	if (r < 0)
		return cmd_fail("%s", why);
	r = query_ask(&query, type, options->word[0], key, value, remark, why);
	query_close(&query);
	if (r < 0)
		return cmd_fail("%s", why);
	if (key)
		printf("%s: %s=%s, %s\n", options->word[0], key, value, remark);
	else if (options->words)
		printf("%s: %s\n", options->word[0], remark);
	else
		puts(remark);
	return 0;
}

static int parse(int argc, char **argv, const char *args, const char *doc, struct options *options)
{
	const struct argp argp = {
		.options = option_table, .parser = parse_option, .args_doc = args, .doc = doc};

	return argp_parse(&argp, argc, argv, 0, NULL, options);
}

int cmd_set(int argc, char **argv)
{
	struct options options = {.wanted = 2};
	char *value;

	if (parse(argc, argv, "TENANT KEY=VALUE",
		  "Change one setting of a tenant, by its dotted name (gpu.weight, gpu.max, "
		  "gpu.min, memory.max, memory.min, target.p99, target.of). It lasts until the "
		  "next reload, "
		  "and status marks it.\vExample: sluice set train gpu.weight=50",
		  &options))
		return 2;
	value = strchr(options.word[1], '=');
	if (!value || value == options.word[1])
		return cmd_misused("'%s' is not KEY=VALUE, as in gpu.weight=50", options.word[1]);
	*value++ = 0;
	return ask(&options, SLUICE_MSG_SET, options.word[1], value);
}

int cmd_pause(int argc, char **argv)
{
	struct options options = {.wanted = 1};

	if (parse(argc, argv, "TENANT",
		  "Hold a tenant's launches until `sluice resume`. Its memory stays, and what it "
		  "has "
		  "launched completes.",
		  &options))
		return 2;
	return ask(&options, SLUICE_MSG_PAUSE, NULL, NULL);
}

int cmd_resume(int argc, char **argv)
{
	struct options options = {.wanted = 1};

	if (parse(argc, argv, "TENANT", "Let a paused tenant go on.", &options))
		return 2;
	return ask(&options, SLUICE_MSG_RESUME, NULL, NULL);
}

int cmd_reload(int argc, char **argv)
{
	struct options options = {.wanted = 0};

	if (parse(argc, argv, NULL,
		  "Have the arbiter read its configuration again. A bad file changes nothing; the "
		  "error names file and line.",
		  &options))
		return 2;
	return ask(&options, SLUICE_MSG_RELOAD, NULL, NULL);
}
