/* SPDX-License-Identifier: Apache-2.0 */

/* What `sluice` asks and changes: status rows, set, pause, reload, who may do what. */

#include "daemon_fixture.h"

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

struct rows {
	uint32_t devices, tenants, processes, notes;
	struct sluice_msg_status_device device;
	struct sluice_msg_status_tenant tenant[8];
	struct sluice_msg_status_process process[8];
	char note[16][SLUICE_TEXT_MAX];
};

static void status(int fd, struct rows *rows)
{
	struct sluice_msg_header ask;
	struct sluice_packet packet;
	struct sluice_msg_text note;

	memset(rows, 0, sizeof(*rows));
	fixture_send(fd, &ask, SLUICE_MSG_STATUS, sizeof(ask), 11);
	for (;;) {
		uint32_t type = fixture_receive(fd, &packet);

		ck_assert_uint_eq(packet.header.seq, 11);
		switch (type) {
		case SLUICE_MSG_STATUS_DEVICE:
			rows->devices++;
			sluice_wire_copy(&packet, &rows->device, sizeof(rows->device));
			break;
		case SLUICE_MSG_STATUS_TENANT:
			ck_assert_uint_lt(rows->tenants, 8);
			sluice_wire_copy(&packet, &rows->tenant[rows->tenants++],
					 sizeof(rows->tenant[0]));
			break;
		case SLUICE_MSG_STATUS_PROCESS:
			ck_assert_uint_lt(rows->processes, 8);
			sluice_wire_copy(&packet, &rows->process[rows->processes++],
					 sizeof(rows->process[0]));
			break;
		case SLUICE_MSG_STATUS_NOTE:
			ck_assert_uint_lt(rows->notes, 16);
			sluice_wire_copy(&packet, &note, sizeof(note));
			memcpy(rows->note[rows->notes++], note.text, SLUICE_TEXT_MAX);
			break;
		case SLUICE_MSG_STATUS_END: return;
		default: ck_abort_msg("unexpected message %u", type);
		}
	}
}

static const struct sluice_msg_status_tenant *row_of(const struct rows *rows, const char *name)
{
	for (uint32_t i = 0; i < rows->tenants; i++) {
		if (!strcmp(rows->tenant[i].name, name))
			return &rows->tenant[i];
	}
	ck_abort_msg("no row of tenant %s", name);
}

static bool has_note(const struct rows *rows, const char *part)
{
	for (uint32_t i = 0; i < rows->notes; i++) {
		if (strstr(rows->note[i], part))
			return true;
	}
	return false;
}

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

START_TEST(test_status_without_devices)
{
	struct rows rows;
	int fd;

	fixture_begin(config);
	fd = tool_connect();
	status(fd, &rows);
	ck_assert_uint_eq(rows.devices, 0);
	ck_assert_uint_eq(rows.tenants, 5);
	ck_assert_uint_eq(row_of(&rows, "default")->device, UINT32_MAX);
	ck_assert_uint_eq(rows.processes, 0);
	close(fd);
	fixture_end();
}
END_TEST

