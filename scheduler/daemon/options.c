/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include <argp.h>
#include <unistd.h>

#define STATE_SYSTEM "/var/lib/sluice"
#define VERSION_LINE "sluiced (Sluice) 0.1, protocol 1"

enum {
	KEY_PRINT_CONFIG = 0x100,
	KEY_PRINT_KEYS,
	KEY_CHECK,
	KEY_LOG_PREFIX,
	KEY_FOREGROUND,
	KEY_VERSION
};

static const struct argp_option options[] = {
	{"config", 'c', "FILE", 0, "Configuration (default " CONFIG_SYSTEM_FILE ", if it is there)",
	 0},
	{"user", 'u', NULL, 0,
	 "Serve this user alone, without root: socket under XDG_RUNTIME_DIR, configuration "
	 "sluice/sluice.conf under XDG_CONFIG_HOME",
	 0},
	{"socket", 'S', "PATH", 0, "Listen there (default " SLUICE_SOCKET_SYSTEM ")", 0},
	{"state", 's', "FOLDER", 0,
	 "Keep there what is to outlive the arbiter (default " STATE_SYSTEM ", with --user "
	 "sluice under XDG_STATE_HOME, with --socket PATH.state)",
	 0},
	{"foreground", KEY_FOREGROUND, NULL, 0, "Stay in the foreground (it always does)", 0},
	{"print-config", KEY_PRINT_CONFIG, NULL, 0,
	 "Print all settings, defaults included, and end", 0},
	{"check", KEY_CHECK, "FILE", 0, "Check a configuration and end", 0},
	{"syslog-prefix", KEY_LOG_PREFIX, NULL, 0, "Prefix log lines with <level>, for journald",
	 0},
	{"print-keys", KEY_PRINT_KEYS, NULL, OPTION_HIDDEN, NULL, 0},
	{"version", KEY_VERSION, NULL, 0, "Print the version and end", 0},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;

	switch (key) {
	case 'c':
		line->options.config = arg;
		line->config_given = true;
		return 0;
	case 'u': line->options.user = true; return 0;
	case 'S': line->options.socket = arg; return 0;
	case 's': line->options.state = arg; return 0;
	case KEY_FOREGROUND: return 0;
	case KEY_PRINT_CONFIG: line->mode = OPTIONS_PRINT_CONFIG; return 0;
	case KEY_PRINT_KEYS: line->mode = OPTIONS_PRINT_KEYS; return 0;
	case KEY_CHECK:
		line->mode = OPTIONS_CHECK;
		line->check = arg;
		return 0;
	case KEY_LOG_PREFIX: line->log_prefix = true; return 0;
	case KEY_VERSION: puts(VERSION_LINE); exit(0);
	case ARGP_KEY_ARG: argp_error(state, "unexpected argument %s", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static void set_user_socket(struct command_line *line)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	if (line->options.socket)
		return;
	if (!runtime || !*runtime) {
		fprintf(stderr,
			"sluiced: XDG_RUNTIME_DIR is not set, so this is no login session; say "
			"where to listen with --socket PATH, and tell the others with "
			"SLUICE_SOCKET=PATH or -S PATH%s\n",
			geteuid() ? "" : "; or serve everybody, without --user");
		exit(2);
	}
	snprintf(line->socket_path, sizeof(line->socket_path), "%s%s", runtime, SLUICE_SOCKET_USER);
	line->options.socket = line->socket_path;
}

static void set_user_config(struct command_line *line)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");

	if (line->options.config)
		return;
	if (config && *config)
		snprintf(line->config_path, sizeof(line->config_path), "%s/sluice/sluice.conf",
			 config);
	else if (home && *home)
		snprintf(line->config_path, sizeof(line->config_path),
			 "%s/.config/sluice/sluice.conf", home);
	if (*line->config_path)
		line->options.config = line->config_path;
}

/* An arbiter at a place of its own has a state of its own. */
static void set_state(struct command_line *line)
{
	const char *given = secure_getenv("STATE_DIRECTORY"),
		   *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	char *path = line->state_path;
	size_t size = sizeof(line->state_path);

	if (line->options.state)
		return;
	line->options.state = path;
	if (line->options.socket)
		snprintf(path, size, "%s.state", line->options.socket);
	else if (!line->options.user)
		snprintf(path, size, "%s", given && *given ? given : STATE_SYSTEM);
	else if (state && *state)
		snprintf(path, size, "%s/sluice", state);
	else if (home && *home)
		snprintf(path, size, "%s/.local/state/sluice", home);
}

void options_parse(int argc, char **argv, struct command_line *ret_line)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "The arbiter of Sluice: decides which process launches on the GPU, and when."
		       "\vsluiced(8), sluice.conf(5)"};

	*ret_line = (struct command_line){.mode = OPTIONS_RUN};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, ret_line);
	set_state(ret_line);
	if (ret_line->options.user)
		set_user_config(ret_line);
	if (ret_line->options.user && ret_line->mode == OPTIONS_RUN)
		set_user_socket(ret_line);
	if (!ret_line->options.socket)
		ret_line->options.socket = SLUICE_SOCKET_SYSTEM;
	if (!ret_line->options.config)
		ret_line->options.config = CONFIG_SYSTEM_FILE;
	/* A default file need not be there: everyone is best-effort then. */
	if (!ret_line->config_given && access(ret_line->options.config, F_OK))
		ret_line->options.config = NULL;
}
