/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that a scenario compares, and their sweeps. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/desc_quantity.h"
#include "plan/scenario_form.h"

/* What every policy takes beside its own options. */
static const char *const common[] = {"name", "mps", "client_priority"};

/* An entry of `policies`, not multiplied yet. */
struct entry {
	const config_setting_t *group; /* NULL: a name alone */
	struct scenario_order order;
	const config_setting_t *list[PLAN_MAX_OPTIONS]; /* options with several values */
	bool given[PLAN_MAX_OPTIONS];
};

/* "A, B" */
static void list_name(size_t size, char *list, const char *name)
{
	size_t length = strlen(list);

	(void)snprintf(list + length, size - length, "%s%s", length ? ", " : "", name);
}

static int no_policy(struct form *form, const config_setting_t *at, const char *name)
{
	const struct plan_policy *policy;
	char all[256] = "";

	for (unsigned int i = 0; (policy = plan_policy_at(i)); i++)
		list_name(sizeof(all), all, policy->name);
	return form_fail(form, at, "there is no policy \"%s\"; there are %s", name, all);
}

static int no_option(struct form *form, const config_setting_t *setting,
		     const struct plan_policy *policy)
{
	const char *name = config_setting_name(setting);
	uint32_t options = plan_policy_options(policy);
	const struct plan_policy *other;
	char all[256] = "", others[128] = "";

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		list_name(sizeof(all), all, common[i]);
	for (uint32_t i = 0; i < options; i++)
		list_name(sizeof(all), all, policy->options[i].name);
	for (unsigned int i = 0; (other = plan_policy_at(i)); i++) {
		if (plan_policy_option(other, name) >= 0)
			list_name(sizeof(others), others, other->name);
	}
	return form_fail(form, setting, "policy %s has no key %s%s%s; there are %s", policy->name,
			 name, *others ? ", it belongs to " : "", others, all);
}

static int read_flag(struct form *form, const config_setting_t *setting, bool *ret_on)
{
	uint64_t on;
	int r = form_value(form, setting, config_setting_name(setting), PLAN_FLAG, 0, 1, &on);

	*ret_on = on;
	return r;
}

static int read_option(struct form *form, const config_setting_t *setting, struct entry *entry)
{
	const char *name = config_setting_name(setting);
	const struct plan_policy *policy = entry->order.policy;
	const struct plan_option *option;
	int index, r = 0;

	if (!strcmp(name, "name"))
		return 0;
	if (!strcmp(name, "mps"))
		return read_flag(form, setting, &entry->order.mps);
	if (!strcmp(name, "client_priority"))
		return read_flag(form, setting, &entry->order.client_priority);
	index = plan_policy_option(policy, name);
	if (index < 0)
		return no_option(form, setting, policy);
	option = &policy->options[index];
	entry->given[index] = true;
	if (!config_setting_is_aggregate(setting))
		return form_value(form, setting, name, option->unit, option->least, option->most,
				  &entry->order.value[index]);
	if (!config_setting_length(setting))
		return form_fail(form, setting, "%s: an empty list", name);
	for (int i = 0; !r && i < config_setting_length(setting); i++)
		r = form_value(form, config_setting_get_elem(setting, (unsigned int)i), name,
			       option->unit, option->least, option->most,
			       &entry->order.value[index]);
	entry->list[index] = setting;
	return r;
}

static int find_policy(struct form *form, const config_setting_t *setting, struct entry *entry)
{
	const char *name = config_setting_get_string(setting);
	const config_setting_t *at = setting;
	uint32_t options;

	if (!name) {
		int r;

		if (!config_setting_is_group(setting))
			return form_fail(form, setting,
					 "a policy is a name or a group: { name = "
					 "\"slo\"; }");
		entry->group = setting;
		r = form_text(form, setting, "name", true, &name);
		if (r)
			return r;
		at = config_setting_get_member(setting, "name");
	}
	entry->order.policy = plan_policy_find(name);
	if (!entry->order.policy)
		return no_policy(form, at, name);
	options = plan_policy_options(entry->order.policy);
	for (uint32_t i = 0; i < options; i++)
		entry->order.value[i] = entry->order.policy->options[i].preset;
	/* Bare MPS has no priorities; whoever schedules for latency sets them. */
	entry->order.client_priority = strcmp(name, "native") != 0;
	return 0;
}

