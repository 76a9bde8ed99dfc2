/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "daemon/process.h"

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* Linux 4.13 */
#endif

/* Whoever has as many connections as it may can still ask for status, or pause: so many more a
 * user, for tools alone. One more than that, and an earlier one gives way. */
#define EXTRA_MAX 4u
const char connection_too_many[] =
	"your user has as many connections as the arbiter allows (connections in sluice.conf)";

static void outbox_free(struct connection *connection)
{
	while (connection->outbox) {
		struct outbox_packet *packet = connection->outbox;

		connection->outbox = packet->next;
		free(packet);
	}
	connection->outbox_end = &connection->outbox;
	connection->outbox_bytes = 0;
}

void connection_destroy(struct connection *connection)
{
	struct arbiter *arbiter = connection->arbiter;

	if (connection->process)
		connection->process->connection = NULL;
	if (connection->prev)
		connection->prev->next = connection->next;
	else
		arbiter->connections = connection->next;
	if (connection->next)
		connection->next->prev = connection->prev;
	sd_event_source_disable_unref(connection->source);
	outbox_free(connection);
	identity_finish(&connection->identity);
	close(connection->fd);
	free(connection);
}

static int outbox_push(struct connection *connection, const struct sluice_msg_header *message)
{
	size_t room = connection->kind == CONNECTION_TOOL ? OUTBOX_MAX_BYTES : OUTBOX_SHIM_BYTES;
	struct outbox_packet *packet;

	if (connection->outbox_bytes + message->size > room)
		return -ENOBUFS;
	packet = malloc(sizeof(*packet) + message->size);
	if (!packet)
		return -ENOMEM;
	packet->next = NULL;
	memcpy(packet->bytes, message, message->size);
	*connection->outbox_end = packet;
	connection->outbox_end = &packet->next;
	connection->outbox_bytes += message->size;
	return sd_event_source_set_io_events(connection->source, EPOLLIN | EPOLLOUT);
}

/* Sends what waits, as far as the socket takes it. 0, or -errno: close. */
static int outbox_flush(struct connection *connection)
{
	while (connection->outbox) {
		struct outbox_packet *packet = connection->outbox;
		const struct sluice_msg_header *header = (const void *)packet->bytes;
		int r = sluice_wire_send(connection->fd, packet->bytes, NULL, 0, MSG_DONTWAIT);

		if (r == -EAGAIN)
			return 0;
		if (r)
			return r;
		connection->outbox_bytes -= header->size;
		connection->outbox = packet->next;
		free(packet);
	}
	connection->outbox_end = &connection->outbox;
	if (connection->closing)
		return -ESHUTDOWN;
	return sd_event_source_set_io_events(connection->source, EPOLLIN);
}

int connection_send(struct connection *connection, const void *message)
{
	int r = -EAGAIN;

	if (!connection->outbox)
		r = sluice_wire_send(connection->fd, message, NULL, 0, MSG_DONTWAIT);
	return r == -EAGAIN ? outbox_push(connection, message) : r;
}

int connection_send_fds(struct connection *connection, const void *message, const int *fds,
			unsigned int count)
{
	/* Never ahead of what waits. */
	if (connection->outbox)
		return -EAGAIN;
	return sluice_wire_send(connection->fd, message, fds, count, MSG_DONTWAIT);
}

int connection_send_text(struct connection *connection, uint32_t type, uint32_t seq, int32_t status,
			 const char *format, ...)
{
	struct sluice_msg_text message = {0};
	va_list args;

	va_start(args, format);
	vsnprintf(message.text, sizeof(message.text), format, args);
	va_end(args);
	sluice_wire_head(&message, type, sizeof(message), seq, status);
	return connection_send(connection, &message);
}

#define GROUPS_MAX 256

