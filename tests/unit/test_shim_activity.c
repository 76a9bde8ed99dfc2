/* SPDX-License-Identifier: Apache-2.0 */
/* Activity pages: which of them count, what is read of them, and their owner's side. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "activity.h"
#include "gate_decide.h"
#include "gate_wait.h"
#include "shim_rig.h"

static struct gate *gate;

static void setup(void)
{
	rig_start();
	gate = gate_at(0);
}

static struct sluice_activity *make_page(size_t bytes, int *ret_fd)
{
	void *page;

	*ret_fd = memfd_create("activity", MFD_CLOEXEC);
	ck_assert_int_ge(*ret_fd, 0);
	ck_assert_int_eq(ftruncate(*ret_fd, (off_t)bytes), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	return page;
}

static uint32_t watched(uint32_t slot, uint32_t generation)
{
	atomic_store(&rig.grant->activity[slot].generation, generation);
	futex_lock(&gate->lock);
	activity_refresh(gate);
	futex_unlock(&gate->lock);
	return gate->watch_count;
}

static struct gate_view look(uint64_t now_ns)
{
	struct gate_view view = {0};

	futex_lock(&gate->lock);
	activity_look(gate, now_ns, &view);
	futex_unlock(&gate->lock);
	return view;
}

/* One wait of a held launch on a page that is idle again by the time that it ends. */
static void wait_on(struct sluice_activity *page, bool owner_wakes)
{
	struct gate_hold hold = {.reason = GATE_ACTIVE, .until_ns = 1};
	struct gate_view view = {.is_told = true};

	view.activity = &page->device[0];
	view.wake = atomic_load(&page->device[0].wake);
	if (owner_wakes)
		atomic_fetch_add(&page->device[0].wake, 1);
	gate_wait(gate, &view, &hold, sluice_now_ns());
}

/* Whoever goes idle wakes those who sleep. Of one that does not, the word is worth little. */
START_TEST(an_owner_that_wakes_nobody_is_noticed)
{
	struct sluice_activity *page;
	int fd;

	page = make_page(4096, &fd);
	close(fd);
	for (int i = 0; i < 2; i++)
		wait_on(page, false);
	ck_assert_uint_eq(atomic_load(&gate->silences), 2);
	ck_assert_ptr_eq(atomic_load(&gate->silent), &page->device[0]);
	wait_on(page, true);
	ck_assert_uint_eq(atomic_load(&gate->silences), 0);
	for (int i = 0; i < 5; i++)
		wait_on(page, false);
	ck_assert_uint_eq(atomic_load(&gate->silences), 3);
	/* It is active still: that says nothing. */
	atomic_store(&page->device[0].word, (uint64_t)1 << 32 | 1);
	wait_on(page, true);
	ck_assert_uint_eq(atomic_load(&gate->silences), 3);
}
END_TEST

START_TEST(a_page_counts_while_the_grant_names_its_generation)
{
	struct sluice_msg_activity about = {.slot = 2, .generation = 9};
	int fd;

	make_page(4096, &fd);
	ck_assert_int_eq(activity_see(&about, fd), 0);
	close(fd);
	ck_assert_uint_eq(watched(2, 0), 0);
	ck_assert_uint_eq(watched(2, 8), 0);
	ck_assert_uint_eq(watched(2, 9), 1);
	activity_drop(&about);
	ck_assert_uint_eq(watched(2, 9), 0);
}
END_TEST

START_TEST(what_is_no_page_is_refused)
{
	struct sluice_msg_activity about = {.slot = 2, .generation = 9};
	int fd, small;

	make_page(4096, &fd);
	make_page(64, &small);
	/* It would fault where it is read. */
	ck_assert_int_eq(activity_see(&about, small), -EINVAL);
	ck_assert_int_eq(activity_see(&about, -1), -EINVAL);
	about.slot = SLUICE_MAX_ACTIVITY;
	ck_assert_int_eq(activity_see(&about, fd), -EINVAL);
	about.slot = 2;
	about.device = SLUICE_MAX_DEVICES;
	ck_assert_int_eq(activity_see(&about, fd), -EINVAL);
	about.device = 0;
	about.owner_device = SLUICE_MAX_DEVICES;
	ck_assert_int_eq(activity_see(&about, fd), -EINVAL);
	about.owner_device = 0;
	about.generation = 0;
	ck_assert_int_eq(activity_see(&about, fd), -EINVAL);
	ck_assert_uint_eq(watched(2, 9), 0);
	close(fd);
	close(small);
}
END_TEST

