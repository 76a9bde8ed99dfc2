/* SPDX-License-Identifier: Apache-2.0 */
#include "link_session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "activity.h"
#include "environment.h"
#include "known.h"
#include "launch_fast.h"
#include "link.h"
#include "shim_log.h"
#include "watch.h"

#define FD_LEAST 512 /* out of the way of programs that close or count low descriptors */
#define SAY_AGAIN_NS \
	(60 * SLUICE_NS_PER_S) /* the same refusal: a new session is asked for all the time */

struct session session = {.fd = -1};

/* ---- the descriptor ------------------------------------------------------------------------------ */

static bool fd_is_ours(void)
{
	struct fd_info about;

	return fd_look(session.fd, &about) && fd_is_same(&about, &session.fd_info);
}

void session_close(void)
{
	if (fd_is_ours())
		close(session.fd);
	session.fd = -1;
	session.greeted = false;
}

static int fd_adopt(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);

	if (high < 0)
		high = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST / 4);
	if (high >= 0) {
		close(fd);
		fd = high;
	}
	if (!fd_look(fd, &session.fd_info)) {
		close(fd);
		return -EBADF;
	}
	session.fd = fd;
	return 0;
}

/* Never waits: an arbiter that hangs has a full backlog at most. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strnlen(path, sizeof(address.sun_path));
	int fd, result;

	if (length == sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, length);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		result = -errno;
		close(fd);
		return result;
	}
	return fd_adopt(fd);
}

static int connect_user(void)
{
	const char *folder = environment()->runtime;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	size_t length = strnlen(folder, sizeof(path));

	if (!length || length + sizeof(SLUICE_SOCKET_USER) > sizeof(path))
		return -ENOENT;
	memcpy(path, folder, length);
	memcpy(path + length, SLUICE_SOCKET_USER, sizeof(SLUICE_SOCKET_USER));
	return connect_to(path);
}

static int connect_any(void)
{
	const char *asked = environment()->socket;
	int result, user;

	if (*asked)
		return connect_to(asked);
	result = connect_to(SLUICE_SOCKET_SYSTEM);
	if (!result)
		return 0;
	/* One that has gone, or that we may not see, says more than none. */
	user = connect_user();
	return user == -ENOENT ? result : user;
}

/* The unit keeps its folder while the arbiter restarts. */
static bool has_system_folder(void)
{
	static const char socket_path[] = SLUICE_SOCKET_SYSTEM;
	char folder[sizeof(socket_path)];

	memcpy(folder, socket_path, sizeof(folder));
	*strrchr(folder, '/') = 0;
	return access(folder, F_OK) == 0;
}

bool session_is_expected(void)
{
	return *environment()->socket || *environment()->tenant || has_system_folder();
}

/* ---- the arbiter's own messages ---------------------------------------------------------------- */

void session_tell(void *message, uint32_t type, uint32_t size)
{
	struct sluice_msg_header *header = message;

	sluice_wire_head(message, type, size, 0, header->status);
	if (fd_is_ours())
		(void)sluice_wire_send(session.fd, message, NULL, 0, MSG_DONTWAIT);
}

static void serve_activity(const struct sluice_packet *packet)
{
	struct sluice_msg_activity about;
	int fd = packet->fd_count ? packet->fd[0] : -1;

	sluice_wire_copy(packet, &about, sizeof(about));
	switch (about.header.type) {
	case SLUICE_MSG_ACTIVITY_OWN:
		about.header.status = fd < 0 ? -EBADF : activity_own(&about, fd);
		if (!about.header.status)
			watch_start();
		session_tell(&about, SLUICE_MSG_ACTIVITY_MAPPED, sizeof(about));
		break;
	case SLUICE_MSG_ACTIVITY_SEE:
		about.header.status = fd < 0 ? -EBADF : activity_see(&about, fd);
		session_tell(&about, SLUICE_MSG_ACTIVITY_SEEN, sizeof(about));
		break;
	case SLUICE_MSG_ACTIVITY_DROP: activity_drop(&about); break;
	case SLUICE_MSG_KNOWN:
		if (known_map(&launch_predict, fd))
			shim_log(SHIM_LOG_ERROR, "earlier estimates make no sense; ignored");
		break;
	default: break; /* of a newer arbiter */
	}
	if (about.header.status)
		shim_log(SHIM_LOG_ERROR, "activity page refused, error %d", -about.header.status);
}

