/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "device/desc.h"
#include "plan/scenario_form.h"
#include "plan/workload.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)

/* ---- the device ---- */

static int fail_device(struct form *form, const config_setting_t *at, const char *path,
		       const struct desc_error *error)
{
	if (error->line)
		return form_fail(form, at, "device: %s:%d: %s", path, error->line, error->text);
	return form_fail(form, at, "device: %s: %s", path, error->text);
}

static int load_preset(struct form *form, const config_setting_t *at, const char *name)
{
	struct desc_error error;
	char path[512];

	if (strchr(name, '/')) {
		int r = form_path(form, at, sizeof(path), path);

		if (r)
			return r;
	} else if (form->files->preset(name, sizeof(path), path)) {
		return form_fail(form, at,
				 "there is no device preset %s; name one of `sluice run "
				 "--simulated`, or a file with a / in it",
				 name);
	}
	if (desc_load(path, DESC_MPS_FILE, &form->scenario->config.device, &error))
		return fail_device(form, at, path, &error);
	return 0;
}

int scenario_read_device(struct form *form, const config_setting_t *root)
{
	static const char *const passed[] = {"preset", NULL};
	const config_setting_t *device = config_setting_get_member(root, "device"), *preset;
	struct desc_error error;
	int r;

	if (!device)
		return form_fail(form, NULL, "device is missing: device = \"h100\";");
	if (config_setting_get_string(device))
		return load_preset(form, device, config_setting_get_string(device));
	if (!config_setting_is_group(device))
		return form_fail(form, device, "device must be a preset's name or a group");
	preset = config_setting_get_member(device, "preset");
	if (preset && !config_setting_get_string(preset))
		return form_fail(form, preset, "preset must be a text in quotes");
	r = preset ? load_preset(form, preset, config_setting_get_string(preset)) : 0;
	if (r)
		return r;
	if (desc_load_group(device, passed, preset != NULL, &form->scenario->config.device,
			    &error)) {
		form->err->line = error.line ? error.line : (int)config_setting_source_line(device);
		(void)snprintf(form->err->msg, sizeof(form->err->msg), "device: %s", error.text);
		return -EINVAL;
	}
	return 0;
}

/* ---- what a run is ---- */

static int read_seeds(struct form *form, const config_setting_t *run)
{
	struct scenario *scenario = form->scenario;
	const config_setting_t *seeds = run ? config_setting_get_member(run, "seeds") : NULL;
	uint64_t count = 3;
	int length, r = 0;

	if (seeds && config_setting_is_aggregate(seeds)) {
		length = config_setting_length(seeds);
		if (length < 1 || length > (int)SCENARIO_MAX_SEEDS)
			return form_fail(form, seeds, "seeds: 1 to %u of them", SCENARIO_MAX_SEEDS);
		for (int i = 0; !r && i < length; i++)
			r = form_value(form, config_setting_get_elem(seeds, (unsigned int)i),
				       "a seed", PLAN_COUNT, 0, INT64_MAX, &scenario->seed[i]);
		scenario->seeds = (uint32_t)length;
		return r;
	}
	if (seeds)
		r = form_value(form, seeds, "seeds", PLAN_COUNT, 1, SCENARIO_MAX_SEEDS, &count);
	if (r)
		return r;
	scenario->seeds = (uint32_t)count;
	for (uint32_t i = 0; i < scenario->seeds; i++)
		scenario->seed[i] = i + 1;
	return 0;
}

static int read_run(struct form *form, const config_setting_t *root)
{
	static const struct form_key keys[] = {
		{"requests", FORM_COUNT, offsetof(struct scenario, requests), 40, 10000000},
		{"warmup", FORM_COUNT, offsetof(struct scenario, config.warmup_requests), 0,
		 1000000},
		{"time", FORM_NS, offsetof(struct scenario, time_ns), SECOND / 10, 24 * HOUR},
		{"seeds", FORM_GROUP, 0, 0, 0},
		{NULL, FORM_GROUP, 0, 0, 0}};
	config_setting_t *run;
	int r = form_group(form, root, "run", &run);

	if (!r && run)
		r = form_read(form, run, "run", keys, form->scenario);
	return r ? r : read_seeds(form, run);
}

#define ASSUMED(member) offsetof(struct scenario, config.member)

static int read_assumed(struct form *form, const config_setting_t *root)
{
	static const struct form_key keys[] = {
		{"visible", FORM_NS, ASSUMED(visible_ns), 0, SECOND},
		{"wake", FORM_NS, ASSUMED(wake_ns), 0, SECOND},
		{"sync", FORM_NS, ASSUMED(sync_ns), 0, SECOND},
		{"turnaround", FORM_NS, ASSUMED(turnaround_ns), 0, SECOND},
		{"gap_least", FORM_NS, ASSUMED(gap_least_ns), 0, SECOND},
		{"gap_most", FORM_NS, ASSUMED(gap_most_ns), 0, SECOND},
		{"loop_gap", FORM_NS, ASSUMED(loop_gap_ns), 0, SECOND},
		{"loop_depth", FORM_COUNT, ASSUMED(loop_depth), 1, MODEL_STREAM_DEPTH},
		{"prediction_error", FORM_PERMILLE, ASSUMED(noise_permille), 0, 900},
		{NULL, FORM_GROUP, 0, 0, 0}};
	const struct world_config *config = &form->scenario->config;
	config_setting_t *assumed;
	int r = form_group(form, root, "assumed", &assumed);

	if (!r && assumed)
		r = form_read(form, assumed, "assumed", keys, form->scenario);
	if (!r && config->gap_least_ns > config->gap_most_ns)
		r = form_fail(form, assumed, "gap_least is more than gap_most (%llu us)",
			      (unsigned long long)config->gap_most_ns / 1000);
	return r;
}

