/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_arbiter.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "sluice/escrow.h"
#include "sluice/wire_io.h"

#define BEAT_MS 50
#define AWAIT_NS (5 * SLUICE_NS_PER_S)

void fake_arbiter_init(struct fake_arbiter *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->window_ns = UINT64_MAX;
	fake->memory_max_units = UINT64_MAX;
	fake->mem_deadline_ns = SLUICE_NS_PER_S;
	fake->fail_deadline_ns = SLUICE_NS_PER_S;
}

static void *page_make(const char *name, size_t size, int *ret_fd)
{
	int fd = memfd_create(name, MFD_CLOEXEC);
	void *page;

	assert(fd >= 0 && !ftruncate(fd, (off_t)size));
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert(page != MAP_FAILED);
	*ret_fd = fd;
	return page;
}

static void send_text(int fd, uint32_t type, const void *message, uint32_t size, uint32_t seq,
		      const int *fds, unsigned int fd_count)
{
	unsigned char packet[SLUICE_PACKET_MAX];

	memcpy(packet, message, size);
	sluice_wire_head(packet, type, size, seq,
			 ((const struct sluice_msg_header *)message)->status);
	(void)sluice_wire_send(fd, packet, fds, fd_count, 0);
}

/* ---- grants --------------------------------------------------------------------------------------- */

void fake_grant_changed(struct fake_session *session, uint32_t device)
{
	atomic_fetch_add_explicit(&session->channel->device[device].grant.epoch, 1,
				  memory_order_release);
}

