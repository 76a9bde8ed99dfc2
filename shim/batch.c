/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

bool batch_begin(struct batch_attributes *ret_before)
{
	struct batch_attributes batch;

	*ret_before = (struct batch_attributes){0};
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) > 0 ||
	    syscall(SYS_sched_getattr, 0, ret_before, sizeof(*ret_before), 0) ||
	    ret_before->policy != SCHED_OTHER)
		return false;
	batch = *ret_before;
	batch.policy = SCHED_BATCH;
	return !syscall(SYS_sched_setattr, 0, &batch, 0);
}

void batch_end(const struct batch_attributes *before)
{
	(void)syscall(SYS_sched_setattr, 0, before, 0);
}
