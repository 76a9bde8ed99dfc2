/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants of a scenario: what they run, when, and what they are promised. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/desc_quantity.h"
#include "plan/scenario_form.h"
#include "plan/workload.h"

#define SECOND 1000000000ull
#define HOUR (3600 * SECOND)

/* ---- arrivals ---- */

static const char *const kinds[] = {[ARRIVALS_POISSON] = "poisson",
				    [ARRIVALS_PERIODIC] = "periodic",
				    [ARRIVALS_LOGNORMAL] = "lognormal",
				    [ARRIVALS_RECORDED] = "recorded",
				    [ARRIVALS_CLOSED] = "closed"};

static int read_kind(struct form *form, const config_setting_t *group, enum arrivals_kind *ret_kind)
{
	const char *text;
	int r = form_text(form, group, "kind", true, &text);

	for (uint32_t i = 0; !r && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(kinds[i], text)) {
			*ret_kind = (enum arrivals_kind)i;
			return 0;
		}
	}
	return r ? r
		 : form_fail(
			   form, config_setting_get_member(group, "kind"),
			   "there are no arrivals \"%s\"; there are poisson, periodic, lognormal, "
			   "recorded and closed",
			   text);
}

static int read_gaps(struct form *form, const config_setting_t *group,
		     struct scenario_tenant *tenant)
{
	const config_setting_t *setting = config_setting_get_member(group, "file");
	char path[512];
	int line = 0, r;

	if (!setting)
		return form_fail(form, group,
				 "recorded arrivals need a file of gaps: file = \"gaps.txt\";");
	r = form_path(form, setting, sizeof(path), path);
	if (r)
		return r;
	r = arrivals_load_gaps(path, &tenant->gaps, &tenant->arrivals.n_gaps, &line);
	if (r == -EINVAL)
		return form_fail(form, setting, "%s:%d: not a gap in seconds", path, line);
	if (r)
		return form_fail(form, setting, "cannot read %s: %s", path, strerror(-r));
	tenant->arrivals.gaps = tenant->gaps;
	return 0;
}

static int read_step(struct form *form, const config_setting_t *group, struct arrivals_step *step)
{
	static const struct form_key keys[] = {
		{"at", FORM_NS, offsetof(struct arrivals_step, at_ns), 0, 24 * HOUR},
		{"rate", FORM_PERMILLE, offsetof(struct arrivals_step, rate_permille), 1, 100000},
		{NULL, FORM_GROUP, 0, 0, 0}};

	if (!config_setting_is_group(group) || config_setting_length(group) != 2)
		return form_fail(form, group,
				 "a step of the rate is { at = \"30 s\"; rate = \"160 %%\"; }");
	return form_read(form, group, "a step", keys, step);
}

static int read_steps(struct form *form, const config_setting_t *group,
		      struct arrivals_desc *arrivals)
{
	const config_setting_t *steps = config_setting_get_member(group, "steps");
	int length, r = 0;

	if (!steps)
		return 0;
	length = config_setting_is_list(steps) ? config_setting_length(steps) : 0;
	if (length < 1 || length > ARRIVALS_MAX_STEPS)
		return form_fail(form, steps, "steps must be a list of 1 to %d",
				 ARRIVALS_MAX_STEPS);
	for (int i = 0; !r && i < length; i++) {
		const config_setting_t *step = config_setting_get_elem(steps, (unsigned int)i);

		r = read_step(form, step, &arrivals->steps[i]);
		if (!r && i && arrivals->steps[i].at_ns <= arrivals->steps[i - 1].at_ns)
			r = form_fail(form, step, "this step is not after the one before");
	}
	arrivals->n_steps = (uint32_t)length;
	return r;
}

static int check_arrivals(struct form *form, const config_setting_t *group,
			  const struct scenario_tenant *tenant)
{
	struct arrivals trial;
	struct arrivals_desc desc = tenant->arrivals;
	bool mean = desc.mean_ns != 0, load = tenant->load_permille != 0;

	if (mean && load)
		return form_fail(form, group, "arrivals: either load or mean, not both");
	if (!mean && !load && desc.kind != ARRIVALS_RECORDED)
		return form_fail(form, group,
				 "arrivals: say how many: load = \"50 %%\"; or mean = \"20 ms\";");
	if (desc.kind == ARRIVALS_CLOSED && load)
		return form_fail(form, group,
				 "closed arrivals have a mean (the time between), no load");
	if (!mean)
		desc.mean_ns = SECOND;
	if (arrivals_init(&trial, &desc))
		return form_fail(form, group,
				 "arrivals: jitter must be below 100 %%, sigma at most 300 %%");
	return 0;
}

#define ARRIVALS(member) offsetof(struct scenario_tenant, arrivals.member)

