/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CONNECTION_H
#define DAEMON_CONNECTION_H

/*
 * One accepted socket: who is there, what waits to be sent, and which kind of peer it turned out
 * to be. Sending never blocks: what the socket does not take waits here, up to a bound, after
 * which the peer is closed. Descriptors are not queued: a packet with some is sent now or not.
 */

#include "daemon/arbiter.h"

enum connection_kind { CONNECTION_NEW, CONNECTION_SHIM, CONNECTION_TOOL };

#define OUTBOX_MAX_BYTES (4u << 20) /* of a tool: the rows of one status */
#define OUTBOX_SHIM_BYTES (64u << 10)

struct outbox_packet {
	struct outbox_packet *next;
	unsigned char bytes[]; /* a whole message; its header says the length */
};

struct connection {
	struct arbiter *arbiter;
	struct connection *prev, *next;
	struct sd_event_source *source;
	int fd;
	enum connection_kind kind;
	bool closing; /* after what waits has been sent */
	bool extra;   /* beyond its user's limit: a tool, or nobody */
	struct identity identity;
	struct process *process; /* CONNECTION_SHIM; borrowed */
	struct outbox_packet *outbox, **outbox_end;
	size_t outbox_bytes;
};

extern const char connection_too_many[]; /* to whoever is beyond its user's limit */

/* Listening socket; -errno is logged. */
int server_listen(struct arbiter *arbiter);
/* Accepts again, after descriptors had run out. */
void server_resume(struct arbiter *arbiter);
void server_finish(struct arbiter *arbiter);

/* Takes over the accepted socket: a connection, or a sentence and an end. */
void connection_accept(struct arbiter *arbiter, int fd);
/* Frees it; the process, if any, stays. */
void connection_destroy(struct connection *connection);
/* 0, or -errno: the caller closes (returns it from its handler). */
int connection_send(struct connection *connection, const void *message);
/* -EAGAIN: not now. */
int connection_send_fds(struct connection *connection, const void *message, const int *fds,
			unsigned int count);
int connection_send_text(struct connection *connection, uint32_t type, uint32_t seq, int32_t status,
			 const char *format, ...) __attribute__((format(printf, 5, 6)));
/* root, the daemon's own user, or a member of admin_group. */
bool connection_is_admin(const struct connection *connection);

/* session.c: one packet of a shim. 0, or -errno: close. */
int session_hello(struct connection *connection, const struct sluice_packet *packet);
int session_message(struct connection *connection, const struct sluice_packet *packet);

#endif
