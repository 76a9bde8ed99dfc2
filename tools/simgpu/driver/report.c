/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/exec.h"

#define PATH_ROOM 4096

static struct exec *registered[16];
static unsigned int registrations;

static void expand(const char *pattern, char path[PATH_ROOM])
{
	size_t used = 0;

	for (const char *at = pattern; *at != '\0' && used + 24 < PATH_ROOM; at++) {
		if (at[0] == '%' && at[1] == 'p') {
			used += (size_t)snprintf(path + used, PATH_ROOM - used, "%ld",
						 (long)getpid());
			at++;
		} else {
			path[used++] = *at;
		}
	}
	path[used] = '\0';
}

static void print(FILE *file, struct exec *exec, const struct exec_counters *own,
		  const struct model_counters *device, uint64_t busy_ns)
{
	double late = own->ops > 0 ? 100.0 * (double)own->late_ops / (double)own->ops : 0;

	fprintf(file,
		"{\n  \"device\": \"%s\",\n  \"simulated\": true,\n  \"pid\": %ld,\n"
		"  \"kernels_run\": %" PRIu64 ",\n  \"ops\": %" PRIu64 ",\n  \"late_ops\": %" PRIu64
		",\n  \"late_ops_pct\": %.4f,\n  \"timing_only_kernels\": %" PRIu64
		",\n  \"busy_ns\": %" PRIu64 ",\n",
		exec->desc.name, (long)getpid(), own->kernels, own->ops, own->late_ops, late,
		own->timing_only, busy_ns);
	fprintf(file,
		"  \"whole_device\": { \"kernels\": %" PRIu64 ", \"copies\": %" PRIu64
		", \"ops\": %" PRIu64 ", \"late_ops\": %" PRIu64 ", \"switches\": %" PRIu64
		", \"busy_ns\": %" PRIu64 " }\n}\n",
		device->kernels, device->copies, device->ops, device->late_ops, device->switches,
		device->busy_ns);
}

/* Of all devices of the process. */
static void sum(struct exec_counters *ret_own, uint64_t *ret_busy_ns)
{
	memset(ret_own, 0, sizeof(*ret_own));
	*ret_busy_ns = 0;
	for (unsigned int i = 0; i < registrations; i++) {
		struct exec *exec = registered[i];

		pthread_mutex_lock(&exec->lock);
		ret_own->kernels += exec->counters.kernels;
		ret_own->ops += exec->counters.ops;
		ret_own->late_ops += exec->counters.late_ops;
		ret_own->timing_only += exec->counters.timing_only;
		pthread_mutex_unlock(&exec->lock);
		segment_lock(exec->segment);
		*ret_busy_ns += model_proc_busy_ns(exec->model, exec->proc);
		segment_unlock(exec->segment);
	}
}

void report_write(struct exec *exec)
{
	const struct sim_options *options = sim_options_get();
	struct exec_counters own;
	struct model_counters device;
	char path[PATH_ROOM];
	uint64_t busy_ns;
	FILE *file;

	if (!options->report || options->report_path == NULL)
		return;
	sum(&own, &busy_ns);
	segment_lock(exec->segment);
	model_get_counters(exec->model, &device);
	segment_unlock(exec->segment);
	expand(options->report_path, path);
	file = fopen(path, "we");
	if (file == NULL) {
		fprintf(stderr, "simgpu: SIMGPU_REPORT=%s: cannot be written: %s\n", path,
			strerror(errno));
		return;
	}
	print(file, exec, &own, &device, busy_ns);
	fclose(file);
}

static void write_all(void)
{
	if (registrations > 0)
		report_write(registered[0]);
}

void report_register(struct exec *exec)
{
	if (registrations == sizeof(registered) / sizeof(registered[0]))
		return;
	if (registrations == 0)
		atexit(write_all);
	registered[registrations++] = exec;
}

void report_forget(void)
{
	registrations = 0;
}
