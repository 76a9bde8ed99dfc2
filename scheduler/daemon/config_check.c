/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>

#include "daemon/config_keys.h"

static unsigned int line_of(const struct config_tenant *tenant, const char *path)
{
	const struct config_key *key =
		config_find_key(config_tenant_keys, config_tenant_key_count, path);
	unsigned int line = tenant->key_line[key - config_tenant_keys];

	return line ? line : tenant->line;
}

bool config_has_match(const struct config_tenant *tenant)
{
	const struct config_match *match = &tenant->match;

	return match->uid != CONFIG_NO_ID || match->gid != CONFIG_NO_ID || *match->cgroup ||
	       *match->program;
}

static bool is_name(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr(".-_", *name))
			return false;
	}
	return true;
}

static int check_name(const struct config *config, uint32_t index, struct config_error *reterr)
{
	const struct config_tenant *tenant = &config->tenant[index];

	if (!is_name(tenant->name)) {
		config_fail(reterr, config->file, line_of(tenant, "name"),
			    *tenant->name ? "tenant \"%s\": a name has letters, digits, dot, dash "
					    "and underscore only"
					  : "tenant%s: it has no name; add name = \"...\"",
			    tenant->name);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < index; i++) {
		if (strcmp(config->tenant[i].name, tenant->name))
			continue;
		if (i)
			config_fail(reterr, config->file, line_of(tenant, "name"),
				    "tenant %s: there is one of that name at line %u; rename one",
				    tenant->name, line_of(&config->tenant[i], "name"));
		else
			config_fail(reterr, config->file, line_of(tenant, "name"),
				    "tenant %s: that name is the default tenant's; rename it, or "
				    "write default = { ... } outside the list",
				    tenant->name);
		return -EINVAL;
	}
	return 0;
}

static int check_class(const struct config *config, const struct config_tenant *tenant,
		       struct config_error *reterr)
{
	bool latency = tenant->tenant_class == SLUICE_LATENCY_CRITICAL;
	bool target = tenant->target.p99_ns || tenant->target.over_permille;
	const char *of = tenant->target.of;

	if (latency && tenant == &config->tenant[0]) {
		config_fail(reterr, config->file, line_of(tenant, "class"),
			    "default: it cannot be latency-critical, since nobody is kept out of "
			    "it; make a tenant with a match");
		return -EINVAL;
	}
	if (latency && !config_has_match(tenant)) {
		config_fail(reterr, config->file, tenant->line,
			    "tenant %s: latency-critical without a match, so anyone could enter; "
			    "add match = { uid = \"...\"; }",
			    tenant->name);
		return -EINVAL;
	}
	if (!latency && target) {
		config_fail(reterr, config->file, line_of(tenant, "target.p99"),
			    "tenant %s: only a latency-critical tenant has a target; set class = "
			    "\"latency-critical\" or remove it",
			    tenant->name);
		return -EINVAL;
	}
	if (*of && strcmp(of, "service") && (strncmp(of, "range:", 6) || !of[6])) {
		config_fail(reterr, config->file, line_of(tenant, "target.of"),
			    "tenant %s: target.of is \"%s\"; it is \"service\" or \"range:NAME\"",
			    tenant->name, of);
		return -EINVAL;
	}
	return 0;
}

static int check_limits(const struct config *config, const struct config_tenant *tenant,
			struct config_error *reterr)
{
	if (tenant->gpu_min_permille > tenant->gpu_max_permille) {
		config_fail(reterr, config->file, line_of(tenant, "gpu.min"),
			    "tenant %s: gpu.min %u.%u %% is above gpu.max %u.%u %%; lower one or "
			    "raise the other",
			    tenant->name, tenant->gpu_min_permille / 10,
			    tenant->gpu_min_permille % 10, tenant->gpu_max_permille / 10,
			    tenant->gpu_max_permille % 10);
		return -EINVAL;
	}
	if (tenant->memory_min_bytes > tenant->memory_max_bytes) {
		config_fail(reterr, config->file, line_of(tenant, "memory.min"),
			    "tenant %s: memory.min is above memory.max; lower one or raise the "
			    "other",
			    tenant->name);
		return -EINVAL;
	}
	return 0;
}

