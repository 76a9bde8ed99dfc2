/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The arbiter is killed, ends, and comes back: sessions are taken up again, and memory that an
 * earlier arbiter granted is not granted twice.
 */

#include "daemon_fixture.h"
#include "sluice/escrow.h"

#define GIB_UNITS (1u << 21)

static struct shim a;

static void begin(void)
{
	fixture_begin("tenants = ( { name = \"train\"; memory = { max = \"4 GiB\"; }; },"
		      " { name = \"other\"; memory = { max = \"4 GiB\"; }; } );");
}

static void kill_arbiter(void)
{
	kill(fixture_arbiter, SIGKILL);
	waitpid(fixture_arbiter, NULL, 0);
}

static void restart_arbiter(void)
{
	kill_arbiter();
	/* The socket's file is left behind, and taken over. */
	fixture_start_arbiter();
}

static uint32_t credit(const struct shim *shim)
{
	return sluice_escrow_credit(atomic_load(&shim->escrow->device[0].word));
}

static uint32_t granted(const struct shim *shim)
{
	return sluice_escrow_granted(atomic_load(&shim->escrow->device[0].word));
}

/* Comes back with what it holds. */
static void rejoin(struct shim *shim, uint64_t held_bytes)
{
	struct sluice_msg_device device = fixture_device(1);
	uint64_t session = shim->welcome.session;

	shim_close(shim);
	shim_join(shim, "train", session);
	ck_assert_uint_ne(shim->welcome.session, session);
	device.held_bytes = held_bytes;
	shim_device(shim, device);
}

/* Uses some, and has all of its tenant's memory for credit. */
static void hold(struct shim *shim, uint32_t units)
{
	shim_join(shim, "train", 0);
	shim_device(shim, fixture_device(1));
	ck_assert_int_eq(shim_memory(shim, 4 * GIB_UNITS), 0);
	ck_assert(sluice_escrow_reserve(&shim->escrow->device[0].word, units));
}

static void play_holder(void *argument)
{
	static struct shim shim;

	hold(&shim, GIB_UNITS);
}

