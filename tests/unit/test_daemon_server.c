/* SPDX-License-Identifier: Apache-2.0 */

/* Sessions with a real arbiter in a child process: pages, turns, memory, activity, death. */

#include "daemon_fixture.h"
#include "sluice/escrow.h"

static char config[1024];
static struct shim a, b;

static void begin(void)
{
	snprintf(config, sizeof(config),
		 "lease = \"30 s\"; policy = \"slo\";\n"
		 "default = { memory = { max = \"1 GiB\"; }; };\n"
		 "tenants = (\n"
		 "  { name = \"chat\"; class = \"latency-critical\"; match = { uid = %u; program = "
		 "\"no such\"; }; target = { p99 = \"20 ms\"; }; },\n"
		 "  { name = \"live\"; class = \"latency-critical\"; match = { uid = %u; cgroup = "
		 "\"*\"; program = \"test_daemon_s*\"; }; },\n"
		 "  { name = \"train\"; memory = { max = \"4 GiB\"; }; },\n"
		 "  { name = \"other\"; memory = { max = \"4 GiB\"; }; },\n"
		 "  { name = \"bare\"; managed = false; },\n"
		 "  { name = \"closed\"; match = { uid = 54321; }; }\n"
		 ");\n",
		 (unsigned int)getuid(), (unsigned int)getuid());
	fixture_begin(config);
}

START_TEST(test_hello)
{
	uint64_t heartbeat_ns;

	begin();
	shim_join(&a, "train", 0);
	ck_assert_str_eq(a.welcome.tenant, "train");
	ck_assert_str_eq(a.welcome.remark, "");
	ck_assert_uint_eq(a.welcome.version, SLUICE_PROTOCOL_VERSION);
	ck_assert_uint_eq(a.welcome.tenant_class, SLUICE_BEST_EFFORT);
	ck_assert_uint_eq(a.welcome.managed, 1);
	ck_assert_uint_eq(a.welcome.fail_mode, SLUICE_FAIL_OPEN);
	ck_assert_uint_eq(a.welcome.mem_deadline_ns, 10 * SLUICE_NS_PER_S);
	ck_assert_uint_eq(a.channel->session, a.welcome.session);
	ck_assert_uint_ne(a.welcome.session, 0);
	heartbeat_ns = atomic_load(&a.channel->heartbeat_ns);
	wait_until(atomic_load(&a.channel->heartbeat_ns) > heartbeat_ns);
	shim_close(&a);
	fixture_end();
}
END_TEST

START_TEST(test_tenant_by_request_and_rule)
{
	begin();
	/* Not asked: the first tenant whose match admits. */
	shim_join(&a, "", 0);
	ck_assert_str_eq(a.welcome.tenant, "live");
	ck_assert_uint_eq(a.welcome.tenant_class, SLUICE_LATENCY_CRITICAL);
	shim_close(&a);
	/* Asked, and kept out: the default tenant, and which rule it was. */
	shim_join(&a, "closed", 0);
	ck_assert_str_eq(a.welcome.tenant, "default");
	ck_assert_ptr_nonnull(strstr(a.welcome.remark, "tenant closed admits user 54321 only "
						       "(match.uid)"));
	shim_close(&a);
	shim_join(&a, "chat", 0);
	ck_assert_str_eq(a.welcome.tenant, "default");
	ck_assert_ptr_nonnull(strstr(a.welcome.remark, "(match.program)"));
	shim_close(&a);
	shim_join(&a, "nobody", 0);
	ck_assert_str_eq(a.welcome.tenant, "default");
	ck_assert_ptr_nonnull(strstr(a.welcome.remark, "there is no tenant nobody"));
	shim_close(&a);
	shim_join(&a, "bare", 0);
	ck_assert_uint_eq(a.welcome.managed, 0);
	shim_close(&a);
	fixture_end();
}
END_TEST