/* 1: a packet, 0: hung up, or -errno. */
static int receive(struct sluice_packet *ret_packet)
{
	if (!fd_is_ours())
		return 0;
	return sluice_wire_recv(session.fd, ret_packet, MSG_DONTWAIT);
}

static bool is_end(int result)
{
	return result == 0 || (result < 0 && result != -EAGAIN && result != -EBADMSG);
}

bool session_serve(void)
{
	struct sluice_packet packet;
	int result;

	while ((result = receive(&packet)) == 1) {
		serve_activity(&packet);
		sluice_wire_close_fds(&packet);
	}
	if (!is_end(result))
		return true;
	session_close();
	return false;
}

/* The next packet of that sequence number, or a refusal (who is turned away at the door is answered
 * before anything was asked); others are served on the way. */
static int receive_answer(uint32_t seq, uint64_t deadline_ns, struct sluice_packet *ret_answer)
{
	for (;;) {
		int result = receive(ret_answer);

		if (is_end(result)) {
			session_close();
			return -ENOTCONN;
		}
		if (result == 1 && (ret_answer->header.seq == seq ||
				    ret_answer->header.type == SLUICE_MSG_REFUSED))
			return 0;
		if (result == 1) {
			serve_activity(ret_answer);
			sluice_wire_close_fds(ret_answer);
			continue;
		}
		if (sluice_wire_wait(session.fd, POLLIN, deadline_ns))
			return -ETIMEDOUT;
	}
}

static uint32_t next_seq(void)
{
	if (!++session.seq)
		++session.seq;
	return session.seq;
}

int session_ask(void *question, uint32_t type, uint32_t size, uint64_t deadline_ns,
		struct sluice_packet *ret_answer)
{
	uint32_t seq = next_seq();

	if (session.greeted || !fd_is_ours())
		return -ENOTCONN;
	sluice_wire_head(question, type, size, seq, 0);
	if (sluice_wire_send(session.fd, question, NULL, 0, MSG_DONTWAIT)) {
		session_close();
		return -ENOTCONN;
	}
	return receive_answer(seq, deadline_ns, ret_answer);
}

/* ---- hello and welcome ---------------------------------------------------------------------------- */

int session_greet(void)
{
	struct sluice_msg_hello hello = {.version = SLUICE_PROTOCOL_VERSION,
					 .oldest = SLUICE_PROTOCOL_OLDEST,
					 .session = session.id};
	int result = connect_any();

	if (result)
		return result;
	sluice_wire_head(&hello, SLUICE_MSG_HELLO, sizeof(hello), next_seq(), 0);
	sluice_wire_text(hello.tenant, sizeof(hello.tenant), environment()->tenant);
	sluice_wire_text(hello.program, sizeof(hello.program), program_invocation_short_name);
	result = sluice_wire_send(session.fd, &hello, NULL, 0, MSG_DONTWAIT);
	/* Hung up on already: why, is there to be read. */
	if (result && result != -EPIPE) {
		session_close();
		return result;
	}
	session.greeted = true;
	return 0;
}