START_TEST(test_status)
{
	const struct sluice_msg_status_tenant *train;
	struct sluice_channel_device *page;
	struct rows rows;
	int fd;

	begin();
	page = &a.channel->device[0];
	for (int i = 1; i <= 100; i++)
		sluice_hist_add(&page->service, (uint64_t)i * SLUICE_NS_PER_MS);
	sluice_hist_add(&page->be_in_flight, 300000);
	atomic_store(&page->counters.requests, 100);
	atomic_store(&page->counters.requests_late, 7);
	atomic_store(&page->counters.longest_unit_ns, 1234567);
	memcpy(page->counters.longest_unit, "gemm\n\x1b[2J", 10);
	atomic_store(&page->slot[3].launched_ns, 5 * SLUICE_NS_PER_MS);
	atomic_store(&page->counters.completed_ns, 4 * SLUICE_NS_PER_MS);
	fd = tool_connect();
	status(fd, &rows);
	ck_assert_uint_eq(rows.devices, 1);
	ck_assert_uint_eq(rows.device.sms, 80);
	ck_assert_uint_eq(rows.device.processes, 1);
	ck_assert_uint_eq(rows.device.turns, 0);
	ck_assert_uint_eq(rows.device.simulated, 1);
	ck_assert_str_eq(rows.device.policy, "slo");
	ck_assert_str_eq(rows.device.name, "Test GPU");
	ck_assert_uint_eq(rows.device.memory_granted_bytes, 4ull << 30);
	train = row_of(&rows, "train");
	ck_assert_uint_eq(train->processes, 1);
	ck_assert_uint_eq(train->memory_max_bytes, 4ull << 30);
	ck_assert_uint_eq(train->memory_used_bytes, 0);
	ck_assert_uint_eq(train->entitled_permille, 1000);
	ck_assert(train->state & SLUICE_STATE_OPEN);
	/* Quantiles of a histogram that is known to a sixteenth. */
	ck_assert_uint_ge(train->service_p50_ns, 50 * SLUICE_NS_PER_MS);
	ck_assert_uint_le(train->service_p50_ns, 54 * SLUICE_NS_PER_MS);
	ck_assert_uint_ge(train->service_p99_ns, 99 * SLUICE_NS_PER_MS);
	ck_assert_uint_eq(train->requests, 100);
	ck_assert_uint_eq(train->requests_late, 7);
	ck_assert_uint_eq(train->longest_unit_ns, 1234567);
	ck_assert_str_eq(train->longest_unit, "gemm??[2J");
	ck_assert_uint_eq(row_of(&rows, "other")->memory_max_bytes, UINT64_MAX);
	/* What the best-effort gates say of arrivals is the latency tenant's. */
	ck_assert_uint_eq(row_of(&rows, "live")->be_in_flight_p99_ns, 300000);
	ck_assert_uint_eq(train->be_in_flight_p99_ns, 0);
	ck_assert_uint_eq(rows.processes, 1);
	ck_assert_uint_eq(rows.process[0].pid, (uint32_t)getpid());
	ck_assert_uint_eq(rows.process[0].managed, 1);
	ck_assert_uint_eq(rows.process[0].launched_ns, 5 * SLUICE_NS_PER_MS);
	ck_assert_uint_eq(rows.process[0].completed_ns, 4 * SLUICE_NS_PER_MS);
	ck_assert_str_eq(rows.process[0].tenant, "train");
	/* Why something is not enforced. */
	ck_assert(has_note(&rows, "tenant live: a target relative to alone is not steered by"));
	ck_assert(has_note(&rows, "tenant live: NVTX ranges are not measured"));
	ck_assert(has_note(&rows, "tenant bare: managed is false"));
	ck_assert(has_note(&rows, "processes that are not under Sluice are not known"));
	ck_assert(!has_note(&rows, "no MPS"));
	shim_join(&b, "other", 0);
	shim_device(&b, fixture_device(1));
	status(fd, &rows);
	ck_assert(has_note(&rows, "gpu 0: no MPS: processes cannot run at once"));
	ck_assert_uint_eq(rows.device.turns, 1);
	ck_assert_uint_eq(row_of(&rows, "train")->entitled_permille, 750);
	shim_close(&b);
	close(fd);
	end();
}
END_TEST

static void play_counter(void *argument)
{
	static struct shim shim;
	struct sluice_channel_device *page;

	shim_join(&shim, argument, 0);
	shim_device(&shim, fixture_device(1));
	page = &shim.channel->device[0];
	for (int i = 1; i <= 100; i++)
		sluice_hist_add(&page->service, (uint64_t)i * SLUICE_NS_PER_MS);
	sluice_hist_add(&page->be_in_flight, 300000);
	atomic_store(&page->counters.requests, 100);
	atomic_store(&page->counters.requests_late, 7);
	atomic_store(&page->counters.longest_unit_ns, 1234567);
	memcpy(page->counters.longest_unit, "gemm", 5);
}

