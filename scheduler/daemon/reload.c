/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "core/policy.h"
#include "daemon/arbiter.h"
#include "daemon/devices.h"
#include "daemon/lately.h"
#include "daemon/process.h"

struct tenant_entry *reload_find(struct arbiter *arbiter, const char *name)
{
	for (uint32_t i = 0; i < CORE_MAX_TENANTS; i++) {
		if (arbiter->tenant[i].used && !arbiter->tenant[i].leaving &&
		    !strcmp(arbiter->tenant[i].conf.name, name))
			return &arbiter->tenant[i];
	}
	return NULL;
}

/* A tenant that is leaving and comes back keeps its place; a new one takes a free place. */
static struct tenant_entry *reload_place(struct arbiter *arbiter, const char *name)
{
	struct tenant_entry *free_entry = NULL;

	for (uint32_t i = 0; i < CORE_MAX_TENANTS; i++) {
		struct tenant_entry *entry = &arbiter->tenant[i];

		if (entry->used && !strcmp(entry->conf.name, name))
			return entry;
		if (!entry->used && !free_entry)
			free_entry = entry;
	}
	return free_entry;
}

static void reload_tenant(struct arbiter *arbiter, struct tenant_entry *entry,
			  const struct config_tenant *conf)
{
	struct event event = {
		.kind = EVENT_TENANT,
		.tenant = (uint32_t)(entry - arbiter->tenant),
		.tenant_set = {.managed = conf->managed,
			       .weight = conf->weight,
			       .gpu_max_permille = conf->gpu_max_permille,
			       .gpu_min_permille = conf->gpu_min_permille,
			       .period_ns = conf->gpu_period_ns,
			       .memory_max_bytes = conf->memory_max_bytes,
			       .memory_min_bytes = conf->memory_min_bytes,
			       .target_ns = conf->target.p99_ns,
			       .target_over_permille = conf->target.over_permille,
			       .target_arrival = !strncmp(conf->target.of, "range:", 6)}};

	entry->used = true;
	entry->leaving = false;
	entry->conf = *conf;
	if (arbiter_feed(arbiter, &event))
		log_error("tenant %s: could not be put in force", conf->name);
}

void reload_forget(struct tenant_entry *entry)
{
	for (uint32_t device = 0; device < CORE_MAX_DEVICES; device++) {
		free(entry->past[device]);
		entry->past[device] = NULL;
		entry->late[device] = 0;
		lately_forget(entry, device);
	}
	entry->used = false;
}

static void reload_settle(struct arbiter *arbiter, struct tenant_entry *entry)
{
	struct event event = {.kind = EVENT_TENANT_GONE,
			      .tenant = (uint32_t)(entry - arbiter->tenant)};

	if (!entry->leaving || entry->processes || entry->holds)
		return;
	(void)arbiter_feed(arbiter, &event);
	reload_forget(entry);
}

void reload_release(struct arbiter *arbiter, struct tenant_entry *entry)
{
	entry->processes--;
	reload_settle(arbiter, entry);
}

void reload_unhold(struct arbiter *arbiter, struct tenant_entry *entry)
{
	entry->holds--;
	reload_settle(arbiter, entry);
}

/* What is not in the configuration any more: gone, or leaving with its last process. */
static void reload_drop(struct arbiter *arbiter)
{
	for (uint32_t i = 1; i < CORE_MAX_TENANTS; i++) {
		struct tenant_entry *entry = &arbiter->tenant[i];

		if (!entry->used || config_find(&arbiter->config, entry->conf.name))
			continue;
		entry->leaving = true;
		reload_settle(arbiter, entry);
	}
}

static void reload_pages(struct arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];

		if (!process)
			continue;
		process_show_target(process);
		/* The core repeats no grant that has not changed, but `progress` may have. */
		for (uint32_t local = 0; local < SLUICE_MAX_DEVICES; local++) {
			if (process->local[local].used)
				grant_write(process, local, &process->local[local].grant);
		}
	}
}

_Static_assert((int)PAIRS_ALWAYS == (int)CONFIG_PAIRS_ALWAYS &&
		       (int)PAIRS_PROGRESS == (int)CONFIG_PAIRS_PROGRESS &&
		       (int)PAIRS_COMPLETION == (int)CONFIG_PAIRS_COMPLETION,
	       "the configuration's words are the core's");

void reload_apply(struct arbiter *arbiter)
{
	struct event event = {.kind = EVENT_POLICY,
			      .policy = policy_find(config_policy_name(&arbiter->config))};
	struct event level = {.kind = EVENT_LEVEL,
			      .level = {.fixed = arbiter->config.level != CONFIG_LEVEL_AUTO,
					.level = arbiter->config.level}};
	struct event pairs = {.kind = EVENT_PAIRS, .pairs = (enum pairs_test)arbiter->config.pairs};

	reload_drop(arbiter);
	for (uint32_t i = 0; i < arbiter->config.tenants; i++) {
		const struct config_tenant *conf = &arbiter->config.tenant[i];
		struct tenant_entry *entry =
			i ? reload_place(arbiter, conf->name) : &arbiter->tenant[0];

		if (entry)
			reload_tenant(arbiter, entry, conf);
		else
			log_error("tenant %s: no place, since removed tenants still have processes",
				  conf->name);
	}
	(void)arbiter_feed(arbiter, &level);
	(void)arbiter_feed(arbiter, &pairs);
	(void)arbiter_feed(arbiter, &event);
	reload_pages(arbiter);
}

int reload_file(struct arbiter *arbiter, struct config_error *reterr)
{
	struct config *fresh;
	int r = 0;

	fresh = malloc(sizeof(*fresh));
	if (!fresh) {
		config_fail(reterr, "", 0, "out of memory");
		return -ENOMEM;
	}
	if (arbiter->config_file)
		r = config_load(fresh, arbiter->config_file, devices_least_bytes(arbiter), reterr);
	else
		config_defaults(fresh);
	if (!r) {
		arbiter->config = *fresh;
		reload_apply(arbiter);
	}
	free(fresh);
	return r;
}

int reload_set(struct arbiter *arbiter, const struct sluice_msg_set *set,
	       struct config_error *reterr)
{
	int r = config_set(&arbiter->config, set->tenant, set->key, set->value,
			   devices_least_bytes(arbiter), reterr);

	if (!r)
		reload_apply(arbiter);
	return r;
}
