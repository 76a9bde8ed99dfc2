/* SPDX-License-Identifier: Apache-2.0 */

/* What `sluice` changes: set, pause, reload, and who may do what. */

#include "daemon_rows.h"

static const char config[] =
	"policy = \"slo\";\n"
	"tenants = (\n"
	"  { name = \"live\"; class = \"latency-critical\"; match = { program = "
	"\"test_daemon_t*\"; "
	"gid = 4242; }; target = { p99 = \"+10 %\"; of = \"range:infer\"; }; },\n"
	"  { name = \"train\"; gpu = { weight = 300; }; memory = { max = \"4 GiB\"; }; },\n"
	"  { name = \"other\"; },\n"
	"  { name = \"bare\"; managed = false; }\n"
	");\n";

static struct shim a, b;
static char text[SLUICE_TEXT_MAX];

static void begin(void)
{
	fixture_begin(config);
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
}

static void end(void)
{
	shim_close(&a);
	fixture_end();
}

START_TEST(test_set)
{
	struct rows rows;
	int fd;

	begin();
	fd = tool_connect();
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_SET, "train", "memory.max", "1 GiB", text), 0);
	ck_assert_str_eq(text, "until the next reload");
	status(fd, &rows);
	ck_assert_uint_eq(row_of(&rows, "train")->memory_max_bytes, 1ull << 30);
	ck_assert(row_of(&rows, "train")->state & SLUICE_STATE_SET);
	ck_assert(!(row_of(&rows, "other")->state & SLUICE_STATE_SET));
	/* Unused credit above the new limit has been taken back at once. */
	ck_assert_uint_eq(atomic_load(&a.escrow->device[0].word) >> 32, 1u << 21);
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_SET, "train", "gpu.wait", "1", text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(text, "did you mean gpu.weight"));
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_SET, "ghost", "gpu.weight", "1", text),
			 -EINVAL);
	/* Reload: back to the file. */
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", text), 0);
	status(fd, &rows);
	ck_assert_uint_eq(row_of(&rows, "train")->memory_max_bytes, 4ull << 30);
	ck_assert(!(row_of(&rows, "train")->state & SLUICE_STATE_SET));
	close(fd);
	end();
}
END_TEST

START_TEST(test_pause)
{
	struct rows rows;
	int fd;

	begin();
	fd = tool_connect();
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_PAUSE, "train", "", "", NULL), 0);
	ck_assert(!shim_is_open(&a));
	ck_assert(atomic_load(&a.channel->device[0].grant.flags) & SLUICE_GRANT_PAUSED);
	status(fd, &rows);
	ck_assert(row_of(&rows, "train")->state & SLUICE_STATE_PAUSED);
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RESUME, "train", "", "", NULL), 0);
	wait_until(shim_is_open(&a));
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_PAUSE, "ghost", "", "", text), -ENOENT);
	ck_assert_ptr_nonnull(strstr(text, "there is no tenant ghost"));
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_PAUSE, "bare", "", "", text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(text, "tenant bare bypasses Sluice"));
	close(fd);
	end();
}
END_TEST

/* Whoever comes will wait, and status says why before that. */
START_TEST(test_pause_with_nobody_there)
{
	struct rows rows;
	int fd;

	fixture_begin(config);
	fd = tool_connect();
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_PAUSE, "train", "", "", NULL), 0);
	status(fd, &rows);
	ck_assert_uint_eq(row_of(&rows, "train")->device, UINT32_MAX);
	ck_assert(row_of(&rows, "train")->state & SLUICE_STATE_PAUSED);
	ck_assert(!(row_of(&rows, "other")->state & SLUICE_STATE_PAUSED));
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RESUME, "train", "", "", NULL), 0);
	status(fd, &rows);
	ck_assert(!(row_of(&rows, "train")->state & SLUICE_STATE_PAUSED));
	close(fd);
	fixture_end();
}
END_TEST

START_TEST(test_reload)
{
	struct rows rows;
	int fd;

	begin();
	fd = tool_connect();
	/* A mistake changes nothing, and is named with its line. */
	fixture_write_config("tenants = (\n{ name = \"train\"; gpu = { weight = 9; }; },\n{ nome = "
			     "\"x\"; } );");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", text), -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(text, "conf:3: tenants[1] nome: unknown key; did you mean name?"));
	status(fd, &rows);
	ck_assert_uint_eq(rows.tenants, 5);
	ck_assert_uint_eq(row_of(&rows, "train")->memory_max_bytes, 4ull << 30);
	/* More memory promised than the GPU has: known by now. */
	fixture_write_config("tenants = (\n{ name = \"x\"; memory = { min = \"17 GiB\"; }; } );");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", text), -EINVAL);
	ck_assert_ptr_nonnull(strstr(text, "conf:2: tenant x: "));
	/* Tenants come, change and go; one with a process goes when that has gone. */
	fixture_write_config("policy = \"share\"; tenants = ( { name = \"fresh\"; }, { name = "
			     "\"other\"; gpu = { weight = 50; }; } );");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", text), 0);
	ck_assert_ptr_nonnull(strstr(text, "conf: 2 tenants, policy share"));
	status(fd, &rows);
	ck_assert_str_eq(rows.device.policy, "share");
	ck_assert_uint_eq(rows.tenants, 4);
	ck_assert(has_note(&rows, "tenant train: removed from the configuration; it ends with its "
				  "last process"));
	ck_assert_uint_eq(row_of(&rows, "fresh")->processes, 0);
	ck_assert_uint_eq(row_of(&rows, "train")->processes, 1);
	shim_close(&a);
	/* Another program of this process: the old one, and its tenant, are gone. */
	shim_join(&a, "train", 0);
	ck_assert_str_eq(a.welcome.tenant, "default");
	status(fd, &rows);
	ck_assert_uint_eq(rows.tenants, 3);
	close(fd);
	end();
}
END_TEST

