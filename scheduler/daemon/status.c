/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "daemon/connection.h"
#include "daemon/lately.h"
#include "daemon/match.h"
#include "daemon/nvml.h"
#include "daemon/process.h"
#include "daemon/status.h"
#include "daemon/tally.h"

/* What one answer is made of: rows are queued one by one. */
struct status {
	struct connection *connection;
	struct arbiter *arbiter;
	uint32_t seq;
	bool all; /* the peer may see every tenant */
	int error;
};

static void status_row(struct status *status, void *message, uint32_t type, uint32_t size)
{
	sluice_wire_head(message, type, size, status->seq, 0);
	if (!status->error)
		status->error = connection_send(status->connection, message);
}

static void status_note(struct status *status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void status_note(struct status *status, const char *format, ...)
{
	struct sluice_msg_text message = {0};
	va_list args;

	va_start(args, format);
	vsnprintf(message.text, sizeof(message.text), format, args);
	va_end(args);
	status_row(status, &message, SLUICE_MSG_STATUS_NOTE, sizeof(message));
}

bool status_shows_uid(const struct connection *connection, bool all, uid_t uid)
{
	return all || uid == connection->identity.uid;
}

bool status_shows_tenant(const struct connection *connection, bool all,
			 const struct tenant_entry *tenant)
{
	const struct arbiter *arbiter = connection->arbiter;
	struct config_tenant without_program = tenant->conf;

	for (uint32_t i = 0; !all && i < arbiter->process_end; i++) {
		const struct process *process = arbiter->process[i];

		if (process && process->tenant == tenant &&
		    status_shows_uid(connection, all, process->identity.uid))
			return true;
	}
	if (all || !config_has_match(&tenant->conf))
		return true;
	/* The peer is `sluice`, not the program. */
	without_program.match.program[0] = 0;
	return match_admits(&without_program, &connection->identity);
}

/* ---- one tenant on one device ------------------------------------------------------------------ */

/* What processes that have ended left on the device; where nobody uses any, on all. */
static void status_past(const struct tenant_entry *entry, uint32_t device, struct tally *sums)
{
	for (uint32_t d = 0; entry->used && d < CORE_MAX_DEVICES; d++) {
		if ((device == d || device == UINT32_MAX) && entry->past[d])
			tally_merge(sums, entry->past[d]);
	}
}

static uint64_t status_late(const struct tenant_entry *entry, uint32_t device)
{
	uint64_t late = 0;

	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		if (device == d || device == UINT32_MAX)
			late += entry->late[d];
	}
	return late;
}

void status_sums(const struct arbiter *arbiter, uint32_t tenant, uint32_t device,
		 struct tally *sums)
{
	const struct tenant_entry *entry = &arbiter->tenant[tenant];
	struct tally own;

	status_past(entry, device, sums);
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];
		int local =
			process && process->tenant == entry ? process_local(process, device) : -1;

		if (local >= 0 && reading_tally(process, (uint32_t)local, &own))
			tally_merge(sums, &own);
	}
	sums->requests_late += status_late(entry, device);
}

/* Is it hung, and has a request been seen? Of any of its processes. */
static uint32_t status_states(const struct arbiter *arbiter, uint32_t tenant, uint32_t device)
{
	uint32_t state = 0;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		const struct process *process = arbiter->process[i];
		int local = process && process->tenant == &arbiter->tenant[tenant]
				    ? process_local(process, device)
				    : -1;

		if (local < 0)
			continue;
		state |= process->local[local].stale ? SLUICE_STATE_STALE : 0;
		state |= process->local[local].no_request ? SLUICE_STATE_NO_REQUEST : 0;
	}
	return state;
}

