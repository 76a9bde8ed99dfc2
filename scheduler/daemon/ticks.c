/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/ticks.h"

#include <systemd/sd-event.h>

#include "daemon/connection.h"
#include "daemon/devices.h"
#include "daemon/estimates.h"
#include "daemon/lately.h"
#include "daemon/process.h"
#include "daemon/reclaim.h"
#include "daemon/why.h"
#include "daemon/requests.h"
#include "daemon/trace.h"

static void read_gate(struct process *process, uint32_t local, bool thorough)
{
	struct arbiter *arbiter = process->arbiter;
	struct event event = {.kind = EVENT_USAGE,
			      .process = process->index,
			      .device = process->local[local].device,
			      .usage = reading_take(process, local, thorough, arbiter->now_ns)};

	(void)arbiter_feed(arbiter, &event);
	process->local[local].wants = event.usage.want;
	/* A change of turn waits for it, and its sleepers would look in 10 ms only. */
	if (process->local[local].watched && !process->local[local].grant.open &&
	    event.usage.launched_ns > event.usage.completed_ns)
		grant_nudge(process, local);
}

static void read_all(struct arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];

		for (uint32_t local = 0; process && local < SLUICE_MAX_DEVICES; local++) {
			if (process->local[local].used)
				read_gate(process, local, true);
		}
	}
}

/* False: none of its gates is watched. */
static bool read_watched(struct process *process)
{
	bool any = false;

	for (uint32_t local = 0; process && local < SLUICE_MAX_DEVICES; local++) {
		if (!process->local[local].used || !process->local[local].watched)
			continue;
		any = true;
		read_gate(process, local, false);
	}
	return any;
}

void ticks_read_watched(struct arbiter *arbiter)
{
	for (uint32_t word = 0; word < sizeof(arbiter->watched) / sizeof(arbiter->watched[0]);
	     word++) {
		uint64_t bits = arbiter->watched[word];

		for (; bits; bits &= bits - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(bits);

			if (!read_watched(arbiter->process[word * 64 + bit]))
				arbiter->watched[word] &= ~(1ull << bit);
		}
	}
}

void ticks_watch(struct process *process, uint32_t local, bool on)
{
	process->local[local].watched = on;
	if (on)
		process->arbiter->watched[process->index / 64] |= 1ull << process->index % 64;
}

int ticks_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct arbiter *arbiter = userdata;
	struct event event = {.kind = EVENT_TIMER};

	arbiter_now(arbiter);
	ticks_read_watched(arbiter);
	(void)arbiter_feed(arbiter, &event);
	return 0;
}

static bool tick_processes(struct arbiter *arbiter)
{
	bool any = false;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];

		if (!process)
			continue;
		any = true;
		atomic_store_explicit(&process_channel(process)->heartbeat_ns, arbiter->now_ns,
				      memory_order_release);
		activity_tick(process, arbiter->now_ns);
		reading_check(process);
		process_take_estimates(process);
		why_take(process);
	}
	return any;
}

int ticks_on_tick(sd_event_source *source, uint64_t usec, void *userdata)
{
	struct arbiter *arbiter = userdata;
	struct event event = {.kind = EVENT_TIMER};
	bool any;

	arbiter_now(arbiter);
	any = tick_processes(arbiter);
	requests_tick(arbiter);
	trace_tick(arbiter);
	lately_tick(arbiter);
	read_all(arbiter);
	(void)arbiter_feed(arbiter, &event);
	reclaim_tick(arbiter);
	devices_poll(arbiter);
	estimates_tick(arbiter->estimates, arbiter->now_ns);
	if (arbiter->listen_paused)
		server_resume(arbiter);
	/* Nobody there: sleep until somebody comes. */
	if (!any && !arbiter->reclaims)
		return sd_event_source_set_enabled(source, SD_EVENT_OFF);
	(void)sd_event_source_set_time(source, (arbiter->now_ns + CORE_SLOW_TICK_NS) / 1000);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

void ticks_arm(struct arbiter *arbiter)
{
	int enabled = SD_EVENT_OFF;

	(void)sd_event_source_get_enabled(arbiter->tick_source, &enabled);
	if (enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time(arbiter->tick_source,
				       (arbiter->now_ns + CORE_SLOW_TICK_NS) / 1000);
	(void)sd_event_source_set_enabled(arbiter->tick_source, SD_EVENT_ONESHOT);
}
