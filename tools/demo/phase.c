/* SPDX-License-Identifier: Apache-2.0 */
#include "phase.h"

#include <errno.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reader {
	size_t size;
	char *why;
};

static int complain(const struct reader *reader, const char *path, const char *what)
{
	snprintf(reader->why, reader->size, "%s: %s", path, what);
	return -EINVAL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double phase_quantile(const double *sorted, size_t count, unsigned int permille)
{
	size_t rank = (count * permille + 999) / 1000;

	if (!count)
		return 0;
	return sorted[rank ? rank - 1 : 0];
}

static uint64_t get_u64(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* A sorted copy of an array of positive numbers; NULL where it is not one. */
static double *get_sorted(const json_t *array, size_t *ret_count)
{
	size_t count = json_array_size(array);
	double *values = count ? malloc(count * sizeof(*values)) : NULL;

	for (size_t i = 0; values && i < count; i++) {
		values[i] = json_number_value(json_array_get(array, i));
		if (!(values[i] >= 0) || !isfinite(values[i])) {
			free(values);
			return NULL;
		}
	}
	if (values)
		qsort(values, count, sizeof(*values), compare);
	*ret_count = count;
	return values;
}

static int load_serve(const char *path, struct phase *phase, const struct reader *reader)
{
	json_error_t error;
	json_t *root;
	size_t services = 0;

	if (access(path, F_OK))
		return 0;
	root = json_load_file(path, 0, &error);
	if (!root)
		return complain(reader, path, error.text);
	phase->has_serve = true;
	phase->arrival_ms = get_sorted(json_object_get(root, "A_ms"), &phase->requests);
	phase->service_ms = get_sorted(json_object_get(root, "S_ms"), &services);
	phase->load = json_number_value(json_object_get(root, "load"));
	phase->seed = get_u64(root, "seed");
	phase->start_ns = get_u64(root, "start_ns");
	phase->end_ns = get_u64(root, "end_ns");
	phase->wrong_results += get_u64(root, "wrong_results");
	json_decref(root);
	if (!phase->arrival_ms || !phase->service_ms || services != phase->requests)
		return complain(reader, path, "needs A_ms and S_ms, one latency a request");
	return 0;
}

/* Steps a second between start_ns and end_ns (or over all steps), by the ends of the steps. */
static int load_train(const char *path, struct phase *phase, const struct reader *reader)
{
	json_error_t error;
	json_t *root, *ends;
	size_t count, inside = 0;
	uint64_t first = 0, last = 0;

	if (access(path, F_OK))
		return 0;
	root = json_load_file(path, 0, &error);
	if (!root)
		return complain(reader, path, error.text);
	phase->has_train = true;
	phase->wrong_results += get_u64(root, "wrong_results");
	ends = json_object_get(root, "step_end_ns");
	count = json_array_size(ends);
	for (size_t i = 0; i < count; i++) {
		uint64_t end_ns = (uint64_t)json_integer_value(json_array_get(ends, i));

		if (phase->has_serve && (end_ns < phase->start_ns || end_ns > phase->end_ns))
			continue;
		first = inside++ ? first : end_ns;
		last = end_ns;
	}
	json_decref(root);
	if (inside < 2 || last <= first)
		return complain(reader, path, "needs step_end_ns, two steps or more in the phase");
	phase->steps_per_s = (double)(inside - 1) * 1e9 / (double)(last - first);
	return 0;
}

static int load_counters(const char *pattern, struct phase *phase, const struct reader *reader)
{
	glob_t found;
	int r = glob(pattern, 0, NULL, &found);

	if (r)
		return r == GLOB_NOMATCH ? 0 : complain(reader, pattern, "cannot be listed");
	r = 0;
	for (size_t i = 0; r == 0 && i < found.gl_pathc; i++) {
		json_error_t error;
		json_t *root = json_load_file(found.gl_pathv[i], 0, &error);

		if (!root) {
			r = complain(reader, found.gl_pathv[i], error.text);
			break;
		}
		phase->kernels += get_u64(root, "kernels_run");
		phase->ops += get_u64(root, "ops");
		phase->late_ops += get_u64(root, "late_ops");
		json_decref(root);
	}
	globfree(&found);
	return r;
}

int phase_load(const char *folder, struct phase *ret_phase, size_t size, char *ret_why)
{
	const struct reader reader = {.size = size, .why = ret_why};
	char path[4096];
	int r;

	memset(ret_phase, 0, sizeof(*ret_phase));
	snprintf(path, sizeof(path), "%s/serve.json", folder);
	r = load_serve(path, ret_phase, &reader);
	if (r == 0) {
		snprintf(path, sizeof(path), "%s/train.json", folder);
		r = load_train(path, ret_phase, &reader);
	}
	if (r == 0) {
		snprintf(path, sizeof(path), "%s/*.simgpu.json", folder);
		r = load_counters(path, ret_phase, &reader);
	}
	if (r == 0 && !ret_phase->has_serve && !ret_phase->has_train)
		r = complain(&reader, folder, "neither serve.json nor train.json");
	if (r < 0)
		phase_finish(ret_phase);
	return r;
}

void phase_finish(struct phase *phase)
{
	free(phase->arrival_ms);
	free(phase->service_ms);
	memset(phase, 0, sizeof(*phase));
}
