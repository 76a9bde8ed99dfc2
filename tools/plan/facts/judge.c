/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts. */

#include "plan/facts/facts.h"

bool facts_holds(const struct fact *fact, const struct facts_values *values)
{
	bool any = false;

	for (int group = 0; group < FACTS_GROUPS; group++) {
		if (!values->known[group])
			continue;
		if (values->value[group] < fact->low || values->value[group] > fact->high)
			return false;
		any = true;
	}
	return any;
}

bool facts_order_holds(const struct facts_order *order, const struct facts_values *values)
{
	bool any = false;

	for (int group = 0; group < FACTS_GROUPS; group++) {
		for (uint32_t i = 1; i < order->places; i++) {
			if (!values[i - 1].known[group] || !values[i].known[group])
				continue;
			if (values[i].value[group] <= values[i - 1].value[group])
				return false;
			any = true;
		}
	}
	return any;
}
