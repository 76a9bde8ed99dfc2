/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_WIRE_IO_H
#define SLUICE_WIRE_IO_H

/*
 * Sending and receiving one packet of wire.h with its descriptors: inline, bounded, nothing
 * allocated, libc of 2014 on. Any thread; one receiver per socket. All return -errno on failure
 * and leave errno changed (a shim restores it). No call blocks longer than its flags say:
 * MSG_DONTWAIT gives -EAGAIN; with a deadline use sluice_wire_wait first.
 */

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/wire.h"

#define SLUICE_WIRE_FDS 4 /* descriptors beside one packet, at most */

/* Where the arbiter listens, in the order in which shim and tools try: the environment variable
 * alone if it is set; else the system's; else, under XDG_RUNTIME_DIR, the user's own. */
#define SLUICE_SOCKET_ENV "SLUICE_SOCKET"
#define SLUICE_SOCKET_SYSTEM "/run/sluice/sluiced.sock"
#define SLUICE_SOCKET_USER "/sluice/sluiced.sock" /* appended to XDG_RUNTIME_DIR */

struct sluice_packet {
	union {
		struct sluice_msg_header header;
		unsigned char bytes[SLUICE_PACKET_MAX];
	};
	uint32_t length;   /* bytes received; header.size says the same */
	uint32_t fd_count; /* the receiver owns them */
	int fd[SLUICE_WIRE_FDS];
};

/* Fills a header; `size` is of the whole message. */
static inline void sluice_wire_head(void *message, uint32_t type, uint32_t size, uint32_t seq,
				    int32_t status)
{
	struct sluice_msg_header *header = (struct sluice_msg_header *)message;

	header->type = type;
	header->size = size;
	header->seq = seq;
	header->status = status;
}

/* Sends header.size bytes at `message`. flags: 0 or MSG_DONTWAIT. Returns 0 or -errno. */
static inline int sluice_wire_send(int fd, const void *message, const int *fds,
				   unsigned int fd_count, int flags)
{
	const struct sluice_msg_header *header = (const struct sluice_msg_header *)message;
	struct iovec part = {.iov_base = (void *)(uintptr_t)message, .iov_len = header->size};
	struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * SLUICE_WIRE_FDS)];
	} control;
	ssize_t sent;

	if (header->size < sizeof(*header) || header->size > SLUICE_PACKET_MAX ||
	    fd_count > SLUICE_WIRE_FDS)
		return -EINVAL;
	if (fd_count) {
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	do
		sent = sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

/* Keeps at most SLUICE_WIRE_FDS of the descriptors of one control message, closes the rest. */
static inline void sluice_wire_take_fds(struct sluice_packet *packet, struct cmsghdr *cmsg)
{
	size_t count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(fd));
		if (packet->fd_count < SLUICE_WIRE_FDS)
			packet->fd[packet->fd_count++] = fd;
		else
			close(fd);
	}
}

static inline void sluice_wire_close_fds(struct sluice_packet *packet)
{
	for (uint32_t i = 0; i < packet->fd_count; i++)
		close(packet->fd[i]);
	packet->fd_count = 0;
}

/*
 * Receives one packet. flags: 0 or MSG_DONTWAIT. Returns 1 and fills *ret_packet (descriptors are
 * close-on-exec), 0 when the peer has closed, -EBADMSG for a packet whose header does not say its
 * own length or that is too long (nothing of it is kept), or another -errno.
 */
static inline int sluice_wire_recv(int fd, struct sluice_packet *ret_packet, int flags)
{
	struct iovec part = {.iov_base = ret_packet->bytes, .iov_len = SLUICE_PACKET_MAX};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * SLUICE_WIRE_FDS)];
	} control;
	struct msghdr msg = {.msg_iov = &part,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *cmsg;
	int resets = 0;
	ssize_t got;

	ret_packet->fd_count = 0;
	ret_packet->length = 0;
	/* A peer that closed before it read all: what it had said comes after one ECONNRESET. */
	do
		got = recvmsg(fd, &msg, flags | MSG_CMSG_CLOEXEC);
	while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !resets++)));
	if (got < 0)
		return -errno;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg)) {
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
			sluice_wire_take_fds(ret_packet, cmsg);
	}
	if (got == 0 && !ret_packet->fd_count)
		return 0;
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
	    (size_t)got < sizeof(ret_packet->header) || ret_packet->header.size != (size_t)got) {
		sluice_wire_close_fds(ret_packet);
		return -EBADMSG;
	}
	ret_packet->length = (uint32_t)got;
	return 1;
}

/* A message as this side knows it: a longer one's head; a shorter, older one's rest is zero. */
static inline void sluice_wire_copy(const struct sluice_packet *packet, void *ret_message,
				    size_t known)
{
	size_t length = packet->length < known ? packet->length : known;

	memcpy(ret_message, packet->bytes, length);
	memset((unsigned char *)ret_message + length, 0, known - length);
}

/* Zero-fills `size` bytes and copies what of `text` fits, NUL-terminated. */
static inline void sluice_wire_text(char *ret_field, size_t size, const char *text)
{
	size_t length = 0;

	/* Not strnlen: under sanitizers gcc 12 takes its bound for a read beyond short literals. */
	while (length < size - 1 && text[length])
		length++;
	memset(ret_field, 0, size);
	memcpy(ret_field, text, length);
}

/* Is the field NUL-terminated? A peer's strings are looked at only after this. */
static inline int sluice_wire_is_text(const char *field, size_t size)
{
	return memchr(field, 0, size) != NULL;
}

/* Text of a peer that goes on to people: nothing in it ends a line or drives a terminal. */
static inline void sluice_wire_printable(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

/* Waits until the socket has `events` (POLLIN, POLLOUT) or hangs up; UINT64_MAX: for ever.
 * Returns 0, -ETIMEDOUT or -errno. */
static inline int sluice_wire_wait(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd look = {.fd = fd, .events = events};
		uint64_t now_ns = sluice_now_ns(), left_ms;
		int ready;

		if (deadline_ns == UINT64_MAX)
			left_ms = 1000;
		else if (now_ns >= deadline_ns)
			left_ms = 0;
		else
			left_ms = (deadline_ns - now_ns + SLUICE_NS_PER_MS - 1) / SLUICE_NS_PER_MS;
		ready = poll(&look, 1, left_ms > 1000 ? 1000 : (int)left_ms);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready == 0 && deadline_ns != UINT64_MAX && sluice_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

/* Connects, close-on-exec. Returns the descriptor or -errno (-ENOENT, -ECONNREFUSED: no arbiter
 * there; -EACCES: not allowed; -ENAMETOOLONG). */
static inline int sluice_wire_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(path);
	int fd, r;

	if (length >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do
		r = connect(fd, (struct sockaddr *)&address, sizeof(address));
	while (r < 0 && errno == EINTR);
	if (r < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

#endif
