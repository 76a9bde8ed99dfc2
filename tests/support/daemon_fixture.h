/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DAEMON_FIXTURE_H
#define TESTS_DAEMON_FIXTURE_H

/*
 * A real arbiter in a child process, on a socket in a folder of its own, and the calls of a shim
 * and of a tool. Waits end by what they wait for; a deadline of 20 s is there for what never comes.
 */

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/arbiter.h"
#include "sluice/clock.h"
#include "sluice/pages.h"
#include "sluice/wire_io.h"

#define FIXTURE_DEADLINE_NS (20 * SLUICE_NS_PER_S)

static char fixture_folder[64], fixture_socket[96], fixture_config[96], fixture_ledger[112];
static pid_t fixture_arbiter;
static bool fixture_for_all; /* not --user */
static struct nvml *(*fixture_nvml)(void);
static rlim_t fixture_descriptors; /* that the arbiter may have; 0: as many as we */

/* Of the address sanitizer, where it is there. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

#define wait_until(condition) \
	do { \
		uint64_t end_ns_ = sluice_now_ns() + FIXTURE_DEADLINE_NS; \
		while (!(condition)) { \
			if (sluice_now_ns() > end_ns_) \
				ck_abort_msg("never: %s", #condition); \
			usleep(500); \
		} \
	} while (0)

static inline void fixture_write_config(const char *text)
{
	FILE *out = fopen(fixture_config, "we");

	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static inline void fixture_serve(void)
{
	struct options options = {
		.config = fixture_config, .socket = fixture_socket, .user = !fixture_for_all};
	struct arbiter *arbiter;
	struct nvml *nvml = fixture_nvml ? fixture_nvml() : NULL;
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!secure_getenv("SLUICE_TEST_LOG"))
		dup2(quiet, 2);
	log_init(false);
	if (fixture_descriptors)
		setrlimit(RLIMIT_NOFILE,
			  &(struct rlimit){fixture_descriptors, fixture_descriptors});
	options.nvml = nvml;
	if (arbiter_create(&options, &arbiter))
		_exit(3);
	if (arbiter_run(arbiter) < 0)
		_exit(4);
	arbiter_destroy(arbiter);
	if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check())
		_exit(5);
	/* The test program's own atexit handlers are not ours to run. */
	_exit(0);
}

static inline void fixture_start_arbiter(void)
{
	int fd;

	fixture_arbiter = fork();
	ck_assert_int_ge(fixture_arbiter, 0);
	if (!fixture_arbiter)
		fixture_serve();
	wait_until((fd = sluice_wire_connect(fixture_socket)) >= 0);
	close(fd);
}

static inline void fixture_begin(const char *config)
{
	memcpy(fixture_folder, "/tmp/sluice-test-XXXXXX", 24);
	ck_assert_ptr_nonnull(mkdtemp(fixture_folder));
	snprintf(fixture_socket, sizeof(fixture_socket), "%s/sock", fixture_folder);
	snprintf(fixture_config, sizeof(fixture_config), "%s/conf", fixture_folder);
	snprintf(fixture_ledger, sizeof(fixture_ledger), "%s" LEDGER_SUFFIX, fixture_socket);
	fixture_write_config(config);
	fixture_start_arbiter();
}

/* The arbiter is alive, and ends well. */
static inline void fixture_end(void)
{
	int status;

	ck_assert_int_eq(kill(fixture_arbiter, SIGTERM), 0);
	ck_assert_int_eq(waitpid(fixture_arbiter, &status, 0), fixture_arbiter);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "the arbiter ended with %x",
		      status);
	ck_assert_int_eq(access(fixture_socket, F_OK), -1);
	/* Processes that it leaves behind are in there; ourselves, for one. */
	unlink(fixture_ledger);
	unlink(fixture_config);
	rmdir(fixture_folder);
}

static inline unsigned int fixture_arbiter_fds(void)
{
	unsigned int count = 0;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)fixture_arbiter);
	folder = opendir(path);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* ---- a shim ------------------------------------------------------------------------------------ */

struct shim {
	int fd;
	uint32_t seq;
	struct sluice_msg_welcome welcome;
	struct sluice_channel *channel;
	struct sluice_escrow *escrow;
	int channel_fd, escrow_fd;
	struct sluice_packet last;
};

