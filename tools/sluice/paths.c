/* SPDX-License-Identifier: Apache-2.0 */
#include "paths.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/wire_io.h"

static int own_folder(size_t size, char *ret_folder)
{
	ssize_t length = readlink("/proc/self/exe", ret_folder, size - 1);
	char *slash;

	if (length < 0)
		return -errno;
	ret_folder[length] = 0;
	slash = strrchr(ret_folder, '/');
	if (!slash)
		return -ENOENT;
	*slash = 0;
	return 0;
}

/* The first of `candidates` (relative to this executable's folder, NULL-terminated) that exists
 * and holds `file` ("" for itself). */
static int find(const char *const *candidates, const char *file, size_t size, char *ret_path)
{
	char folder[2048], path[4096];
	int r = own_folder(sizeof(folder), folder);

	if (r < 0)
		return r;
	for (; *candidates; candidates++) {
		char *real;

		snprintf(path, sizeof(path), "%s/%s%s", folder, *candidates, file);
		real = realpath(path, NULL);
		if (!real)
			continue;
		r = snprintf(ret_path, size, "%s", real) < (int)size ? 0 : -ENAMETOOLONG;
		free(real);
		return r;
	}
	return -ENOENT;
}

int paths_shim(size_t size, char *ret_path)
{
	static const char *const candidates[] = {"../lib/sluice/", "../lib/", NULL};

	return find(candidates, "libsluice.so", size, ret_path);
}

int paths_simgpu(size_t size, char *ret_folder)
{
	static const char *const candidates[] = {"../lib/sluice/simgpu/", "../simgpu/", NULL};
	int r = find(candidates, "libcuda.so.1", size, ret_folder);

	if (r == 0)
		*strrchr(ret_folder, '/') = 0;
	return r;
}

int paths_sluiced(size_t size, char *ret_path)
{
	static const char *const candidates[] = {"../sbin/", "", NULL};

	return find(candidates, "sluiced", size, ret_path);
}

/* NAME.conf in one of the folders. */
static int find_conf(const char *const *candidates, const char *name, size_t size, char *ret_path)
{
	char file[128];

	if (!*name || strchr(name, '/') ||
	    snprintf(file, sizeof(file), "%s.conf", name) >= (int)sizeof(file))
		return -ENOENT;
	return find(candidates, file, size, ret_path);
}

static const char *const preset_folders[] = {"../share/sluice/presets/",
					     "../../../tools/simgpu/presets/", NULL};

int paths_preset(const char *preset, size_t size, char *ret_path)
{
	return find_conf(preset_folders, preset, size, ret_path);
}

static int is_conf(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && dot != entry->d_name && !strcmp(dot, ".conf");
}

int paths_preset_names(size_t size, char *ret_names)
{
	struct dirent **entry;
	char folder[4096];
	size_t used = 0;
	int count, r = find(preset_folders, "", sizeof(folder), folder);

	*ret_names = 0;
	if (r < 0)
		return r;
	count = scandir(folder, &entry, is_conf, alphasort);
	if (count < 0)
		return -ENOENT;
	for (int i = 0; i < count; i++) {
		const char *join = !i ? "" : i + 1 < count ? ", " : " and ";
		int length = (int)(strrchr(entry[i]->d_name, '.') - entry[i]->d_name);

		if (used < size)
			used += (size_t)snprintf(ret_names + used, size - used, "%s%.*s", join,
						 length, entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	return count ? 0 : -ENOENT;
}

int paths_workload(const char *workload, size_t size, char *ret_path)
{
	static const char *const candidates[] = {"../share/sluice/workloads/",
						 "../../../tools/plan/suites/pairs/", NULL};

	return find_conf(candidates, workload, size, ret_path);
}

void paths_socket(size_t size, char *ret_path)
{
	const char *set = secure_getenv(SLUICE_SOCKET_ENV);
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	if (set && *set) {
		snprintf(ret_path, size, "%s", set);
		return;
	}
	snprintf(ret_path, size, "%s", SLUICE_SOCKET_SYSTEM);
	if (access(SLUICE_SOCKET_SYSTEM, F_OK) && runtime && *runtime) {
		char own[4096];

		snprintf(own, sizeof(own), "%s" SLUICE_SOCKET_USER, runtime);
		if (!access(own, F_OK))
			snprintf(ret_path, size, "%s", own);
	}
}
