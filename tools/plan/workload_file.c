/* SPDX-License-Identifier: Apache-2.0 */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload_impl.h"
#include "workload_reader.h"

static int read_root(struct reader *reader, const config_setting_t *root)
{
	/* `table` holds the figures of the published table as a whole, for whoever compares. */
	static const char *const known[] = {"name",	   "source", "device_sms", "steps",
					    "step_gap_ns", "table",  "phases",	   "operations",
					    "has_gaps",	   NULL};
	const config_setting_t *phases = config_setting_get_member(root, "phases");
	const config_setting_t *operations = config_setting_get_member(root, "operations");
	struct workload *workload = reader->workload;
	uint64_t sms = 0, steps = 1, has_gaps = 0;
	int r;

	(void)((r = reader_known_keys(reader, root, known, "a workload")) ||
	       (r = reader_text(reader, root, "name", workload->name, sizeof(workload->name))) ||
	       (r = reader_text(reader, root, "source", workload->source,
				sizeof(workload->source))) ||
	       (r = reader_member(reader, root, "device_sms", 1, 1024, &sms)) ||
	       (r = reader_optional(reader, root, "steps", 1, 100000, &steps)) ||
	       (r = reader_optional(reader, root, "step_gap_ns", 0, WORKLOAD_MAX_NS,
				    &workload->step_gap_ns)) ||
	       (r = reader_optional(reader, root, "has_gaps", 0, 1, &has_gaps)));
	if (r)
		return r;
	workload->device_sms = (uint32_t)sms;
	workload->steps = (uint32_t)steps;
	workload->has_gaps = has_gaps;
	if (!phases == !operations)
		return reader_fail(reader, root, "a workload has either phases or operations");
	r = phases ? reader_phases(reader, phases) : reader_operations(reader, operations);
	if (!r && !workload->n_ops)
		r = reader_fail(reader, root, "a workload has at least one operation");
	return r;
}

static int read_config(config_t *config, const char *path, struct reader *reader)
{
	FILE *file = fopen(path, "re");
	int r;

	if (!file) {
		r = -errno;
		(void)snprintf(reader->err->msg, sizeof(reader->err->msg), "cannot be opened: %s",
			       strerror(-r));
		return r;
	}
	r = config_read(config, file) == CONFIG_TRUE ? 0 : -EINVAL;
	fclose(file);
	if (!r)
		return read_root(reader, config_root_setting(config));
	reader->err->line = config_error_line(config);
	(void)snprintf(reader->err->msg, sizeof(reader->err->msg), "%s",
		       config_error_text(config) ? config_error_text(config) : "cannot be read");
	return r;
}

int workload_load(const char *path, struct workload **ret, struct workload_error *reterr)
{
	struct reader reader = {.err = reterr, .next_key = 1};
	config_t config;
	int r;

	*reterr = (struct workload_error){0};
	(void)snprintf(reterr->file, sizeof(reterr->file), "%s", path);
	reader.workload = calloc(1, sizeof(*reader.workload));
	if (!reader.workload)
		return -ENOMEM;
	config_init(&config);
	r = read_config(&config, path, &reader);
	config_destroy(&config);
	if (r == -ENOMEM)
		(void)snprintf(reterr->msg, sizeof(reterr->msg), "out of memory");
	if (r) {
		workload_free(reader.workload);
		return r;
	}
	workload_sum(reader.workload);
	*ret = reader.workload;
	return 0;
}
