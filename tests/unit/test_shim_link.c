/* SPDX-License-Identifier: Apache-2.0 */
/* The session: what the arbiter's absence, death, return and hanging do to launches. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "environment.h"
#include "link.h"
#include "link_session.h"
#include "shim_log.h"
#include "shim_rig.h"

#define KERNEL 0x7000

static void rig_again(uint32_t number)
{
	rig.session = fake_arbiter_session(&rig.fake, number, 1);
	rig.page = &rig.session->channel->device[0];
	rig.grant = &rig.page->grant;
}

/* Launches until the shim has (or has not) its arbiter. */
static void launch_until_up(bool up)
{
	rig_await((rig_launch(KERNEL), link_is_up() == up));
}

START_TEST(hello_names_the_tenant_and_no_session)
{
	ck_assert_str_eq(rig.session->tenant, "be");
	ck_assert_uint_eq(rig.session->said_session, 0);
	ck_assert(link_is_up());
	ck_assert_int_ge(session.fd, 128);
}
END_TEST

static void start_old(void)
{
	fake_arbiter_init(&rig.fake);
	rig.fake.is_old = true;
	rig_attach("lc");
}

/* Its file has no rings: what is written there is nobody's. */
START_TEST(an_arbiter_of_the_version_before_is_served)
{
	ck_assert(link_is_up());
	for (int i = 0; i < 3; i++) {
		rig_launch(KERNEL);
		ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	}
	ck_assert_uint_ge(atomic_load(&rig.page->counters.requests), 3);
}
END_TEST

START_TEST(a_dead_arbiter_opens_the_gates)
{
	rig_launch(KERNEL);
	fake_gate_set(rig.session, 0, false);
	fake_arbiter_stop(&rig.fake);
	launch_until_up(false);
	ck_assert_uint_ne(shim_flags() & SHIM_AWAY, 0);
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_int_eq(link_mem_request(0, 1, sluice_now_ns() + SLUICE_NS_PER_S), -ENOTCONN);
	fake_arbiter_start(&rig.fake);
}
END_TEST

START_TEST(a_held_launch_goes_on_when_the_arbiter_dies)
{
	struct rig_launcher launcher;

	rig_launch(KERNEL);
	fake_gate_set(rig.session, 0, false);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	fake_arbiter_stop(&rig.fake);
	rig_launcher_join(&launcher);
	fake_arbiter_start(&rig.fake);
}
END_TEST

START_TEST(a_session_is_taken_up_again)
{
	uint64_t launches;

	rig_launch(KERNEL);
	fake_arbiter_stop(&rig.fake);
	launch_until_up(false);
	fake_arbiter_start(&rig.fake);
	launch_until_up(true);
	rig_again(1);
	ck_assert_uint_eq(rig.session->said_session, 1000);
	ck_assert_uint_eq(shim_flags() & SHIM_AWAY, 0);
	/* The new page counts from where it stands, and its gate governs. */
	launches = rig_launches();
	rig_launch(KERNEL);
	ck_assert_uint_eq(rig_launches(), launches + 1);
	struct rig_launcher launcher;
	fake_gate_set(rig.session, 0, false);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	fake_gate_set(rig.session, 0, true);
	rig_launcher_join(&launcher);
}
END_TEST

/* The program has none left, and the arbiter is another. */
START_TEST(a_cleared_environment_does_not_lose_the_arbiter)
{
	ck_assert(!unsetenv("SLUICE_SOCKET") && !unsetenv("SLUICE_TENANT"));
	fake_arbiter_stop(&rig.fake);
	launch_until_up(false);
	fake_arbiter_start(&rig.fake);
	launch_until_up(true);
	ck_assert_str_eq(fake_arbiter_session(&rig.fake, 1, 1)->tenant, "be");
}
END_TEST

static uint64_t in_flight(void)
{
	uint64_t ns;

	futex_lock(&gate_at(0)->lock);
	ns = gate_in_flight(gate_at(0));
	futex_unlock(&gate_at(0)->lock);
	return ns;
}

static void *change_pages(void *closure)
{
	fake_arbiter_stop(&rig.fake);
	launch_until_up(false);
	fake_arbiter_start(&rig.fake);
	launch_until_up(true);
	return NULL;
}

