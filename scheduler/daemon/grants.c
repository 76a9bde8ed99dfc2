/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "daemon/process.h"

/* Shared futex: the sleepers are in another process. */
static void futex_wake(_Atomic uint32_t *word, int count)
{
	syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

/* Pairs with the shim's acquire load of epoch: what was stored before it is seen after it. */
static void grant_publish(struct process *process, uint32_t local)
{
	struct sluice_channel_device *page = process_page(process, local);

	atomic_store_explicit(&page->grant.epoch, ++process->local[local].epoch,
			      memory_order_release);
	/* Against the sleeper's count: it counts itself, then looks at epoch in the futex call. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&page->counters.sleeping, memory_order_relaxed)) {
		futex_wake(&page->grant.gate, INT_MAX);
		futex_wake(&page->grant.epoch, INT_MAX);
	}
}

static uint32_t grant_us(uint64_t ns)
{
	return ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

/* The core's, and the arbiter's own. */
static uint32_t grant_flags(const struct local_device *own, const struct grant *grant)
{
	return grant->flags | (own->trace ? SLUICE_GRANT_TRACE : 0);
}

void grant_write(struct process *process, uint32_t local, const struct grant *grant)
{
	struct local_device *own = &process->local[local];
	struct sluice_grant *page = &process_page(process, local)->grant;
	bool page_open = !(own->gate & 1);

	atomic_store_explicit(&page->flags, grant_flags(own, grant), memory_order_relaxed);
	atomic_store_explicit(&page->credit_ns, grant->credit_ns, memory_order_relaxed);
	atomic_store_explicit(&page->window_ns, grant->window_ns, memory_order_relaxed);
	atomic_store_explicit(&page->guard_ns, grant->guard_ns, memory_order_relaxed);
	atomic_store_explicit(&page->cap_sms, grant->cap_sms, memory_order_relaxed);
	atomic_store_explicit(&page->busy_limit_us, grant_us(grant->busy_limit_ns),
			      memory_order_relaxed);
	atomic_store_explicit(&page->quiet_from_us, grant_us(grant->quiet_from_ns),
			      memory_order_relaxed);
	atomic_store_explicit(&page->quiet_until_us, grant_us(grant->quiet_until_ns),
			      memory_order_relaxed);
	atomic_store_explicit(&page->progress_ns, process->arbiter->config.progress_ns,
			      memory_order_relaxed);
	if (page_open != grant->open)
		own->gate++;
	atomic_store_explicit(&page->gate, own->gate, memory_order_relaxed);
	own->grant = *grant;
	grant_publish(process, local);
}

void grant_nudge(struct process *process, uint32_t local)
{
	futex_wake(&process_page(process, local)->grant.gate, 1);
}

void grant_bump_mail(struct process *process)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		struct sluice_grant *page = &process_page(process, i)->grant;

		if (!process->local[i].used)
			continue;
		atomic_store_explicit(&page->mail, ++process->local[i].mail, memory_order_relaxed);
		grant_publish(process, i);
	}
}

void grant_set_activity(struct process *process, uint32_t local, uint32_t slot, uint32_t generation,
			uint32_t still_epoch)
{
	struct sluice_grant *page = &process_page(process, local)->grant;

	atomic_store_explicit(&page->activity[slot].generation, generation, memory_order_relaxed);
	atomic_store_explicit(&page->activity[slot].still_epoch, still_epoch, memory_order_relaxed);
	grant_publish(process, local);
}

void grant_set_trace(struct process *process, uint32_t local, bool on)
{
	struct local_device *own = &process->local[local];

	if (own->trace == on)
		return;
	own->trace = on;
	atomic_store_explicit(&process_page(process, local)->grant.flags,
			      grant_flags(own, &own->grant), memory_order_relaxed);
	grant_publish(process, local);
}
