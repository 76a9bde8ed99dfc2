/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of requests that no call shows: the watch thread finds them, when it is asked to. */
#include <dirent.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "link.h"
#include "shim_rig.h"
#include "watch.h"
#include "watch_look.h"

#define KERNEL 0x7000
#define ASSISTED_MOST 64 /* requests that the application may have to show to be left alone */
#define S0 SCRIPT_STREAM(0)
#define S1 SCRIPT_STREAM(1)

static struct sluice_activity_device *device;

static void begin(void)
{
	rig_await(atomic_load(&rig.session->activity));
	rig_teach(KERNEL, 10 * US);
	device = &atomic_load(&rig.session->activity)->device[0];
	script.is_immediate = false;
}

static void setup(void)
{
	rig_start_latency();
	begin();
}

static uint32_t active(void)
{
	return sluice_activity_active(atomic_load(&device->word));
}

static uint64_t requests(void)
{
	return atomic_load(&rig.page->counters.requests);
}

static uint32_t assisted(void)
{
	return atomic_load(&rig.session->channel->assisted);
}

/* As the arbiter does. */
static void ask(void)
{
	struct sluice_channel *channel = rig.session->channel;

	atomic_fetch_or(&channel->ask, 1);
	atomic_fetch_add(&channel->look, 1);
	syscall(SYS_futex, &channel->look, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await_question(void)
{
	uint64_t before = script.questions;

	ask();
	rig_await(script.questions > before);
	rig_await(!atomic_load(&rig.session->channel->ask));
}

/* A request that only the watch thread sees the end of, once it is asked. */
static void find_one(void)
{
	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	ask();
	rig_await(active() == 0);
	/* It says so after it has lowered the activity. */
	rig_await(assisted());
}

START_TEST(an_end_that_nothing_shows_is_found)
{
	uint64_t before = requests();

	rig_launch(KERNEL);
	ck_assert_uint_eq(active(), 1);
	await_question();
	ck_assert_uint_eq(active(), 1);
	ck_assert_uint_eq(assisted(), 0);
	script_complete(S0, UINT32_MAX);
	ask();
	rig_await(active() == 0);
	ck_assert_uint_eq(requests(), before + 1);
	rig_await(assisted() == 1);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

START_TEST(the_ends_that_follow_are_looked_for_unasked)
{
	find_one();
	for (uint64_t i = 0, before = requests(); i < 8; i++) {
		rig_launch(KERNEL);
		script_complete(S0, UINT32_MAX);
		rig_await(active() == 0);
		ck_assert_uint_eq(requests(), before + i + 1);
	}
	ck_assert_uint_eq(assisted(), 1);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

START_TEST(an_application_that_shows_them_itself_is_left_alone)
{
	uint32_t tries = 0;
	uint64_t questions;

	find_one();
	while (assisted()) {
		ck_assert_uint_lt(tries++, ASSISTED_MOST);
		rig_launch(KERNEL);
		cuStreamSynchronize(S0);
	}
	ck_assert_uint_ge(tries, 2);
	rig_launch(KERNEL);
	/* Whatever was on its way is over. */
	await_question();
	questions = script.questions;
	script_complete(S0, UINT32_MAX);
	usleep(5000);
	ck_assert_uint_eq(script.questions, questions);
	ck_assert_uint_eq(active(), 1);
}
END_TEST

START_TEST(all_streams_must_have_drained)
{
	rig_launch_on(KERNEL, S0);
	rig_launch_on(KERNEL, S1);
	rig_launch_on(KERNEL, NULL);
	script_complete(S0, UINT32_MAX);
	script_complete(NULL, UINT32_MAX);
	await_question();
	ck_assert_uint_eq(active(), 3);
	ck_assert_uint_eq(assisted(), 0);
	script_complete(S1, UINT32_MAX);
	ask();
	rig_await(active() == 0);
	rig_await(assisted() == 1);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

/* A question would end the capture. */
START_TEST(a_stream_that_captures_is_not_asked)
{
	CUgraph graph;

	rig_launch_on(KERNEL, S0);
	rig_launch_on(KERNEL, S1);
	script_complete(S0, UINT32_MAX);
	script_complete(S1, UINT32_MAX);
	cuStreamBeginCapture_v2(S1, CU_STREAM_CAPTURE_MODE_RELAXED);
	await_question();
	ck_assert_uint_eq(active(), 2);
	cuStreamEndCapture(S1, &graph);
	ask();
	rig_await(active() == 0);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

static uint64_t look(struct sync_point *ret_point)
{
	int cancel = watch_exclude();
	uint64_t settle_ns = watch_find(gate_at(0), ret_point);

	watch_admit(cancel);
	return settle_ns;
}

static void take_at(const struct sync_point *point, uint64_t found_ns)
{
	int cancel = watch_exclude();

	watch_take(gate_at(0), point, found_ns, true);
	watch_admit(cancel);
}

static void take(const struct sync_point *point)
{
	take_at(point, sluice_now_ns());
}

/* A launch is noted before the driver has it, and the stream is empty till then. */
START_TEST(what_is_launched_between_two_looks_counts)
{
	struct sync_point point;

	rig_launch(KERNEL);
	look(&point);
	ck_assert_uint_eq(point.count, 0);
	script_complete(S0, UINT32_MAX);
	look(&point);
	ck_assert_uint_eq(point.count, 1);
	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	take(&point);
	ck_assert_uint_eq(active(), 1);
	look(&point);
	take(&point);
	ck_assert_uint_eq(active(), 0);
	/* Shown by a call meanwhile: nothing is left to be found. */
	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	look(&point);
	ck_assert_uint_eq(point.count, 1);
	cuStreamSynchronize(S0);
	take(&point);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

/* A request that ends found_ago_ns before the next one, by a look of the test's; how long the next end
 * must last. */
static uint64_t settle_after(uint64_t found_ago_ns)
{
	struct sync_point point;
	uint64_t settle_ns;

	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	look(&point);
	take_at(&point, sluice_now_ns() - found_ago_ns);
	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	settle_ns = look(&point);
	take_at(&point, sluice_now_ns() - SLUICE_NS_PER_S);
	return settle_ns;
}

/* What comes right after an end that was found was no end. */
START_TEST(gaps_within_a_request_are_learned)
{
	struct sync_point point;
	uint64_t most_ns = 0, least_ns;

	/* Not assisted yet: whoever asks once can wait. */
	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(look(&point), 2 * MS);
	take(&point);
	for (int i = 0; i < 1000 && most_ns < 400 * US; i++) {
		uint64_t settle_ns = settle_after(0);

		most_ns = settle_ns > most_ns ? settle_ns : most_ns;
	}
	ck_assert_uint_ge(most_ns, 100 * US);
	for (int i = 0; i < 1000; i++) {
		least_ns = settle_after(SLUICE_NS_PER_S);
		if (least_ns && least_ns < 60 * US)
			break;
	}
	ck_assert_uint_lt(least_ns, 60 * US);
	ck_assert_uint_gt(least_ns, 0);
}
END_TEST

START_TEST(an_answer_that_says_nothing_of_the_work_ends_nothing)
{
	static const CUresult nothing[] = {
		CUDA_ERROR_DEINITIALIZED,   CUDA_ERROR_NOT_INITIALIZED,
		CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_HANDLE,
		CUDA_ERROR_NOT_PERMITTED,   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	};
	struct sync_point point;

	rig_launch(KERNEL);
	script_complete(S0, UINT32_MAX);
	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		script.failure = nothing[i];
		look(&point);
		ck_assert_uint_eq(point.count, 0);
	}
	script.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
	look(&point);
	take(&point);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(what_is_destroyed_is_not_asked)
{
	struct sync_point point;

	rig_launch_on(KERNEL, S0);
	rig_launch_on(KERNEL, S1);
	script_complete(S0, UINT32_MAX);
	script_complete(S1, UINT32_MAX);
	look(&point);
	ck_assert_uint_eq(point.count, 2);
	cuStreamDestroy_v2(S0);
	take(&point);
	ck_assert_uint_eq(active(), 0);
	rig_launch_on(KERNEL, S1);
	cuCtxDestroy_v2(SCRIPT_CONTEXT);
	look(&point);
	ck_assert_uint_eq(point.count, 0);
	ck_assert_uint_eq(active(), 0);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

/* Its own stream in each thread: this one cannot ask for that of another. */
START_TEST(a_per_thread_default_stream_is_not_asked)
{
	struct sync_point point;

	ck_assert_int_eq(cuLaunchKernel_ptsz((CUfunction)(uintptr_t)KERNEL, 1, 1, 1, 32, 1, 1, 0,
					     NULL, NULL, NULL),
			 CUDA_SUCCESS);
	script_complete(CU_STREAM_PER_THREAD, UINT32_MAX);
	look(&point);
	ck_assert_uint_eq(point.count, 0);
	ck_assert_uint_eq(active(), 1);
}
END_TEST

START_TEST(the_thread_follows_to_the_next_arbiter_s_page)
{
	rig_launch(KERNEL);
	cuStreamSynchronize(S0);
	fake_arbiter_stop(&rig.fake);
	fake_arbiter_start(&rig.fake);
	for (uint64_t end_ns = sluice_now_ns() + RIG_WAIT_NS; !rig.fake.session[1].devices;) {
		ck_assert_uint_lt(sluice_now_ns(), end_ns);
		rig_launch(KERNEL);
		cuStreamSynchronize(S0);
		usleep(2000);
	}
	rig.session = fake_arbiter_session(&rig.fake, 1, 1);
	rig.page = &rig.session->channel->device[0];
	rig.grant = &rig.page->grant;
	rig_await(atomic_load(&rig.session->activity));
	device = &atomic_load(&rig.session->activity)->device[0];
	while (!active()) {
		rig_launch(KERNEL);
		usleep(2000);
	}
	script_complete(S0, UINT32_MAX);
	ask();
	rig_await(active() == 0);
}
END_TEST

/* ---- the thread itself ---------------------------------------------------------------------------- */

static bool read_line(const char *task, const char *file, const char *key, char *ret_line, int size)
{
	char path[300];
	bool found = false;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/self/task/%s/%s", task, file);
	in = fopen(path, "re");
	while (in && !found && fgets(ret_line, size, in))
		found = !strncmp(ret_line, key, strlen(key));
	if (in)
		fclose(in);
	return found;
}

/* How many there are; of the last, the signals that it blocks. */
static int watch_threads(unsigned long long *ret_blocked)
{
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	char line[256];
	int count = 0;

	while ((entry = readdir(tasks))) {
		if (!read_line(entry->d_name, "comm", "sluice-watch", line, sizeof(line)))
			continue;
		count++;
		if (read_line(entry->d_name, "status", "SigBlk:", line, sizeof(line)))
			*ret_blocked = strtoull(line + 7, NULL, 16);
	}
	closedir(tasks);
	return count;
}

START_TEST(no_signal_reaches_it)
{
	unsigned long long blocked = 0;
	sigset_t own;

	rig_await(watch_threads(&blocked) > 0);
	ck_assert_uint_ne(blocked & 1ull << (SIGTERM - 1), 0);
	ck_assert_uint_ne(blocked & 1ull << (SIGALRM - 1), 0);
	/* setuid(2) of the process must reach it. */
	ck_assert_uint_eq(blocked & 3ull << 31, 0);
	/* The thread that made it is as it was. */
	sigemptyset(&own);
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, NULL, &own), 0);
	ck_assert(!sigismember(&own, SIGTERM));
}
END_TEST

static int exit_status(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "ended with %x", status);
	return WEXITSTATUS(status);
}

START_TEST(a_child_of_fork_starts_without_it)
{
	unsigned long long blocked;
	pid_t pid;

	find_one();
	rig_launch(KERNEL);
	pid = fork();
	if (!pid) {
		gate_forked();
		link_forked();
		/* Neither waits for a lock that the thread held. */
		watch_wake();
		watch_admit(watch_exclude());
		watch_end();
		_exit(watch_threads(&blocked) ? 1 : 0);
	}
	ck_assert_int_eq(exit_status(pid), 0);
	script_complete(S0, UINT32_MAX);
	rig_await(active() == 0);
}
END_TEST

/* Registered before the shim is there: called after it, as the driver's own is. */
static void tear_down(void)
{
	script.is_down = true;
	usleep(20000);
	_exit(script.faults ? 3 : 0);
}

/* In a process of its own: an assisted request is open, so that the thread keeps asking. */
static void end_in_the_midst(void)
{
	uint64_t questions;

	atexit(tear_down);
	setup();
	find_one();
	rig_launch(KERNEL);
	questions = script.questions;
	rig_await(script.questions > questions);
	exit(4);
}

START_TEST(the_driver_is_left_alone_once_the_process_ends)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();

		if (!pid)
			end_in_the_midst();
		ck_assert_int_eq(exit_status(pid), 0);
	}
}
END_TEST

START_TEST(a_best_effort_process_has_none)
{
	unsigned long long blocked;

	ck_assert_int_eq(watch_threads(&blocked), 0);
	rig_start();
	rig_launch(KERNEL);
	ck_assert_int_eq(watch_threads(&blocked), 0);
	rig_finish();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_watch");
	TCase *tcase = tcase_create("watch"), *alone = tcase_create("alone");

	/* Before there is any. */
	tcase_add_test(alone, a_best_effort_process_has_none);
	tcase_add_test(alone, the_driver_is_left_alone_once_the_process_ends);
	tcase_set_timeout(alone, 60);
	suite_add_tcase(suite, alone);
	tcase_add_checked_fixture(tcase, setup, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, an_end_that_nothing_shows_is_found);
	tcase_add_test(tcase, the_ends_that_follow_are_looked_for_unasked);
	tcase_add_test(tcase, an_application_that_shows_them_itself_is_left_alone);
	tcase_add_test(tcase, all_streams_must_have_drained);
	tcase_add_test(tcase, a_stream_that_captures_is_not_asked);
	tcase_add_test(tcase, what_is_launched_between_two_looks_counts);
	tcase_add_test(tcase, gaps_within_a_request_are_learned);
	tcase_add_test(tcase, an_answer_that_says_nothing_of_the_work_ends_nothing);
	tcase_add_test(tcase, what_is_destroyed_is_not_asked);
	tcase_add_test(tcase, a_per_thread_default_stream_is_not_asked);
	tcase_add_test(tcase, the_thread_follows_to_the_next_arbiter_s_page);
	tcase_add_test(tcase, no_signal_reaches_it);
	tcase_add_test(tcase, a_child_of_fork_starts_without_it);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
