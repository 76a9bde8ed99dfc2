/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "probe.h"

static const struct cmd commands[] = {
	{"run", "run a program under Sluice", cmd_run},
	{"status", "tenants, GPUs, and what is not enforced", cmd_status},
	{"why", "what delayed a tenant's late requests", cmd_why},
	{"set", "change a tenant's setting until the next reload", cmd_set},
	{"pause", "hold a tenant's launches", cmd_pause},
	{"resume", "let a paused tenant go on", cmd_resume},
	{"reload", "have the arbiter read its configuration again", cmd_reload},
	{"check-config", "check a configuration file", cmd_check_config},
	{"plan", "play tenants and policies on a model of the GPU", cmd_plan},
	{"doctor", "look for what would keep Sluice from working here", cmd_doctor},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static bool has_failed; /* and said so */

static void say(const char *format, va_list args)
{
	has_failed = true;
	fputs("sluice: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int cmd_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return 1;
}

int cmd_misused(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return 2;
}

static void usage(FILE *out)
{
	fputs("usage: sluice COMMAND [OPTION...]\n\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-13s %s\n", commands[i].name, commands[i].summary);
	fputs("\n`sluice COMMAND --help` tells more; so do sluice(1) and sluice.conf(5).\n"
	      "`sluice --version` prints the version.\n",
	      out);
}

static int run(int argc, char **argv)
{
	char name[64];

	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("sluice 0.1");
		return 0;
	}
	if (!strcmp(argv[1], PROBE_ARGUMENT))
		return probe_child();
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		snprintf(name, sizeof(name), "sluice %s", commands[i].name);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "sluice: there is no command '%s'\n", argv[1]);
	usage(stderr);
	return 2;
}

/* argp ends a program by itself, after its --help. */
static void close_output(void)
{
	errno = 0;
	if (!(fflush(stdout) || ferror(stdout)) || has_failed)
		return;
	(void)cmd_fail("cannot print: %s", strerror(errno ? errno : EIO));
	_exit(1);
}

int main(int argc, char **argv)
{
	argp_err_exit_status = 2;
	atexit(close_output);
	return run(argc, argv);
}