START_TEST(the_owner_s_device_is_looked_at)
{
	struct sluice_msg_activity about = {.slot = 0, .generation = 1, .owner_device = 3};
	struct sluice_activity *page;
	int fd;

	page = make_page(4096, &fd);
	ck_assert_int_eq(activity_see(&about, fd), 0);
	close(fd);
	ck_assert_uint_eq(watched(0, 1), 1);
	atomic_store(&page->device[0].word, 1);
	ck_assert(!look(100).active);
	atomic_store(&page->device[3].word, 7ull << 32 | 2);
	atomic_store(&page->device[3].drain_ns, 500);
	ck_assert(look(100).active);
	ck_assert_uint_eq(look(100).drain_ns, 500);
}
END_TEST

/* As the arbiter has seen it in that epoch; the next request is another matter. */
START_TEST(an_epoch_is_still_and_the_next_is_not)
{
	struct sluice_msg_activity about = {.slot = 3, .generation = 1, .owner_device = 2};
	struct sluice_activity *page;
	int fd;

	page = make_page(4096, &fd);
	ck_assert_int_eq(activity_see(&about, fd), 0);
	close(fd);
	ck_assert_uint_eq(watched(3, 1), 1);
	atomic_store(&page->device[2].word, 7ull << 32 | 1);
	ck_assert(!look(100).is_still);
	atomic_store(&rig.grant->activity[3].still_epoch, 6);
	ck_assert(!look(100).is_still);
	atomic_store(&rig.grant->activity[3].still_epoch, 7);
	ck_assert(look(100).is_still);
	atomic_store(&page->device[2].word, 8ull << 32 | 1);
	ck_assert(!look(100).is_still);
	atomic_store(&rig.grant->activity[3].still_epoch, 0);
	atomic_store(&page->device[2].word, SLUICE_ACTIVITY_RAISED);
	ck_assert(!look(100).is_still);
}
END_TEST

START_TEST(the_latest_idle_time_counts_and_none_from_the_future)
{
	struct sluice_activity *pages[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct sluice_msg_activity about = {.slot = i, .generation = i + 1};
		int fd;

		pages[i] = make_page(4096, &fd);
		ck_assert_int_eq(activity_see(&about, fd), 0);
		close(fd);
		watched(i, i + 1);
	}
	ck_assert_uint_eq(gate->watch_count, 2);
	ck_assert_uint_eq(look(1000).idle_since_ns, 0);
	atomic_store(&pages[0]->device[0].idle_since_ns, 700);
	atomic_store(&pages[1]->device[0].idle_since_ns, 400);
	ck_assert_uint_eq(look(1000).idle_since_ns, 700);
	atomic_store(&pages[1]->device[0].idle_since_ns, UINT64_MAX);
	ck_assert_uint_eq(look(1000).idle_since_ns, 1000);
}
END_TEST

