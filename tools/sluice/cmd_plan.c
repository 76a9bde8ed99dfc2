/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "output.h"
#include "paths.h"
#include "plan/report.h"
#include "plan/scenario.h"
#include "plan_record.h"
#include "plan_text.h"
#include "table.h"

struct options {
	const char *file, *svg;
	bool json, policies;
	uint32_t workers;
	struct record_options record;
	const char *of_plays, *of_records; /* an option that is given, and of these alone */
};

static const struct argp_option option_table[] = {
	{"json", 'j', NULL, 0, "print JSON", 0},
	{"svg", 'v', "FILE", 0, "draw the frontier: best-effort throughput against A and S", 0},
	{"workers", 'w', "N", 0, "play so many runs at once (default: one a processor)", 0},
	{"policies", 'p', NULL, 0, "list the policies, their options and presets", 0},
	{"record", 'r', "TENANT", 0, "make a workload of what the running tenant launches", 1},
	{"output", 'o', "FILE", 0, "where the workload goes (default: standard output)", 1},
	{"arrivals", 'a', "FILE", 0, "write the gaps between its requests there", 1},
	{"seconds", 's', "N", 0, "record for so long (default: 10)", 1},
	{"socket", 'S', "PATH", 0, "the arbiter's socket", 1},
	{0},
};

static void note_use(struct options *options, int key)
{
	for (const struct argp_option *option = option_table; option->name; option++) {
		if (option->key != key)
			continue;
		if (strchr("jvw", key))
			options->of_plays = option->name;
		else if (strchr("oasS", key))
			options->of_records = option->name;
	}
}

/* What has no effect is no option of it. */
static void check_use(const struct options *options, struct argp_state *state)
{
	if (!options->file + !options->policies + !options->record.tenant != 2)
		argp_usage(state);
	if (!options->file && options->of_plays)
		argp_error(state, "--%s goes with a scenario to play", options->of_plays);
	if (!options->record.tenant && options->of_records)
		argp_error(state, "--%s goes with --record", options->of_records);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	unsigned long number;
	char *end;

	note_use(options, key);
	switch (key) {
	case 'j': options->json = true; return 0;
	case 'v': options->svg = arg; return 0;
	case 'r': options->record.tenant = arg; return 0;
	case 'o': options->record.output = arg; return 0;
	case 'a': options->record.arrivals = arg; return 0;
	case 'S': options->record.socket = arg; return 0;
	case 's':
		options->record.seconds = strtod(arg, &end);
		if (*end || end == arg || !(options->record.seconds >= 0.1) ||
		    options->record.seconds > 3600)
			argp_error(state, "--seconds=%s: seconds between 0.1 and 3600", arg);
		return 0;
	case 'p': options->policies = true; return 0;
	case 'w':
		number = strtoul(arg, &end, 10);
		if (*end || end == arg || !number || number > 256)
			argp_error(state, "--workers=%s: a number between 1 and 256", arg);
		options->workers = (uint32_t)number;
		return 0;
	case ARGP_KEY_ARG:
		if (options->file)
			argp_usage(state);
		options->file = arg;
		return 0;
	case ARGP_KEY_END: check_use(options, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Before the time is spent. */
static int check_picture(const char *path, const struct scenario *scenario)
{
	int r;

	if (!frontier_is_there(scenario))
		return cmd_fail("%s would be empty: a frontier needs a latency-critical tenant, a "
				"best-effort one, and two policies or values of a sweep",
				path);
	r = output_check(path);
	return r ? cmd_fail("cannot write %s: %s", path, strerror(-r)) : 0;
}

static int draw(const char *path, const struct scenario *scenario, const struct run_result *result)
{
	struct output output;
	int r = output_open(&output, path);

	if (!r) {
		r = frontier_print_svg(scenario, result, output.file);
		r = output_close(&output, r);
	}
	return r ? cmd_fail("cannot write %s: %s", path, strerror(-r)) : 0;
}

static int show(const struct options *options, const struct scenario *scenario,
		const struct run_result *result)
{
	int r = options->json ? report_print_json(scenario, result, stdout)
			      : plan_print(scenario, result, terminal_columns(), stdout);

	if (r)
		return cmd_fail("cannot print the plan: %s", strerror(-r));
	return options->svg ? draw(options->svg, scenario, result) : 0;
}

static int play(const struct options *options)
{
	static const struct scenario_files files = {.preset = paths_preset,
						    .workload = paths_workload};
	struct scenario_error error;
	struct scenario *scenario;
	struct run_result *result;
	int r = scenario_load(options->file, &files, &scenario, &error);

	if (r && error.line)
		return cmd_fail("%s:%d: %s", error.file, error.line, error.msg);
	if (r)
		return cmd_fail("%s: %s", error.file, error.msg);
	if (options->svg && check_picture(options->svg, scenario)) {
		scenario_finish(scenario);
		return 1;
	}
	r = run_scenario(scenario, options->workers, &result);
	if (r) {
		scenario_finish(scenario);
		return cmd_fail("%s could not be played: %s", options->file,
				r == -EOVERFLOW
					? "a server falls behind without end: lower its load"
					: strerror(-r));
	}
	r = show(options, scenario, result);
	free(result);
	scenario_finish(scenario);
	return r;
}

static const char *const before =
	"Play a scenario on a model of the GPU, in virtual time: its tenants under each of its "
	"policies, Sluice's own among them. All results are simulated.";
static const char *const after =
	"A is latency from arrival, S of service (first launch to drain), both against the same "
	"arrivals alone; OF ALONE is a best-effort tenant's throughput against what it does alone. "
	"Figures are means over the seeds, with half of their 95 % interval. sluice-plan(5) "
	"describes the file and, under OUTPUT, what each column and remark means; \"open\" beside "
	"an option of --policies is no bound.";

int cmd_plan(int argc, char **argv)
{
	char doc[1024];
	struct argp argp = {.options = option_table,
			    .parser = parse_option,
			    .args_doc = "FILE\n--record=TENANT\n--policies",
			    .doc = doc};
	struct options options = {.record = {.seconds = 10}};

	(void)snprintf(doc, sizeof(doc), "%s\v%s", before, after);
	if (argp_parse(&argp, argc, argv, 0, NULL, &options))
		return 2;
	if (options.record.tenant)
		return plan_record(&options.record);
	if (!options.policies)
		return play(&options);
	return plan_print_policies(terminal_columns(), stdout) ? cmd_fail("out of memory") : 0;
}