START_TEST(test_reload_by_signal)
{
	struct rows rows;
	int fd;

	begin();
	fd = tool_connect();
	fixture_write_config("broken");
	kill(fixture_arbiter, SIGHUP);
	status(fd, &rows);
	status(fd, &rows);
	ck_assert_uint_eq(rows.tenants, 5);
	fixture_write_config("tenants = ( { name = \"train\"; memory = { max = \"3 GiB\"; }; } );");
	kill(fixture_arbiter, SIGHUP);
	do
		status(fd, &rows);
	while (rows.tenants != 2);
	ck_assert_uint_eq(row_of(&rows, "train")->memory_max_bytes, 3ull << 30);
	close(fd);
	end();
}
END_TEST

START_TEST(test_ask_tenant)
{
	int fd;

	begin();
	fd = tool_connect();
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_ASK_TENANT, "train", "", "", text), 0);
	ck_assert_str_eq(text, "train");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_ASK_TENANT, "live", "", "", text), -EACCES);
	ck_assert_ptr_nonnull(strstr(text, "tenant live admits group 4242 only (match.gid)"));
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_ASK_TENANT, "ghost", "", "", text), -EACCES);
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_ASK_TENANT, "", "", "", text), 0);
	ck_assert_str_eq(text, "default");
	close(fd);
	end();
}
END_TEST

/* ---- another user; needs root to become one ---------------------------------------------------- */

static void become_stranger(void)
{
	ck_assert_int_eq(setresgid(54321, 54321, 54321), 0);
	ck_assert_int_eq(setresuid(54321, 54321, 54321), 0);
}

/* The arbiter of one user turns others away. */
static void play_turned_away(void *argument)
{
	struct sluice_packet packet;
	int fd;

	become_stranger();
	fd = sluice_wire_connect(fixture_socket);
	if (fd == -EACCES)
		return;
	if (fixture_receive(fd, &packet) != SLUICE_MSG_REFUSED)
		_exit(1);
}

/* The arbiter of all shows a user its own and what anyone may enter, and lets it change nothing. */
static void play_plain_user(void *argument)
{
	static const uint32_t changes[] = {SLUICE_MSG_SET, SLUICE_MSG_PAUSE, SLUICE_MSG_RESUME,
					   SLUICE_MSG_RELOAD};
	struct sluice_msg_device tiny = fixture_device(9);
	struct rows rows;
	int fd;

	become_stranger();
	fd = tool_connect();
	status(fd, &rows);
	if (rows.tenants != 2 || strcmp(rows.tenant[0].name, "default") ||
	    strcmp(rows.tenant[1].name, "other") || rows.processes || rows.devices != 1)
		_exit(1);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (tool_ask_set(fd, changes[i], "train", "gpu.weight", "1", text) != -EPERM ||
		    !strstr(text, "only root, the arbiter's own user and the members of "
				  "admin_group"))
			_exit(2);
	}
	shim_join(&b, "other", 0);
	status(fd, &rows);
	if (rows.tenants != 2 || rows.processes != 1)
		_exit(3);
	/* A GPU that is not there. */
	tiny.memory_bytes = 1 << 20;
	shim_device(&b, tiny);
}

/* A member of admin_group may do what root may, whatever GPUs others say there are. */
static void play_admin(void *argument)
{
	int fd;

	ck_assert_int_eq(setresgid(4242, 4242, 4242), 0);
	ck_assert_int_eq(setresuid(54321, 54321, 54321), 0);
	fd = tool_connect();
	if (tool_ask_set(fd, SLUICE_MSG_SET, "train", "gpu.weight", "1", text) ||
	    tool_ask_set(fd, SLUICE_MSG_SET, "train", "memory.min", "1 GiB", text))
		_exit(1);
}

START_TEST(test_other_users)
{
	struct rows rows;
	pid_t stranger;
	int fd;

	if (getuid() != 0)
		return;
	begin();
	ck_assert_int_eq(chmod(fixture_folder, 0755), 0);
	fixture_kill(fixture_process(play_turned_away, NULL));
	ck_assert_int_eq(chmod(fixture_socket, 0666), 0);
	fixture_kill(fixture_process(play_turned_away, NULL));
	end();
	fixture_for_all = true;
	begin();
	fixture_write_config("admin_group = 4242; tenants = ( { name = \"train\"; match = { uid = "
			     "0; }; }, { name = \"other\"; } );");
	ck_assert_int_eq(chmod(fixture_folder, 0755), 0);
	kill(fixture_arbiter, SIGHUP);
	fd = tool_connect();
	do
		status(fd, &rows);
	while (rows.tenants != 3);
	close(fd);
	stranger = fixture_process(play_plain_user, NULL);
	fixture_kill(fixture_process(play_admin, NULL));
	fixture_kill(stranger);
	end();
	fixture_for_all = false;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon tool");
	TCase *tcase = tcase_create("tools");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_set);
	tcase_add_test(tcase, test_pause);
	tcase_add_test(tcase, test_pause_with_nobody_there);
	tcase_add_test(tcase, test_reload);
	tcase_add_test(tcase, test_reload_by_signal);
	tcase_add_test(tcase, test_ask_tenant);
	tcase_add_test(tcase, test_other_users);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