START_TEST(test_new_arbiter)
{
	begin();
	hold(&a, 3 * GIB_UNITS);
	restart_arbiter();
	rejoin(&a, 3ull << 30);
	ck_assert_uint_eq(granted(&a), 3 * GIB_UNITS + GIB_UNITS / 4);
	ck_assert_uint_eq(credit(&a), GIB_UNITS / 4);
	ck_assert_uint_eq(shim_tenant_used(&a), 3ull << 30);
	/* More than the limit, which may have been lowered: it is there all the same, and what of it
	 * is freed is not to be had again. */
	restart_arbiter();
	rejoin(&a, 6ull << 30);
	ck_assert_uint_eq(shim_tenant_used(&a), 6ull << 30);
	sluice_escrow_release(&a.escrow->device[0].word, 3 * GIB_UNITS);
	wait_until(granted(&a) == 4 * GIB_UNITS);
	ck_assert_uint_eq(credit(&a), GIB_UNITS);
	/* More than the GPU has cannot be. */
	restart_arbiter();
	rejoin(&a, UINT64_MAX);
	ck_assert_uint_eq(shim_tenant_used(&a), 16ull << 30);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* An arbiter is killed when the process has said hello and not yet named its device: two records
 * of one process, and both are settled when it comes back. */
START_TEST(test_two_records_of_one_process)
{
	uint64_t session;

	begin();
	hold(&a, 3 * GIB_UNITS);
	restart_arbiter();
	session = a.welcome.session;
	shim_close(&a);
	shim_join(&a, "train", session);
	restart_arbiter();
	rejoin(&a, 3ull << 30);
	ck_assert_uint_eq(granted(&a), 3 * GIB_UNITS + GIB_UNITS / 4);
	ck_assert_int_eq(shim_memory(&a, GIB_UNITS), 0);
	ck_assert_uint_eq(shim_tenant_used(&a), 3ull << 30);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* The holder had been granted all: as long as it may use that, nobody else gets any. */
START_TEST(test_absent_process_is_counted)
{
	pid_t holder;

	begin();
	holder = fixture_process(play_holder, NULL);
	/* As often as it pleases. */
	restart_arbiter();
	restart_arbiter();
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert_uint_eq(granted(&a), 0);
	ck_assert_int_eq(shim_memory(&a, 1), -EAGAIN);
	ck_assert_uint_eq(shim_tenant_used(&a), 4ull << 30);
	fixture_kill(holder);
	wait_until(shim_memory(&a, 4 * GIB_UNITS) == 0);
	ck_assert_uint_eq(shim_tenant_used(&a), 0);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* A device record ends with its last process; what absent ones hold counts on the next. */
START_TEST(test_absent_process_outlives_the_record)
{
	pid_t holder;

	begin();
	holder = fixture_process(play_holder, NULL);
	restart_arbiter();
	for (int i = 0; i < 2; i++) {
		/* Its own tenant is not concerned. */
		shim_join(&a, "other", 0);
		shim_device(&a, fixture_device(1));
		ck_assert_int_eq(shim_memory(&a, 4 * GIB_UNITS), 0);
		shim_close(&a);
	}
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert_int_eq(shim_memory(&a, 1), -EAGAIN);
	fixture_kill(holder);
	wait_until(shim_memory(&a, 1) == 0);
	shim_close(&a);
	fixture_end();
	/* One that died while there was no arbiter is not waited for. */
	begin();
	holder = fixture_process(play_holder, NULL);
	kill_arbiter();
	fixture_kill(holder);
	fixture_start_arbiter();
	fixture_kill(fixture_process(play_holder, NULL));
	fixture_end();
}
END_TEST

/* Comes back when it is told to. */
static pid_t start_returner(int said[2], int told[2])
{
	static struct shim shim;
	char byte = 0;
	pid_t pid;

	ck_assert_int_eq(pipe2(said, O_CLOEXEC), 0);
	ck_assert_int_eq(pipe2(told, O_CLOEXEC), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hold(&shim, GIB_UNITS);
	ck_assert_int_eq(write(said[1], &byte, 1), 1);
	ck_assert_int_eq(read(told[0], &byte, 1), 1);
	rejoin(&shim, 1ull << 30);
	ck_assert_int_eq(write(said[1], &byte, 1), 1);
	for (;;)
		pause();
}

START_TEST(test_absent_process_comes_back)
{
	int said[2], told[2];
	char byte = 0;
	pid_t holder;

	begin();
	holder = start_returner(said, told);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	restart_arbiter();
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert_int_eq(shim_memory(&a, 1), -EAGAIN);
	ck_assert_int_eq(write(told[1], &byte, 1), 1);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	/* What it uses, no more and no less. */
	ck_assert_uint_eq(shim_tenant_used(&a), 1ull << 30);
	ck_assert_int_eq(shim_memory(&a, 3 * GIB_UNITS), 0);
	ck_assert_int_eq(shim_memory(&a, 3 * GIB_UNITS + 1), -ENOMEM);
	fixture_kill(holder);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* No earlier session known: exec has replaced the program, and what it held is gone. */
START_TEST(test_another_program)
{
	begin();
	hold(&a, GIB_UNITS);
	restart_arbiter();
	shim_close(&a);
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert_int_eq(shim_memory(&a, 4 * GIB_UNITS), 0);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* A tenant that is removed meanwhile: its process comes back as one of the default tenant. */
START_TEST(test_absent_process_of_no_tenant)
{
	pid_t holder;

	begin();
	holder = fixture_process(play_holder, NULL);
	kill_arbiter();
	fixture_write_config("default = { memory = { max = \"5 GiB\"; }; };");
	fixture_start_arbiter();
	shim_join(&a, "", 0);
	shim_device(&a, fixture_device(1));
	ck_assert_int_eq(shim_memory(&a, GIB_UNITS), 0);
	ck_assert_int_eq(shim_memory(&a, GIB_UNITS + 1), -EAGAIN);
	fixture_kill(holder);
	wait_until(shim_memory(&a, 5 * GIB_UNITS) == 0);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* An arbiter that ends leaves the accounts as they are: the processes live on and use them. */
START_TEST(test_ending_arbiter)
{
	uint64_t word;

	begin();
	hold(&a, 1000);
	word = atomic_load(&a.escrow->device[0].word);
	kill(fixture_arbiter, SIGTERM);
	waitpid(fixture_arbiter, NULL, 0);
	ck_assert_uint_eq(atomic_load(&a.escrow->device[0].word), word);
	ck_assert_int_eq(access(fixture_ledger, F_OK), 0);
	shim_close(&a);
	fixture_start_arbiter();
	fixture_end();
	/* With nothing to tell there is no file. */
	begin();
	fixture_kill(fixture_process(play_holder, NULL));
	kill(fixture_arbiter, SIGTERM);
	waitpid(fixture_arbiter, NULL, 0);
	ck_assert_int_eq(access(fixture_ledger, F_OK), -1);
	fixture_start_arbiter();
	fixture_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon restart");
	TCase *tcase = tcase_create("restart");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_new_arbiter);
	tcase_add_test(tcase, test_two_records_of_one_process);
	tcase_add_test(tcase, test_absent_process_is_counted);
	tcase_add_test(tcase, test_absent_process_outlives_the_record);
	tcase_add_test(tcase, test_absent_process_comes_back);
	tcase_add_test(tcase, test_another_program);
	tcase_add_test(tcase, test_absent_process_of_no_tenant);
	tcase_add_test(tcase, test_ending_arbiter);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