START_TEST(a_new_page_begins_with_what_is_marked)
{
	struct sluice_msg_activity about = {.generation = 5};
	struct sluice_activity *first, *second;
	int fd;

	first = make_page(4096, &fd);
	ck_assert_int_eq(activity_own(&about, fd), 0);
	close(fd);
	futex_lock(&gate->lock);
	activity_mark(gate, 1000, 0);
	activity_mark(gate, 1000, 0);
	futex_unlock(&gate->lock);
	ck_assert_uint_eq(atomic_load(&first->device[0].word), 2ull << 32 | 2);
	second = make_page(4096, &fd);
	ck_assert_int_eq(activity_own(&about, fd), 0);
	close(fd);
	ck_assert_uint_eq(sluice_activity_active(atomic_load(&second->device[0].word)), 2);
	futex_lock(&gate->lock);
	activity_clear(gate, 2000);
	activity_clear(gate, 3000);
	futex_unlock(&gate->lock);
	ck_assert_uint_eq(sluice_activity_active(atomic_load(&second->device[0].word)), 0);
	ck_assert_uint_eq(atomic_load(&second->device[0].idle_since_ns), 3000);
	ck_assert_uint_eq(atomic_load(&second->device[0].wake), 1);
	/* The first is nobody's any more. */
	ck_assert_uint_eq(sluice_activity_active(atomic_load(&first->device[0].word)), 2);
}
END_TEST

static int own_a_page(struct sluice_activity **ret_page)
{
	struct sluice_msg_activity about = {.generation = 5};
	int fd, result;

	*ret_page = make_page(4096, &fd);
	result = activity_own(&about, fd);
	close(fd);
	return result;
}

/* Is shim.near where the page is now? */
static bool is_near(struct sluice_activity *page)
{
	const struct sluice_activity *near = (const struct sluice_activity *)shim.near;

	atomic_store(&page->device[7].drain_ns, 4711);
	return atomic_load(&near->device[7].drain_ns) == 4711;
}

static int in_a_child(int (*run)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		gate_forked();
		_exit(run());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "ended with %x", status);
	return WEXITSTATUS(status);
}

static int own_in_a_child(void)
{
	struct sluice_activity *near = (struct sluice_activity *)shim.near, *page;

	/* Its own memory, and no hole. */
	atomic_store(&near->device[7].drain_ns, 815);
	return own_a_page(&page) ? 1 : is_near(page) ? 0 : 2;
}

START_TEST(the_own_page_lies_beside_the_flags)
{
	struct sluice_activity *page;

	ck_assert_int_eq(own_a_page(&page), 0);
	ck_assert(is_near(page));
	ck_assert_int_eq(in_a_child(own_in_a_child), 0);
	ck_assert_uint_eq(atomic_load(&page->device[7].drain_ns), 4711);
	ck_assert(is_near(page));
}
END_TEST

/* Once it is mapped nobody else may map it to be written; it is announced once for each device. */
START_TEST(a_sealed_page_is_owned_once_more)
{
	struct sluice_msg_activity about = {.generation = 5};
	struct sluice_activity *page;
	int fd = memfd_create("activity", MFD_CLOEXEC | MFD_ALLOW_SEALING), other_fd;

	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(activity_own(&about, fd), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	about.device = about.owner_device = 1;
	ck_assert_int_eq(activity_own(&about, fd), 0);
	ck_assert(is_near(page));
	/* Another one is refused, and the page stays. */
	other_fd = memfd_create("activity", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(other_fd, 4096), 0);
	ck_assert_int_eq(fcntl(other_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	ck_assert_int_eq(activity_own(&about, other_fd), -EPERM);
	ck_assert(is_near(page));
	close(fd);
	close(other_fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_activity");
	TCase *tcase = tcase_create("activity");

	tcase_add_checked_fixture(tcase, setup, rig_finish);
	tcase_add_test(tcase, the_own_page_lies_beside_the_flags);
	tcase_add_test(tcase, a_sealed_page_is_owned_once_more);
	tcase_add_test(tcase, an_owner_that_wakes_nobody_is_noticed);
	tcase_add_test(tcase, a_page_counts_while_the_grant_names_its_generation);
	tcase_add_test(tcase, what_is_no_page_is_refused);
	tcase_add_test(tcase, the_owner_s_device_is_looked_at);
	tcase_add_test(tcase, an_epoch_is_still_and_the_next_is_not);
	tcase_add_test(tcase, the_latest_idle_time_counts_and_none_from_the_future);
	tcase_add_test(tcase, a_new_page_begins_with_what_is_marked);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
