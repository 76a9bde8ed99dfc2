/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "daemon/absent.h"
#include "daemon/connection.h"
#include "daemon/process.h"
#include "daemon/status.h"

/* A note's subject is a tenant, a device, a process or an absent one; each function says whether
 * there is a note about it. Positions: in that order, NOTES_EACH kinds a subject. */
#define NOTES_EACH 8u

#define BESIDE_PERMILLE 100u /* of a tenant's requests: worth a word */

#define FORCED_LATELY_NS (60 * SLUICE_NS_PER_S)

static bool note(char *ret_note, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static bool note(char *ret_note, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret_note, room, format, args);
	va_end(args);
	return true;
}

/* Why a target is not steered by, or cannot be met: of the device where that is so. */
static bool note_target(const struct arbiter *arbiter, uint32_t tenant, char *ret_note, size_t room)
{
	const struct config_tenant *conf = &arbiter->tenant[tenant].conf;
	struct engine_slo slo;

	for (uint32_t device = 0; device < CORE_MAX_DEVICES; device++) {
		if (!engine_slo_report(arbiter->engine, tenant, device, &slo))
			continue;
		if (slo.state == SLO_UNREACHABLE)
			return note(ret_note, room,
				    "tenant %s: target not reachable with best-effort closed: on "
				    "gpu %u its p99 would be %llu.%02llu ms with no best-effort "
				    "work beside it",
				    conf->name, device,
				    (unsigned long long)(slo.reachable_ns / 1000000),
				    (unsigned long long)(slo.reachable_ns / 10000 % 100));
		if (slo.state == SLO_AT_FLOOR)
			return note(ret_note, room,
				    "tenant %s: on gpu %u best-effort work is held as far as it "
				    "goes, and p99 is still over its target; alone it would be "
				    "%llu.%02llu ms",
				    conf->name, device,
				    (unsigned long long)(slo.reachable_ns / 1000000),
				    (unsigned long long)(slo.reachable_ns / 10000 % 100));
		if (slo.state == SLO_NO_ARRIVALS)
			return note(ret_note, room,
				    "tenant %s: its target counts from the opening of an NVTX "
				    "range, and none has been seen: gated at level 1",
				    conf->name);
		if (slo.state == SLO_FIXED)
			return note(ret_note, room,
				    "tenant %s: the configuration fixes the level, the target is "
				    "not steered by; level = \"auto\" steers",
				    conf->name);
		if (slo.state != SLO_NO_TARGET && slo.beside_permille >= BESIDE_PERMILLE)
			return note(ret_note, room,
				    "tenant %s: on gpu %u %u %% of its requests ran beside another "
				    "latency tenant's; holding best-effort work does not change "
				    "what that adds, and they do not steer",
				    conf->name, device, slo.beside_permille / 10);
	}
	return false;
}

/* The longest launch unit of a best-effort process that is on the device. */
static const char *longest_unit(const struct arbiter *arbiter, uint32_t device,
				struct tally *ret_tally)
{
	const char *tenant = NULL;

	ret_tally->longest_ns = 0;
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];
		int local = process && !process->latency ? process_local(process, device) : -1;
		struct tally own;

		if (local < 0 || !reading_tally(process, (uint32_t)local, &own) ||
		    own.longest_ns <= ret_tally->longest_ns)
			continue;
		*ret_tally = own;
		tenant = process->tenant->conf.name;
	}
	return tenant;
}

/* What is launched as one cannot be held inside: one that meets an arrival costs all of it. */
static bool note_slack(const struct arbiter *arbiter, uint32_t tenant, char *ret_note, size_t room)
{
	const struct config_target *target = &arbiter->tenant[tenant].conf.target;
	struct engine_slo slo;
	struct tally longest;

	for (uint32_t device = 0; device < CORE_MAX_DEVICES; device++) {
		uint64_t alone_ns, slack_ns;
		const char *owner;

		if (!engine_slo_report(arbiter->engine, tenant, device, &slo))
			continue;
		alone_ns = !strncmp(target->of, "range:", 6) ? slo.arrival_alone_ns
							     : slo.service_alone_ns;
		slack_ns = alone_ns / 1000 * target->over_permille;
		if (target->p99_ns)
			slack_ns = target->p99_ns > alone_ns ? target->p99_ns - alone_ns : 0;
		if (!alone_ns || !slack_ns)
			continue;
		owner = longest_unit(arbiter, device, &longest);
		if (owner && longest.longest_ns > slack_ns)
			return note(
				ret_note, room,
				"tenant %s: on gpu %u its target leaves %llu us over alone, and "
				"one launch unit of tenant %s takes %llu us (%.64s)",
				arbiter->tenant[tenant].conf.name, device,
				(unsigned long long)(slack_ns / 1000), owner,
				(unsigned long long)(longest.longest_ns / 1000),
				*longest.longest ? longest.longest : "unnamed");
	}
	return false;
}

