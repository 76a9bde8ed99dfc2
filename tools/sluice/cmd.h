/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_CMD_H
#define SLUICE_CMD_H

/*
 * The subcommands of `sluice`. Each takes its own argv (argv[0] is "sluice NAME") and returns the
 * exit status: 0, 1 (said why on stderr) or 2 (usage); `run` also 126 and 127, or the program's.
 */

struct cmd {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

int cmd_run(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_set(int argc, char **argv);
int cmd_pause(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_check_config(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_plan(int argc, char **argv);

/* Print `sluice: ` and the sentence to stderr; return 1, and 2 for wrong usage. */
int cmd_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cmd_misused(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
