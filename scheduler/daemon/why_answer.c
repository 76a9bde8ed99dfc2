/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/status.h"
#include "daemon/why.h"
#include "daemon/why_impl.h"

#define MINUTES_DEFAULT 5u
#define MINUTES_MAX 1440u

struct answer {
	struct connection *connection;
	struct arbiter *arbiter;
	const struct why *why;
	uint32_t seq;
	bool all; /* the peer may see every tenant */
	uint32_t requests;
	int error;
};

static void row(struct answer *answer, void *message, uint32_t type, uint32_t size)
{
	sluice_wire_head(message, type, size, answer->seq, 0);
	if (!answer->error)
		answer->error = connection_send(answer->connection, message);
}

/* Gates name the busy period by its beginning. A request that joined it later waited behind those
 * before it, and so for what they had met. */
static bool is_cause(const struct why_arrival *arrival, const struct why_late *late)
{
	return arrival->generation == late->generation && arrival->device == late->device &&
	       arrival->busy_ns >= late->busy_ns && arrival->busy_ns <= late->start_ns;
}

/* Whose work it was is for those to see who may see that tenant. */
static void cause_row(struct answer *answer, const struct why_arrival *arrival,
		      const struct why_late *late)
{
	const struct tenant_entry *tenant = reload_find(answer->arbiter, arrival->tenant);
	struct sluice_msg_why_cause cause = {
		.request = answer->requests - 1,
		.before = arrival->busy_ns < late->start_ns,
		.pid = arrival->pid,
		.launches = arrival->launches,
		.in_flight_ns = arrival->in_flight_ns,
		.unit_ns = arrival->unit_ns,
	};

	if (tenant ? status_shows_tenant(answer->connection, answer->all, tenant) : answer->all) {
		sluice_wire_text(cause.tenant, sizeof(cause.tenant), arrival->tenant);
		sluice_wire_text(cause.unit, sizeof(cause.unit), arrival->unit);
	} else {
		cause.pid = 0;
	}
	row(answer, &cause, SLUICE_MSG_WHY_CAUSE, sizeof(cause));
}

static void late_rows(struct answer *answer, const struct why_late *late)
{
	const struct why *why = answer->why;
	uint64_t from = why->arrivals > WHY_ARRIVALS ? why->arrivals - WHY_ARRIVALS : 0;
	uint32_t causes = 0;
	struct sluice_msg_why_request request = {
		.device = late->device,
		.launches = late->launches,
		.ago_ns = answer->arbiter->now_ns - late->end_ns,
		.took_ns = late->end_ns - late->since_ns,
		.queued_ns = late->start_ns > late->since_ns ? late->start_ns - late->since_ns : 0,
		.limit_ns = late->limit_ns,
		.own_ns = late->own_ns,
	};

	answer->requests++;
	row(answer, &request, SLUICE_MSG_WHY_REQUEST, sizeof(request));
	for (uint64_t i = why->arrivals; i > from && causes < WHY_CAUSES; i--) {
		const struct why_arrival *arrival = &why->arrival[(i - 1) % WHY_ARRIVALS];

		if (!is_cause(arrival, late))
			continue;
		causes++;
		cause_row(answer, arrival, late);
	}
}

/* The newest first. */
static void all_rows(struct answer *answer, const char *tenant, uint64_t after_ns)
{
	const struct why *why = answer->why;
	uint64_t from = why && why->lates > WHY_LATE ? why->lates - WHY_LATE : 0;

	for (uint64_t i = why ? why->lates : 0; i > from && answer->requests < WHY_SHOWN; i--) {
		const struct why_late *late = &why->late[(i - 1) % WHY_LATE];

		if (!strcmp(late->tenant, tenant) && late->end_ns >= after_ns)
			late_rows(answer, late);
	}
}

static int refuse(struct connection *connection, uint32_t seq, int status, const char *format,
		  const char *tenant)
{
	return connection_send_text(connection, SLUICE_MSG_REFUSED, seq, status, format, tenant);
}

static uint32_t minutes_of(const char *text)
{
	char *end;
	unsigned long minutes = strtoul(text, &end, 10);

	if (!*text)
		return MINUTES_DEFAULT;
	return *end || !minutes || minutes > MINUTES_MAX ? 0 : (uint32_t)minutes;
}

int why_send(struct connection *connection, const struct sluice_msg_set *message)
{
	struct arbiter *arbiter = connection->arbiter;
	struct tenant_entry *tenant = reload_find(arbiter, message->tenant);
	struct answer answer = {.connection = connection,
				.arbiter = arbiter,
				.why = arbiter->why,
				.seq = message->header.seq,
				.all = arbiter->user_mode || connection_is_admin(connection)};
	uint32_t minutes = minutes_of(message->value);
	uint64_t span_ns = minutes * 60ull * SLUICE_NS_PER_S;
	struct sluice_msg_why_end end = {0};

	if (!tenant || !status_shows_tenant(connection, answer.all, tenant))
		return refuse(connection, answer.seq, -ENOENT,
			      "there is no tenant %s that you may see; `sluice status` lists them",
			      message->tenant);
	if (tenant->conf.tenant_class != SLUICE_LATENCY_CRITICAL)
		return refuse(connection, answer.seq, -EINVAL,
			      "tenant %s is best-effort: only a latency-critical tenant has "
			      "requests that can be late",
			      message->tenant);
	if (!tenant->conf.target.p99_ns && !tenant->conf.target.over_permille)
		return refuse(connection, answer.seq, -EINVAL,
			      "tenant %s has no target, so that nothing of it is late; set "
			      "target.p99",
			      message->tenant);
	if (!minutes)
		return refuse(connection, answer.seq, -EINVAL,
			      "\"%s\" is no number of minutes from 1 to 1440", message->value);
	all_rows(&answer, tenant->conf.name,
		 arbiter->now_ns > span_ns ? arbiter->now_ns - span_ns : 0);
	end.requests = answer.requests;
	end.minutes = minutes;
	end.target_ns = tenant->conf.target.p99_ns;
	end.target_over_permille = tenant->conf.target.over_permille;
	sluice_wire_text(end.of, sizeof(end.of), tenant->conf.target.of);
	row(&answer, &end, SLUICE_MSG_WHY_END, sizeof(end));
	return answer.error;
}