/* What the file of an older arbiter lacks is memory that nobody else reads. */
static void *page_map_short(int fd, size_t bytes, size_t size)
{
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED ||
	    mmap(page, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
		return page;
	munmap(page, size);
	return MAP_FAILED;
}

/* Maps a page of the arbiter's, of `least` bytes or more; the process that maps it does not give it
 * to a child. */
static void *page_map(int fd, size_t least, size_t size, struct fd_info *ret_info)
{
	void *page;

	if (!fd_look(fd, ret_info) || ret_info->bytes < least)
		return NULL;
	page = ret_info->bytes < size ? page_map_short(fd, least, size)
				      : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return NULL;
	(void)madvise(page, size, MADV_DONTFORK);
	return page;
}

static void channel_change(struct sluice_channel *channel)
{
	struct sluice_channel *old = session.channel;

	atomic_store_explicit(&session.channel, channel, memory_order_release);
	if (old)
		watch_wake_at(old);
}

/* The pages of this session. A page that we hold already comes as a second mapping, and is dropped. */
static int pages_adopt(const struct sluice_packet *packet)
{
	struct fd_info channel_info, escrow_info;
	struct sluice_channel *channel, *present = session.channel;
	struct sluice_escrow *escrow;

	if (packet->fd_count < 2)
		return -EPROTO;
	channel = page_map(packet->fd[0], SLUICE_CHANNEL_LEAST_BYTES, sizeof(*channel),
			   &channel_info);
	escrow = page_map(packet->fd[1], sizeof(*escrow), sizeof(*escrow), &escrow_info);
	if (!channel || !escrow || channel->magic != SLUICE_CHANNEL_MAGIC ||
	    escrow->magic != SLUICE_ESCROW_MAGIC) {
		if (channel)
			munmap(channel, sizeof(*channel));
		if (escrow)
			munmap(escrow, sizeof(*escrow));
		return -EPROTO;
	}
	if (present && fd_is_same(&session.channel_info, &channel_info))
		munmap(channel, sizeof(*channel));
	else
		channel_change(channel);
	if (session.escrow && fd_is_same(&session.escrow_info, &escrow_info)) {
		munmap(escrow, sizeof(*escrow));
	} else {
		session.escrow = escrow;
		for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
			session.device[i].rehome = session.device[i].used;
	}
	session.channel_info = channel_info;
	session.escrow_info = escrow_info;
	return 0;
}

int session_refused(const struct sluice_packet *packet)
{
	struct sluice_msg_text text;
	uint64_t now_ns = sluice_now_ns();

	sluice_wire_copy(packet, &text, sizeof(text));
	text.text[sizeof(text.text) - 1] = 0;
	if (now_ns - session.refused_ns >= SAY_AGAIN_NS || strcmp(text.text, session.refusal)) {
		session.refused_ns = now_ns;
		memcpy(session.refusal, text.text, sizeof(session.refusal));
		shim_log(SHIM_LOG_ERROR, "refused: %s", text.text);
	}
	return LINK_REFUSED;
}

static void say_welcome(struct sluice_msg_welcome *welcome)
{
	welcome->tenant[sizeof(welcome->tenant) - 1] = 0;
	welcome->remark[sizeof(welcome->remark) - 1] = 0;
	if (welcome->remark[0])
		shim_log(SHIM_LOG_ERROR, "%s", welcome->remark);
	shim_log(SHIM_LOG_INFO, "under Sluice as tenant %s, %s", welcome->tenant,
		 !welcome->managed ? "which bypasses it (managed = false)"
		 : welcome->tenant_class == SLUICE_LATENCY_CRITICAL ? "latency-critical"
								    : "best-effort");
}

static int welcome_take(const struct sluice_packet *packet)
{
	struct sluice_msg_welcome welcome;
	int result;

	if (packet->header.type == SLUICE_MSG_REFUSED)
		return session_refused(packet);
	if (packet->header.type != SLUICE_MSG_WELCOME)
		return -EPROTO;
	sluice_wire_copy(packet, &welcome, sizeof(welcome));
	result = pages_adopt(packet);
	if (result)
		return result;
	session.id = welcome.session;
	session.fail_mode = welcome.fail_mode;
	session.managed = welcome.managed;
	session.fail_deadline_ns = welcome.fail_deadline_ns;
	session.mem_deadline_ns = welcome.mem_deadline_ns;
	session.up_since_ns = sluice_now_ns();
	say_welcome(&welcome);
	return 0;
}

int session_welcome(uint64_t deadline_ns)
{
	struct sluice_packet packet;
	int result = receive_answer(session.seq, deadline_ns, &packet);

	if (result == -ETIMEDOUT)
		return -EAGAIN;
	if (result)
		return result;
	session.greeted = false;
	result = welcome_take(&packet);
	sluice_wire_close_fds(&packet);
	if (result)
		session_close();
	return result;
}

void session_forked(void)
{
	/* Our copy of the descriptor; the arbiter hears nothing of it. */
	session_close();
	session = (struct session){.fd = -1};
	environment_forked();
}