/* What best-effort gates had in flight when they saw a latency tenant arrive: theirs to tell. */
static void status_sum_in_flight(const struct status *status, uint32_t device,
				 struct sluice_hist *in_flight)
{
	const struct arbiter *arbiter = status->arbiter;
	struct tally own, past;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];
		int local = process && !process->latency ? process_local(process, device) : -1;

		if (local >= 0 && reading_tally(process, (uint32_t)local, &own))
			sluice_hist_merge(in_flight, &own.in_flight);
	}
	memset(&past, 0, sizeof(past));
	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++)
		status_past(&arbiter->tenant[t], device, &past);
	sluice_hist_merge(in_flight, &past.in_flight);
}

static void status_fill_report(struct sluice_msg_status_tenant *row,
			       const struct engine_report *report)
{
	row->processes = report->processes;
	row->used_permille = report->used_permille;
	row->entitled_permille = report->entitled_permille;
	row->pressure_avg10_permille = report->avg10_permille;
	row->pressure_avg60_permille = report->avg60_permille;
	row->pressure_avg300_permille = report->avg300_permille;
	row->pressure_total_ns = report->held_total_ns;
	row->state |= (report->open ? SLUICE_STATE_OPEN : 0) |
		      (report->held ? SLUICE_STATE_HELD : 0) |
		      (report->excess ? SLUICE_STATE_EXCESS : 0);
}

_Static_assert((int)SLO_UNREACHABLE == (int)SLUICE_SLO_UNREACHABLE &&
		       (int)SLO_AT_FLOOR == (int)SLUICE_SLO_AT_FLOOR &&
		       (int)SLO_STEERED == (int)SLUICE_SLO_STEERED &&
		       (int)SLO_FIXED == (int)SLUICE_SLO_FIXED,
	       "the core's states are the wire's");

static void status_slo(struct sluice_msg_status_tenant *row, const struct arbiter *arbiter,
		       const struct tenant_entry *entry, uint32_t tenant, uint32_t device)
{
	struct engine_slo slo;

	row->target_over_permille = entry->conf.target.over_permille;
	row->target_arrival = !strncmp(entry->conf.target.of, "range:", 6);
	if (!engine_slo_report(arbiter->engine, tenant, device, &slo))
		return;
	row->slo_state = slo.state;
	row->level = slo.level;
	row->window_ns = slo.window_ns;
	row->guard_ns = slo.guard_ns;
	row->recent_service_p99_ns = slo.service_ns;
	row->alone_service_p99_ns = slo.service_alone_ns;
	row->recent_arrival_p99_ns = slo.arrival_ns;
	row->alone_arrival_p99_ns = slo.arrival_alone_ns;
	row->alone_median_ns = slo.alone_median_ns;
	row->reachable_p99_ns = slo.reachable_ns;
	row->quiet_from_ns = slo.quiet_from_ns;
	row->quiet_until_ns = slo.quiet_until_ns;
	row->busy_limit_ns = slo.busy_limit_ns;
	row->cap_sms = slo.cap_sms;
	row->steered_requests = slo.pairs;
}

