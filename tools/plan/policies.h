/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_POLICIES_H
#define PLAN_POLICIES_H

/* The policies that policy.c lists: one a file, policy_NAME.c. */

#include "plan/policy.h"

extern const struct plan_policy plan_policy_orion, plan_policy_tally, plan_policy_tgs,
	plan_policy_xsched, plan_policy_pick;
extern const struct plan_policy plan_policy_native, plan_policy_share, plan_policy_sluice;
extern const struct plan_policy plan_policy_order, plan_policy_residency;

#endif