/* A thread past its last look adds to the page before, when another has swapped it. */
START_TEST(a_launch_that_was_noted_on_the_page_before_is_not_lost)
{
	struct launch_seat *seat;
	struct sluice_slot *left;
	pthread_t thread;
	uint64_t launched_ns;

	rig_launch(KERNEL);
	seat = launch_seat(SCRIPT_STREAM(0));
	left = seat->lane->slot;
	ck_assert(!pthread_create(&thread, NULL, change_pages, NULL));
	ck_assert(!pthread_join(thread, NULL));
	rig_again(1);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(in_flight(), 0);
	atomic_fetch_add(&seat->stream->launched_ns, 7 * MS);
	atomic_fetch_add(&left->launched_ns, 7 * MS);
	ck_assert_uint_eq(in_flight(), 7 * MS);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(in_flight(), 0);
	launched_ns = rig_launched();
	rig_launch(KERNEL);
	ck_assert_ptr_ne(seat->lane->slot, left);
	ck_assert_uint_gt(rig_launched(), launched_ns);
	ck_assert_uint_eq(in_flight(), rig_launched() - launched_ns);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(in_flight(), 0);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.completed_ns), rig_launched());
}
END_TEST

START_TEST(memory_in_use_moves_to_the_new_page)
{
	struct shim_device *device = shim_device(0);
	_Atomic uint64_t *word = atomic_load(&device->escrow);

	ck_assert_int_eq(link_mem_request(0, 1000, sluice_now_ns() + SLUICE_NS_PER_S), 0);
	ck_assert(sluice_escrow_reserve(word, 600));
	fake_arbiter_stop(&rig.fake);
	launch_until_up(false);
	fake_arbiter_start(&rig.fake);
	launch_until_up(true);
	rig_again(1);
	word = &rig.session->escrow->device[0].word;
	ck_assert_uint_eq(sluice_escrow_granted(atomic_load(word)) -
				  sluice_escrow_credit(atomic_load(word)),
			  600);
}
END_TEST

START_TEST(a_hung_arbiter_counts_as_gone_until_it_beats_again)
{
	rig_launch(KERNEL);
	rig.fake.is_mute = true;
	launch_until_up(false);
	/* It is the same connection that goes on. */
	rig.fake.is_mute = false;
	launch_until_up(true);
	ck_assert_uint_eq(rig.fake.sessions, 1);
}
END_TEST

START_TEST(a_closed_descriptor_is_replaced)
{
	int fd = session.fd, other;

	rig_launch(KERNEL);
	/* The application closes what it does not know, and opens something there. */
	ck_assert_int_eq(close(fd), 0);
	other = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(dup3(other, fd, O_CLOEXEC), fd);
	close(other);
	rig_await((rig_launch(KERNEL), rig.fake.sessions == 2 && link_is_up()));
	/* Its own descriptor is left alone. */
	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
	rig_again(1);
	ck_assert_uint_eq(rig.session->said_session, 1000);
}
END_TEST

START_TEST(memory_is_asked_for)
{
	uint64_t max_bytes = 0, used_bytes = 0;

	rig.fake.memory_max_units = 100;
	ck_assert_int_eq(link_mem_request(0, 60, sluice_now_ns() + SLUICE_NS_PER_S), 0);
	ck_assert_int_eq(link_mem_request(0, 200, sluice_now_ns() + SLUICE_NS_PER_S), -ENOMEM);
	ck_assert_int_eq(link_mem_query(0, &max_bytes, &used_bytes), 0);
	ck_assert_uint_eq(max_bytes, UINT64_MAX);
	ck_assert_uint_eq(used_bytes, 60 * SLUICE_ESCROW_UNIT);
}
END_TEST

static void *ask_for_memory(void *closure)
{
	(void)link_mem_request(0, 1, sluice_now_ns() + 200 * MS);
	pthread_testcancel();
	return NULL;
}

/* The session is not left locked. */
START_TEST(a_thread_may_be_cancelled_while_it_waits)
{
	pthread_t thread;
	void *ended;

	rig.fake.is_mute = true;
	ck_assert(!pthread_create(&thread, NULL, ask_for_memory, NULL));
	rig_await(session.lock.state);
	ck_assert(!pthread_cancel(thread));
	ck_assert(!pthread_join(thread, &ended));
	ck_assert_ptr_eq(ended, PTHREAD_CANCELED);
	ck_assert_uint_eq(session.lock.state, 0);
	rig.fake.is_mute = false;
}
END_TEST