/* ---- rows ---- */

static void print_value(const struct plan_option *option, uint64_t value, size_t size, char *ret)
{
	if (value == PLAN_OPEN)
		(void)snprintf(ret, size, "open");
	else if (option->unit == PLAN_NS)
		quantity_print(QUANTITY_NS, value, ret, size);
	else if (option->unit == PLAN_PERMILLE)
		quantity_print(QUANTITY_PERMILLE, value, ret, size);
	else if (option->unit == PLAN_MILLI)
		(void)snprintf(ret, size, "%g", (double)(int64_t)value / 1000);
	else if (option->unit == PLAN_FLAG)
		(void)snprintf(ret, size, "%s", value ? "on" : "off");
	else
		(void)snprintf(ret, size, "%llu", (unsigned long long)value);
}

/* "slo on MPS, window 300 us" */
static void make_label(const struct entry *entry, struct scenario_order *order)
{
	const struct plan_policy *policy = order->policy;
	uint32_t options = plan_policy_options(policy);
	size_t at = (size_t)snprintf(order->label, sizeof(order->label), "%s on %s%s", policy->name,
				     order->mps ? "MPS" : "time slices",
				     order->mps && order->client_priority &&
						     !strcmp(policy->name, "native")
					     ? " with priority"
					     : "");

	for (uint32_t i = 0; i < options && at < sizeof(order->label); i++) {
		char value[32];

		if (!entry->given[i])
			continue;
		print_value(&policy->options[i], order->value[i], sizeof(value), value);
		at += (size_t)snprintf(order->label + at, sizeof(order->label) - at, ", %s %s",
				       policy->options[i].name, value);
	}
}

static int add_order(struct form *form, const config_setting_t *at, const struct entry *entry,
		     const struct scenario_order *order)
{
	struct scenario *scenario = form->scenario;

	if (scenario->orders == SCENARIO_MAX_ORDERS)
		return form_fail(form, at, "more than %u policies and values of their sweeps",
				 SCENARIO_MAX_ORDERS);
	scenario->order[scenario->orders] = *order;
	make_label(entry, &scenario->order[scenario->orders++]);
	return 0;
}

/* Every combination of the lists' values. */
static int multiply(struct form *form, const config_setting_t *at, const struct entry *entry,
		    struct scenario_order *order, uint32_t from)
{
	uint32_t options = plan_policy_options(order->policy);
	const struct plan_option *option;
	int r = 0;

	while (from < options && !entry->list[from])
		from++;
	if (from == options)
		return add_order(form, at, entry, order);
	option = &order->policy->options[from];
	for (int i = 0; !r && i < config_setting_length(entry->list[from]); i++) {
		r = form_value(form, config_setting_get_elem(entry->list[from], (unsigned int)i),
			       option->name, option->unit, option->least, option->most,
			       &order->value[from]);
		if (!r)
			r = multiply(form, at, entry, order, from + 1);
	}
	return r;
}

static int read_entry(struct form *form, const config_setting_t *setting, uint32_t number)
{
	struct entry entry = {
		.order = {.mps = form->scenario->config.device.mps != 0, .sweep = number}};
	struct scenario_order order;
	int r = find_policy(form, setting, &entry);

	for (int i = 0; !r && entry.group && i < config_setting_length(entry.group); i++)
		r = read_option(form, config_setting_get_elem(entry.group, (unsigned int)i),
				&entry);
	order = entry.order;
	return r ? r : multiply(form, setting, &entry, &order, 0);
}

int scenario_read_orders(struct form *form, const config_setting_t *root)
{
	const config_setting_t *policies = config_setting_get_member(root, "policies");
	int length = policies && config_setting_is_aggregate(policies) &&
				     !config_setting_is_group(policies)
			     ? config_setting_length(policies)
			     : 0;
	int r = 0;

	if (!length)
		return form_fail(form, policies,
				 "policies must be a list: policies = ( \"native\", \"slo\" );");
	for (int i = 0; !r && i < length; i++)
		r = read_entry(form, config_setting_get_elem(policies, (unsigned int)i),
			       (uint32_t)i);
	return r;
}
