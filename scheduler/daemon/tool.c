/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "daemon/connection.h"
#include "daemon/match.h"
#include "daemon/ticks.h"
#include "daemon/trace.h"
#include "daemon/why.h"

/* The protocol with `sluice`: questions that anyone may ask, and changes for those who may. */

static int tool_done(struct connection *connection, uint32_t seq, const char *remark)
{
	return connection_send_text(connection, SLUICE_MSG_DONE, seq, 0, "%s", remark);
}

static int tool_refuse(struct connection *connection, uint32_t seq, int32_t status,
		       const char *format, const char *what)
{
	return connection_send_text(connection, SLUICE_MSG_REFUSED, seq, status, format, what);
}

static int tool_hello(struct connection *connection, const struct sluice_packet *packet)
{
	struct sluice_msg_tool message;
	struct sluice_msg_tool_ok answer = {.pid = (uint32_t)getpid()};

	if (packet->length < sizeof(message))
		return -EBADMSG;
	sluice_wire_copy(packet, &message, sizeof(message));
	if (message.version < SLUICE_PROTOCOL_OLDEST || message.oldest > SLUICE_PROTOCOL_VERSION) {
		connection->closing = true;
		return tool_refuse(connection, message.header.seq, -EPROTONOSUPPORT,
				   "this arbiter speaks another protocol version; install the same "
				   "version of Sluice on both sides%s",
				   "");
	}
	connection->kind = CONNECTION_TOOL;
	answer.version = message.version < SLUICE_PROTOCOL_VERSION ? message.version
								   : SLUICE_PROTOCOL_VERSION;
	sluice_wire_text(answer.config, sizeof(answer.config), connection->arbiter->config.file);
	sluice_wire_head(&answer, SLUICE_MSG_TOOL_OK, sizeof(answer), message.header.seq, 0);
	return connection_send(connection, &answer);
}

static int tool_not_allowed(struct connection *connection, uint32_t seq)
{
	return tool_refuse(connection, seq, -EPERM,
			   "only root, the arbiter's own user and the members of admin_group in "
			   "sluice.conf may do that%s",
			   "");
}

static int tool_reload(struct connection *connection, uint32_t seq)
{
	char text[CONFIG_ERROR_TEXT_MAX];
	struct config_error error;

	if (!connection_is_admin(connection))
		return tool_not_allowed(connection, seq);
	if (!reload_file(connection->arbiter, &error)) {
		config_summary(&connection->arbiter->config, text, sizeof(text));
		log_info("configuration reloaded by pid %d, uid %u: %s",
			 (int)connection->identity.pid, (unsigned int)connection->identity.uid,
			 text);
		return tool_done(connection, seq, text);
	}
	config_describe(&error, text, sizeof(text));
	return tool_refuse(connection, seq, -EINVAL, "%s", text);
}

static int tool_set(struct connection *connection, const struct sluice_msg_set *set)
{
	struct config_error error;

	if (!connection_is_admin(connection))
		return tool_not_allowed(connection, set->header.seq);
	if (reload_set(connection->arbiter, set, &error))
		return tool_refuse(connection, set->header.seq, -EINVAL, "%s", error.message);
	log_info("tenant %s: %s set to %s by uid %u, until the next reload", set->tenant, set->key,
		 set->value, (unsigned int)connection->identity.uid);
	return tool_done(connection, set->header.seq, "until the next reload");
}