static void status_tenant(struct status *status, uint32_t tenant, uint32_t device)
{
	struct arbiter *arbiter = status->arbiter;
	const struct tenant_entry *entry = &arbiter->tenant[tenant];
	struct sluice_msg_status_tenant row = {.device = device,
					       .tenant_class = entry->conf.tenant_class,
					       .memory_max_bytes = entry->conf.memory_max_bytes,
					       .target_ns = entry->conf.target.p99_ns};
	struct engine_report report;
	struct sluice_hist in_flight; /* of the others; sums has the tenant's own */
	struct tally sums, lately;

	memset(&sums, 0, sizeof(sums));
	memset(&in_flight, 0, sizeof(in_flight));
	status_sums(arbiter, tenant, device, &sums);
	if (engine_report(arbiter->engine, tenant, device, &report))
		status_fill_report(&row, &report);
	row.state |= status_states(arbiter, tenant, device);
	if (entry->conf.tenant_class == SLUICE_LATENCY_CRITICAL)
		status_sum_in_flight(status, device, &in_flight);
	if (entry->conf.changed)
		row.state |= SLUICE_STATE_SET;
	/* Also where nobody uses a GPU: whoever comes next will wait. */
	if (engine_is_paused(arbiter->engine, tenant))
		row.state |= SLUICE_STATE_PAUSED;
	row.memory_used_bytes = memory_tenant_used_bytes(arbiter, tenant, device);
	lately = sums;
	lately_take(entry, device, &lately);
	/* Without an end of a request there is no latency. */
	if (!(row.state & SLUICE_STATE_NO_REQUEST)) {
		row.service_p50_ns = sluice_hist_quantile(&sums.service, 500);
		row.service_p99_ns = sluice_hist_quantile(&sums.service, 990);
		row.lately_p50_ns = sluice_hist_quantile(&lately.service, 500);
		row.lately_p99_ns = sluice_hist_quantile(&lately.service, 990);
	}
	row.lately_requests = lately.requests;
	row.lately_late = lately.requests_late;
	status_slo(&row, arbiter, entry, tenant, device);
	row.be_in_flight_p99_ns = sluice_hist_quantile(&in_flight, 990);
	row.requests = sums.requests;
	row.requests_late = sums.requests_late;
	row.forced = sums.forced;
	row.unpredicted = sums.unpredicted;
	row.longest_unit_ns = sums.longest_ns;
	memcpy(row.longest_unit, sums.longest, sizeof(row.longest_unit));
	sluice_wire_text(row.name, sizeof(row.name), entry->conf.name);
	status_row(status, &row, SLUICE_MSG_STATUS_TENANT, sizeof(row));
}

static void status_tenants(struct status *status)
{
	struct arbiter *arbiter = status->arbiter;
	bool any_device = false;

	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++)
		any_device |= arbiter->device[d].used;
	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++) {
		if (!arbiter->tenant[t].used ||
		    !status_shows_tenant(status->connection, status->all, &arbiter->tenant[t]))
			continue;
		for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
			if (arbiter->device[d].used)
				status_tenant(status, t, d);
		}
		if (!any_device)
			status_tenant(status, t, UINT32_MAX);
	}
}

/* ---- devices and processes -------------------------------------------------------------------- */

static void status_device(struct status *status, uint32_t device)
{
	struct arbiter *arbiter = status->arbiter;
	const struct known_device *known = &arbiter->device[device];
	struct sluice_msg_status_device row = {.index = device,
					       .simulated = known->record.simulated,
					       .mps = known->record.mps,
					       .sms = known->record.sms,
					       .memory_bytes = known->record.memory_bytes,
					       .processes = known->processes,
					       .turns = engine_has_turns(arbiter->engine, device)};

	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++) {
		struct engine_report report;

		if (!engine_report(arbiter->engine, t, device, &report))
			continue;
		/* Without a quota the credit is no claim: what is in use counts. */
		row.memory_granted_bytes += arbiter->tenant[t].conf.memory_max_bytes == UINT64_MAX
						    ? memory_tenant_used_bytes(arbiter, t, device)
						    : report.granted_bytes;
		row.reclaiming_bytes += report.reclaiming_bytes;
	}
	memcpy(row.uuid, known->record.uuid, sizeof(row.uuid));
	tally_text(row.name, sizeof(row.name), known->record.name);
	sluice_wire_text(row.policy, sizeof(row.policy), config_policy_name(&arbiter->config));
	status_row(status, &row, SLUICE_MSG_STATUS_DEVICE, sizeof(row));
}

