/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_OPTIONS_H
#define DAEMON_OPTIONS_H

/* The command line of sluiced. */

#include <stdbool.h>

#include "daemon/arbiter.h"

enum options_mode { OPTIONS_RUN, OPTIONS_PRINT_CONFIG, OPTIONS_CHECK, OPTIONS_PRINT_KEYS };

struct command_line {
	struct options options;
	enum options_mode mode;
	const char *check; /* OPTIONS_CHECK: the file */
	bool config_given; /* a file that is not there is an error */
	bool log_prefix;
	char config_path[CONFIG_PATH_MAX], socket_path[CONFIG_PATH_MAX],
		state_path[CONFIG_PATH_MAX];
};

/* Ends the program on a mistake or for --help; strings point into *ret_line or argv. */
void options_parse(int argc, char **argv, struct command_line *ret_line);

#endif