bool connection_is_admin(const struct connection *connection)
{
	const struct identity *peer = &connection->identity;
	uint32_t admin = connection->arbiter->config.admin_gid;
	gid_t groups[GROUPS_MAX];
	socklen_t size = sizeof(groups);

	if (!peer->uid || peer->uid == geteuid())
		return true;
	if (admin == CONFIG_NO_ID)
		return false;
	if (peer->gid == admin)
		return true;
	if (getsockopt(connection->fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(gid_t); i++) {
		if (groups[i] == admin)
			return true;
	}
	return false;
}

static int connection_refuse(struct connection *connection, const char *why)
{
	connection->closing = true;
	return connection_send_text(connection, SLUICE_MSG_REFUSED, 0, -EPERM, "%s", why);
}

static int connection_dispatch(struct connection *connection, const struct sluice_packet *packet)
{
	uint32_t type = packet->header.type;

	/* The protocol hands descriptors out and takes none. */
	if (packet->fd_count)
		return -EBADMSG;
	switch (connection->kind) {
	case CONNECTION_NEW:
		if (type == SLUICE_MSG_HELLO && connection->extra)
			return connection_refuse(connection, connection_too_many);
		if (type == SLUICE_MSG_HELLO)
			return session_hello(connection, packet);
		if (type == SLUICE_MSG_TOOL)
			return tool_message(connection, packet);
		return -EBADMSG;
	case CONNECTION_SHIM: return session_message(connection, packet);
	case CONNECTION_TOOL: return tool_message(connection, packet);
	}
	return -EBADMSG;
}

static int connection_receive(struct connection *connection)
{
	struct sluice_packet packet;
	int r = sluice_wire_recv(connection->fd, &packet, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return 0;
	if (r == 0)
		return -ESHUTDOWN;
	if (r > 0) {
		r = connection_dispatch(connection, &packet);
		sluice_wire_close_fds(&packet);
	}
	if (r == -EBADMSG || r == -EINVAL || r == -ENOBUFS)
		log_limited(&connection->arbiter->log_peers, LOG_LEVEL_WARNING,
			    connection->arbiter->now_ns, "connection of pid %d, uid %u: %s; closed",
			    (int)connection->identity.pid, (unsigned int)connection->identity.uid,
			    r == -ENOBUFS ? "does not read its answers" : "malformed message");
	return r;
}

static int on_ready(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct connection *connection = userdata;
	int r = 0;

	arbiter_now(connection->arbiter);
	if (revents & EPOLLOUT)
		r = outbox_flush(connection);
	if (!r && (revents & EPOLLIN) && !connection->closing)
		r = connection_receive(connection);
	else if (!r && (revents & (EPOLLHUP | EPOLLERR)))
		r = -ESHUTDOWN;
	if (!r && connection->closing && !connection->outbox)
		r = -ESHUTDOWN;
	if (r)
		connection_destroy(connection);
	return 0;
}

/* What one user holds: connections, and processes that have lost theirs. */
static uint32_t connections_of(const struct arbiter *arbiter, uid_t uid)
{
	uint32_t count = 0;

	for (const struct connection *c = arbiter->connections; c; c = c->next)
		count += !c->extra && c->identity.uid == uid;
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		const struct process *process = arbiter->process[i];

		count += process && !process->connection && process->identity.uid == uid;
	}
	return count;
}

/* A sentence for the peer, without waiting for it. */
static void connection_turn_away(int fd, const char *why)
{
	struct sluice_msg_text message = {0};

	sluice_wire_text(message.text, sizeof(message.text), why);
	sluice_wire_head(&message, SLUICE_MSG_REFUSED, sizeof(message), 0, -EPERM);
	(void)sluice_wire_send(fd, &message, NULL, 0, MSG_DONTWAIT);
	close(fd);
}

/* Makes a place beyond the limit: of the connections that have one, the oldest that has said nothing
 * yet gives way, else the oldest. */
static void connection_make_extra(struct arbiter *arbiter, uid_t uid)
{
	struct connection *oldest = NULL;
	uint32_t count = 0;

	/* The latest comes first. */
	for (struct connection *c = arbiter->connections; c; c = c->next) {
		if (!c->extra || c->identity.uid != uid)
			continue;
		count++;
		if (!oldest || oldest->kind != CONNECTION_NEW || c->kind == CONNECTION_NEW)
			oldest = c;
	}
	if (count < EXTRA_MAX)
		return;
	(void)connection_refuse(oldest, connection_too_many);
	connection_destroy(oldest);
}

static const char *connection_judge(struct arbiter *arbiter, const struct identity *identity,
				    bool *ret_extra)
{
	if (arbiter->user_mode && identity->uid != geteuid() && identity->uid)
		return "this arbiter serves one user only, and you are another";
	*ret_extra = connections_of(arbiter, identity->uid) >= arbiter->config.connections;
	if (*ret_extra)
		connection_make_extra(arbiter, identity->uid);
	return NULL;
}

static int connection_create(struct arbiter *arbiter, int fd, const struct identity *identity,
			     bool extra)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection)
		return -ENOMEM;
	connection->arbiter = arbiter;
	connection->fd = fd;
	connection->extra = extra;
	connection->outbox_end = &connection->outbox;
	r = sd_event_add_io(arbiter->loop, &connection->source, fd, EPOLLIN, on_ready, connection);
	if (r < 0) {
		free(connection);
		return r;
	}
	connection->identity = *identity;
	connection->next = arbiter->connections;
	if (connection->next)
		connection->next->prev = connection;
	arbiter->connections = connection;
	return 0;
}

void connection_accept(struct arbiter *arbiter, int fd)
{
	struct identity identity;
	char why[SLUICE_TEXT_MAX];
	const char *refusal = why;
	int r = identity_of_peer(fd, &identity, why, sizeof(why));
	bool extra = false;

	if (!r) {
		refusal = connection_judge(arbiter, &identity, &extra);
		if (!refusal && !connection_create(arbiter, fd, &identity, extra))
			return;
		if (!refusal)
			refusal = "the arbiter is out of memory";
		log_limited(&arbiter->log_peers, LOG_LEVEL_WARNING, arbiter->now_ns,
			    "pid %d, uid %u: turned away: %s", (int)identity.pid,
			    (unsigned int)identity.uid, refusal);
		identity_finish(&identity);
	} else {
		log_limited(&arbiter->log_peers, LOG_LEVEL_WARNING, arbiter->now_ns,
			    "a peer is turned away: %s", why);
	}
	connection_turn_away(fd, refusal);
}