static int tool_pause(struct connection *connection, const struct sluice_msg_set *set)
{
	struct arbiter *arbiter = connection->arbiter;
	struct tenant_entry *tenant = reload_find(arbiter, set->tenant);
	bool pause = set->header.type == SLUICE_MSG_PAUSE;
	struct event event = {.kind = EVENT_PAUSE, .on = pause};

	if (!connection_is_admin(connection))
		return tool_not_allowed(connection, set->header.seq);
	if (!tenant)
		return tool_refuse(connection, set->header.seq, -ENOENT,
				   "there is no tenant %s; `sluice status` lists them",
				   set->tenant);
	if (!tenant->conf.managed)
		return tool_refuse(
			connection, set->header.seq, -EINVAL,
			"tenant %s bypasses Sluice (managed = false): nothing of it can be "
			"held",
			set->tenant);
	event.tenant = (uint32_t)(tenant - arbiter->tenant);
	ticks_read_watched(arbiter);
	(void)arbiter_feed(arbiter, &event);
	log_info("tenant %s: %s by uid %u", set->tenant, pause ? "paused" : "resumed",
		 (unsigned int)connection->identity.uid);
	return tool_done(connection, set->header.seq,
			 pause ? "paused, until it is resumed" : "resumed");
}

/* A shell is no program to judge: what it starts is matched by its own name when it comes. */
static bool tool_admits_shell(const struct config *config, const struct identity *identity,
			      const char *name)
{
	const struct config_tenant *tenant = config_find(config, name);
	struct config_tenant without_program;

	if (!tenant || !tenant->match.program[0])
		return false;
	without_program = *tenant;
	without_program.match.program[0] = 0;
	return !config_has_match(&without_program) || match_admits(&without_program, identity);
}

/* Would the asking process be admitted? A program that it starts will have the same user and
 * cgroup, but another name: match.program is judged by the name in `value`, where it is given. */
static int tool_ask(struct connection *connection, const struct sluice_msg_set *set)
{
	struct identity identity = connection->identity;
	char remark[SLUICE_TEXT_MAX];
	const struct config *config = &connection->arbiter->config;
	uint32_t index;

	if (connection->extra)
		return tool_refuse(connection, set->header.seq, -EPERM, "%s", connection_too_many);
	if (!strcmp(set->key, "shell") && tool_admits_shell(config, &identity, set->tenant))
		return tool_done(connection, set->header.seq, set->tenant);
	if (*set->value)
		sluice_wire_text(identity.program, sizeof(identity.program), set->value);
	index = match_tenant(config, &identity, set->tenant, remark, sizeof(remark));
	if (*remark)
		return tool_refuse(connection, set->header.seq, -EACCES, "%s", remark);
	return tool_done(connection, set->header.seq, config->tenant[index].name);
}

static int tool_with_set(struct connection *connection, const struct sluice_packet *packet)
{
	struct sluice_msg_set set;

	if (packet->length < sizeof(set))
		return -EBADMSG;
	sluice_wire_copy(packet, &set, sizeof(set));
	if (!sluice_wire_is_text(set.tenant, sizeof(set.tenant)) ||
	    !sluice_wire_is_text(set.key, sizeof(set.key)) ||
	    !sluice_wire_is_text(set.value, sizeof(set.value)))
		return -EBADMSG;
	switch (set.header.type) {
	case SLUICE_MSG_SET: return tool_set(connection, &set);
	case SLUICE_MSG_ASK_TENANT: return tool_ask(connection, &set);
	case SLUICE_MSG_WHY: return why_send(connection, &set);
	default: return tool_pause(connection, &set);
	}
}

int tool_message(struct connection *connection, const struct sluice_packet *packet)
{
	uint32_t seq = packet->header.seq;

	if (connection->kind == CONNECTION_NEW)
		return tool_hello(connection, packet);
	/* One answer at a time: who does not read the last gets no other. */
	if (connection->outbox)
		return -ENOBUFS;
	switch (packet->header.type) {
	case SLUICE_MSG_STATUS: return status_send(connection, seq);
	case SLUICE_MSG_RELOAD: return tool_reload(connection, seq);
	case SLUICE_MSG_RECORD: return trace_message(connection, packet);
	case SLUICE_MSG_SET:
	case SLUICE_MSG_PAUSE:
	case SLUICE_MSG_RESUME:
	case SLUICE_MSG_WHY:
	case SLUICE_MSG_ASK_TENANT: return tool_with_set(connection, packet);
	default: return -EBADMSG;
	}
}