static void status_process(struct status *status, struct process *process, int local)
{
	struct sluice_msg_status_process row = {.device = UINT32_MAX,
						.pid = (uint32_t)process->identity.pid,
						.uid = process->identity.uid,
						.managed = 1};

	if (local >= 0) {
		const struct local_device *own = &process->local[local];
		struct event_usage usage =
			reading_take(process, (uint32_t)local, true, status->arbiter->now_ns);

		row.device = own->device;
		row.managed = process->tenant->conf.managed;
		row.memory_used_bytes = memory_used_bytes(process, (uint32_t)local);
		row.launched_ns = usage.launched_ns;
		row.completed_ns = usage.completed_ns;
		row.state = (own->grant.open ? SLUICE_STATE_OPEN : 0) |
			    (usage.want ? SLUICE_STATE_HELD : 0) |
			    (own->stale ? SLUICE_STATE_STALE : 0) |
			    (own->no_request ? SLUICE_STATE_NO_REQUEST : 0) |
			    (own->grant.flags & SLUICE_GRANT_PAUSED ? SLUICE_STATE_PAUSED : 0) |
			    (own->grant.flags & SLUICE_GRANT_EXCESS ? SLUICE_STATE_EXCESS : 0);
	}
	sluice_wire_text(row.tenant, sizeof(row.tenant), process->tenant->conf.name);
	tally_text(row.program, sizeof(row.program), process->program);
	status_row(status, &row, SLUICE_MSG_STATUS_PROCESS, sizeof(row));
}

static void status_processes(struct status *status)
{
	for (uint32_t i = 0; i < status->arbiter->process_end; i++) {
		struct process *process = status->arbiter->process[i];
		bool any = false;

		if (!process ||
		    !status_shows_uid(status->connection, status->all, process->identity.uid))
			continue;
		for (int local = 0; local < SLUICE_MAX_DEVICES; local++) {
			if (!process->local[local].used)
				continue;
			any = true;
			status_process(status, process, local);
		}
		if (!any)
			status_process(status, process, -1);
	}
}

static bool status_is_ours(const struct arbiter *arbiter, pid_t pid, uint32_t device)
{
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		const struct process *process = arbiter->process[i];

		if (process && process->identity.pid == pid && process_local(process, device) >= 0)
			return true;
	}
	return false;
}

/* GPU processes that are not under Sluice, where the driver tells. */
static void status_unmanaged(struct status *status, uint32_t device)
{
	struct arbiter *arbiter = status->arbiter;
	const struct nvml_process *processes;
	uint32_t count;
	int r = nvml_processes(arbiter->nvml, arbiter->device[device].record.uuid, 0,
			       arbiter->now_ns, &processes, &count);

	if (r) {
		status_note(
			status, "gpu %u: processes that are not under Sluice are not known (%s)",
			device,
			arbiter->device[device].record.simulated ? "a simulated GPU does not tell"
			: r == -EAGAIN ? "libnvidia-ml.so.1 has not answered yet"
				       : "libnvidia-ml.so.1 does not tell");
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct sluice_msg_status_process row = {.device = device,
							.pid = (uint32_t)processes[i].pid,
							.memory_used_bytes =
								processes[i].memory_bytes};
		char program[SLUICE_NAME_MAX] = "";

		if (status_is_ours(arbiter, processes[i].pid, device))
			continue;
		if (!identity_of_stranger(processes[i].pid, &row.uid, sizeof(program), program))
			row.uid = UINT32_MAX;
		tally_text(row.program, sizeof(row.program), program);
		status_row(status, &row, SLUICE_MSG_STATUS_PROCESS, sizeof(row));
	}
}

int status_send(struct connection *connection, uint32_t seq)
{
	struct arbiter *arbiter = connection->arbiter;
	struct status status = {.connection = connection,
				.arbiter = arbiter,
				.seq = seq,
				.all = arbiter->user_mode || connection_is_admin(connection)};
	struct sluice_msg_header end;
	char note[SLUICE_TEXT_MAX];

	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		if (!arbiter->device[d].used)
			continue;
		status_device(&status, d);
		if (status.all)
			status_unmanaged(&status, d);
		if (!status.error)
			status.error = status_pairs(connection, status.all, d, seq);
	}
	status_tenants(&status);
	status_processes(&status);
	for (uint32_t at = 0; status_next_note(connection, status.all, &at, note, sizeof(note));)
		status_note(&status, "%s", note);
	sluice_wire_head(&end, SLUICE_MSG_STATUS_END, sizeof(end), seq, 0);
	return status.error ? status.error : connection_send(connection, &end);
}