static bool note_tenant(const struct arbiter *arbiter, const struct tenant_entry *entry,
			uint32_t kind, char *ret_note, size_t room)
{
	const struct config_tenant *conf = &entry->conf;
	bool share = !strcmp(config_policy_name(&arbiter->config), "share");

	switch (kind) {
	case 0:
		return entry->leaving && note(ret_note, room,
					      "tenant %s: removed from the configuration; it ends "
					      "with its last process",
					      conf->name);
	case 1:
		return !conf->managed &&
		       note(ret_note, room,
			    "tenant %s: managed is false: it is not held and holds "
			    "nobody",
			    conf->name);
	case 2:
		if (share && conf->tenant_class == SLUICE_LATENCY_CRITICAL)
			return note(
				ret_note, room,
				"tenant %s: policy share does not look at latency; set policy = "
				"\"slo\"",
				conf->name);
		return note_target(arbiter, (uint32_t)(entry - arbiter->tenant), ret_note, room);
	case 3:
		return !share &&
		       note_slack(arbiter, (uint32_t)(entry - arbiter->tenant), ret_note, room);
	case 4: /* of no one tenant: with the first, which everybody sees */
		return entry == &arbiter->tenant[0] && !share &&
		       config_level_is_capped(&arbiter->config) &&
		       note(ret_note, room,
			    "the configuration's level is above 2, which needs SM partitions; this "
			    "version has none, so it is 2");
	default: return false;
	}
}

static uint64_t promised_bytes(const struct arbiter *arbiter)
{
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++) {
		if (arbiter->tenant[t].used)
			bytes += arbiter->tenant[t].conf.memory_min_bytes;
	}
	return bytes;
}

/* Of all that have one; tenants without may take what is there. */
static uint64_t limits_bytes(const struct arbiter *arbiter)
{
	uint64_t bytes = 0;

	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++) {
		const struct config_tenant *conf = &arbiter->tenant[t].conf;

		if (arbiter->tenant[t].used && conf->memory_max_bytes != UINT64_MAX)
			bytes += conf->memory_max_bytes;
	}
	return bytes;
}

static bool note_device(const struct arbiter *arbiter, uint32_t device, uint32_t kind,
			char *ret_note, size_t room)
{
	const struct known_device *known = &arbiter->device[device];

	switch (kind) {
	case 0:
		return !known->record.mps && known->processes > 1 &&
		       note(ret_note, room,
			    "gpu %u: no MPS: processes cannot run at once, best-effort ones take "
			    "turns",
			    device);
	case 1:
		return known->record.mps && known->processes > 1 &&
		       note(ret_note, room,
			    "gpu %u: MPS: processes run at once; a fatal fault of one can reach "
			    "the "
			    "others",
			    device);
	case 2:
		return promised_bytes(arbiter) > known->record.memory_bytes &&
		       note(ret_note, room,
			    "gpu %u: memory.min of all tenants is more than the GPU has (%llu "
			    "MiB); "
			    "not all can have it",
			    device, (unsigned long long)(known->record.memory_bytes >> 20));
	case 3:
		return limits_bytes(arbiter) > known->record.memory_bytes &&
		       note(ret_note, room,
			    "gpu %u: memory.max of all tenants is %llu MiB together, and the GPU "
			    "has %llu MiB: not all can have it at once; memory.min is what a "
			    "tenant can rely on",
			    device, (unsigned long long)(limits_bytes(arbiter) >> 20),
			    (unsigned long long)(known->record.memory_bytes >> 20));
	default: return false;
	}
}

/* Latency processes of its GPUs that the process could not be shown: its slots are full. */
static uint32_t unseen_owners(const struct arbiter *arbiter, const struct process *process,
			      uint32_t local)
{
	uint32_t owners = 0, watched = 0;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		const struct process *owner = arbiter->process[i];

		owners += owner && owner->latency && owner->mapped &&
			  process_local(owner, process->local[local].device) >= 0;
	}
	for (uint32_t i = 0; i < SLUICE_MAX_ACTIVITY; i++)
		watched += process->local[local].slot[i].sent &&
			   !process->local[local].slot[i].refused;
	return owners > watched ? owners - watched : 0;
}

