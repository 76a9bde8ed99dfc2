/* SPDX-License-Identifier: Apache-2.0 */
/* No scheduler: what the driver does by itself. */

#include "plan/policies.h"

static enum plan_verdict native_admit(void *state, struct plan_proc *proc,
				      struct plan_launch *launch, uint64_t *ret_wake_ns)
{
	return PLAN_GO;
}

const struct plan_policy plan_policy_native = {
	.name = "native",
	.about = "the driver alone: time slices, or MPS with the tenants' priorities",
	.admit = native_admit,
};