static inline int fixture_connect(void)
{
	int fd = sluice_wire_connect(fixture_socket);

	ck_assert_msg(fd >= 0, "connect: %s", strerror(-fd));
	return fd;
}

/* The next packet; type 0: the peer closed. */
static inline uint32_t fixture_receive(int fd, struct sluice_packet *packet)
{
	int r;

	ck_assert_int_eq(sluice_wire_wait(fd, POLLIN, sluice_now_ns() + FIXTURE_DEADLINE_NS), 0);
	r = sluice_wire_recv(fd, packet, 0);
	if (r == 0 || r == -ECONNRESET)
		return 0;
	ck_assert_msg(r == 1, "receive: %s", strerror(-r));
	return packet->header.type;
}

/* The next packet of that type, whatever comes before it. */
static inline void fixture_await(int fd, uint32_t type, struct sluice_packet *packet)
{
	uint32_t got;

	while ((got = fixture_receive(fd, packet)) != type) {
		ck_assert_msg(got != 0, "closed while waiting for %u", type);
		ck_assert_msg(got != SLUICE_MSG_REFUSED, "refused: %s",
			      ((struct sluice_msg_text *)packet->bytes)->text);
		sluice_wire_close_fds(packet);
	}
}

static inline void fixture_send(int fd, void *message, uint32_t type, uint32_t size, uint32_t seq)
{
	sluice_wire_head(message, type, size, seq, 0);
	ck_assert_int_eq(sluice_wire_send(fd, message, NULL, 0, 0), 0);
}

static inline void shim_hello(struct shim *shim, const char *tenant, uint64_t session)
{
	struct sluice_msg_hello hello = {.version = SLUICE_PROTOCOL_VERSION,
					 .oldest = SLUICE_PROTOCOL_OLDEST,
					 .session = session};

	shim->fd = fixture_connect();
	sluice_wire_text(hello.tenant, sizeof(hello.tenant), tenant);
	sluice_wire_text(hello.program, sizeof(hello.program), "test");
	fixture_send(shim->fd, &hello, SLUICE_MSG_HELLO, sizeof(hello), ++shim->seq);
}

/* Says hello and maps the pages. */
static inline void shim_join(struct shim *shim, const char *tenant, uint64_t session)
{
	*shim = (struct shim){.fd = -1};
	shim_hello(shim, tenant, session);
	fixture_await(shim->fd, SLUICE_MSG_WELCOME, &shim->last);
	sluice_wire_copy(&shim->last, &shim->welcome, sizeof(shim->welcome));
	ck_assert_uint_eq(shim->welcome.header.seq, shim->seq);
	ck_assert_uint_eq(shim->last.fd_count, 2);
	shim->channel_fd = shim->last.fd[0];
	shim->escrow_fd = shim->last.fd[1];
	shim->channel = mmap(NULL, sizeof(*shim->channel), PROT_READ | PROT_WRITE, MAP_SHARED,
			     shim->channel_fd, 0);
	shim->escrow = mmap(NULL, sizeof(*shim->escrow), PROT_READ | PROT_WRITE, MAP_SHARED,
			    shim->escrow_fd, 0);
	ck_assert_ptr_ne(shim->channel, MAP_FAILED);
	ck_assert_ptr_ne(shim->escrow, MAP_FAILED);
	ck_assert_uint_eq(shim->channel->magic, SLUICE_CHANNEL_MAGIC);
	ck_assert_uint_eq(shim->escrow->magic, SLUICE_ESCROW_MAGIC);
}

static inline void shim_close(struct shim *shim)
{
	close(shim->fd);
	munmap(shim->channel, sizeof(*shim->channel));
	munmap(shim->escrow, sizeof(*shim->escrow));
	close(shim->channel_fd);
	close(shim->escrow_fd);
}

static inline struct sluice_msg_device fixture_device(uint8_t number)
{
	struct sluice_msg_device device = {.memory_bytes = 16ull << 30,
					   .sms = 80,
					   .compute_capability = 90,
					   .simulated = 1,
					   .name = "Test GPU"};

	memset(device.uuid, number, sizeof(device.uuid));
	return device;
}

