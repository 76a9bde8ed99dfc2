/* SPDX-License-Identifier: Apache-2.0 */

/* Activity pages of a latency-critical process: handed out, sealed, named in grants, revoked. */

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "daemon_rows.h"

static struct shim a;

static void begin_lease(const char *lease)
{
	char config[256];

	snprintf(config, sizeof(config),
		 "lease = \"%s\"; policy = \"slo\"; tenants = ( { name = \"live\"; class = "
		 "\"latency-critical\"; match = { cgroup = \"*\"; }; }, { name = \"train\"; } );",
		 lease);
	fixture_begin(config);
}

static void begin(void)
{
	begin_lease("30 s");
}

static struct shim live; /* the latency process */
static struct sluice_activity *own_page;

/* A latency process that maps its page; as root it then tries to make another writable mapping. */
static void play_latency(void *argument)
{
	struct sluice_msg_activity message;
	int fd;

	shim_join(&live, "live", 0);
	shim_device(&live, fixture_device(1));
	fixture_await(live.fd, SLUICE_MSG_ACTIVITY_OWN, &live.last);
	sluice_wire_copy(&live.last, &message, sizeof(message));
	fd = live.last.fd[0];
	own_page = mmap(NULL, sizeof(*own_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(own_page, MAP_FAILED);
	ck_assert_uint_eq(own_page->magic, SLUICE_ACTIVITY_MAGIC);
	ck_assert_uint_eq(own_page->generation, message.generation);
	fixture_send(live.fd, &message, SLUICE_MSG_ACTIVITY_MAPPED, sizeof(message), 0);
	wait_until(fcntl(fd, F_GET_SEALS) & 0x10);
	ck_assert_ptr_eq(mmap(NULL, sizeof(*own_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
			 MAP_FAILED);
	/* The mapping it has goes on. */
	atomic_store(&own_page->device[0].word, 1);
	ck_assert(shim_is_open(&live));
	ck_assert(atomic_load(&live.channel->device[0].grant.flags) & SLUICE_GRANT_LATENCY);
}

START_TEST(test_activity_page)
{
	const struct sluice_activity *page;
	struct sluice_msg_activity see;
	char path[64];
	pid_t latency;
	int fd, again;

	begin();
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	ck_assert_uint_eq(atomic_load(&a.channel->device[0].grant.guard_ns), 0);
	latency = fixture_process(play_latency, NULL);
	fixture_await(a.fd, SLUICE_MSG_ACTIVITY_SEE, &a.last);
	sluice_wire_copy(&a.last, &see, sizeof(see));
	fd = a.last.fd[0];
	page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_uint_eq(page->generation, see.generation);
	/* It is named at once: whoever maps it has to look at it in the same launch. */
	wait_until(atomic_load(&a.channel->device[0].grant.activity[see.slot].generation) ==
		   see.generation);
	fixture_send(a.fd, &see, SLUICE_MSG_ACTIVITY_SEEN, sizeof(see), 0);
	ck_assert_uint_eq(atomic_load(&page->device[see.owner_device].word), 1);
	ck_assert_uint_eq(atomic_load(&a.channel->device[0].grant.guard_ns), 60000);
	ck_assert_uint_eq(atomic_load(&a.channel->device[0].grant.window_ns), 300000);
	/* No way to write: by this descriptor, by a new one (even as root), by write. */
	ck_assert_ptr_eq(mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
			 MAP_FAILED);
	ck_assert_int_eq(mprotect((void *)page, sizeof(*page), PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(write(fd, "x", 1), -1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDWR | O_CLOEXEC);
	if (again >= 0) {
		ck_assert_ptr_eq(
			mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, again, 0),
			MAP_FAILED);
		ck_assert_int_eq(write(again, "x", 1), -1);
		close(again);
	}
	/* Its owner dies: the name goes from the grant, and the page is dropped. */
	fixture_kill(latency);
	wait_until(!atomic_load(&a.channel->device[0].grant.activity[see.slot].generation));
	fixture_await(a.fd, SLUICE_MSG_ACTIVITY_DROP, &a.last);
	ck_assert_uint_eq(((struct sluice_msg_activity *)a.last.bytes)->slot, see.slot);
	wait_until(!atomic_load(&a.channel->device[0].grant.guard_ns));
	close(fd);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* One that says that it cannot map the page is not held by it, and status says so. */
START_TEST(test_page_that_a_reader_cannot_map)
{
	struct sluice_msg_activity see;
	_Atomic uint32_t *generation;
	struct rows rows;
	pid_t latency;
	int fd;

	begin();
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	latency = fixture_process(play_latency, NULL);
	fixture_await(a.fd, SLUICE_MSG_ACTIVITY_SEE, &a.last);
	sluice_wire_copy(&a.last, &see, sizeof(see));
	sluice_wire_close_fds(&a.last);
	generation = &a.channel->device[0].grant.activity[see.slot].generation;
	wait_until(atomic_load(generation) == see.generation);
	fd = tool_connect();
	status(fd, &rows);
	ck_assert(!has_note(&rows, "does not watch"));
	sluice_wire_head(&see, SLUICE_MSG_ACTIVITY_SEEN, sizeof(see), 0, -ENOMEM);
	ck_assert_int_eq(sluice_wire_send(a.fd, &see, NULL, 0, 0), 0);
	wait_until(!atomic_load(generation));
	status(fd, &rows);
	ck_assert(has_note(&rows, "does not watch 1 latency-critical"));
	close(fd);
	fixture_kill(latency);
	shim_close(&a);
	fixture_end();
}
END_TEST

/* A stopped latency process does not hold the others, until it goes on. */
START_TEST(test_stopped_latency_process)
{
	struct sluice_msg_activity see;
	_Atomic uint32_t *generation;
	pid_t latency;

	begin();
	latency = fixture_process(play_latency, NULL);
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	fixture_await(a.fd, SLUICE_MSG_ACTIVITY_SEE, &a.last);
	sluice_wire_copy(&a.last, &see, sizeof(see));
	sluice_wire_close_fds(&a.last);
	generation = &a.channel->device[0].grant.activity[see.slot].generation;
	fixture_send(a.fd, &see, SLUICE_MSG_ACTIVITY_SEEN, sizeof(see), 0);
	wait_until(atomic_load(generation) == see.generation);
	kill(latency, SIGSTOP);
	wait_until(!atomic_load(generation));
	fixture_kill(latency);
	shim_close(&a);
	fixture_end();
}
END_TEST

static _Atomic bool *moves; /* shared with the latency process */

static void *move_launches(void *unused)
{
	for (;; usleep(1000)) {
		if (atomic_load(moves))
			atomic_fetch_add(&live.channel->device[0].slot[0].launched_ns, 1);
	}
	return unused;
}

static void play_still(void *argument)
{
	pthread_t thread;

	play_latency(argument);
	atomic_store(&own_page->device[0].word, 5ull << 32 | 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, move_launches, NULL), 0);
}

/* What is active and does not move may wait for what a reader holds: the reader's grant says so, of
 * that epoch, as long as nothing is launched. */
START_TEST(test_still_activity_is_told)
{
	struct sluice_msg_activity see;
	struct sluice_activity_ref *ref;
	pid_t latency;

	moves = mmap(NULL, sizeof(*moves), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	ck_assert_ptr_ne(moves, MAP_FAILED);
	begin();
	latency = fixture_process(play_still, NULL);
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	fixture_await(a.fd, SLUICE_MSG_ACTIVITY_SEE, &a.last);
	sluice_wire_copy(&a.last, &see, sizeof(see));
	sluice_wire_close_fds(&a.last);
	ref = &a.channel->device[0].grant.activity[see.slot];
	fixture_send(a.fd, &see, SLUICE_MSG_ACTIVITY_SEEN, sizeof(see), 0);
	wait_until(atomic_load(&ref->still_epoch) == 5);
	ck_assert_uint_eq(atomic_load(&ref->generation), see.generation);
	atomic_store(moves, true);
	wait_until(!atomic_load(&ref->still_epoch));
	atomic_store(moves, false);
	wait_until(atomic_load(&ref->still_epoch) == 5);
	fixture_kill(latency);
	wait_until(!atomic_load(&ref->still_epoch));
	munmap((void *)moves, sizeof(*moves));
	shim_close(&a);
	fixture_end();
}
END_TEST

static void *move_epoch(void *unused)
{
	for (uint64_t epoch = 1;; epoch++) {
		atomic_store(&own_page->device[0].word, epoch << 32 | 1);
		usleep(1000);
	}
	return unused;
}

static void play_epochs(void *argument)
{
	pthread_t thread;

	play_latency(argument);
	ck_assert_int_eq(pthread_create(&thread, NULL, move_epoch, NULL), 0);
}

/* Nor does one that only says that it is busy, anew each time, and launches nothing. */
START_TEST(test_epoch_is_no_sign_of_life)
{
	struct rows rows;
	pid_t latency;
	int fd;

	begin_lease("1 s");
	latency = fixture_process(play_epochs, NULL);
	fd = tool_connect();
	wait_until((status(fd, &rows), row_of(&rows, "live")->state & SLUICE_STATE_STALE));
	ck_assert(has_note(&rows, "active without a sign of life"));
	fixture_kill(latency);
	close(fd);
	fixture_end();
}
END_TEST

/* As the shim's watch thread: finds that the work is done when it is asked. */
static void *be_asked(void *unused)
{
	struct sluice_channel *channel = live.channel;

	while (!(atomic_exchange(&channel->ask, 0) & 1))
		syscall(SYS_futex, &channel->look, FUTEX_WAIT, atomic_load(&channel->look), NULL,
			NULL, 0);
	atomic_store(&channel->assisted, 1);
	atomic_store(&own_page->device[0].word, 1ull << 32);
	return unused;
}

static void play_watched(void *argument)
{
	pthread_t thread;

	play_latency(argument);
	ck_assert_int_eq(pthread_create(&thread, NULL, be_asked, NULL), 0);
}

/* One request that does not move holds a launch: its process is asked to look, and not before. */
START_TEST(test_owner_of_a_still_request_is_asked)
{
	const struct sluice_activity *page;
	struct sluice_msg_activity see;
	struct rows rows;
	pid_t latency;
	int tool;

	begin();
	latency = fixture_process(play_watched, NULL);
	shim_join(&a, "train", 0);
	shim_device(&a, fixture_device(1));
	fixture_await(a.fd, SLUICE_MSG_ACTIVITY_SEE, &a.last);
	sluice_wire_copy(&a.last, &see, sizeof(see));
	page = mmap(NULL, sizeof(*page), PROT_READ, MAP_SHARED, a.last.fd[0], 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	sluice_wire_close_fds(&a.last);
	fixture_send(a.fd, &see, SLUICE_MSG_ACTIVITY_SEEN, sizeof(see), 0);
	wait_until(atomic_load(&a.channel->device[0].grant.activity[see.slot].generation));
	tool = tool_connect();
	usleep(400000);
	ck_assert_uint_eq(atomic_load(&page->device[see.owner_device].word), 1);
	status(tool, &rows);
	ck_assert(!has_note(&rows, "asking the GPU"));
	shim_want(&a);
	wait_until(atomic_load(&page->device[see.owner_device].word) == 1ull << 32);
	status(tool, &rows);
	ck_assert(has_note(&rows, "ends of requests are seen by asking the GPU"));
	fixture_kill(latency);
	close(tool);
	shim_close(&a);
	fixture_end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon activity");
	TCase *tcase = tcase_create("activity");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_activity_page);
	tcase_add_test(tcase, test_page_that_a_reader_cannot_map);
	tcase_add_test(tcase, test_stopped_latency_process);
	tcase_add_test(tcase, test_still_activity_is_told);
	tcase_add_test(tcase, test_epoch_is_no_sign_of_life);
	tcase_add_test(tcase, test_owner_of_a_still_request_is_asked);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