/* A process's figures outlive it, and add up with those of the next. */
START_TEST(test_status_after_a_death)
{
	const struct sluice_msg_status_tenant *other;
	struct rows rows;
	pid_t pid;
	int fd;

	begin();
	fd = tool_connect();
	for (uint64_t deaths = 1; deaths <= 2; deaths++) {
		pid = fixture_process(play_counter, "other");
		fixture_kill(pid);
		do
			status(fd, &rows);
		while (row_of(&rows, "other")->processes);
		other = row_of(&rows, "other");
		ck_assert_uint_eq(other->requests, 100 * deaths);
		ck_assert_uint_eq(other->requests_late, 7 * deaths);
		ck_assert_uint_ge(other->service_p99_ns, 99 * SLUICE_NS_PER_MS);
		ck_assert_str_eq(other->longest_unit, "gemm");
		ck_assert_uint_eq(row_of(&rows, "live")->be_in_flight_p99_ns, 300000);
	}
	close(fd);
	end();
}
END_TEST

START_TEST(test_note_of_a_shim)
{
	struct sluice_msg_text note = {.text = "kernel seen whose duration varies\n"};
	struct rows rows;
	int fd;

	begin();
	fixture_send(a.fd, &note, SLUICE_MSG_NOTE, sizeof(note), 0);
	fd = tool_connect();
	(void)shim_tenant_used(&a);
	status(fd, &rows);
	ck_assert(has_note(&rows, "kernel seen whose duration varies"));
	close(fd);
	end();
}
END_TEST

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
	close(fd);
	end();
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

/* The arbiter of all shows a user its own, and lets it change nothing. */
static void play_plain_user(void *argument)
{
	static const uint32_t changes[] = {SLUICE_MSG_SET, SLUICE_MSG_PAUSE, SLUICE_MSG_RESUME,
					   SLUICE_MSG_RELOAD};
	struct rows rows;
	int fd;

	become_stranger();
	fd = tool_connect();
	status(fd, &rows);
	if (rows.tenants || rows.processes || rows.devices != 1)
		_exit(1);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		if (tool_ask_set(fd, changes[i], "train", "gpu.weight", "1", text) != -EPERM ||
		    !strstr(text, "only root, the arbiter's own user and the members of "
				  "admin_group"))
			_exit(2);
	}
	shim_join(&b, "other", 0);
	status(fd, &rows);
	if (rows.tenants != 1 || strcmp(rows.tenant[0].name, "other") || rows.processes != 1)
		_exit(3);
}

/* A member of admin_group may do what root may. */
static void play_admin(void *argument)
{
	int fd;

	ck_assert_int_eq(setresgid(4242, 4242, 4242), 0);
	ck_assert_int_eq(setresuid(54321, 54321, 54321), 0);
	fd = tool_connect();
	if (tool_ask_set(fd, SLUICE_MSG_SET, "train", "gpu.weight", "1", text))
		_exit(1);
}

START_TEST(test_other_users)
{
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
	fixture_write_config("admin_group = 4242; tenants = ( { name = \"train\"; }, { name = "
			     "\"other\"; } );");
	ck_assert_int_eq(chmod(fixture_folder, 0755), 0);
	kill(fixture_arbiter, SIGHUP);
	fixture_kill(fixture_process(play_plain_user, NULL));
	fixture_kill(fixture_process(play_admin, NULL));
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
	tcase_add_test(tcase, test_status_without_devices);
	tcase_add_test(tcase, test_status);
	tcase_add_test(tcase, test_status_after_a_death);
	tcase_add_test(tcase, test_note_of_a_shim);
	tcase_add_test(tcase, test_set);
	tcase_add_test(tcase, test_pause);
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
