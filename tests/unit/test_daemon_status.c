/* SPDX-License-Identifier: Apache-2.0 */

/* What `sluice status` is told: rows, notes, and who may see which. */

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

START_TEST(test_note_of_a_level_without_effect)
{
	struct rows rows;
	int fd;

	fixture_begin("policy = \"slo\"; level = 3;");
	fd = tool_connect();
	status(fd, &rows);
	ck_assert(has_note(&rows, "level is above 2, which needs SM partitions"));
	close(fd);
	fixture_end();
	fixture_begin("policy = \"slo\"; level = 2;");
	fd = tool_connect();
	status(fd, &rows);
	ck_assert(!has_note(&rows, "SM partitions"));
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
	ck_assert_uint_eq(rows.device.memory_granted_bytes, 1ull << 30);
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

/* Launches that went through a shut gate are news for a minute. */
START_TEST(test_status_of_forced_launches)
{
	struct rows rows;
	char text[96];
	int fd;

	snprintf(text, sizeof(text), "tenant train (pid %d): 3 launches went through a shut gate",
		 (int)getpid());
	begin();
	fd = tool_connect();
	status(fd, &rows);
	ck_assert(!has_note(&rows, "through a shut gate"));
	atomic_store(&a.channel->device[0].counters.forced, 3);
	status(fd, &rows);
	ck_assert(has_note(&rows, text));
	ck_assert_uint_eq(row_of(&rows, "train")->forced, 3);
	close(fd);
	end();
}
END_TEST

/* A page that says what cannot be is not believed any more, also when it says so no longer and when
 * its process has ended; others' figures, and what was in flight for the latency tenant, go on. */
static void set_late(struct sluice_channel_device *page)
{
	atomic_store(&page->counters.requests, 100);
	atomic_store(&page->counters.requests_late, 200);
}

static void set_requests(struct sluice_channel_device *page)
{
	atomic_store(&page->counters.requests, UINT64_MAX / 3);
}

static void set_requests_back(struct sluice_channel_device *page)
{
	atomic_store(&page->counters.requests, 49);
}

static void set_bins(struct sluice_channel_device *page)
{
	atomic_store(&page->service.bin[300], 0x89abcdefu);
}

static void set_latencies(struct sluice_channel_device *page)
{
	sluice_hist_add(&page->service, UINT64_MAX / 3);
}

static void set_in_flight(struct sluice_channel_device *page)
{
	sluice_hist_add(&page->be_in_flight, UINT64_MAX / 3);
}

static void set_unit(struct sluice_channel_device *page)
{
	atomic_store(&page->counters.longest_unit_ns, UINT64_MAX / 3);
}

static void set_forced(struct sluice_channel_device *page)
{
	atomic_store(&page->counters.forced, UINT64_MAX / 3);
}

static void (*const lies[])(struct sluice_channel_device *page) = {
	set_late,      set_requests,  set_requests_back, set_bins,
	set_latencies, set_in_flight, set_unit,		 set_forced,
};

START_TEST(test_status_of_a_liar)
{
	const struct sluice_msg_status_tenant *train;
	struct sluice_channel_device *page;
	struct rows rows;
	char text[64];
	int fd;

	snprintf(text, sizeof(text), "tenant train (pid %d): counted what cannot", (int)getpid());
	begin();
	page = &a.channel->device[0];
	atomic_store(&page->counters.requests, 50);
	sluice_hist_add(&page->service, SLUICE_NS_PER_MS);
	sluice_hist_add(&page->be_in_flight, 300000);
	fd = tool_connect();
	status(fd, &rows);
	ck_assert_uint_eq(row_of(&rows, "train")->requests, 50);
	ck_assert(!has_note(&rows, text));
	lies[_i](page);
	status(fd, &rows);
	train = row_of(&rows, "train");
	ck_assert_uint_eq(train->requests, 0);
	ck_assert_uint_eq(train->requests_late, 0);
	ck_assert_uint_eq(train->service_p99_ns, 0);
	ck_assert_uint_eq(train->longest_unit_ns, 0);
	ck_assert_uint_eq(train->forced, 0);
	ck_assert_uint_eq(row_of(&rows, "live")->be_in_flight_p99_ns, 0);
	ck_assert(has_note(&rows, text));
	memset(&page->counters, 0, sizeof(page->counters));
	atomic_store(&page->counters.requests, 60);
	status(fd, &rows);
	ck_assert_uint_eq(row_of(&rows, "train")->requests, 0);
	ck_assert(has_note(&rows, text));
	close(fd);
	end();
}
END_TEST

/* The longest prediction, measured by an earlier process; a late request that is not counted yet. */
START_TEST(test_status_of_what_may_be)
{
	struct rows rows;
	int fd;

	begin();
	atomic_store(&a.channel->device[0].counters.requests, 500);
	atomic_store(&a.channel->device[0].counters.requests_late, 501);
	atomic_store(&a.channel->device[0].counters.longest_unit_ns, 2 * SLUICE_NS_PER_S);
	fd = tool_connect();
	status(fd, &rows);
	ck_assert_uint_eq(row_of(&rows, "train")->requests, 500);
	ck_assert_uint_eq(row_of(&rows, "train")->requests_late, 500);
	ck_assert_uint_eq(row_of(&rows, "train")->longest_unit_ns, 2 * SLUICE_NS_PER_S);
	ck_assert(!has_note(&rows, "counted what cannot"));
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

/* They are there still when nobody uses a GPU any more. */
START_TEST(test_status_after_the_last_death)
{
	const struct sluice_msg_status_tenant *other;
	struct rows rows;
	int fd;

	fixture_begin(config);
	fd = tool_connect();
	fixture_kill(fixture_process(play_counter, "other"));
	do
		status(fd, &rows);
	while (rows.devices);
	other = row_of(&rows, "other");
	ck_assert_uint_eq(other->device, UINT32_MAX);
	ck_assert_uint_eq(other->processes, 0);
	ck_assert_uint_eq(other->requests, 100);
	ck_assert_str_eq(other->longest_unit, "gemm");
	ck_assert_uint_eq(row_of(&rows, "live")->be_in_flight_p99_ns, 300000);
	ck_assert_uint_eq(row_of(&rows, "train")->requests, 0);
	close(fd);
	fixture_end();
}
END_TEST

START_TEST(test_note_of_limits_beyond_the_device)
{
	struct rows rows;
	int fd;

	begin(); /* 4 GiB of 16 */
	fd = tool_connect();
	status(fd, &rows);
	ck_assert(!has_note(&rows, "memory.max of all tenants"));
	fixture_write_config("tenants = ( { name = \"train\"; memory = { max = \"9 GiB\"; }; }, "
			     "{ name = \"other\"; memory = { max = \"8 GiB\"; }; } );");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", NULL), 0);
	status(fd, &rows);
	ck_assert(has_note(&rows, "gpu 0: memory.max of all tenants is 17408 MiB together, and the "
				  "GPU has 16384 MiB"));
	close(fd);
	end();
}
END_TEST

START_TEST(test_note_of_a_shim)
{
	struct sluice_msg_text note = {
		.text = "kernel seen whose duration varies\n\x1b[2J\xc2\x9b"};
	struct rows rows;
	int fd;

	begin();
	fixture_send(a.fd, &note, SLUICE_MSG_NOTE, sizeof(note), 0);
	fd = tool_connect();
	(void)shim_tenant_used(&a);
	status(fd, &rows);
	/* It goes to a terminal, an administrator's perhaps. */
	ck_assert(has_note(&rows, "kernel seen whose duration varies??[2J??"));
	close(fd);
	end();
}
END_TEST

/* A process keeps the class that it came with. */
START_TEST(test_note_of_another_class)
{
	struct rows rows;
	int fd;

	begin();
	fd = tool_connect();
	fixture_write_config(
		"tenants = ( { name = \"train\"; class = \"latency-critical\"; match = { "
		"cgroup = \"*\"; }; } );");
	ck_assert_int_eq(tool_ask_set(fd, SLUICE_MSG_RELOAD, "", "", "", NULL), 0);
	status(fd, &rows);
	ck_assert(has_note(&rows, "came when the tenant was best-effort, and stays so"));
	close(fd);
	end();
}
END_TEST

static void play_holder(void *argument)
{
	static struct shim shim;

	shim_join(&shim, "train", 0);
	shim_device(&shim, fixture_device(1));
}

START_TEST(test_note_of_an_absent_process)
{
	char text[128];
	struct rows rows;
	pid_t holder;
	int fd;

	fixture_begin(config);
	holder = fixture_process(play_holder, NULL);
	kill(fixture_arbiter, SIGKILL);
	waitpid(fixture_arbiter, NULL, 0);
	fixture_start_arbiter();
	fd = tool_connect();
	status(fd, &rows);
	snprintf(text, sizeof(text),
		 "tenant train (pid %d): has not come back since the arbiter was started anew; the "
		 "1024 MiB",
		 (int)holder);
	ck_assert(has_note(&rows, text));
	fixture_kill(holder);
	do
		status(fd, &rows);
	while (has_note(&rows, text));
	close(fd);
	fixture_end();
}
END_TEST

/* Another user, with no process there yet: the tenants that anyone may enter, and those that a match
 * admits it to, program or not. */
static void play_matched(void *argument)
{
	struct rows rows;
	int fd;

	ck_assert_int_eq(setresgid(54321, 54321, 54321), 0);
	ck_assert_int_eq(setresuid(54321, 54321, 54321), 0);
	fd = tool_connect();
	status(fd, &rows);
	if (rows.tenants != 4 || strcmp(rows.tenant[0].name, "default") ||
	    strcmp(rows.tenant[1].name, "bare") || strcmp(rows.tenant[2].name, "mine") ||
	    strcmp(rows.tenant[3].name, "served") || rows.processes)
		_exit(1);
	if (!has_note(&rows, "tenant bare: managed is false") ||
	    !has_note(&rows, "tenant mine: managed is false") || has_note(&rows, "tenant apart"))
		_exit(2);
}

START_TEST(test_own_tenants)
{
	if (getuid() != 0)
		return;
	fixture_for_all = true;
	fixture_begin(
		"tenants = ( { name = \"bare\"; managed = false; }, { name = \"mine\"; managed = "
		"false; match = { uid = 54321; }; }, { name = \"served\"; match = { uid = 54321; "
		"program = \"serve\"; }; }, { name = \"any\"; match = { program = \"serve\"; }; }, "
		"{ name = \"apart\"; managed = false; match = { uid = 54322; }; } );");
	ck_assert_int_eq(chmod(fixture_folder, 0755), 0);
	fixture_kill(fixture_process(play_matched, NULL));
	fixture_end();
	fixture_for_all = false;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon status");
	TCase *tcase = tcase_create("status");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_status_without_devices);
	tcase_add_test(tcase, test_note_of_a_level_without_effect);
	tcase_add_test(tcase, test_status);
	tcase_add_test(tcase, test_status_of_forced_launches);
	tcase_add_loop_test(tcase, test_status_of_a_liar, 0, sizeof(lies) / sizeof(lies[0]));
	tcase_add_test(tcase, test_status_of_what_may_be);
	tcase_add_test(tcase, test_status_after_a_death);
	tcase_add_test(tcase, test_status_after_the_last_death);
	tcase_add_test(tcase, test_note_of_limits_beyond_the_device);
	tcase_add_test(tcase, test_note_of_a_shim);
	tcase_add_test(tcase, test_note_of_another_class);
	tcase_add_test(tcase, test_note_of_an_absent_process);
	tcase_add_test(tcase, test_own_tenants);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
