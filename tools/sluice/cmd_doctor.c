/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "doctor.h"
#include "paths.h"
#include "probe.h"
#include "query.h"
#include "target.h"

static int failures;

void doctor_say(enum verdict verdict, const char *what, const char *format, ...)
{
	static const char *const word[] = {"ok", "note", "WARN", "FAIL"};
	va_list args;

	printf("%-5s %-10s ", word[verdict], what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	if (verdict == BAD)
		failures++;
}

/* What holds for the shell holds for what this system is made of: a musl image is one throughout. */
static void check_programs(void)
{
	char why[1024], program[256];

	if (target_check("sh", sizeof(why), why, sizeof(program), program) < 0)
		doctor_say(strstr(why, "musl") ? BAD : NOTE, "programs", "%s", why);
	else
		doctor_say(GOOD, "programs", "sh can be preloaded (%s)", program);
}

static void check_driver(const struct probe *probe)
{
	char simgpu[PATH_MAX];

	if (probe->driver)
		doctor_say(GOOD, "driver", "%s", probe->driver_path);
	else if (paths_simgpu(sizeof(simgpu), simgpu) < 0)
		doctor_say(BAD, "driver",
			   "libcuda.so.1 is not found: install the NVIDIA driver (in a container: "
			   "--gpus all)");
	else
		doctor_say(WARN, "driver",
			   "libcuda.so.1 is not found: install the NVIDIA driver (in a container: "
			   "--gpus all); `sluice run --simulated` needs none");
}

static void check_preload(void)
{
	char shim[PATH_MAX], value[PATH_MAX * 2];
	const char *old = secure_getenv("LD_PRELOAD");
	struct probe probe;

	if (paths_shim(sizeof(shim), shim) < 0) {
		doctor_say(BAD, "preload", "libsluice.so" PATHS_MISSING);
		return;
	}
	snprintf(value, sizeof(value), "%s%s%s", shim, old ? ":" : "", old ? old : "");
	setenv("LD_PRELOAD", old && strstr(old, "/libsluice.so") ? old : value, 1);
	if (probe_run(&probe) < 0 || !probe.ran)
		doctor_say(BAD, "preload", "a test program with it does not start: %s",
			   probe.loader_says);
	else if (!probe.shim)
		doctor_say(BAD, "preload", "libsluice.so is not loaded: %s",
			   probe.loader_says[0] ? probe.loader_says
						: "the loader ignores LD_PRELOAD");
	else if (probe.driver && !probe.hooked)
		doctor_say(BAD, "preload",
			   "another library answers for the driver first (cuInit is %s): take it "
			   "out of "
			   "LD_PRELOAD (%s)",
			   probe.lookup_path, old ? old : "and /etc/ld.so.preload");
	else
		doctor_say(GOOD, "preload", "%s", shim);
	check_driver(&probe);
	if (old)
		setenv("LD_PRELOAD", old, 1);
	else
		unsetenv("LD_PRELOAD");
}

/* Whether one has answered. */
static bool check_arbiter(const char *socket)
{
	char why[QUERY_WHY_MAX], folder[4096], *slash;
	struct query query;
	struct stat st;
	int r = query_open(&query, socket, why);

	if (r == 0) {
		doctor_say(GOOD, "arbiter", "pid %u at %s", query.arbiter.pid, query.socket);
		query_close(&query);
		return true;
	}
	doctor_say(BAD, "arbiter", "%s", why);
	snprintf(folder, sizeof(folder), "%s", query.socket);
	slash = strrchr(folder, '/');
	if (slash && slash != folder)
		*slash = 0;
	if (r == -ENOENT && stat(folder, &st))
		doctor_say(NOTE, "mount", "%s does not exist; in a container, mount it: -v %s:%s",
			   folder, folder, folder);
	return false;
}

static void check_mps(void)
{
	const char *folder = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[4096];

	snprintf(path, sizeof(path), "%s/control", folder ? folder : "/tmp/nvidia-mps");
	if (access(path, F_OK) == 0)
		doctor_say(GOOD, "MPS", "control pipe at %s: processes may overlap on the GPU",
			   path);
	else
		doctor_say(NOTE, "MPS", "not running: processes take turns on the GPU");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	const char **socket = state->input;

	if (key != 'S')
		return ARGP_ERR_UNKNOWN;
	*socket = arg;
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"socket", 'S', "PATH", 0, "the arbiter's socket", 0},
		{0},
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Look for what would keep Sluice from working here: programs that no "
		       "preload reaches, preload, driver, arbiter, namespaces, the calls it makes "
		       "to the kernel, MPS. Exit status 1 if anything fails."};
	const char *socket = NULL;

	if (argp_parse(&argp, argc, argv, 0, NULL, &socket))
		return 2;
	check_programs();
	check_preload();
	doctor_check_kernel(check_arbiter(socket));
	check_mps();
	return failures ? 1 : 0;
}
