/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <stddef.h>

static const struct policy *const policies[] = {
	&policy_share,
	&policy_slo,
};

const struct policy *policy_at(unsigned int index)
{
	return index < sizeof(policies) / sizeof(policies[0]) ? policies[index] : NULL;
}

static bool same_name(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

const struct policy *policy_find(const char *name)
{
	const struct policy *policy;

	for (unsigned int i = 0; (policy = policy_at(i)); i++) {
		if (same_name(policy->name, name))
			return policy;
	}
	return NULL;
}
