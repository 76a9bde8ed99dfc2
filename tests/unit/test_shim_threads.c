/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that launch, against one another and against an arbiter that opens and closes. */
#include "shim_rig.h"

#define THREADS 4
#define LAUNCHES 3000
#define KERNEL 0x7000

static _Atomic uint32_t finished;

static void *launch_many(void *closure)
{
	uintptr_t number = (uintptr_t)closure;

	for (int i = 0; i < LAUNCHES; i++) {
		rig_launch_on(KERNEL + (uintptr_t)(i % 7) * 16, SCRIPT_STREAM(number));
		if (i % 100 == 99)
			cuStreamSynchronize(SCRIPT_STREAM(number));
	}
	atomic_fetch_add(&finished, 1);
	return NULL;
}

static void start(pthread_t *threads)
{
	finished = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert(!pthread_create(&threads[i], NULL, launch_many, (void *)i));
}

static void join(pthread_t *threads)
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

START_TEST(every_launch_is_counted_once)
{
	pthread_t threads[THREADS];

	start(threads);
	join(threads);
	ck_assert_uint_eq(rig_launches(), THREADS * LAUNCHES);
	cuCtxSynchronize();
	ck_assert_uint_eq(atomic_load(&rig.page->counters.completed_ns), rig_launched());
	ck_assert_uint_eq(atomic_load(&rig.page->counters.drained), 1);
}
END_TEST

START_TEST(gates_that_open_and_close_lose_nothing)
{
	pthread_t threads[THREADS];

	atomic_store(&rig.grant->window_ns, 400 * US);
	fake_grant_changed(rig.session, 0);
	start(threads);
	while (finished < THREADS) {
		fake_gate_set(rig.session, 0, false);
		usleep(300);
		fake_gate_set(rig.session, 0, true);
		usleep(300);
	}
	join(threads);
	ck_assert_uint_eq(rig_launches(), THREADS * LAUNCHES);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.sleeping), 0);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held_since_ns), 0);
}
END_TEST

/* The launch that finds the stream idle and the drain that finds it empty, side by side. */
static void *request_many(void *closure)
{
	for (int i = 0; i < LAUNCHES; i++) {
		rig_launch(KERNEL);
		if (i % 3 == 0)
			cuStreamSynchronize(SCRIPT_STREAM(0));
	}
	return NULL;
}

START_TEST(launches_and_drains_of_one_stream_agree)
{
	pthread_t threads[THREADS];

	rig_await(atomic_load(&rig.session->activity));
	rig_launch(KERNEL);
	for (int i = 0; i < THREADS; i++)
		ck_assert(!pthread_create(&threads[i], NULL, request_many, NULL));
	join(threads);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(sluice_activity_active(atomic_load(
				  &atomic_load(&rig.session->activity)->device[0].word)),
			  0);
	ck_assert_uint_eq(rig_launches(), THREADS * LAUNCHES + 1);
	rig_launch(KERNEL);
	ck_assert_uint_eq(sluice_activity_active(atomic_load(
				  &atomic_load(&rig.session->activity)->device[0].word)),
			  1);
}
END_TEST

static void *launch_once(void *closure)
{
	rig_launch(KERNEL);
	return NULL;
}

START_TEST(more_threads_than_slots_share_the_last)
{
	enum { MANY = SLUICE_MAX_SLOTS + 20 };
	pthread_t threads[MANY];

	fake_gate_set(rig.session, 0, false);
	for (int i = 0; i < MANY; i++)
		ck_assert(!pthread_create(&threads[i], NULL, launch_once, NULL));
	/* All alive at once: each is held. */
	rig_await(atomic_load(&rig.page->counters.sleeping) == MANY);
	fake_gate_set(rig.session, 0, true);
	for (int i = 0; i < MANY; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(rig_launches(), MANY);
	ck_assert_uint_gt(atomic_load(&rig.page->slot[SLUICE_MAX_SLOTS - 1].launches), 1);
}
END_TEST

START_TEST(a_dead_thread_s_slot_is_taken_over)
{
	pthread_t thread;

	for (int i = 0; i < 3 * SLUICE_MAX_SLOTS; i++) {
		ck_assert(!pthread_create(&thread, NULL, launch_once, NULL));
		pthread_join(thread, NULL);
	}
	ck_assert_uint_eq(rig_launches(), 3 * SLUICE_MAX_SLOTS);
	ck_assert_uint_eq(atomic_load(&rig.page->slot[SLUICE_MAX_SLOTS - 1].launches), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_threads");
	TCase *tcase = tcase_create("best-effort"), *latency = tcase_create("latency");

	tcase_add_checked_fixture(tcase, rig_start, rig_finish);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, every_launch_is_counted_once);
	tcase_add_test(tcase, gates_that_open_and_close_lose_nothing);
	tcase_add_test(tcase, more_threads_than_slots_share_the_last);
	tcase_add_test(tcase, a_dead_thread_s_slot_is_taken_over);
	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(latency, rig_start_latency, rig_finish);
	tcase_set_timeout(latency, 120);
	tcase_add_test(latency, launches_and_drains_of_one_stream_agree);
	suite_add_tcase(suite, latency);
	return rig_run(suite);
}