START_TEST(test_version)
{
	struct sluice_msg_hello hello = {.version = 7, .oldest = 5};
	struct sluice_packet packet;
	int fd;

	begin();
	fd = fixture_connect();
	fixture_send(fd, &hello, SLUICE_MSG_HELLO, sizeof(hello), 3);
	ck_assert_uint_eq(fixture_receive(fd, &packet), SLUICE_MSG_REFUSED);
	ck_assert_int_eq(packet.header.status, -EPROTONOSUPPORT);
	ck_assert_uint_eq(fixture_receive(fd, &packet), 0);
	close(fd);
	/* A newer one that still speaks ours is spoken to in ours. */
	fd = fixture_connect();
	hello.oldest = 1;
	fixture_send(fd, &hello, SLUICE_MSG_HELLO, sizeof(hello), 3);
	ck_assert_uint_eq(fixture_receive(fd, &packet), SLUICE_MSG_WELCOME);
	ck_assert_uint_eq(((struct sluice_msg_welcome *)packet.bytes)->version, 1);
	sluice_wire_close_fds(&packet);
	close(fd);
	fixture_end();
}
END_TEST

/* A page cannot be made to fault under the arbiter. */
START_TEST(test_pages_are_sealed)
{
	begin();
	shim_join(&a, "train", 0);
	for (int i = 0; i < 2; i++) {
		int fd = i ? a.escrow_fd : a.channel_fd;

		ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW),
				 F_SEAL_SHRINK | F_SEAL_GROW);
		ck_assert_int_eq(ftruncate(fd, 0), -1);
		ck_assert_int_eq(ftruncate(fd, 1 << 30), -1);
	}
	shim_close(&a);
	fixture_end();
}
END_TEST

