/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "late.h"
#include "query.h"
#include "table.h"

struct options {
	const char *socket, *tenant, *minutes;
	bool json;
};

static const struct argp_option option_table[] = {
	{"json", 'j', NULL, 0, "print JSON", 0},
	{"minutes", 'm', "N", 0, "of so many minutes (default: 5)", 0},
	{"socket", 'S', "PATH", 0, "the arbiter's socket", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'j': options->json = true; return 0;
	case 'm': options->minutes = arg; return 0;
	case 'S': options->socket = arg; return 0;
	case ARGP_KEY_ARG:
		if (options->tenant)
			argp_usage(state);
		options->tenant = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options->tenant)
			argp_usage(state);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static int print(const struct options *options, const struct late *late)
{
	return options->json ? late_print_json(options->tenant, late, stdout)
			     : late_print(options->tenant, late, terminal_columns(), stdout);
}

int cmd_why(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse_option,
		.args_doc = "TENANT",
		.doc = "What delayed a latency-critical tenant's late requests: sums, then for "
		       "each of the newest whose best-effort work was in flight when it came, how "
		       "much of it in predicted time, and the longest launch unit of it."
		       "\vA request that came while the tenant was busy waited BEHIND earlier "
		       "ones, "
		       "and so for what they had met."};
	struct options options = {.minutes = ""};
	char why[QUERY_WHY_MAX];
	struct query query;
	struct late late;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return 2;
	r = query_open(&query, options.socket, why);
	if (r < 0)
		return cmd_fail("%s", why);
	r = query_why(&query, options.tenant, options.minutes, &late, why);
	query_close(&query);
	if (r < 0)
		return cmd_fail("%s", why);
	r = print(&options, &late);
	late_finish(&late);
	return r < 0 ? cmd_fail("cannot print: %s", strerror(-r)) : 0;
}
