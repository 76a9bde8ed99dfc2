/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "query.h"
#include "status_pairs.h"
#include "status_text.h"
#include "table.h"

struct options {
	const char *socket;
	bool json, watch, pairs;
	double seconds;
};

static const struct argp_option option_table[] = {
	{"json", 'j', NULL, 0, "print JSON", 0},
	{"pairs", 'p', NULL, 0, "print who slows whom side by side, and what follows", 0},
	{"watch", 'w', "SECONDS", OPTION_ARG_OPTIONAL, "print again and again (default: 1 s)", 0},
	{"socket", 'S', "PATH", 0, "the arbiter's socket", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;

	switch (key) {
	case 'j': options->json = true; return 0;
	case 'p': options->pairs = true; return 0;
	case 'S': options->socket = arg; return 0;
	case 'w':
		options->watch = true;
		options->seconds = arg ? strtod(arg, &end) : 1;
		if (arg &&
		    (*end || end == arg || !(options->seconds >= 0.1) || options->seconds > 3600))
			argp_error(state, "--watch=%s: seconds between 0.1 and 3600", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (options->watch)
			argp_error(state, "%s: the seconds follow at once: -w%s or --watch=%s", arg,
				   arg, arg);
		return ARGP_ERR_UNKNOWN;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static int print_status(const struct options *options, const struct query *query,
			const struct status *status)
{
	if (options->json)
		return status_print_json(query, status, stdout);
	return options->pairs ? pairs_print(status, terminal_columns(), stdout)
			      : status_print(query, status, terminal_columns(), stdout);
}

static int print_once(const struct options *options)
{
	char why[QUERY_WHY_MAX];
	struct query query;
	struct status status;
	int r = query_open(&query, options->socket, why);

	if (r < 0)
		return cmd_fail("%s", why);
	r = query_status(&query, &status, why);
	if (r < 0) {
		query_close(&query);
		return cmd_fail("%s", why);
	}
	if (options->watch && !options->json && isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	r = print_status(options, &query, &status);
	status_finish(&status);
	query_close(&query);
	if (r == 0 && (fflush(stdout) || ferror(stdout)))
		r = errno ? -errno : -EIO;
	return r < 0 ? cmd_fail("cannot print the status: %s", strerror(-r)) : 0;
}

int cmd_status(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse_option,
		.doc = "Print a line for each GPU and each tenant, GPU processes that are not "
		       "under "
		       "Sluice, and why anything is not enforced.\v"
		       "GPU USED / DUE: share of GPU time over the last second, and the share it "
		       "is "
		       "entitled to. BE AT ARRIVAL: p99 of the best-effort work in flight when a "
		       "request arrived. HELD: share of the last 10, 60 and 300 s in which a "
		       "launch or "
		       "allocation was held."};
	struct options options = {0};
	struct timespec pause;
	int r;

	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return 2;
	pause.tv_sec = (time_t)options.seconds;
	pause.tv_nsec = (long)((options.seconds - (double)pause.tv_sec) * 1e9);
	do {
		r = print_once(&options);
	} while (r == 0 && options.watch && !nanosleep(&pause, NULL));
	return r;
}