/* ---- the whole ---- */

static int check_whole(struct form *form)
{
	const struct scenario *scenario = form->scenario;
	bool servers = false;

	for (uint32_t i = 0; i < scenario->tenants; i++)
		servers |= scenario->tenant[i].world.latency;
	if (!servers)
		form->scenario->requests = 0;
	if (!servers && scenario->time_ns == 24 * HOUR)
		form->scenario->time_ns = 20 * SECOND;
	return 0;
}

static int read_root(struct form *form, const config_setting_t *root)
{
	static const struct form_key keys[] = {
		{"name", FORM_GROUP, 0, 0, 0},	  {"device", FORM_GROUP, 0, 0, 0},
		{"tenants", FORM_GROUP, 0, 0, 0}, {"policies", FORM_GROUP, 0, 0, 0},
		{"run", FORM_GROUP, 0, 0, 0},	  {"assumed", FORM_GROUP, 0, 0, 0},
		{NULL, FORM_GROUP, 0, 0, 0}};
	const char *name;
	int r = form_read(form, root, "a scenario", keys, form->scenario);

	if (!r)
		r = form_text(form, root, "name", false, &name);
	if (!r && name)
		(void)snprintf(form->scenario->name, sizeof(form->scenario->name), "%s", name);
	if (!r)
		r = scenario_read_device(form, root);
	if (!r)
		r = scenario_read_tenants(form, root);
	if (!r)
		r = scenario_read_orders(form, root);
	if (!r)
		r = read_run(form, root);
	if (!r)
		r = read_assumed(form, root);
	return r ? r : check_whole(form);
}

static int read_file(struct form *form, FILE *file)
{
	config_t config;
	int r;

	config_init(&config);
	if (config_read(&config, file) != CONFIG_TRUE) {
		const char *text = config_error_text(&config);

		form->err->line = config_error_line(&config);
		(void)snprintf(form->err->msg, sizeof(form->err->msg), "%s%s", text,
			       strcmp(text, "duplicate setting name")
				       ? ""
				       : ": one group has a name twice; remove or rename one");
		r = -EINVAL;
	} else {
		r = read_root(form, config_root_setting(&config));
	}
	config_destroy(&config);
	return r;
}

static void find_folder(const char *path, size_t size, char *ret_folder)
{
	const char *slash = strrchr(path, '/');

	if (slash)
		(void)snprintf(ret_folder, size, "%.*s", (int)(slash - path), path);
	else
		(void)snprintf(ret_folder, size, ".");
}

static struct scenario *scenario_new(const char *path)
{
	struct scenario *scenario = calloc(1, sizeof(*scenario));
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!scenario)
		return NULL;
	(void)snprintf(scenario->name, sizeof(scenario->name), "%.*s", (int)strcspn(name, "."),
		       name);
	world_config_preset(&scenario->config);
	scenario->requests = 2000;
	scenario->time_ns = 24 * HOUR;
	return scenario;
}

int scenario_load(const char *path, const struct scenario_files *files,
		  struct scenario **ret_scenario, struct scenario_error *reterr)
{
	struct form form = {.err = reterr, .files = files, .scenario = scenario_new(path)};
	FILE *file;
	struct stat about;
	int r = 0;

	*reterr = (struct scenario_error){0};
	(void)snprintf(reterr->file, sizeof(reterr->file), "%s", path);
	if (!form.scenario)
		return form_fail(&form, NULL, "%s", strerror(ENOMEM));
	find_folder(path, sizeof(form.folder), form.folder);
	file = fopen(path, "re");
	/* libconfig ends the process when a read fails, as it does for a folder. */
	if (!file)
		r = -errno;
	else if (fstat(fileno(file), &about) || S_ISDIR(about.st_mode))
		r = -EISDIR;
	if (r)
		(void)form_fail(&form, NULL, "cannot read it: %s", strerror(-r));
	else
		r = read_file(&form, file);
	if (file)
		(void)fclose(file);
	if (r) {
		scenario_finish(form.scenario);
		return r;
	}
	*ret_scenario = form.scenario;
	return 0;
}

void scenario_finish(struct scenario *scenario)
{
	if (!scenario)
		return;
	for (uint32_t i = 0; i < scenario->tenants; i++) {
		workload_free(scenario->tenant[i].workload);
		free(scenario->tenant[i].gaps);
	}
	free(scenario);
}