START_TEST(test_device)
{
	struct sluice_msg_device device = fixture_device(1);
	struct sluice_packet packet;

	begin();
	shim_join(&a, "train", 0);
	ck_assert_uint_eq(shim_device(&a, device), 0);
	ck_assert(shim_is_open(&a));
	ck_assert_uint_eq(atomic_load(&a.channel->device[0].grant.flags),
			  SLUICE_GRANT_MANAGED | SLUICE_GRANT_EXCLUSIVE);
	ck_assert_uint_eq(atomic_load(&a.channel->device[0].grant.progress_ns), 20000000);
	/* A lone process has a quarter of its tenant's memory ahead of use. */
	ck_assert_uint_eq(sluice_escrow_credit(atomic_load(&a.escrow->device[0].word)), 1u << 21);
	/* Again: the same index. Another: the next. */
	ck_assert_uint_eq(shim_device(&a, device), 0);
	ck_assert_uint_eq(shim_device(&a, fixture_device(2)), 1);
	/* Nonsense is refused in words. */
	device = fixture_device(3);
	device.memory_bytes = 0;
	fixture_send(a.fd, &device, SLUICE_MSG_DEVICE, sizeof(device), 77);
	ck_assert_uint_eq(fixture_receive(a.fd, &packet), SLUICE_MSG_REFUSED);
	ck_assert_uint_eq(packet.header.seq, 77);
	for (uint8_t i = 3; i <= 8; i++)
		shim_device(&a, fixture_device(i));
	device = fixture_device(9);
	fixture_send(a.fd, &device, SLUICE_MSG_DEVICE, sizeof(device), 78);
	ck_assert_uint_eq(fixture_receive(a.fd, &packet), SLUICE_MSG_REFUSED);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* An older shim's shorter device message. */
START_TEST(test_short_device_message)
{
	struct sluice_msg_device device = fixture_device(1);

	begin();
	shim_join(&a, "train", 0);
	fixture_send(a.fd, &device, SLUICE_MSG_DEVICE,
		     offsetof(struct sluice_msg_device, held_bytes), 5);
	fixture_await(a.fd, SLUICE_MSG_DEVICE_OK, &a.last);
	shim_close(&a);
	fixture_end();
}
END_TEST

START_TEST(test_turns_and_death)
{
	begin();
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	/* A second session, of another tenant, in this process. */
	shim_join(&b, "other", 0);
	shim_device(&b, fixture_device(1));
	ck_assert(shim_is_open(&a));
	ck_assert(!shim_is_open(&b));
	/* The holder has nothing to launch, the other wants: it opens, the holder closes. */
	shim_want(&b);
	wait_until(shim_is_open(&b));
	ck_assert(!shim_is_open(&a));
	atomic_store(&b.channel->device[0].counters.held_since_ns, 0);
	shim_want(&a);
	wait_until(shim_is_open(&a));
	shim_close(&a);
	shim_close(&b);
	fixture_end();
}
END_TEST

static void play_holder(void *argument)
{
	static struct shim shim;

	shim_join(&shim, argument, 0);
	shim_device(&shim, fixture_device(1));
	/* Work in flight for ever, and memory in use. */
	atomic_store(&shim.channel->device[0].slot[0].launched_ns, 3600 * SLUICE_NS_PER_S);
	ck_assert(sluice_escrow_reserve(&shim.escrow->device[0].word, 1u << 21));
}

START_TEST(test_kill_frees_turn_and_memory)
{
	pid_t holder;

	begin();
	holder = fixture_process(play_holder, "train");
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert(!shim_is_open(&a));
	ck_assert_uint_eq(shim_tenant_used(&a), 1u << 30);
	/* What the other has not used is taken back for us, what it uses is not. */
	ck_assert_int_eq(shim_memory(&a, 3u << 21), 0);
	ck_assert_int_eq(shim_memory(&a, (3u << 21) + 1), -ENOMEM);
	fixture_kill(holder);
	wait_until(shim_is_open(&a));
	wait_until(shim_tenant_used(&a) == 0);
	ck_assert_int_eq(shim_memory(&a, 4u << 21), 0);
	ck_assert_int_eq(shim_memory(&a, (4u << 21) + 1), -ENOMEM);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* ---- coming back ------------------------------------------------------------------------------------ */

static ino_t inode(int fd)
{
	struct stat about;

	ck_assert_int_eq(fstat(fd, &about), 0);
	return about.st_ino;
}

START_TEST(test_lost_connection_comes_back)
{
	uint64_t session;
	ino_t channel, escrow;

	begin();
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert(sluice_escrow_reserve(&a.escrow->device[0].word, 1u << 21));
	session = a.welcome.session;
	channel = inode(a.channel_fd);
	escrow = inode(a.escrow_fd);
	shim_close(&a);
	shim_join(&a, "train", session);
	ck_assert_uint_eq(a.welcome.session, session);
	ck_assert_uint_eq(inode(a.channel_fd), channel);
	ck_assert_uint_eq(inode(a.escrow_fd), escrow);
	ck_assert_uint_eq(shim_device(&a, fixture_device(1)), 0);
	ck_assert_uint_eq(shim_tenant_used(&a), 1u << 30);
	/* Without the number it is another program: what the first had is gone. */
	shim_close(&a);
	shim_join(&a, "train", 0);
	ck_assert_uint_ne(a.welcome.session, session);
	ck_assert_uint_ne(inode(a.channel_fd), channel);
	shim_device(&a, fixture_device(1));
	ck_assert_uint_eq(shim_tenant_used(&a), 0);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* What systemd hears: ready, reloading, ready again, stopping. */
static void await_notice(int fd, const char *wanted)
{
	char text[512];
	ssize_t length;

	do {
		ck_assert_int_eq(
			sluice_wire_wait(fd, POLLIN, sluice_now_ns() + FIXTURE_DEADLINE_NS), 0);
		length = recv(fd, text, sizeof(text) - 1, 0);
		ck_assert_int_gt(length, 0);
		text[length] = 0;
	} while (!strstr(text, wanted));
}

START_TEST(test_notify)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/sluice-notify-%d",
		 (int)getpid());
	unlink(address.sun_path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("NOTIFY_SOCKET", address.sun_path, 1);
	fixture_begin("");
	unsetenv("NOTIFY_SOCKET");
	await_notice(fd, "READY=1");
	kill(fixture_arbiter, SIGHUP);
	await_notice(fd, "RELOADING=1");
	await_notice(fd, "READY=1");
	fixture_end();
	await_notice(fd, "STOPPING=1");
	unlink(address.sun_path);
	close(fd);
}
END_TEST

/* Two arbiters do not share a socket, and no file that is no socket is removed. */
START_TEST(test_socket_in_use)
{
	struct options options = {.socket = fixture_socket, .user = true};
	struct arbiter *second = NULL;
	int saved = dup(2), quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

	begin();
	dup2(quiet, 2);
	ck_assert_int_eq(arbiter_create(&options, &second), -EADDRINUSE);
	options.socket = fixture_config;
	ck_assert_int_eq(arbiter_create(&options, &second), -EEXIST);
	ck_assert_int_eq(access(fixture_config, F_OK), 0);
	dup2(saved, 2);
	close(saved);
	close(quiet);
	ck_assert_ptr_null(second);
	fixture_end();
}
END_TEST

static bool is_refused(int fd)
{
	struct sluice_packet packet;

	if (fixture_receive(fd, &packet) != SLUICE_MSG_REFUSED)
		return false;
	ck_assert_ptr_nonnull(strstr(((struct sluice_msg_text *)packet.bytes)->text,
				     "as many connections as the arbiter allows"));
	return true;
}

static int greet(int fd, uint32_t type)
{
	struct sluice_msg_hello hello = {.version = SLUICE_PROTOCOL_VERSION,
					 .oldest = SLUICE_PROTOCOL_OLDEST};
	struct sluice_msg_tool tool = {.version = SLUICE_PROTOCOL_VERSION,
				       .oldest = SLUICE_PROTOCOL_OLDEST};

	if (type == SLUICE_MSG_HELLO) {
		sluice_wire_head(&hello, type, sizeof(hello), 1, 0);
		return sluice_wire_send(fd, &hello, NULL, 0, 0);
	}
	sluice_wire_head(&tool, type, sizeof(tool), 1, 0);
	return sluice_wire_send(fd, &tool, NULL, 0, 0);
}

/* Forty connections that say nothing, where twenty may be: all but these and the last few are turned
 * away. A tool still has an answer, a process has not, and the twenty are not concerned. */
START_TEST(test_connection_limit)
{
	struct sluice_packet packet;
	uint32_t refused = 0;
	int fd[40], tool[6];

	fixture_begin("connections = 20;");
	for (int i = 0; i < 40; i++)
		fd[i] = fixture_connect();
	for (int i = 20; i < 36; i++)
		refused += is_refused(fd[i]);
	ck_assert_uint_eq(refused, 16);
	for (int i = 0; i < 4; i++) {
		tool[i] = tool_connect();
		ck_assert(is_refused(fd[36 + i]));
	}
	ck_assert_int_eq(tool_ask_set(tool[0], SLUICE_MSG_PAUSE, "default", "", "", NULL), 0);
	/* What `sluice run` asks is answered for the program, which may not come. */
	ck_assert_int_eq(tool_ask_set(tool[0], SLUICE_MSG_ASK_TENANT, "default", "", "", NULL),
			 -EPERM);
	/* One tool too many: the first gives way. No place is a process's. */
	tool[4] = tool_connect();
	ck_assert(is_refused(tool[0]));
	tool[5] = fixture_connect();
	ck_assert(is_refused(tool[1]));
	ck_assert_int_eq(greet(tool[5], SLUICE_MSG_HELLO), 0);
	ck_assert(is_refused(tool[5]));
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(greet(fd[i], SLUICE_MSG_TOOL), 0);
		ck_assert_uint_eq(fixture_receive(fd[i], &packet), SLUICE_MSG_TOOL_OK);
	}
	for (int i = 0; i < 40; i++)
		close(fd[i]);
	for (int i = 0; i < 6; i++)
		close(tool[i]);
	fixture_end();
}
END_TEST

/* Descriptors run out: it waits, turns away or accepts, and serves again when some are free. */
START_TEST(test_descriptors_run_out)
{
	int fd[60];

	/* An even number and an odd one: it runs out at the socket, or at what comes after. */
	fixture_descriptors = 40 + (rlim_t)_i;
	fixture_begin("");
	for (int i = 0; i < 60; i++)
		fd[i] = fixture_connect();
	for (int i = 0; i < 60; i++)
		close(fd[i]);
	shim_join(&a, "", 0);
	shim_close(&a);
	fixture_end();
	fixture_descriptors = 0;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon server");
	TCase *tcase = tcase_create("sessions");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_hello);
	tcase_add_test(tcase, test_tenant_by_request_and_rule);
	tcase_add_test(tcase, test_version);
	tcase_add_test(tcase, test_pages_are_sealed);
	tcase_add_test(tcase, test_device);
	tcase_add_test(tcase, test_short_device_message);
	tcase_add_test(tcase, test_turns_and_death);
	tcase_add_test(tcase, test_kill_frees_turn_and_memory);
	tcase_add_test(tcase, test_lost_connection_comes_back);
	tcase_add_test(tcase, test_notify);
	tcase_add_test(tcase, test_socket_in_use);
	tcase_add_test(tcase, test_connection_limit);
	tcase_add_loop_test(tcase, test_descriptors_run_out, 0, 2);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