void fake_gate_set(struct fake_session *session, uint32_t device, bool open)
{
	struct sluice_grant *grant = &session->channel->device[device].grant;

	if ((atomic_load(&grant->gate) & 1) != open)
		return;
	atomic_fetch_add(&grant->gate, 1);
	fake_grant_changed(session, device);
	syscall(SYS_futex, &grant->gate, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void mail(struct fake_session *session, const struct sluice_msg_activity *about, int fd)
{
	struct sluice_grant *grant = &session->channel->device[about->device].grant;

	if (about->header.type == SLUICE_MSG_ACTIVITY_SEE)
		atomic_store(&grant->activity[about->slot].generation, about->generation);
	send_text(session->fd, about->header.type, about, sizeof(*about), 0, &fd, fd >= 0);
	atomic_fetch_add_explicit(&grant->mail, 1, memory_order_release);
	fake_grant_changed(session, about->device);
}

/* ---- activity -------------------------------------------------------------------------------------- */

static uint32_t number_of(struct fake_arbiter *fake, const struct fake_session *session)
{
	return (uint32_t)(session - fake->session);
}

/* A page's generation is its owner's number + 1, its slot that modulo the slots. */
static void activity_show(struct fake_arbiter *fake, struct fake_session *owner,
			  struct fake_session *reader)
{
	uint32_t number = number_of(fake, owner);
	struct sluice_msg_activity about = {.slot = number % SLUICE_MAX_ACTIVITY,
					    .generation = number + 1};
	char path[64];
	int fd;

	about.header.type = SLUICE_MSG_ACTIVITY_SEE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", owner->activity_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert(fd >= 0);
	mail(reader, &about, fd);
	close(fd);
}

static void activity_give(struct fake_arbiter *fake, struct fake_session *owner)
{
	struct sluice_msg_activity about = {.generation = number_of(fake, owner) + 1};
	struct sluice_activity *page =
		page_make("activity", sizeof(struct sluice_activity), &owner->activity_fd);

	page->magic = SLUICE_ACTIVITY_MAGIC;
	page->version = SLUICE_PAGES_VERSION;
	page->generation = about.generation;
	about.header.type = SLUICE_MSG_ACTIVITY_OWN;
	mail(owner, &about, owner->activity_fd);
	atomic_store(&owner->activity, page);
}

struct sluice_activity *fake_activity_new(struct fake_session *reader, uint32_t slot,
					  uint32_t generation)
{
	struct sluice_msg_activity about = {.slot = slot, .generation = generation};
	struct sluice_activity *page;
	int fd;

	page = page_make("activity", sizeof(*page), &fd);
	page->magic = SLUICE_ACTIVITY_MAGIC;
	page->version = SLUICE_PAGES_VERSION;
	page->generation = generation;
	about.header.type = SLUICE_MSG_ACTIVITY_SEE;
	mail(reader, &about, fd);
	close(fd);
	return page;
}

static void activity_answer(struct fake_arbiter *fake, struct fake_session *session,
			    const struct sluice_packet *packet)
{
	struct sluice_msg_activity about;

	sluice_wire_copy(packet, &about, sizeof(about));
	assert(!about.header.status);
	if (about.header.type == SLUICE_MSG_ACTIVITY_SEEN) {
		atomic_fetch_add(&session->seen, 1);
		return;
	}
	for (uint32_t i = 0; i < fake->sessions; i++) {
		if (&fake->session[i] != session && fake->session[i].devices &&
		    fake->session[i].fd >= 0)
			activity_show(fake, session, &fake->session[i]);
	}
}

/* ---- messages --------------------------------------------------------------------------------------- */

static void on_hello(struct fake_arbiter *fake, struct fake_session *session,
		     const struct sluice_packet *packet)
{
	struct sluice_msg_hello hello;
	struct sluice_msg_welcome welcome = {.version = SLUICE_PROTOCOL_VERSION, .managed = 1};
	int fds[2];

	sluice_wire_copy(packet, &hello, sizeof(hello));
	memcpy(session->tenant, hello.tenant, sizeof(session->tenant));
	session->latency = !strncmp(hello.tenant, "lc", 2);
	session->said_session = hello.session;
	session->channel_bytes =
		fake->is_old ? SLUICE_CHANNEL_LEAST_BYTES : sizeof(struct sluice_channel);
	session->channel = page_make("channel", session->channel_bytes, &session->channel_fd);
	session->escrow = page_make("escrow", sizeof(struct sluice_escrow), &session->escrow_fd);
	session->channel->magic = SLUICE_CHANNEL_MAGIC;
	session->escrow->magic = SLUICE_ESCROW_MAGIC;
	session->channel->version = session->escrow->version = SLUICE_PAGES_VERSION;
	atomic_store(&session->channel->heartbeat_ns, sluice_now_ns());
	welcome.tenant_class = session->latency;
	welcome.session = number_of(fake, session) + 1000;
	welcome.fail_mode = fake->fail_mode;
	welcome.fail_deadline_ns = fake->fail_deadline_ns;
	welcome.mem_deadline_ns = fake->mem_deadline_ns;
	memcpy(welcome.tenant, session->tenant, sizeof(welcome.tenant));
	fds[0] = session->channel_fd;
	fds[1] = session->escrow_fd;
	send_text(session->fd, SLUICE_MSG_WELCOME, &welcome, sizeof(welcome), packet->header.seq,
		  fds, 2);
}

static void on_device(struct fake_arbiter *fake, struct fake_session *session,
		      const struct sluice_packet *packet)
{
	struct sluice_msg_device_ok ok = {.index = session->devices,
					  .memory_max_bytes = UINT64_MAX};
	struct sluice_grant *grant = &session->channel->device[ok.index].grant;
	struct sluice_msg_text no = {0};
	struct sluice_msg_device about;

	if (fake->refusal) {
		sluice_wire_text(no.text, sizeof(no.text), fake->refusal);
		send_text(session->fd, SLUICE_MSG_REFUSED, &no, sizeof(no), packet->header.seq,
			  NULL, 0);
		return;
	}
	sluice_wire_copy(packet, &about, sizeof(about));
	fake->memory_granted_units += sluice_escrow_units(about.held_bytes);
	atomic_store(&session->escrow->device[ok.index].word,
		     (uint64_t)sluice_escrow_units(about.held_bytes) << 32);
	atomic_store(&grant->flags, SLUICE_GRANT_MANAGED | fake->grant_flags |
					    (session->latency ? SLUICE_GRANT_LATENCY : 0));
	atomic_store(&grant->credit_ns, UINT64_MAX);
	atomic_store(&grant->window_ns, session->latency ? UINT64_MAX : fake->window_ns);
	atomic_store(&grant->guard_ns, fake->guard_ns);
	fake_grant_changed(session, ok.index);
	send_text(session->fd, SLUICE_MSG_DEVICE_OK, &ok, sizeof(ok), packet->header.seq, NULL, 0);
	if (session->latency && !session->devices)
		activity_give(fake, session);
	if (!session->latency) {
		for (uint32_t i = 0; i < fake->sessions; i++) {
			if (fake->session[i].activity && fake->session[i].fd >= 0)
				activity_show(fake, &fake->session[i], session);
		}
	}
	atomic_fetch_add(&session->devices, 1);
}

static void on_mem(struct fake_arbiter *fake, struct fake_session *session,
		   const struct sluice_packet *packet)
{
	struct sluice_msg_mem mem;
	_Atomic uint64_t *word;
	uint32_t credit, more;

	sluice_wire_copy(packet, &mem, sizeof(mem));
	word = &session->escrow->device[mem.device].word;
	credit = sluice_escrow_credit(atomic_load(word));
	more = mem.units > credit ? mem.units - credit : 0;
	if (fake->memory_granted_units + more > fake->memory_max_units) {
		mem.header.status = -ENOMEM;
	} else {
		fake->memory_granted_units += more;
		sluice_escrow_grant(word, more);
		mem.header.status = 0;
	}
	send_text(session->fd, SLUICE_MSG_MEM_ANSWER, &mem, sizeof(mem), packet->header.seq, NULL,
		  0);
}

static void on_query(struct fake_arbiter *fake, struct fake_session *session,
		     const struct sluice_packet *packet)
{
	struct sluice_msg_mem_state state = {.max_bytes = UINT64_MAX,
					     .used_bytes = fake->memory_granted_units *
							   SLUICE_ESCROW_UNIT};

	send_text(session->fd, SLUICE_MSG_MEM_STATE, &state, sizeof(state), packet->header.seq,
		  NULL, 0);
}

static void on_packet(struct fake_arbiter *fake, struct fake_session *session,
		      const struct sluice_packet *packet)
{
	switch (packet->header.type) {
	case SLUICE_MSG_HELLO: on_hello(fake, session, packet); break;
	case SLUICE_MSG_DEVICE: on_device(fake, session, packet); break;
	case SLUICE_MSG_MEM_REQUEST: on_mem(fake, session, packet); break;
	case SLUICE_MSG_MEM_QUERY: on_query(fake, session, packet); break;
	case SLUICE_MSG_WANT: atomic_fetch_add(&session->wants, 1); break;
	case SLUICE_MSG_ACTIVITY_MAPPED:
	case SLUICE_MSG_ACTIVITY_SEEN: activity_answer(fake, session, packet); break;
	default: assert(!"a message that the fake arbiter knows");
	}
}

/* ---- the thread ------------------------------------------------------------------------------------- */

static void session_read(struct fake_arbiter *fake, struct fake_session *session)
{
	struct sluice_packet packet;
	int result = sluice_wire_recv(session->fd, &packet, MSG_DONTWAIT);

	if (result == 1) {
		on_packet(fake, session, &packet);
		sluice_wire_close_fds(&packet);
	} else if (result != -EAGAIN) {
		close(session->fd);
		session->fd = -1;
	}
}

static void session_accept(struct fake_arbiter *fake)
{
	int fd = accept4(fake->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct fake_session *session;

	if (fd < 0)
		return;
	assert(fake->sessions < FAKE_SESSIONS);
	session = &fake->session[fake->sessions];
	memset(session, 0, sizeof(*session));
	session->fd = fd;
	atomic_fetch_add(&fake->sessions, 1);
}

static void beat(struct fake_arbiter *fake)
{
	for (uint32_t i = 0; i < fake->sessions; i++) {
		if (fake->session[i].channel)
			atomic_store(&fake->session[i].channel->heartbeat_ns, sluice_now_ns());
	}
}

static void *fake_run(void *closure)
{
	struct fake_arbiter *fake = closure;
	struct pollfd look[FAKE_SESSIONS + 2];

	for (;;) {
		uint32_t sessions = fake->sessions;
		bool mute = fake->is_mute;

		look[0] = (struct pollfd){.fd = fake->wake_fd[0], .events = POLLIN};
		look[1] = (struct pollfd){.fd = mute ? -1 : fake->listen_fd, .events = POLLIN};
		for (uint32_t i = 0; i < sessions; i++)
			look[i + 2] = (struct pollfd){.fd = mute ? -1 : (int)fake->session[i].fd,
						      .events = POLLIN};
		(void)poll(look, sessions + 2, BEAT_MS);
		if (look[0].revents)
			return NULL;
		if (fake->is_mute)
			continue;
		beat(fake);
		if (look[1].revents)
			session_accept(fake);
		for (uint32_t i = 0; i < sessions; i++) {
			if (look[i + 2].revents)
				session_read(fake, &fake->session[i]);
		}
	}
}

void fake_arbiter_start(struct fake_arbiter *fake)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (!fake->folder[0]) {
		snprintf(fake->folder, sizeof(fake->folder), "/tmp/fake-arbiter-XXXXXX");
		assert(mkdtemp(fake->folder));
		snprintf(fake->path, sizeof(fake->path), "%s/sock", fake->folder);
	}
	memcpy(address.sun_path, fake->path, sizeof(address.sun_path));
	fake->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert(fake->listen_fd >= 0);
	(void)unlink(fake->path);
	assert(!bind(fake->listen_fd, (struct sockaddr *)&address, sizeof(address)));
	assert(!listen(fake->listen_fd, 128) && !pipe2(fake->wake_fd, O_CLOEXEC));
	assert(!pthread_create(&fake->thread, NULL, fake_run, fake));
}

void fake_arbiter_stop(struct fake_arbiter *fake)
{
	assert(write(fake->wake_fd[1], "x", 1) == 1);
	pthread_join(fake->thread, NULL);
	for (uint32_t i = 0; i < fake->sessions; i++) {
		if (fake->session[i].fd >= 0)
			close(fake->session[i].fd);
		fake->session[i].fd = -1;
	}
	close(fake->listen_fd);
	close(fake->wake_fd[0]);
	close(fake->wake_fd[1]);
	(void)unlink(fake->path);
}

static void session_finish(struct fake_session *session)
{
	if (session->channel) {
		munmap(session->channel, session->channel_bytes);
		munmap(session->escrow, sizeof(*session->escrow));
		close(session->channel_fd);
		close(session->escrow_fd);
	}
	if (session->activity) {
		munmap(session->activity, sizeof(*session->activity));
		close(session->activity_fd);
	}
}

void fake_arbiter_finish(struct fake_arbiter *fake)
{
	for (uint32_t i = 0; i < fake->sessions; i++)
		session_finish(&fake->session[i]);
	(void)rmdir(fake->folder);
	memset(fake, 0, sizeof(*fake));
}

struct fake_session *fake_arbiter_session(struct fake_arbiter *fake, uint32_t number,
					  uint32_t devices)
{
	uint64_t end_ns = sluice_now_ns() + AWAIT_NS;

	while (fake->sessions <= number || fake->session[number].devices < devices) {
		assert(sluice_now_ns() < end_ns);
		usleep(1000);
	}
	return &fake->session[number];
}

void fake_arbiter_await_seen(struct fake_session *session, uint32_t count)
{
	uint64_t end_ns = sluice_now_ns() + AWAIT_NS;

	while (session->seen < count) {
		assert(sluice_now_ns() < end_ns);
		usleep(1000);
	}
}
