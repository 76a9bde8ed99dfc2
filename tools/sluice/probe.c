/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int note_shim(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool *found = arg;
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (name && !strcmp(name, "/libsluice.so"))
		*found = true;
	return 0;
}

int probe_child(void)
{
	bool shim = false;
	void *driver, *init;
	Dl_info info;
	struct link_map *map;

	dl_iterate_phdr(note_shim, &shim);
	printf("shim %d\n", shim);
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!driver)
		return 0;
	if (!dlinfo(driver, RTLD_DI_LINKMAP, &map))
		printf("driver %s\n", map->l_name);
	init = dlsym(driver, "cuInit");
	if (init && dladdr(init, &info) && info.dli_fname)
		printf("lookup %s\n", info.dli_fname);
	return 0;
}

static void parse_line(char *line, struct probe *probe)
{
	const char *name;

	line[strcspn(line, "\n")] = 0;
	if (!strncmp(line, "shim ", 5)) {
		probe->ran = true;
		probe->shim = line[5] == '1';
	} else if (!strncmp(line, "driver ", 7)) {
		probe->driver = true;
		snprintf(probe->driver_path, sizeof(probe->driver_path), "%s", line + 7);
	} else if (!strncmp(line, "lookup ", 7)) {
		snprintf(probe->lookup_path, sizeof(probe->lookup_path), "%s", line + 7);
		name = strrchr(line, '/');
		probe->hooked = name && !strcmp(name, "/libsluice.so");
	} else if (!probe->loader_says[0]) {
		snprintf(probe->loader_says, sizeof(probe->loader_says), "%s", line);
	}
}

int probe_run(struct probe *ret_probe)
{
	static char argument[] = PROBE_ARGUMENT;
	int out[2];
	pid_t pid;
	FILE *in;
	char line[1024];

	memset(ret_probe, 0, sizeof(*ret_probe));
	if (pipe(out))
		return -errno;
	pid = fork();
	if (pid < 0) {
		int r = -errno;

		close(out[0]);
		close(out[1]);
		return r;
	}
	if (pid == 0) {
		char name[] = "sluice";
		char *argv[] = {name, argument, NULL};

		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	close(out[1]);
	in = fdopen(out[0], "r");
	while (in && fgets(line, sizeof(line), in))
		parse_line(line, ret_probe);
	if (in)
		fclose(in);
	else
		close(out[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}
