/* SPDX-License-Identifier: Apache-2.0 */
/* Markers: where they are placed, what they show, when a word is given again. */
#include <string.h>

#include "environment.h"
#include "inflight.h"
#include "shim_rig.h"
#include "stream_state.h"

#define KERNEL 0x7000
#define A SCRIPT_STREAM(1)
#define B SCRIPT_STREAM(2)

static struct gate *gate;

/* Without a window a marker is due every 1 ms of work. */
static void setup(void)
{
	rig_start();
	rig_teach(KERNEL, 600 * US);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	gate = gate_at(0);
}

static void launch_three(CUstream stream)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(rig_launch_on(KERNEL, stream), CUDA_SUCCESS);
}

static void poll(void)
{
	futex_lock(&gate->lock);
	inflight_poll(gate, sluice_now_ns());
	futex_unlock(&gate->lock);
}

static uint64_t in_flight(void)
{
	uint64_t ns;

	futex_lock(&gate->lock);
	ns = gate_in_flight(gate);
	futex_unlock(&gate->lock);
	return ns;
}

START_TEST(markers_come_before_launches_and_are_few)
{
	launch_three(A);
	ck_assert_str_eq(script_log(A), "KKWK");
	launch_three(A);
	ck_assert_str_eq(script_log(A), "KKWKKWKK");
}
END_TEST

START_TEST(a_marker_that_has_landed_shows_what_it_covers)
{
	launch_three(A);
	ck_assert_uint_eq(in_flight(), 1800 * US);
	script_complete(A, 2);
	poll();
	ck_assert_uint_eq(in_flight(), 1800 * US);
	script_complete(A, 1);
	poll();
	ck_assert_uint_eq(in_flight(), 600 * US);
	script_complete(A, UINT32_MAX);
	poll();
	/* What no marker covers is shown by a synchronisation. */
	ck_assert_uint_eq(in_flight(), 600 * US);
	cuStreamSynchronize(A);
	ck_assert_uint_eq(in_flight(), 0);
}
END_TEST

START_TEST(the_arbiter_sees_which_sequence_is_awaited)
{
	launch_three(A);
	ck_assert_uint_eq(atomic_load(&rig.page->marker_last[0]), 1);
	ck_assert_uint_eq(atomic_load(&rig.page->marker[0]), 0);
	script_complete(A, UINT32_MAX);
	ck_assert_uint_eq(atomic_load(&rig.page->marker[0]), 1);
}
END_TEST

START_TEST(each_stream_has_its_own_word)
{
	launch_three(A);
	launch_three(B);
	ck_assert_str_eq(script_log(B), "KKWK");
	script_complete(B, UINT32_MAX);
	ck_assert_uint_eq(atomic_load(&rig.page->marker[0]), 0);
	ck_assert_uint_eq(atomic_load(&rig.page->marker[1]), 1);
	poll();
	ck_assert_uint_eq(in_flight(), 2400 * US);
}
END_TEST

START_TEST(a_word_is_reused_only_after_its_last_sequence_landed)
{
	launch_three(A);
	cuStreamDestroy_v2(A);
	/* The last marker went in with the destruction; neither has landed. */
	ck_assert_str_eq(script_log(A), "KKWKW");
	poll();
	launch_three(B);
	ck_assert_uint_eq(atomic_load(&rig.page->marker_last[0]), 2);
	ck_assert_uint_eq(atomic_load(&rig.page->marker_last[1]), 1);
	script_complete(A, UINT32_MAX);
	poll();
	ck_assert_uint_eq(in_flight(), 1800 * US);
	launch_three(SCRIPT_STREAM(3));
	ck_assert_uint_eq(atomic_load(&rig.page->marker_last[0]), 3);
	ck_assert_uint_eq(atomic_load(&rig.page->marker_last[2]), 0);
}
END_TEST

START_TEST(a_handle_that_comes_back_is_a_stream_again)
{
	CUstream stream;

	rig_launch_on(KERNEL, SCRIPT_STREAM(0));
	cuStreamDestroy_v2(SCRIPT_STREAM(0));
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	poll();
	ck_assert_uint_eq(in_flight(), 0);
	ck_assert_int_eq(cuStreamCreate(&stream, 0), CUDA_SUCCESS);
	ck_assert_ptr_eq(stream, SCRIPT_STREAM(0));
	rig_launch_on(KERNEL, stream);
	ck_assert_uint_eq(in_flight(), 600 * US);
	cuStreamSynchronize(stream);
	ck_assert_uint_eq(in_flight(), 0);
}
END_TEST

START_TEST(without_memory_operations_events_serve)
{
	script.has_memory_ops = false;
	launch_three(A);
	ck_assert_str_eq(script_log(A), "KKEK");
	script_complete(A, 2);
	poll();
	ck_assert_uint_eq(in_flight(), 1800 * US);
	script_complete(A, 1);
	poll();
	ck_assert_uint_eq(in_flight(), 600 * US);
}
END_TEST