/* The default tenant is one of them: its minimum is one promise, however many processes. */
static int check_sums(const struct config *config, uint64_t device_bytes,
		      struct config_error *reterr)
{
	uint64_t permille = 0, bytes = 0;

	for (uint32_t i = 0; i < config->tenants; i++) {
		const struct config_tenant *tenant = &config->tenant[i];

		permille += tenant->gpu_min_permille;
		if (permille > 1000) {
			config_fail(reterr, config->file, line_of(tenant, "gpu.min"),
				    "tenant %s: with this one the gpu.min of all tenants sum to "
				    "%u.%u %%, more than there is; lower some",
				    tenant->name, (unsigned int)(permille / 10),
				    (unsigned int)(permille % 10));
			return -EINVAL;
		}
		if (__builtin_add_overflow(bytes, tenant->memory_min_bytes, &bytes) ||
		    (device_bytes && bytes > device_bytes)) {
			config_fail(reterr, config->file, line_of(tenant, "memory.min"),
				    "tenant %s: with this one the memory.min of all tenants sum to "
				    "more than a GPU has (%llu MiB); lower some",
				    tenant->name, (unsigned long long)(device_bytes >> 20));
			return -EINVAL;
		}
	}
	return 0;
}

int config_check(const struct config *config, uint64_t device_bytes, struct config_error *reterr)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < config->tenants; i++) {
		if (i)
			r = check_name(config, i, reterr);
		if (!r)
			r = check_class(config, &config->tenant[i], reterr);
		if (!r)
			r = check_limits(config, &config->tenant[i], reterr);
	}
	return r ? r : check_sums(config, device_bytes, reterr);
}

bool config_level_is_capped(const struct config *config)
{
	return config->level != CONFIG_LEVEL_AUTO && config->level > 2000;
}

static bool warn_level(const struct config *config, struct config_error *ret_warning)
{
	if (!config_level_is_capped(config))
		return false;
	config_fail(ret_warning, config->file, 0,
		    "level: above 2 work runs beside requests, which needs SM partitions; this "
		    "version has none, so it is 2");
	return true;
}

static bool warn_tenant(const struct config *config, const struct config_tenant *tenant,
			struct config_error *ret_warning)
{
	bool target = tenant->target.p99_ns || tenant->target.over_permille;

	if (tenant->tenant_class != SLUICE_LATENCY_CRITICAL)
		return false;
	if (!strcmp(config_policy_name(config), "share")) {
		config_fail(ret_warning, config->file,
			    target ? line_of(tenant, "target.p99") : tenant->line,
			    "tenant %s: policy share does not look at latency%s; set policy = "
			    "\"slo\"",
			    tenant->name, target ? " and keeps no target" : "");
		return true;
	}
	if (target && config->level != CONFIG_LEVEL_AUTO) {
		config_fail(ret_warning, config->file, line_of(tenant, "target.p99"),
			    "tenant %s: the level is fixed, and the target is not steered by; "
			    "level = \"auto\" steers",
			    tenant->name);
		return true;
	}
	return false;
}

bool config_warning(const struct config *config, uint32_t at, struct config_error *ret_warning)
{
	if (warn_level(config, ret_warning) && !at--)
		return true;
	for (uint32_t i = 0; i < config->tenants; i++) {
		if (warn_tenant(config, &config->tenant[i], ret_warning) && !at--)
			return true;
	}
	return false;
}

const struct config_tenant *config_find(const struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->tenants; i++) {
		if (!strcmp(config->tenant[i].name, name))
			return &config->tenant[i];
	}
	return NULL;
}

const char *config_policy_name(const struct config *config)
{
	if (config->policy == CONFIG_POLICY_SHARE)
		return "share";
	if (config->policy == CONFIG_POLICY_SLO)
		return "slo";
	for (uint32_t i = 0; i < config->tenants; i++) {
		if (config->tenant[i].tenant_class == SLUICE_LATENCY_CRITICAL)
			return "slo";
	}
	return "share";
}
