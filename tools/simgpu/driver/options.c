/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "driver/options.h"

#define DEFAULT_PRESET "h100"
#define MAX_THREADS 1024

static CUresult complain(const char *name, const char *value, const char *remedy)
{
	fprintf(stderr, "simgpu: %s=%s: %s\n", name, value, remedy);
	return CUDA_ERROR_INVALID_VALUE;
}

/* Leaves *value alone where the variable is unset or empty. */
static CUresult read_number(const char *name, unsigned long low, unsigned long high,
			    unsigned int *value)
{
	const char *text = secure_getenv(name);
	unsigned long number;
	char *end, remedy[64];

	if (!text || !*text)
		return CUDA_SUCCESS;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || number < low || number > high) {
		snprintf(remedy, sizeof(remedy), "must be a number from %lu to %lu", low, high);
		return complain(name, text, remedy);
	}
	*value = (unsigned int)number;
	return CUDA_SUCCESS;
}

static const char *read_path(const char *name)
{
	const char *text = secure_getenv(name);

	return text && *text ? text : NULL;
}

/* Presets lie in tools/simgpu/presets of a source tree or share/sluice/presets of an installation;
 * this library, or a test that holds it, lies some folders below the same top. */
static bool find_beside_library(const char *preset, char ret_path[4096])
{
	static const char *const below[] = {"tools/simgpu/presets", "share/sluice/presets"};
	char top[3072];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)cuInit, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, ret_path))
		return false;
	if (snprintf(top, sizeof(top), "%s", ret_path) >= (int)sizeof(top))
		return false;
	while ((slash = strrchr(top, '/'))) {
		*slash = '\0';
		for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
			snprintf(ret_path, 4096, "%s/%s/%s.conf", top, below[i], preset);
			if (access(ret_path, R_OK) == 0)
				return true;
		}
	}
	return false;
}

static CUresult find_description(char ret_path[4096])
{
	const char *config = read_path("SIMGPU_CONFIG"), *preset = read_path("SIMGPU_PRESET");
	const char *folder = read_path("SIMGPU_PRESET_DIR");

	if (config) {
		if (snprintf(ret_path, 4096, "%s", config) >= 4096)
			return complain("SIMGPU_CONFIG", config, "the path is too long");
		return CUDA_SUCCESS;
	}
	if (!preset)
		preset = DEFAULT_PRESET;
	if (strchr(preset, '/') || strlen(preset) > 64)
		return complain("SIMGPU_PRESET", preset,
				"must be a name (h100, a100, l4); a file goes into SIMGPU_CONFIG");
	if (folder) {
		if (snprintf(ret_path, 4096, "%s/%s.conf", folder, preset) < 4096 &&
		    access(ret_path, R_OK) == 0)
			return CUDA_SUCCESS;
	} else if (find_beside_library(preset, ret_path)) {
		return CUDA_SUCCESS;
	}
	fprintf(stderr,
		"simgpu: no preset %s.conf %s%s: set SIMGPU_PRESET to h100, a100 or l4, or "
		"SIMGPU_CONFIG to a description\n",
		preset, folder ? "in " : "beside this library", folder ? folder : "");
	return CUDA_ERROR_NO_DEVICE;
}

static CUresult read_description(struct options *options)
{
	unsigned int mps = UINT_MAX;
	struct desc_error error;
	CUresult result = find_description(options->config_path);
	int err;

	if (result == CUDA_SUCCESS)
		result = read_number("SIMGPU_MPS", 0, 1, &mps);
	if (result != CUDA_SUCCESS)
		return result;
	err = desc_load(options->config_path,
			mps == UINT_MAX ? DESC_MPS_FILE
			: mps		? DESC_MPS_ON
					: DESC_MPS_OFF,
			&options->desc, &error);
	if (err == 0)
		return CUDA_SUCCESS;
	if (error.line)
		fprintf(stderr, "simgpu: %s:%d: %s\n", options->config_path, error.line,
			error.text);
	else
		fprintf(stderr, "simgpu: %s: %s\n", options->config_path, error.text);
	return err == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NO_DEVICE;
}

static CUresult read_instance(struct options *options)
{
	const char *name = read_path("SIMGPU_INSTANCE");

	if (!name)
		name = "default";
	if (snprintf(options->instance, sizeof(options->instance), "%s", name) >=
	    (int)sizeof(options->instance))
		return complain("SIMGPU_INSTANCE", name, "must have at most 64 characters");
	return CUDA_SUCCESS;
}

/* As the real driver: the list ends at the first entry that names no device, and one that names a
 * device twice shows none. */
static void read_visible(struct options *options, int existing)
{
	const char *at = secure_getenv("CUDA_VISIBLE_DEVICES");
	bool used[SIM_MAX_DEVICES] = {false};

	options->devices = 0;
	if (!at) {
		while (options->devices < existing) {
			options->physical[options->devices] = options->devices;
			options->devices++;
		}
		return;
	}
	for (;;) {
		char *end;
		long ordinal;

		at += strspn(at, " \t");
		ordinal = strtol(at, &end, 10);
		if (end == at || ordinal < 0 || ordinal >= existing)
			return;
		if (used[ordinal]) {
			options->devices = 0;
			return;
		}
		used[ordinal] = true;
		options->physical[options->devices++] = (int)ordinal;
		at = end + strspn(end, " \t");
		if (*at++ != ',')
			return;
	}
}

static CUresult read_devices(struct options *options)
{
	unsigned int existing = 1;
	CUresult result = read_number("SIMGPU_DEVICES", 1, SIM_MAX_DEVICES, &existing);

	if (result != CUDA_SUCCESS)
		return result;
	read_visible(options, (int)existing);
	if (options->devices > 0)
		return CUDA_SUCCESS;
	fprintf(stderr, "simgpu: CUDA_VISIBLE_DEVICES=%s: shows none of the devices 0 to %u\n",
		secure_getenv("CUDA_VISIBLE_DEVICES"), existing - 1);
	return CUDA_ERROR_NO_DEVICE;
}

CUresult options_read(struct options *ret_options)
{
	struct sim_options *shared = &ret_options->shared;
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int timing_only = 0;
	CUresult result;

	memset(ret_options, 0, sizeof(*ret_options));
	shared->threads = cores > 0 && cores <= MAX_THREADS ? (unsigned int)cores : 1;
	shared->report_path = read_path("SIMGPU_REPORT");
	shared->report = shared->report_path != NULL;
	result = read_number("SIMGPU_THREADS", 1, MAX_THREADS, &shared->threads);
	if (result == CUDA_SUCCESS)
		result = read_number("CUDA_MPS_CLIENT_PRIORITY", 0, 1, &shared->mps_priority);
	if (result == CUDA_SUCCESS)
		result = read_number("SIMGPU_TIMING_ONLY", 0, 1, &timing_only);
	if (result == CUDA_SUCCESS)
		result = read_instance(ret_options);
	if (result == CUDA_SUCCESS)
		result = read_devices(ret_options);
	if (result == CUDA_SUCCESS)
		result = read_description(ret_options);
	shared->allow_timing_only = timing_only;
	shared->costs_path = read_path("SIMGPU_COSTS");
	if (!shared->costs_path)
		shared->costs_path = ret_options->config_path;
	return result;
}
