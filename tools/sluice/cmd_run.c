/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "paths.h"
#include "probe.h"
#include "query.h"
#include "target.h"

struct options {
	const char *tenant, *socket, *preset, *costs, *instance, *cupti;
	bool simulated, mps, profile;
	char **command;
};

enum { OPTION_SIMULATED = 256, OPTION_COSTS, OPTION_INSTANCE, OPTION_MPS, OPTION_PROFILE };

/* What --help says of --simulated; cmd_run fills in the presets that are there. */
static char simulated_help[320];

static const struct argp_option option_table[] = {
	{"tenant", 't', "NAME", 0, "run as this tenant; the configuration must admit you", 0},
	{"socket", 'S', "PATH", 0, "the arbiter's socket", 0},
	{"profile", OPTION_PROFILE, "LIBRARY", OPTION_ARG_OPTIONAL,
	 "measure kernels with CUPTI (default: the toolkit's libcupti.so)", 0},
	{"simulated", OPTION_SIMULATED, "PRESET", OPTION_ARG_OPTIONAL, simulated_help, 1},
	{"costs", OPTION_COSTS, "FILE", 0, "simulated: how long each kernel takes", 1},
	{"instance", OPTION_INSTANCE, "NAME", 0,
	 "simulated: programs with one name share one GPU (default: default)", 1},
	{"mps", OPTION_MPS, NULL, 0, "simulated: processes may run at the same time", 1},
	{0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't': options->tenant = arg; return 0;
	case 'S': options->socket = arg; return 0;
	case OPTION_SIMULATED:
		options->simulated = true;
		options->preset = arg;
		return 0;
	case OPTION_COSTS: options->costs = arg; return 0;
	case OPTION_INSTANCE:
		if (!*arg || strchr(arg, '/'))
			argp_error(state, "--instance=%s: a name, without a /", arg);
		options->instance = arg;
		return 0;
	case OPTION_MPS: options->mps = true; return 0;
	case OPTION_PROFILE:
		options->profile = true;
		options->cupti = arg;
		return 0;
	case ARGP_KEY_ARG:
		options->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS: argp_usage(state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* Puts `first` in front of what the variable holds. */
static int prepend(const char *variable, const char *first, char separator)
{
	const char *old = secure_getenv(variable);
	char *value;
	int r;

	if (!old || !*old)
		return setenv(variable, first, 1);
	if (asprintf(&value, "%s%c%s", first, separator, old) < 0)
		return -1;
	r = setenv(variable, value, 1);
	free(value);
	return r;
}

static int fail_preset(const char *name)
{
	char names[256];

	if (paths_preset_names(sizeof(names), names) < 0)
		return cmd_fail("the simulated GPU's presets are not installed beside this "
				"program; name a device description with a / in its path");
	return cmd_fail("there is no preset '%s' of the simulated GPU; there are %s, or name a "
			"file with a / in its path",
			name, names);
}

static void say_presets(void)
{
	char names[256];

	if (paths_preset_names(sizeof(names), names) < 0)
		snprintf(names, sizeof(names), "none is installed");
	snprintf(simulated_help, sizeof(simulated_help),
		 "run on the simulated GPU: a preset (%s; default h100) or a description file, "
		 "with a / in its path",
		 names);
}

/* As env(1) and nice(1) have it: there is none, or it cannot be run. */
static int program_status(int error)
{
	return error == -ENOENT || error == -ENOTDIR ? 127 : 126;
}

static int set_simulated(const struct options *options)
{
	char folder[PATH_MAX], preset[PATH_MAX];
	const char *name = options->preset ? options->preset : "h100";

	if (paths_simgpu(sizeof(folder), folder) < 0)
		return cmd_fail("the simulated GPU" PATHS_MISSING);
	if (strchr(name, '/')) {
		if (access(name, R_OK))
			return cmd_fail("cannot read the device description %s: %s", name,
					strerror(errno));
		setenv("SIMGPU_CONFIG", name, 1);
	} else {
		if (paths_preset(name, sizeof(preset), preset) < 0)
			return fail_preset(name);
		setenv("SIMGPU_CONFIG", preset, 1);
	}
	if (options->costs && access(options->costs, R_OK))
		return cmd_fail("cannot read the cost table %s: %s", options->costs,
				strerror(errno));
	if (options->costs)
		setenv("SIMGPU_COSTS", options->costs, 1);
	if (options->instance)
		setenv("SIMGPU_INSTANCE", options->instance, 1);
	if (options->mps)
		setenv("SIMGPU_MPS", "1", 1);
	return prepend("LD_LIBRARY_PATH", folder, ':') ? cmd_fail("out of memory") : 0;
}

/* `program`: what the process will be, once it has become the command. */
static int ask_arbiter(const struct options *options, const char *program)
{
	char why[QUERY_WHY_MAX], remark[SLUICE_TEXT_MAX];
	struct query query;
	int r = query_open(&query, options->socket, why);

	if (r < 0)
		return cmd_fail("%s", why);
	setenv("SLUICE_SOCKET", query.socket, 1);
	/* Without a tenant, too: it may have no place for another process. */
	r = query_ask(&query, SLUICE_MSG_ASK_TENANT, options->tenant,
		      target_is_shell(program) ? "shell" : NULL, program, remark, why);
	if (options->tenant)
		setenv("SLUICE_TENANT", options->tenant, 1);
	query_close(&query);
	return r < 0 ? cmd_fail("%s", why) : 0;
}

/* Inside another `sluice run` the environment has it already. */
static bool is_preloaded(void)
{
	const char *preload = secure_getenv("LD_PRELOAD");

	return preload && strstr(preload, "/libsluice.so");
}

/* NVTX hands its ranges to one injection; the one that was set gets them from ours. */
static int set_ranges(const char *shim)
{
	const char *other = secure_getenv("NVTX_INJECTION64_PATH");

	if (other && *other && strcmp(other, shim) && setenv("SLUICE_NVTX_NEXT", other, 1))
		return -1;
	return setenv("NVTX_INJECTION64_PATH", shim, 1);
}

/* CUPTI is used in the program; here it is only seen to be there. */
static int set_profile(const struct options *options)
{
	static const char *const usual[] = {"libcupti.so.13", "libcupti.so.12",
					    "/usr/local/cuda/lib64/libcupti.so",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
	const char *const *names = options->cupti ? &options->cupti : usual;
	size_t count = options->cupti ? 1 : sizeof(usual) / sizeof(usual[0]);

	if (options->simulated && !options->cupti)
		return cmd_fail("--profile measures with CUPTI, which knows no simulated GPU");
	for (size_t i = 0; i < count; i++) {
		void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);

		if (!library)
			continue;
		dlclose(library);
		return setenv("SLUICE_PROFILE", names[i], 1) ? cmd_fail("out of memory") : 0;
	}
	return cmd_fail(
		"--profile needs CUPTI, which cannot be loaded here (%s); it is part of the "
		"CUDA toolkit: name its libcupti.so with --profile=PATH",
		dlerror());
}

static int check_preload(void)
{
	struct probe probe;
	int r = probe_run(&probe);

	if (r < 0 || !probe.ran)
		return cmd_fail("a test program with libsluice.so preloaded did not start%s%s; see "
				"`sluice doctor`",
				probe.loader_says[0] ? ": " : "", probe.loader_says);
	if (!probe.shim)
		return cmd_fail("libsluice.so is not loaded into programs started from here%s%s; "
				"see `sluice doctor`",
				probe.loader_says[0] ? ": " : "", probe.loader_says);
	/* The program may need none, or find its own. */
	if (!probe.driver)
		fprintf(stderr, "sluice: no driver is found here (libcuda.so.1): a CUDA program "
				"finds no GPU; try a simulated one: sluice run --simulated\n");
	return 0;
}

int cmd_run(int argc, char **argv)
{
	static const struct argp argp = {
		.options = option_table,
		.parser = parse_option,
		.args_doc = "[--] COMMAND [ARGUMENT...]",
		.doc = "Run a CUDA program, as it is, under Sluice.\v"
		       "Example: sluice run -t chat -- python serve.py\n\nChecks first that the "
		       "program can be reached, that the arbiter answers, and that it admits you "
		       "to "
		       "the tenant; says in one sentence what is wrong otherwise, and exits 1; or "
		       "127 where there is no such program, 126 where it cannot be run."};
	struct options options = {0};
	char shim[PATH_MAX], why[QUERY_WHY_MAX], program[SLUICE_NAME_MAX];
	int r;

	say_presets();
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &options))
		return 2;
	if (!options.simulated && (options.costs || options.instance || options.mps))
		return cmd_misused("--costs, --instance and --mps go with --simulated");
	r = target_check(options.command[0], sizeof(why), why, sizeof(program), program);
	if (r < 0) {
		(void)cmd_fail("%s", why);
		return r == -ENOTSUP ? 1 : program_status(r);
	}
	if (paths_shim(sizeof(shim), shim) < 0)
		return cmd_fail("libsluice.so" PATHS_MISSING);
	if (strpbrk(shim, ": "))
		return cmd_fail("the loader cannot preload from a path with ':' or ' ' in it: %s",
				shim);
	r = options.simulated ? set_simulated(&options) : 0;
	if (r == 0 && options.profile)
		r = set_profile(&options);
	if (r == 0)
		r = ask_arbiter(&options, program);
	if (r)
		return r;
	if ((!is_preloaded() && prepend("LD_PRELOAD", shim, ':')) || set_ranges(shim))
		return cmd_fail("out of memory");
	r = check_preload();
	if (r)
		return r;
	execvp(options.command[0], options.command);
	r = -errno;
	(void)cmd_fail("cannot run '%s': %s", options.command[0], strerror(-r));
	return program_status(r);
}