static int read_arrivals(struct form *form, const config_setting_t *group,
			 struct scenario_tenant *tenant)
{
	static const struct form_key keys[] = {
		{"kind", FORM_GROUP, 0, 0, 0},
		{"load", FORM_PERMILLE, offsetof(struct scenario_tenant, load_permille), 1, 5000},
		{"mean", FORM_NS, ARRIVALS(mean_ns), 1000, HOUR},
		{"jitter", FORM_PERMILLE, ARRIVALS(jitter_permille), 0, 999},
		{"sigma", FORM_PERMILLE, ARRIVALS(sigma_permille), 1, 3000},
		{"file", FORM_GROUP, 0, 0, 0},
		{"steps", FORM_GROUP, 0, 0, 0},
		{NULL, FORM_GROUP, 0, 0, 0}};
	int r = form_read(form, group, "arrivals", keys, tenant);

	if (!r)
		r = read_kind(form, group, &tenant->arrivals.kind);
	if (!r && tenant->arrivals.kind == ARRIVALS_RECORDED)
		r = read_gaps(form, group, tenant);
	if (!r)
		r = read_steps(form, group, &tenant->arrivals);
	return r ? r : check_arrivals(form, group, tenant);
}

/* ---- what it is promised ---- */

/* "20 ms", or "+10 %" over alone. */
static int read_p99(struct form *form, const config_setting_t *setting, struct plan_target *target)
{
	const char *text = config_setting_get_string(setting);
	uint64_t permille;

	if (text && *text == '+' && !quantity_parse(QUANTITY_PERMILLE, text + 1, &permille) &&
	    permille >= 1 && permille <= 100000) {
		target->extra_permille = (uint32_t)permille;
		return 0;
	}
	if (text && !quantity_parse(QUANTITY_NS, text, &target->p99_ns) && target->p99_ns)
		return 0;
	return form_fail(form, setting,
			 "p99 must be a time, \"20 ms\", or what it may be over alone, \"+10 %%\"");
}

static int read_target(struct form *form, const config_setting_t *group,
		       struct world_tenant *tenant)
{
	static const struct form_key keys[] = {{"p99", FORM_GROUP, 0, 0, 0},
					       {"of", FORM_GROUP, 0, 0, 0},
					       {NULL, FORM_GROUP, 0, 0, 0}};
	const config_setting_t *p99 = config_setting_get_member(group, "p99");
	const char *of;
	int r = form_read(form, group, "target", keys, tenant);

	if (!r && !tenant->latency)
		r = form_fail(form, group, "only a latency-critical tenant has a target");
	if (!r && !p99)
		r = form_fail(form, group, "p99 is missing");
	if (!r)
		r = read_p99(form, p99, &tenant->target);
	if (!r)
		r = form_text(form, group, "of", false, &of);
	if (r || !of || !strcmp(of, "service"))
		return r;
	/* With a process range the time of arrival is known. */
	tenant->target.from_arrival = !strcmp(of, "arrival") || !strncmp(of, "range:", 6);
	return tenant->target.from_arrival
		       ? 0
		       : form_fail(form, config_setting_get_member(group, "of"),
				   "of must be \"service\", \"arrival\" or \"range:NAME\"");
}

static int read_gpu(struct form *form, const config_setting_t *group, struct world_tenant *tenant)
{
	static const struct form_key keys[] = {
		{"weight", FORM_COUNT, offsetof(struct world_tenant, weight), 1, 10000},
		{"max", FORM_PERMILLE, offsetof(struct world_tenant, gpu_max_permille), 1, 1000},
		{"min", FORM_PERMILLE, offsetof(struct world_tenant, gpu_min_permille), 0, 1000},
		{NULL, FORM_GROUP, 0, 0, 0}};
	int r = form_read(form, group, "gpu", keys, tenant);

	if (!r && tenant->gpu_min_permille > tenant->gpu_max_permille)
		r = form_fail(form, group, "gpu.min is more than gpu.max");
	return r;
}

/* ---- tenants ---- */

static int read_class(struct form *form, const config_setting_t *group, struct world_tenant *tenant)
{
	const char *text;
	int r = form_text(form, group, "class", false, &text);

	if (r || !text)
		return r;
	tenant->latency = !strcmp(text, "latency-critical");
	if (!tenant->latency && strcmp(text, "best-effort"))
		return form_fail(form, config_setting_get_member(group, "class"),
				 "class must be \"latency-critical\" or \"best-effort\"");
	return 0;
}

/* A name alone, with no dot or slash, is a workload that comes with Sluice. */
static int find_workload(struct form *form, const config_setting_t *setting, size_t size,
			 char *ret_path)
{
	const char *text = config_setting_get_string(setting);

	if (!text || strpbrk(text, "./") || !*text)
		return form_path(form, setting, size, ret_path);
	if (form->files->workload(text, size, ret_path))
		return form_fail(form, setting,
				 "no workload %s comes with Sluice; a file is named with its dot: "
				 "\"%s.conf\"",
				 text, text);
	return 0;
}

static int read_workload(struct form *form, const config_setting_t *group,
			 struct scenario_tenant *tenant)
{
	const config_setting_t *setting = config_setting_get_member(group, "workload");
	struct workload_error error = {0};
	char path[512];
	int r;

