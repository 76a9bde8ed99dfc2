/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "daemon/absent.h"
#include "daemon/connection.h"
#include "daemon/estimates.h"
#include "daemon/match.h"
#include "daemon/process.h"
#include "daemon/ticks.h"

/*
 * The protocol with a shim. Every message is copied to its known length before a field is read,
 * strings are looked at only once they are known to end, and whatever makes no sense ends the
 * connection (-EBADMSG): the process then runs as if the arbiter were away.
 */

static int session_refuse(struct connection *connection, uint32_t seq, int32_t status,
			  const char *why)
{
	int r = connection_send_text(connection, SLUICE_MSG_REFUSED, seq, status, "%s", why);

	connection->closing = true;
	return r;
}

static bool session_is_lost(const struct process *process)
{
	char byte;

	return !process->connection ||
	       recv(process->connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/*
 * Looks for what the same process left behind. With its session's number it comes back to it, to
 * its pages and its memory: returned. Without, exec has replaced the program, and the context
 * with its memory is gone. A second connection that stands is a second session.
 */
static struct process *session_earlier(struct connection *connection, uint64_t session,
				       const struct tenant_entry *tenant)
{
	struct arbiter *arbiter = connection->arbiter;
	struct process *resumed = NULL;

	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		struct process *process = arbiter->process[i];

		if (!process || process->identity.pid != connection->identity.pid ||
		    !session_is_lost(process))
			continue;
		if (process->session == session && process->tenant == tenant)
			resumed = process;
		else
			process_destroy(process, process->session == session
							 ? "belongs to another tenant now"
							 : "runs another program");
	}
	return resumed;
}

static void session_resume(struct connection *connection, struct process *process)
{
	if (process->connection)
		process->connection->process = NULL;
	process->connection = connection;
	connection->process = process;
}

static int session_welcome(struct connection *connection, const struct sluice_msg_hello *hello,
			   const char *remark)
{
	const struct config *config = &connection->arbiter->config;
	struct process *process = connection->process;
	struct sluice_msg_welcome welcome = {
		.version = hello->version < SLUICE_PROTOCOL_VERSION ? hello->version
								    : SLUICE_PROTOCOL_VERSION,
		.tenant_class = process->latency ? SLUICE_LATENCY_CRITICAL : SLUICE_BEST_EFFORT,
		.session = process->session,
		.fail_mode = config->fail,
		.managed = process->tenant->conf.managed,
		.fail_deadline_ns = config->fail_deadline_ns,
		.mem_deadline_ns = config->memory_deadline_ns};
	int fds[2] = {process->channel.fd, process->escrow.fd};

	sluice_wire_text(welcome.tenant, sizeof(welcome.tenant), process->tenant->conf.name);
	sluice_wire_text(welcome.remark, sizeof(welcome.remark), remark);
	sluice_wire_head(&welcome, SLUICE_MSG_WELCOME, sizeof(welcome), hello->header.seq, 0);
	return connection_send_fds(connection, &welcome, fds, 2);
}

int session_hello(struct connection *connection, const struct sluice_packet *packet)
{
	struct arbiter *arbiter = connection->arbiter;
	char remark[SLUICE_TEXT_MAX];
	struct sluice_msg_hello hello;
	struct tenant_entry *tenant;
	struct process *process;
	bool resumed;
	uint32_t index;
	int r = 0;

	sluice_wire_copy(packet, &hello, sizeof(hello));
	if (!sluice_wire_is_text(hello.tenant, sizeof(hello.tenant)) ||
	    !sluice_wire_is_text(hello.program, sizeof(hello.program)))
		return -EBADMSG;
	if (hello.version < SLUICE_PROTOCOL_OLDEST || hello.oldest > SLUICE_PROTOCOL_VERSION)
		return session_refuse(connection, hello.header.seq, -EPROTONOSUPPORT,
				      "this arbiter speaks another protocol version; install the "
				      "same version of Sluice on both sides");
	index = match_tenant(&arbiter->config, &connection->identity, hello.tenant, remark,
			     sizeof(remark));
	tenant = reload_find(arbiter, arbiter->config.tenant[index].name);
	if (!tenant)
		tenant = &arbiter->tenant[0];
	process = session_earlier(connection, hello.session, tenant);
	/* One that knows of no earlier session is another program by now. */
	if (!hello.session)
		absent_forget(arbiter, connection->identity.pid);
	resumed = process != NULL;
	if (resumed)
		session_resume(connection, process);
	else
		r = process_create(connection, &hello, (uint32_t)(tenant - arbiter->tenant),
				   &process);
	if (r)
		return session_refuse(connection, hello.header.seq, r,
				      r == -EMFILE
					      ? "the arbiter has as many processes as it can hold"
					      : "the arbiter could not make the shared pages");
	connection->kind = CONNECTION_SHIM;
	log_limited(&arbiter->log_lives, LOG_LEVEL_INFO, arbiter->now_ns,
		    "tenant %s (pid %d): %s has come%s%s%s", tenant->conf.name,
		    (int)process->identity.pid, process->program, resumed ? " back" : "",
		    *remark ? "; " : "", remark);
	r = session_welcome(connection, &hello, remark);
	if (!r && resumed)
		activity_resumed(process);
	return r;
}

/* What earlier runs of its user measured, before its first launch. It is a help, no more: what
 * cannot be sent now is not sent. */
static int session_known(struct process *process)
{
	struct sluice_msg_header message = {0};
	struct page page;
	int r = estimates_page(process->arbiter->estimates, process->identity.uid, &page);

	estimates_run(process->arbiter->estimates, process->identity.uid);

	if (r)
		return 0;
	sluice_wire_head(&message, SLUICE_MSG_KNOWN, sizeof(message), 0, 0);
	r = connection_send_fds(process->connection, &message, &page.read_fd, 1);
	page_finish(&page);
	return r == -EAGAIN ? 0 : r;
}

static int session_device(struct process *process, const struct sluice_packet *packet)
{
	struct sluice_msg_device_ok answer = {0};
	struct sluice_msg_device message;
	const char *why = "";
	uint32_t local;
	bool fresh;
	int r;

	sluice_wire_copy(packet, &message, sizeof(message));
	r = process_attach(process, &message, &local, &why);
	if (r < 0)
		return connection_send_text(process->connection, SLUICE_MSG_REFUSED,
					    message.header.seq, r, "%s", why);
	fresh = r > 0;
	answer.index = local;
	answer.memory_max_bytes = process->tenant->conf.memory_max_bytes;
	sluice_wire_head(&answer, SLUICE_MSG_DEVICE_OK, sizeof(answer), message.header.seq, 0);
	r = fresh ? session_known(process) : 0;
	if (!r)
		r = connection_send(process->connection, &answer);
	if (!r && fresh)
		activity_attached(process, local);
	return r;
}

static int session_want(struct process *process, const struct sluice_packet *packet)
{
	struct event event = {.kind = EVENT_WANT, .process = process->index};
	struct sluice_msg_want message;

	sluice_wire_copy(packet, &message, sizeof(message));
	if (message.device >= SLUICE_MAX_DEVICES || !process->local[message.device].used)
		return -EBADMSG;
	if (process->local[message.device].wants)
		return 0;
	process->local[message.device].wants = true;
	ticks_read_watched(process->arbiter);
	event.device = process->local[message.device].device;
	return arbiter_feed(process->arbiter, &event);
}

static int session_note(struct process *process, const struct sluice_packet *packet)
{
	struct sluice_msg_text message;

	sluice_wire_copy(packet, &message, sizeof(message));
	if (!sluice_wire_is_text(message.text, sizeof(message.text)))
		return -EBADMSG;
	sluice_wire_printable(message.text);
	sluice_wire_text(process->note, sizeof(process->note), message.text);
	return 0;
}

static int session_activity_seen(struct process *process, const struct sluice_packet *packet)
{
	struct sluice_msg_activity message;

	sluice_wire_copy(packet, &message, sizeof(message));
	return activity_seen(process, &message);
}

static int session_memory(struct process *process, const struct sluice_packet *packet)
{
	struct sluice_msg_mem message;

	sluice_wire_copy(packet, &message, sizeof(message));
	return message.header.type == SLUICE_MSG_MEM_REQUEST ? memory_request(process, &message)
							     : memory_query(process, &message);
}

int session_message(struct connection *connection, const struct sluice_packet *packet)
{
	static const uint32_t least[] = {
		[SLUICE_MSG_DEVICE] = offsetof(struct sluice_msg_device, held_bytes),
		[SLUICE_MSG_ACTIVITY_MAPPED] = sizeof(struct sluice_msg_header),
		[SLUICE_MSG_ACTIVITY_SEEN] = sizeof(struct sluice_msg_activity),
		[SLUICE_MSG_WANT] = sizeof(struct sluice_msg_want),
		[SLUICE_MSG_MEM_REQUEST] = sizeof(struct sluice_msg_mem),
		[SLUICE_MSG_MEM_QUERY] = sizeof(struct sluice_msg_mem),
		[SLUICE_MSG_NOTE] = sizeof(struct sluice_msg_header) + 1,
	};
	struct process *process = connection->process;
	uint32_t type = packet->header.type;

	/* Its process has died or has been replaced; what is still in the socket is void. */
	if (!process)
		return -ESHUTDOWN;
	if (type >= sizeof(least) / sizeof(least[0]) || !least[type] ||
	    packet->length < least[type])
		return -EBADMSG;
	switch (type) {
	case SLUICE_MSG_DEVICE: return session_device(process, packet);
	case SLUICE_MSG_ACTIVITY_MAPPED: return activity_mapped(process, packet->header.status);
	case SLUICE_MSG_ACTIVITY_SEEN: return session_activity_seen(process, packet);
	case SLUICE_MSG_WANT: return session_want(process, packet);
	case SLUICE_MSG_MEM_REQUEST:
	case SLUICE_MSG_MEM_QUERY: return session_memory(process, packet);
	case SLUICE_MSG_NOTE: return session_note(process, packet);
	default: return -EBADMSG;
	}
}