/* Only what is certain in a child: it has no session, and it does not touch the parent's. */
START_TEST(a_child_of_fork_is_unattached)
{
	uint64_t launches;
	int status;
	pid_t pid;

	rig_launch(KERNEL);
	launches = rig_launches();
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		script_detach();
		_exit(link_is_up() || rig_launch(KERNEL) != CUDA_SUCCESS || session.fd >= 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ck_assert_uint_eq(rig_launches(), launches);
	ck_assert_int_eq(link_mem_request(0, 1, sluice_now_ns() + SLUICE_NS_PER_S), 0);
}
END_TEST

/* ---- fail modes -------------------------------------------------------------------------------- */

static void start_closed(void)
{
	fake_arbiter_init(&rig.fake);
	rig.fake.fail_mode = SLUICE_FAIL_CLOSED;
	rig_attach("be");
}

static void start_hold(void)
{
	fake_arbiter_init(&rig.fake);
	rig.fake.fail_mode = SLUICE_FAIL_HOLD;
	rig.fake.fail_deadline_ns = 30 * MS;
	rig_attach("be");
}

START_TEST(closed_waits_for_the_arbiter)
{
	struct rig_launcher launcher;

	rig_launch(KERNEL);
	fake_arbiter_stop(&rig.fake);
	/* Beyond the interval at which a hang-up is looked for. */
	usleep(6000);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!launcher.done);
	fake_arbiter_start(&rig.fake);
	rig_launcher_join(&launcher);
	ck_assert(link_is_up());
	/* Counted where the arbiter that admits it looks. */
	rig_again(1);
	ck_assert_uint_eq(rig_launches(), 1);
}
END_TEST

START_TEST(hold_waits_up_to_its_deadline)
{
	uint64_t start_ns;

	rig_launch(KERNEL);
	fake_arbiter_stop(&rig.fake);
	usleep(6000);
	fake_grant_changed(rig.session, 0);
	start_ns = sluice_now_ns();
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	ck_assert_uint_ge(sluice_now_ns() - start_ns, 30 * MS);
	fake_arbiter_start(&rig.fake);
}
END_TEST

START_TEST(no_arbiter_is_no_session)
{
	ck_assert(!setenv("SLUICE_SOCKET", "/nonexistent/sock", 1));
	/* Named, and so expected; by what is no folder there can be none. */
	ck_assert_int_eq(link_attach(), -EAGAIN);
	/* Read once. */
	ck_assert(!setenv("SLUICE_SOCKET", "/dev/null/sock", 1));
	ck_assert_int_eq(link_attach(), -EAGAIN);
	link_forked();
	ck_assert_int_eq(link_attach(), -ENOTDIR);
	ck_assert(!link_is_up());
	ck_assert_int_eq(link_mem_request(0, 1, 0), -ENOTCONN);
	link_forked();
}
END_TEST

/* Only the first attempt waits; the answer to a later one is taken up at the next. */
START_TEST(an_arbiter_that_comes_later_is_found)
{
	fake_arbiter_init(&rig.fake);
	fake_arbiter_start(&rig.fake);
	fake_arbiter_stop(&rig.fake);
	ck_assert(!setenv("SLUICE_SOCKET", rig.fake.path, 1));
	ck_assert_int_eq(link_attach(), -EAGAIN);
	fake_arbiter_start(&rig.fake);
	rig_await(link_attach() == 0);
	ck_assert(link_is_up());
	fake_arbiter_stop(&rig.fake);
	fake_arbiter_finish(&rig.fake);
	link_forked();
}
END_TEST

/* ---- registration ----------------------------------------------------------------------------- */

static void forget_device(void)
{
	shim.device[0] = (struct shim_device){0};
	session.device[0] = (struct session_device){0};
}

START_TEST(a_device_is_registered_with_the_next_arbiter)
{
	forget_device();
	fake_arbiter_stop(&rig.fake);
	ck_assert_ptr_null(shim_device(0));
	ck_assert_uint_eq(shim.device[0].state, SHIM_DEVICE_NEW);
	ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	fake_arbiter_start(&rig.fake);
	rig_await(shim_device(0) != NULL);
	rig_again(1);
	rig_launch(KERNEL);
	ck_assert_uint_gt(rig_launches(), 0);
}
END_TEST