	if (!setting)
		return form_fail(form, group, "workload is missing: workload = \"FILE\";");
	r = find_workload(form, setting, sizeof(path), path);
	if (r)
		return r;
	if (workload_load(path, &tenant->workload, &error)) {
		(void)snprintf(form->err->file, sizeof(form->err->file), "%s", path);
		(void)form_fail(form, NULL, "%s", error.msg);
		form->err->line = error.line;
		return -EINVAL;
	}
	workload_restate(tenant->workload, form->scenario->config.device.sms,
			 form->scenario->config.device.kernel_gap_ns);
	tenant->world.workload = tenant->workload;
	return 0;
}

static int read_name(struct form *form, const config_setting_t *group, struct world_tenant *tenant)
{
	const struct scenario *scenario = form->scenario;
	const config_setting_t *setting = config_setting_get_member(group, "name");
	const char *text;
	int r = form_text(form, group, "name", true, &text);

	if (r)
		return r;
	if (strlen(text) >= sizeof(tenant->name))
		return form_fail(form, setting, "name is longer than %zu characters",
				 sizeof(tenant->name) - 1);
	for (uint32_t i = 0; i + 1 < scenario->tenants; i++) {
		if (!strcmp(scenario->tenant[i].world.name, text))
			return form_fail(form, setting, "there is a tenant %s already", text);
	}
	(void)snprintf(tenant->name, sizeof(tenant->name), "%s", text);
	return 0;
}

static int read_parts(struct form *form, const config_setting_t *group,
		      struct scenario_tenant *tenant)
{
	config_setting_t *part;
	int r = form_group(form, group, "gpu", &part);

	if (!r && part)
		r = read_gpu(form, part, &tenant->world);
	if (!r)
		r = form_group(form, group, "target", &part);
	if (!r && part)
		r = read_target(form, part, &tenant->world);
	if (!r)
		r = form_group(form, group, "arrivals", &part);
	if (r)
		return r;
	if (tenant->world.latency && !part)
		return form_fail(form, group,
				 "a latency-critical tenant needs arrivals = { kind = "
				 "\"poisson\"; load = \"50 %%\"; };");
	if (!tenant->world.latency && tenant->world.work_sigma_permille)
		return form_fail(form, config_setting_get_member(group, "lengths"),
				 "lengths are of requests: a best-effort tenant has none");
	if (!tenant->world.latency && part)
		return form_fail(form, part,
				 "a best-effort tenant runs all the time: it has no "
				 "arrivals");
	return part ? read_arrivals(form, part, tenant) : 0;
}

static int read_tenant(struct form *form, const config_setting_t *group,
		       struct scenario_tenant *tenant)
{
	static const struct form_key keys[] = {
		{"name", FORM_GROUP, 0, 0, 0},
		{"class", FORM_GROUP, 0, 0, 0},
		{"workload", FORM_GROUP, 0, 0, 0},
		{"arrivals", FORM_GROUP, 0, 0, 0},
		{"target", FORM_GROUP, 0, 0, 0},
		{"gpu", FORM_GROUP, 0, 0, 0},
		{"lengths", FORM_PERMILLE,
		 offsetof(struct scenario_tenant, world.work_sigma_permille), 0, 3000},
		{NULL, FORM_GROUP, 0, 0, 0}};
	int r;

	tenant->world.weight = 100;
	tenant->world.gpu_max_permille = 1000;
	if (!config_setting_is_group(group))
		return form_fail(form, group, "a tenant is a group: { name = ...; }");
	r = form_read(form, group, "a tenant", keys, tenant);
	if (!r)
		r = read_name(form, group, &tenant->world);
	if (!r)
		r = read_class(form, group, &tenant->world);
	if (!r)
		r = read_parts(form, group, tenant);
	return r ? r : read_workload(form, group, tenant);
}

int scenario_read_tenants(struct form *form, const config_setting_t *root)
{
	const config_setting_t *tenants = config_setting_get_member(root, "tenants");
	struct scenario *scenario = form->scenario;
	uint32_t minimums = 0;
	int length =
		tenants && config_setting_is_list(tenants) ? config_setting_length(tenants) : 0;
	int r = 0;

	if (length < 1 || length > WORLD_MAX_PROCS)
		return form_fail(form, tenants,
				 "tenants must be a list of 1 to %d groups: tenants = "
				 "( { ... }, { ... } );",
				 WORLD_MAX_PROCS);
	for (int i = 0; !r && i < length; i++) {
		const config_setting_t *group = config_setting_get_elem(tenants, (unsigned int)i);

		scenario->tenants++;
		r = read_tenant(form, group, &scenario->tenant[i]);
		minimums += scenario->tenant[i].world.gpu_min_permille;
		if (!r && minimums > 1000)
			r = form_fail(form, group, "the sum of gpu.min is more than 100 %%");
	}
	return r;
}
