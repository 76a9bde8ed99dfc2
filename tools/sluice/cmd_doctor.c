/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "paths.h"
#include "probe.h"
#include "query.h"

/* Each check prints one line; a bad one adds what to do, and the exit status is then 1. */

enum verdict { GOOD, NOTE, BAD };

static int failures;

static void __attribute__((format(printf, 3, 4)))
say(enum verdict verdict, const char *what, const char *format, ...)
{
	static const char *const word[] = {"ok", "note", "FAIL"};
	va_list args;

	printf("%-5s %-10s ", word[verdict], what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	if (verdict == BAD)
		failures++;
}

static void check_libc(void)
{
#ifdef __GLIBC__
	say(GOOD, "libc", "glibc");
#else
	say(BAD, "libc", "not glibc: the CUDA driver needs glibc, use a glibc image");
#endif
}

static void check_preload(void)
{
	char shim[PATH_MAX], value[PATH_MAX * 2];
	const char *old = secure_getenv("LD_PRELOAD");
	struct probe probe;

	if (paths_shim(sizeof(shim), shim) < 0) {
		say(BAD, "preload", "libsluice.so is not installed beside this program");
		return;
	}
	snprintf(value, sizeof(value), "%s%s%s", shim, old ? ":" : "", old ? old : "");
	setenv("LD_PRELOAD", old && strstr(old, "/libsluice.so") ? old : value, 1);
	if (probe_run(&probe) < 0 || !probe.ran)
		say(BAD, "preload", "a test program with it does not start: %s", probe.loader_says);
	else if (!probe.shim)
		say(BAD, "preload", "libsluice.so is not loaded: %s",
		    probe.loader_says[0] ? probe.loader_says : "the loader ignores LD_PRELOAD");
	else if (probe.driver && !probe.hooked)
		say(BAD, "preload",
		    "another library answers for the driver first (cuInit is %s): take it out of "
		    "LD_PRELOAD (%s)",
		    probe.lookup_path, old ? old : "and /etc/ld.so.preload");
	else
		say(GOOD, "preload", "%s", shim);
	if (!probe.driver)
		say(BAD, "driver",
		    "libcuda.so.1 is not found: install the NVIDIA driver (in a container: "
		    "--gpus all), or use `sluice run --simulated`");
	else
		say(GOOD, "driver", "%s", probe.driver_path);
	if (old)
		setenv("LD_PRELOAD", old, 1);
	else
		unsetenv("LD_PRELOAD");
}

static void check_arbiter(const char *socket)
{
	char why[QUERY_WHY_MAX], folder[4096], *slash;
	struct query query;
	struct stat st;
	int r = query_open(&query, socket, why);

	if (r == 0) {
		say(GOOD, "arbiter", "pid %u at %s", query.arbiter.pid, query.socket);
		query_close(&query);
		return;
	}
	say(BAD, "arbiter", "%s", why);
	snprintf(folder, sizeof(folder), "%s", query.socket);
	slash = strrchr(folder, '/');
	if (slash && slash != folder)
		*slash = 0;
	if (r == -ENOENT && stat(folder, &st))
		say(NOTE, "mount", "%s does not exist; in a container, mount it: -v %s:%s", folder,
		    folder, folder);
}

/* The arbiter takes the peer's uid and pid from the kernel; both must mean the same to it. */
static void check_namespaces(void)
{
	FILE *in = fopen("/proc/self/uid_map", "re");
	unsigned long inside, outside, count;
	struct stat own, init;

	if (!in) {
		say(NOTE, "uid map", "cannot read /proc/self/uid_map: %s", strerror(errno));
		return;
	}
	if (fscanf(in, "%lu %lu %lu", &inside, &outside, &count) != 3)
		say(NOTE, "uid map", "empty: this user namespace has no users mapped");
	else if (inside != outside)
		say(NOTE, "uid map",
		    "uid %lu here is %lu outside: match rules by uid see the outer number", inside,
		    outside);
	else
		say(GOOD, "uid map", "uids are the host's");
	fclose(in);
	if (stat("/proc/self/ns/pid", &own) == 0 && stat("/proc/1/ns/pid", &init) == 0 &&
	    own.st_ino != init.st_ino)
		say(NOTE, "pid space",
		    "not that of pid 1: the arbiter must see this process's pid");
}

static void check_seccomp(void)
{
	FILE *in = fopen("/proc/self/status", "re");
	char line[256];
	int mode = -1;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (in)
		fclose(in);
	if (mode == 2)
		say(NOTE, "seccomp",
		    "a filter is in force; futex, memfd_create and AF_UNIX must be "
		    "allowed (Docker's default does)");
	else
		say(GOOD, "seccomp", mode == 0 ? "no filter" : "unknown");
}

static void check_seals(void)
{
	int fd = memfd_create("sluice-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, 4096) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		say(BAD, "memfd", "sealing fails (%s): Linux 5.1 or newer is needed",
		    strerror(errno));
	else
		say(GOOD, "memfd", "seals work");
	if (fd >= 0)
		close(fd);
}

static void check_mps(void)
{
	const char *folder = secure_getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[4096];

	snprintf(path, sizeof(path), "%s/control", folder ? folder : "/tmp/nvidia-mps");
	if (access(path, F_OK) == 0)
		say(GOOD, "MPS", "control pipe at %s: processes may overlap on the GPU", path);
	else
		say(NOTE, "MPS", "not running: processes take turns on the GPU");
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
		.doc = "Look for what would keep Sluice from working here: driver, preload, "
		       "arbiter, namespaces, seccomp, seals, MPS. Exit status 1 if anything "
		       "fails."};
	const char *socket = NULL;

	if (argp_parse(&argp, argc, argv, 0, NULL, &socket))
		return 2;
	check_libc();
	check_preload();
	check_arbiter(socket);
	check_namespaces();
	check_seccomp();
	check_seals();
	check_mps();
	return failures ? 1 : 0;
}
