/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By number: a nice value or a slice that another thread sets meanwhile stays, which it would not if
 * all attributes were written back. */
static bool change(int from, int to)
{
	const struct sched_param none = {0};

	return syscall(SYS_sched_getscheduler, 0) == from &&
	       !syscall(SYS_sched_setscheduler, 0, to, &none);
}

bool batch_begin(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) <= 0 && change(SCHED_OTHER, SCHED_BATCH);
}

void batch_end(void)
{
	(void)change(SCHED_BATCH, SCHED_OTHER);
}