/* Something waits for what is held: a program that is better left alone, or a stall. */
static bool note_forced(const struct arbiter *arbiter, const struct process *process,
			char *ret_note, size_t room)
{
	uint64_t forced = 0, at_ns = 0;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		const struct tally_seen *told = &process->local[i].told;

		if (!process->local[i].used)
			continue;
		forced += told->forced;
		at_ns = told->forced_at_ns > at_ns ? told->forced_at_ns : at_ns;
	}
	return at_ns && arbiter->now_ns - at_ns < FORCED_LATELY_NS &&
	       note(ret_note, room,
		    "tenant %s (pid %d): %llu launches went through a shut gate, the last %llu s "
		    "ago: work in flight did not move and may have waited for them (progress)",
		    process->tenant->conf.name, (int)process->identity.pid,
		    (unsigned long long)forced,
		    (unsigned long long)((arbiter->now_ns - at_ns) / SLUICE_NS_PER_S));
}

static bool note_process(const struct arbiter *arbiter, const struct process *process,
			 uint32_t kind, char *ret_note, size_t room)
{
	const char *name = process->tenant->conf.name;
	uint32_t unseen = 0;
	bool stale = false, no_request = false;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		if (!process->local[i].used)
			continue;
		stale |= process->local[i].stale;
		no_request |= process->local[i].no_request;
		if (!process->latency)
			unseen += unseen_owners(arbiter, process, i);
	}
	switch (kind) {
	case 0:
		return stale &&
		       note(ret_note, room,
			    "tenant %s (pid %d): active without a sign of life; it does not "
			    "hold the others",
			    name, (int)process->identity.pid);
	case 1:
		return no_request &&
		       note(ret_note, room,
			    "tenant %s (pid %d): no request boundary seen for 10 s; use "
			    "an NVTX range; until then others have their gpu.min and no more",
			    name, (int)process->identity.pid);
	case 2:
		return unseen && note(ret_note, room,
				      "tenant %s (pid %d): does not watch %u latency-critical "
				      "processes of its "
				      "GPU and is not held for them",
				      name, (int)process->identity.pid, unseen);
	case 3:
		return process->latency !=
			       (process->tenant->conf.tenant_class == SLUICE_LATENCY_CRITICAL) &&
		       note(ret_note, room,
			    "tenant %s (pid %d): came when the tenant was %s, and stays so until "
			    "it "
			    "is started anew",
			    name, (int)process->identity.pid,
			    process->latency ? "latency-critical" : "best-effort");
	case 4:
		return *process->note && note(ret_note, room, "tenant %s (pid %d): %.400s", name,
					      (int)process->identity.pid, process->note);
	case 5:
		return process->lies &&
		       note(ret_note, room,
			    "tenant %s (pid %d): counted what cannot be; its figures are ignored",
			    name, (int)process->identity.pid);
	case 6: return !process->lies && note_forced(arbiter, process, ret_note, room);
	case 7:
		return process->latency &&
		       atomic_load_explicit(&process_channel(process)->assisted,
					    memory_order_relaxed) &&
		       note(ret_note, room,
			    "tenant %s (pid %d): ends of requests are seen by asking the GPU; no "
			    "synchronisation or callback shows them",
			    name, (int)process->identity.pid);
	default: return false;
	}
}

/* One that an earlier arbiter knew. */
static bool note_absent(const struct ledger_entry *entry, char *ret_note, size_t room)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		units += entry->account[i].used ? entry->account[i].units : 0;
	return units && note(ret_note, room,
			     "tenant %s (pid %d): has not come back since the arbiter was started "
			     "anew; the %llu MiB granted to it stay counted until it does, or ends",
			     entry->tenant, (int)entry->pid,
			     (unsigned long long)(units * SLUICE_ESCROW_UNIT >> 20));
}

bool status_next_note(struct connection *connection, bool all, uint32_t *at, char *ret_note,
		      size_t room)
{
	const struct arbiter *arbiter = connection->arbiter;
	const uint32_t devices = CORE_MAX_TENANTS, processes = devices + CORE_MAX_DEVICES;
	const uint32_t absents = processes + CORE_MAX_PROCESSES;

	for (;;) {
		uint32_t subject = *at / NOTES_EACH, kind = (*at)++ % NOTES_EACH;
		bool said = false;

		if (subject < devices) {
			const struct tenant_entry *entry = &arbiter->tenant[subject];

			said = entry->used && status_shows_tenant(connection, all, entry) &&
			       note_tenant(arbiter, entry, kind, ret_note, room);
		} else if (subject < processes) {
			said = arbiter->device[subject - devices].used &&
			       note_device(arbiter, subject - devices, kind, ret_note, room);
		} else if (subject < absents) {
			const struct process *process = arbiter->process[subject - processes];

			said = process &&
			       status_shows_uid(connection, all, process->identity.uid) &&
			       note_process(arbiter, process, kind, ret_note, room);
		} else {
			const struct ledger_entry *entry = absent_at(arbiter, subject - absents);

			if (!entry)
				return false;
			said = !kind && status_shows_uid(connection, all, entry->uid) &&
			       note_absent(entry, ret_note, room);
		}
		if (said)
			return true;
	}
}