/* A second thread may launch on blocking streams: nothing goes into the legacy stream then. */
static void *other_thread(void *closure)
{
	rig_launch_on(KERNEL, B);
	cuStreamSynchronize(B);
	return NULL;
}

START_TEST(the_legacy_stream_is_asked_once_there_are_two_threads)
{
	pthread_t thread;

	launch_three(NULL);
	ck_assert_str_eq(script_log(NULL), "KKWK");
	cuStreamSynchronize(NULL);
	ck_assert(!pthread_create(&thread, NULL, other_thread, NULL));
	pthread_join(thread, NULL);
	launch_three(NULL);
	ck_assert_str_eq(script_log(NULL), "KKWKKKK");
	poll();
	ck_assert_uint_eq(in_flight(), 1800 * US);
	script_complete(NULL, UINT32_MAX);
	poll();
	ck_assert_uint_eq(in_flight(), 0);
}
END_TEST

START_TEST(the_registration_goes_with_its_context)
{
	launch_three(A);
	ck_assert_uint_eq(script.registrations, 1);
	script_complete(A, UINT32_MAX);
	stream_context_dying(SCRIPT_CONTEXT, -1);
	ck_assert_uint_eq(script.registrations, 0);
	poll();
	ck_assert_uint_eq(in_flight(), 0);
	/* The next context registers anew. */
	launch_three(A);
	ck_assert_uint_eq(script.registrations, 1);
}
END_TEST

START_TEST(a_marker_on_the_way_keeps_the_registration)
{
	launch_three(A);
	stream_context_dying(SCRIPT_CONTEXT, -1);
	ck_assert_uint_eq(script.registrations, 1);
}
END_TEST

START_TEST(the_ring_of_markers_is_bounded)
{
	rig_teach(0x9000, 2 * MS);
	uint32_t before = script_count(SCRIPT_WRITE);
	for (int i = 0; i < 4 * STREAM_MARKS; i++)
		rig_launch_on(0x9000, B);
	ck_assert_uint_eq(script_count(SCRIPT_WRITE) - before, STREAM_MARKS);
	script_complete(B, UINT32_MAX);
	poll();
	ck_assert_uint_eq(in_flight(), (3 * STREAM_MARKS) * 2 * MS);
	rig_launch_on(0x9000, B);
	script_complete(B, UINT32_MAX);
	poll();
	ck_assert_uint_eq(in_flight(), 2 * MS);
}
END_TEST

START_TEST(the_interval_follows_the_window)
{
	ck_assert_uint_eq(inflight_interval_ns(300 * US, false), 100 * US);
	ck_assert_uint_eq(inflight_interval_ns(30 * US, false), 50 * US);
	ck_assert_uint_eq(inflight_interval_ns(UINT64_MAX, false), 1 * MS);
	ck_assert_uint_gt(inflight_interval_ns(300 * US, true), 1 * MS);
}
END_TEST

/* With few connections to the GPU, a marker of one stream keeps others waiting. */
START_TEST(markers_are_rarer_with_few_connections)
{
	static const struct {
		const char *set;
		uint64_t interval_ns;
	} cases[] = {{"1", 800 * US},  {"2", 400 * US}, {"7", 100 * US},    {"8", 100 * US},
		     {"12", 100 * US}, {"0", 100 * US}, {"many", 100 * US}, {"", 100 * US}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(setenv("CUDA_DEVICE_MAX_CONNECTIONS", cases[i].set, 1), 0);
		environment_forked();
		ck_assert_msg(inflight_interval_ns(300 * US, false) == cases[i].interval_ns, "%s",
			      cases[i].set);
	}
	unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
	environment_forked();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_inflight");
	TCase *tcase = tcase_create("inflight");

	tcase_add_checked_fixture(tcase, setup, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, markers_come_before_launches_and_are_few);
	tcase_add_test(tcase, a_marker_that_has_landed_shows_what_it_covers);
	tcase_add_test(tcase, the_arbiter_sees_which_sequence_is_awaited);
	tcase_add_test(tcase, each_stream_has_its_own_word);
	tcase_add_test(tcase, a_word_is_reused_only_after_its_last_sequence_landed);
	tcase_add_test(tcase, a_handle_that_comes_back_is_a_stream_again);
	tcase_add_test(tcase, without_memory_operations_events_serve);
	tcase_add_test(tcase, the_legacy_stream_is_asked_once_there_are_two_threads);
	tcase_add_test(tcase, the_registration_goes_with_its_context);
	tcase_add_test(tcase, a_marker_on_the_way_keeps_the_registration);
	tcase_add_test(tcase, the_ring_of_markers_is_bounded);
	tcase_add_test(tcase, the_interval_follows_the_window);
	tcase_add_test(tcase, markers_are_rarer_with_few_connections);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