/* Registers the device; returns its index in the pages. */
static inline uint32_t shim_device(struct shim *shim, struct sluice_msg_device device)
{
	struct sluice_msg_device_ok answer;

	fixture_send(shim->fd, &device, SLUICE_MSG_DEVICE, sizeof(device), ++shim->seq);
	fixture_await(shim->fd, SLUICE_MSG_DEVICE_OK, &shim->last);
	sluice_wire_copy(&shim->last, &answer, sizeof(answer));
	ck_assert_uint_eq(answer.header.seq, shim->seq);
	return answer.index;
}

static inline bool shim_is_open(const struct shim *shim)
{
	return !(atomic_load(&shim->channel->device[0].grant.gate) & 1);
}

/* A launch is held: as the shim says it. */
static inline void shim_want(struct shim *shim)
{
	struct sluice_msg_want want = {.cost_ns = 100000};

	atomic_store(&shim->channel->device[0].counters.held_since_ns, sluice_now_ns());
	fixture_send(shim->fd, &want, SLUICE_MSG_WANT, sizeof(want), ++shim->seq);
}

/* 0, -ENOMEM, -EAGAIN. */
static inline int shim_memory(struct shim *shim, uint32_t units)
{
	struct sluice_msg_mem question = {.units = units};

	fixture_send(shim->fd, &question, SLUICE_MSG_MEM_REQUEST, sizeof(question), ++shim->seq);
	fixture_await(shim->fd, SLUICE_MSG_MEM_ANSWER, &shim->last);
	ck_assert_uint_eq(shim->last.header.seq, shim->seq);
	return shim->last.header.status;
}

static inline uint64_t shim_tenant_used(struct shim *shim)
{
	struct sluice_msg_mem question = {.units = 0};
	struct sluice_msg_mem_state state;

	fixture_send(shim->fd, &question, SLUICE_MSG_MEM_QUERY, sizeof(question), ++shim->seq);
	fixture_await(shim->fd, SLUICE_MSG_MEM_STATE, &shim->last);
	sluice_wire_copy(&shim->last, &state, sizeof(state));
	return state.used_bytes;
}

/* ---- a process of its own that does what a function says, then waits to be killed ----------------- */

static inline pid_t fixture_process(void (*play)(void *), void *argument)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		play(argument);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	ck_assert_msg(read(ready[0], &byte, 1) == 1, "the process failed");
	close(ready[0]);
	return pid;
}

static inline void fixture_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- a tool -------------------------------------------------------------------------------------- */

static inline int tool_connect(void)
{
	struct sluice_msg_tool hello = {.version = SLUICE_PROTOCOL_VERSION,
					.oldest = SLUICE_PROTOCOL_OLDEST};
	struct sluice_packet packet;
	int fd = fixture_connect();

	fixture_send(fd, &hello, SLUICE_MSG_TOOL, sizeof(hello), 1);
	fixture_await(fd, SLUICE_MSG_TOOL_OK, &packet);
	return fd;
}

/* A question with tenant, key and value; the answer's status, and its text. */
static inline int tool_ask_set(int fd, uint32_t type, const char *tenant, const char *key,
			       const char *value, char *ret_text)
{
	struct sluice_msg_set set = {0};
	struct sluice_packet packet;
	struct sluice_msg_text answer;
	uint32_t got;

	sluice_wire_text(set.tenant, sizeof(set.tenant), tenant);
	sluice_wire_text(set.key, sizeof(set.key), key);
	sluice_wire_text(set.value, sizeof(set.value), value);
	fixture_send(fd, &set, type,
		     type == SLUICE_MSG_RELOAD ? sizeof(struct sluice_msg_header) : sizeof(set), 9);
	got = fixture_receive(fd, &packet);
	ck_assert(got == SLUICE_MSG_DONE || got == SLUICE_MSG_REFUSED);
	sluice_wire_copy(&packet, &answer, sizeof(answer));
	ck_assert_uint_eq(answer.header.seq, 9);
	ck_assert_int_eq(got == SLUICE_MSG_REFUSED, answer.header.status < 0);
	if (ret_text)
		memcpy(ret_text, answer.text, SLUICE_TEXT_MAX);
	return answer.header.status;
}

#endif
