/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of the kernel, as far as its first version went: what came later stays as it is. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

static bool change(uint32_t from, uint32_t to)
{
	struct attributes attributes = {0};

	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) ||
	    attributes.policy != from)
		return false;
	attributes.policy = to;
	return !syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void batch_begin(void)
{
	int saved = errno;

	if (!shim_thread.is_batch)
		shim_thread.is_batch = change(SCHED_OTHER, SCHED_BATCH);
	errno = saved;
}

void batch_leave(void)
{
	int saved = errno;

	shim_thread.is_batch = 0;
	(void)change(SCHED_BATCH, SCHED_OTHER);
	errno = saved;
}
