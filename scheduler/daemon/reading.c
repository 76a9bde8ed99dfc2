/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/process.h"

#include <string.h>

static uint64_t load(_Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Sum over the slots in `which`; notes those that are in use. Wraps at worst: the core believes
 * no sum that falls. */
static uint64_t sum_slots(struct process *process, uint32_t local, uint32_t which)
{
	struct sluice_channel_device *page = process_page(process, local);
	uint64_t sum_ns = 0;

	for (uint32_t i = 0; i < SLUICE_MAX_SLOTS; i++) {
		uint64_t slot_ns;

		if (!(which & (1u << i)))
			continue;
		slot_ns = load(&page->slot[i].launched_ns);
		if (slot_ns)
			process->local[local].slots_seen |= 1u << i;
		sum_ns += slot_ns;
	}
	return sum_ns;
}

uint64_t reading_launched_ns(struct process *process, uint32_t local)
{
	return sum_slots(process, local, UINT32_MAX);
}

/*
 * A thorough reading looks at every slot; a quick one at those known to be in use, and is made
 * thorough when it would say that nothing is in flight, or nothing but copies. `completed` is read
 * first: what completes meanwhile was launched by then. The copies are, too: what is launched
 * meanwhile moves the sum past them.
 */
struct event_usage reading_take(struct process *process, uint32_t local, bool thorough,
				uint64_t now_ns)
{
	struct sluice_channel_device *page = process_page(process, local);
	struct sluice_counters *counters = &page->counters;
	uint64_t held_since_ns = load(&counters->held_since_ns);
	uint64_t until_ns = atomic_load_explicit(&counters->copies_until_ns, memory_order_acquire);
	uint64_t from_ns = load(&counters->copies_from_ns);
	struct event_usage usage = {0};

	usage.completed_ns = atomic_load_explicit(&counters->completed_ns, memory_order_acquire);
	usage.completed_at_ns = load(&counters->completed_at_ns);
	if (!thorough)
		usage.launched_ns = sum_slots(process, local, process->local[local].slots_seen);
	if (thorough || usage.launched_ns <= usage.completed_ns || usage.launched_ns == until_ns)
		usage.launched_ns = sum_slots(process, local, UINT32_MAX);
	if (usage.launched_ns == until_ns && from_ns < until_ns)
		usage.copies_ns = until_ns - from_ns;
	usage.held_ns = load(&counters->held_ns);
	usage.mem_held_ns = load(&counters->mem_held_ns);
	if (held_since_ns && held_since_ns <= now_ns) {
		usage.want = true;
		usage.held_ns += now_ns - held_since_ns;
	}
	if (process->latency)
		activity_reading(process, local, &usage);
	return usage;
}

bool reading_tally(struct process *process, uint32_t local, struct tally *ret_tally)
{
	struct arbiter *arbiter = process->arbiter;
	bool ranges = !strncmp(process->tenant->conf.target.of, "range:", 6);

	if (!process->lies && tally_page(ret_tally, process_page(process, local),
					 &process->local[local].told, ranges, arbiter->now_ns))
		return true;
	memset(ret_tally, 0, sizeof(*ret_tally));
	if (!process->lies)
		log_limited(&arbiter->log_peers, LOG_LEVEL_WARNING, arbiter->now_ns,
			    "tenant %s (pid %d): has counted what cannot be; its figures are "
			    "ignored from now on",
			    process->tenant->conf.name, (int)process->identity.pid);
	process->lies = true;
	return false;
}

void reading_check(struct process *process)
{
	struct tally tally;

	for (uint32_t local = 0; local < SLUICE_MAX_DEVICES; local++) {
		if (process->local[local].used)
			(void)reading_tally(process, local, &tally);
	}
}
