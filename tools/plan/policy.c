/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/policy.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "plan/policies.h"

static const struct plan_policy *const policies[] = {
	&plan_policy_native, &plan_policy_share,     &plan_policy_sluice, &plan_policy_xsched,
	&plan_policy_orion,  &plan_policy_tally,     &plan_policy_tgs,	  &plan_policy_pick,
	&plan_policy_order,  &plan_policy_residency,
};

const struct plan_policy *plan_policy_at(unsigned int index)
{
	return index < sizeof(policies) / sizeof(policies[0]) ? policies[index] : NULL;
}

const struct plan_policy *plan_policy_find(const char *name)
{
	const struct plan_policy *policy;

	for (unsigned int i = 0; (policy = plan_policy_at(i)); i++) {
		if (!strcmp(policy->name, name))
			return policy;
	}
	return NULL;
}

uint32_t plan_policy_options(const struct plan_policy *policy)
{
	uint32_t count = 0;

	while (policy->options && policy->options[count].name)
		count++;
	return count;
}

int plan_policy_option(const struct plan_policy *policy, const char *name)
{
	uint32_t count = plan_policy_options(policy);

	for (uint32_t i = 0; i < count; i++) {
		if (!strcmp(policy->options[i].name, name))
			return (int)i;
	}
	return -ENOENT;
}
