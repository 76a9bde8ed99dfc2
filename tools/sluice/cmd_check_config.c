/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "paths.h"

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	char **file = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (*file)
			argp_usage(state);
		*file = arg;
		return 0;
	case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* The arbiter's own parser does the check, so that there is one reading of the file. */
int cmd_check_config(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_option,
		.args_doc = "FILE",
		.doc = "Check a configuration file as sluiced would read it. Exit status 0: it is "
		       "good; 1: the error on stderr names file and line."};
	char path[PATH_MAX], name[] = "sluice check-config", option[] = "--check";
	char *file = NULL;

	if (argp_parse(&argp, argc, argv, 0, NULL, &file))
		return 2;
	if (paths_sluiced(sizeof(path), path) < 0)
		return cmd_fail("sluiced" PATHS_MISSING);
	execv(path, (char *[]){name, option, file, NULL});
	return cmd_fail("cannot run %s: %s", path, strerror(errno));
}