/* It is not asked, and waited for, at each launch. */
START_TEST(an_arbiter_that_hangs_is_asked_less_and_less)
{
	uint64_t first_ns, second_ns;

	forget_device();
	rig.fake.is_mute = true;
	ck_assert_ptr_null(shim_device(0));
	first_ns = shim.device[0].registration.interval_ns;
	ck_assert_uint_gt(first_ns, 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(rig_launch(KERNEL), CUDA_SUCCESS);
	shim.device[0].registration.due_ns = 0;
	ck_assert_ptr_null(shim_device(0));
	second_ns = shim.device[0].registration.interval_ns;
	ck_assert_uint_ge(second_ns, 2 * first_ns);
	rig.fake.is_mute = false;
	rig_await(shim_device(0) != NULL);
	ck_assert_uint_eq(rig.fake.sessions, 1);
}
END_TEST

/* What the shim says while standard error is a file. */
static void say_into(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
}

START_TEST(a_refusal_is_said_in_the_arbiter_s_words)
{
	int saved = dup(STDERR_FILENO);
	char path[128], said[512] = "", want[256];
	int fd;

	snprintf(path, sizeof(path), "%s/said", rig.fake.folder);
	ck_assert(!setenv("SLUICE_LOG", "error", 1));
	environment_forked();
	shim_log_init();
	forget_device();
	rig.fake.refusal = "more GPUs than it can hold";
	say_into(path);
	ck_assert_ptr_null(shim_device(0));
	ck_assert_ptr_null(shim_device(0));
	ck_assert_int_eq(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
	ck_assert_int_eq(shim.device[0].state, SHIM_DEVICE_UNMANAGED);
	ck_assert(!unsetenv("SLUICE_LOG"));
	fd = open(path, O_RDONLY);
	ck_assert_int_gt(read(fd, said, sizeof(said) - 1), 0);
	close(fd);
	unlink(path);
	snprintf(want, sizeof(want),
		 "sluice (pid %d): refused: more GPUs than it can hold\n"
		 "sluice (pid %d): device 0: not managed: the arbiter refuses\n",
		 (int)getpid(), (int)getpid());
	ck_assert_str_eq(said, want);
}
END_TEST

START_TEST(only_where_there_is_none_no_arbiter_is_said)
{
	ck_assert_str_eq(link_why(-EAGAIN), "no arbiter");
	ck_assert_str_eq(link_why(-ENOENT), "no arbiter");
	ck_assert_str_eq(link_why(-ECONNREFUSED), "no arbiter");
	ck_assert_str_eq(link_why(LINK_REFUSED), "the arbiter refuses");
	ck_assert_str_eq(link_why(-ECANCELED), "the tenant bypasses");
	ck_assert_ptr_null(link_why(-EPROTO));
	ck_assert_ptr_null(link_why(-ENOTDIR));
}
END_TEST

static void *register_device(void *closure)
{
	*(_Atomic bool *)closure = shim_device(0) != NULL;
	return NULL;
}

/* What holds launches holds the first one as well. */
START_TEST(closed_waits_for_the_registration)
{
	_Atomic bool is_registered = false;
	pthread_t thread;

	forget_device();
	fake_arbiter_stop(&rig.fake);
	ck_assert(!pthread_create(&thread, NULL, register_device, &is_registered));
	usleep(50000);
	fake_arbiter_start(&rig.fake);
	pthread_join(thread, NULL);
	ck_assert(is_registered);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_link");
	TCase *open_case = tcase_create("open"), *closed = tcase_create("closed");
	TCase *hold = tcase_create("hold"), *alone = tcase_create("alone");
	TCase *old = tcase_create("old");

	tcase_add_checked_fixture(open_case, rig_start, rig_finish);
	tcase_set_timeout(open_case, 60);
	tcase_add_test(open_case, hello_names_the_tenant_and_no_session);
	tcase_add_test(open_case, a_dead_arbiter_opens_the_gates);
	tcase_add_test(open_case, a_device_is_registered_with_the_next_arbiter);
	tcase_add_test(open_case, an_arbiter_that_hangs_is_asked_less_and_less);
	tcase_add_test(open_case, a_refusal_is_said_in_the_arbiter_s_words);
	tcase_add_test(open_case, only_where_there_is_none_no_arbiter_is_said);
	tcase_add_test(open_case, a_held_launch_goes_on_when_the_arbiter_dies);
	tcase_add_test(open_case, a_session_is_taken_up_again);
	tcase_add_test(open_case, a_cleared_environment_does_not_lose_the_arbiter);
	tcase_add_test(open_case, a_launch_that_was_noted_on_the_page_before_is_not_lost);
	tcase_add_test(open_case, memory_in_use_moves_to_the_new_page);
	tcase_add_test(open_case, a_hung_arbiter_counts_as_gone_until_it_beats_again);
	tcase_add_test(open_case, a_closed_descriptor_is_replaced);
	tcase_add_test(open_case, memory_is_asked_for);
	tcase_add_test(open_case, a_thread_may_be_cancelled_while_it_waits);
	tcase_add_test(open_case, a_child_of_fork_is_unattached);
	suite_add_tcase(suite, open_case);
	tcase_add_checked_fixture(old, start_old, rig_finish);
	tcase_add_test(old, an_arbiter_of_the_version_before_is_served);
	suite_add_tcase(suite, old);
	tcase_add_checked_fixture(closed, start_closed, rig_finish);
	tcase_add_test(closed, closed_waits_for_the_arbiter);
	tcase_add_test(closed, closed_waits_for_the_registration);
	suite_add_tcase(suite, closed);
	tcase_add_checked_fixture(hold, start_hold, rig_finish);
	tcase_add_test(hold, hold_waits_up_to_its_deadline);
	suite_add_tcase(suite, hold);
	tcase_add_test(alone, no_arbiter_is_no_session);
	tcase_add_test(alone, an_arbiter_that_comes_later_is_found);
	suite_add_tcase(suite, alone);
	return rig_run(suite);
}
