/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of streams, threads, contexts and pages, and what of them outlasts others. */
#include "gate.h"
#include "inflight.h"
#include "link.h"
#include "shim_rig.h"
#include "stream_state.h"

#define KERNEL 0x7000
#define HANDLE(n) SCRIPT_STREAM(1000 + (n))
#define EVENT ((CUevent)(uintptr_t)200)

static void poll(void)
{
	futex_lock(&gate_at(0)->lock);
	inflight_poll(gate_at(0), sluice_now_ns());
	futex_unlock(&gate_at(0)->lock);
}

static uint64_t in_flight(void)
{
	uint64_t ns;

	futex_lock(&gate_at(0)->lock);
	ns = gate_in_flight(gate_at(0));
	futex_unlock(&gate_at(0)->lock);
	return ns;
}

static CUresult launch_per_thread(void)
{
	return cuLaunchKernel_ptsz((CUfunction)KERNEL, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

/* A window that nothing but the shown end of work makes room in. */
static void window(uint64_t window_ns, uint64_t progress_ns)
{
	atomic_store(&rig.grant->window_ns, window_ns);
	atomic_store(&rig.grant->progress_ns, progress_ns);
	fake_grant_changed(rig.session, 0);
}

static struct {
	pthread_t thread;
	CUstream stream; /* NULL: the thread's own */
	_Atomic bool done;
} held;

static void *launch_held(void *closure)
{
	if (held.stream)
		rig_launch_on(KERNEL, held.stream);
	else
		launch_per_thread();
	held.done = true;
	return NULL;
}

static void is_held_while_closed(CUstream stream)
{
	held.stream = stream;
	held.done = false;
	fake_gate_set(rig.session, 0, false);
	ck_assert(!pthread_create(&held.thread, NULL, launch_held, NULL));
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert(!held.done);
	fake_gate_set(rig.session, 0, true);
	pthread_join(held.thread, NULL);
}

/* ---- numbers -------------------------------------------------------------------------------------- */

START_TEST(streams_without_end_are_all_gated)
{
	for (uintptr_t i = 0; i < 3 * STREAM_STATES; i++) {
		ck_assert_int_eq(rig_launch_on(KERNEL, HANDLE(i)), CUDA_SUCCESS);
		cuStreamDestroy_v2(HANDLE(i));
	}
	ck_assert_uint_eq(rig_launches(), 3 * STREAM_STATES);
	is_held_while_closed(HANDLE(3 * STREAM_STATES));
	cuStreamSynchronize(HANDLE(3 * STREAM_STATES));
	poll();
	ck_assert_uint_eq(in_flight(), 0);
}
END_TEST

START_TEST(streams_beyond_the_table_are_gated_and_counted)
{
	uint64_t launched_ns;

	for (uintptr_t i = 0; i < GATE_STREAMS + 100; i++)
		ck_assert_int_eq(rig_launch_on(KERNEL, HANDLE(i)), CUDA_SUCCESS);
	ck_assert_uint_eq(rig_launches(), GATE_STREAMS + 100);
	is_held_while_closed(HANDLE(GATE_STREAMS + 50));
	/* Nothing is known of their end: they do not fill the window. */
	cuCtxSynchronize();
	script.is_immediate = false;
	launched_ns = rig_launched();
	rig_launch_on(KERNEL, HANDLE(GATE_STREAMS + 50));
	ck_assert_uint_gt(rig_launched(), launched_ns);
	poll();
	ck_assert_uint_eq(in_flight(), 0);
	ck_assert_uint_eq(script.faults, 0);
	/* Room again: seen as any other. */
	for (uintptr_t i = 0; i < 100; i++)
		cuStreamDestroy_v2(HANDLE(i));
	script_complete(HANDLE(0), UINT32_MAX);
	poll();
	rig_launch_on(KERNEL, HANDLE(GATE_STREAMS + 50));
	ck_assert_uint_gt(in_flight(), 0);
}
END_TEST

/* Marks that a synchronisation made superfluous do not keep a stream's state. */
START_TEST(a_stream_that_was_waited_for_leaves_nothing)
{
	rig_teach(KERNEL, 600 * US);
	script.is_immediate = false;
	for (int i = 0; i < 3; i++)
		rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	cuStreamSynchronize(SCRIPT_STREAM(0));
	cuStreamSynchronize(SCRIPT_STREAM(1));
	ck_assert_uint_eq(gate_at(0)->stream_count, 2);
	cuStreamDestroy_v2(SCRIPT_STREAM(0));
	cuStreamDestroy_v2(SCRIPT_STREAM(1));
	poll();
	ck_assert_uint_eq(gate_at(0)->stream_count, 0);
}
END_TEST

static _Atomic bool hall_is_open;

static void *wait_in_hall(void *closure)
{
	launch_per_thread();
	while (!hall_is_open)
		usleep(500);
	return NULL;
}

static void *launch_once(void *closure)
{
	launch_per_thread();
	return NULL;
}

/* Threads that find all slots taken have numbers of their own, and so default streams. */
START_TEST(threads_without_end_are_all_gated)
{
	pthread_t hall[SLUICE_MAX_SLOTS], thread;

	hall_is_open = false;
	for (int i = 0; i < SLUICE_MAX_SLOTS; i++)
		ck_assert(!pthread_create(&hall[i], NULL, wait_in_hall, NULL));
	rig_await(rig_launches() == SLUICE_MAX_SLOTS);
	for (int i = 0; i < 2 * STREAM_STATES; i++) {
		ck_assert(!pthread_create(&thread, NULL, launch_once, NULL));
		pthread_join(thread, NULL);
	}
	is_held_while_closed(NULL);
	hall_is_open = true;
	for (int i = 0; i < SLUICE_MAX_SLOTS; i++)
		pthread_join(hall[i], NULL);
	ck_assert_uint_eq(rig_launches(), SLUICE_MAX_SLOTS + 2 * STREAM_STATES + 1);
}
END_TEST

START_TEST(a_thread_that_is_gone_holds_the_others_once)
{
	pthread_t thread;

	rig_teach(KERNEL, 250 * US);
	script.is_immediate = false;
	window(300 * US, 10 * MS);
	ck_assert(!pthread_create(&thread, NULL, launch_once, NULL));
	pthread_join(thread, NULL);
	for (int i = 0; i < 5; i++) {
		rig_launch(KERNEL);
		script_complete(SCRIPT_STREAM(0), UINT32_MAX);
		cuStreamSynchronize(SCRIPT_STREAM(0));
	}
	ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), 1);
}
END_TEST

/* ---- captures ------------------------------------------------------------------------------------- */

START_TEST(a_capture_elsewhere_does_not_fill_the_pipe)
{
	struct rig_launcher launcher;

	rig_teach(KERNEL, 250 * US);
	script.is_immediate = false;
	window(300 * US, UINT64_MAX);
	ck_assert_int_eq(cuStreamBeginCapture_v2(SCRIPT_STREAM(3), CU_STREAM_CAPTURE_MODE_GLOBAL),
			 CUDA_SUCCESS);
	rig_launch(KERNEL);
	rig_launcher_start(&launcher, KERNEL);
	/* A held launch leaves a marker behind what is in flight. */
	rig_await(script_count(SCRIPT_WRITE) > 0);
	ck_assert(!launcher.done);
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	rig_launcher_join(&launcher);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.forced), 0);
	ck_assert_str_eq(script_log(SCRIPT_STREAM(3)), "");
}
END_TEST

static _Atomic bool is_inside, is_through;

static void *begin_capture(void *closure)
{
	while (!is_inside)
		usleep(100);
	cuStreamBeginCapture_v2(SCRIPT_STREAM(0), CU_STREAM_CAPTURE_MODE_RELAXED);
	is_through = true;
	return NULL;
}

static void *destroy_stream(void *closure)
{
	while (!is_inside)
		usleep(100);
	cuStreamDestroy_v2(SCRIPT_STREAM(0));
	is_through = true;
	return NULL;
}

/* Long enough for the other thread to get through, if nothing keeps it. */
static void linger(CUstream stream)
{
	if (is_inside)
		return;
	is_inside = true;
	for (int i = 0; i < 100 && !is_through; i++)
		usleep(1000);
	ck_assert(!is_through);
}

/* A thread that is held marks all streams; one of them is taken by its owner meanwhile. */
static void while_a_marker_is_placed(void *(*act)(void *))
{
	struct rig_launcher launcher;
	pthread_t thread;

	rig_teach(KERNEL, 250 * US);
	script.is_immediate = false;
	window(300 * US, UINT64_MAX);
	rig_launch(KERNEL);
	is_inside = is_through = false;
	script.on_write = linger;
	ck_assert(!pthread_create(&thread, NULL, act, NULL));
	rig_launcher_start(&launcher, KERNEL);
	pthread_join(thread, NULL);
	ck_assert(is_through);
	script.on_write = NULL;
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	rig_launcher_join(&launcher);
}

START_TEST(a_capture_begins_after_the_marker_that_is_being_placed)
{
	while_a_marker_is_placed(begin_capture);
}
END_TEST

START_TEST(a_stream_goes_after_the_marker_that_is_being_placed)
{
	while_a_marker_is_placed(destroy_stream);
}
END_TEST

/* ---- contexts --------------------------------------------------------------------------------------- */

static void launch_three(CUstream stream)
{
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(rig_launch_on(KERNEL, stream), CUDA_SUCCESS);
}

static void another_context(CUcontext next)
{
	rig_teach(KERNEL, 600 * US);
	fake_grant_changed(rig.session, 0);
	script.has_memory_ops = false;
	script.is_immediate = false;
	/* All of the ring has had its event. */
	while (script_count(SCRIPT_EVENT) < STREAM_MARKS + 1) {
		launch_three(SCRIPT_STREAM(1));
		script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	}
	stream_context_dying(SCRIPT_CONTEXT, -1);
	script_change_context(next);
	/* The same handle again. */
	launch_three(SCRIPT_STREAM(1));
	launch_three(SCRIPT_STREAM(1));
	ck_assert_uint_eq(script.faults, 0);
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	cuStreamSynchronize(SCRIPT_STREAM(1));
	ck_assert_uint_eq(in_flight(), 0);
}

START_TEST(events_of_a_dead_context_are_not_used)
{
	another_context((CUcontext)(uintptr_t)0x20);
}
END_TEST

START_TEST(nor_where_the_next_has_its_handle)
{
	another_context(SCRIPT_CONTEXT);
}
END_TEST

/* A registration serves its own context alone, or its end would be the other's. */
START_TEST(a_context_s_end_does_not_fault_another_s_markers)
{
	CUcontext other = (CUcontext)(uintptr_t)0x20;

	rig_teach(KERNEL, 600 * US);
	fake_grant_changed(rig.session, 0);
	script.is_immediate = false;
	launch_three(SCRIPT_STREAM(1));
	ck_assert_uint_eq(script.registrations, 1);
	script.context = other;
	launch_three(SCRIPT_STREAM(2));
	ck_assert_str_eq(script_log(SCRIPT_STREAM(2)), "KKEK");
	/* The first one goes, with all that it has. */
	script.context = SCRIPT_CONTEXT;
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	stream_context_dying(SCRIPT_CONTEXT, -1);
	ck_assert_uint_eq(script.registrations, 0);
	script.context = other;
	script_complete(SCRIPT_STREAM(2), UINT32_MAX);
	cuStreamSynchronize(SCRIPT_STREAM(2));
	poll();
	ck_assert_uint_eq(in_flight(), 0);
	/* Now the words are free for it. */
	launch_three(SCRIPT_STREAM(3));
	ck_assert_str_eq(script_log(SCRIPT_STREAM(3)), "KKWK");
	script_complete(SCRIPT_STREAM(3), UINT32_MAX);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

static unsigned long long number;

static CUresult context_number(CUcontext context, unsigned long long *id)
{
	*id = number;
	return CUDA_SUCCESS;
}

/* What ended it was no call of ours; the next one has its handle. */
START_TEST(a_context_that_ends_unseen_takes_its_registration_along)
{
	number = 1;
	real.cuCtxGetId = context_number;
	rig_teach(KERNEL, 600 * US);
	fake_grant_changed(rig.session, 0);
	launch_three(SCRIPT_STREAM(1));
	ck_assert_uint_eq(script.registrations, 1);
	script_change_context(SCRIPT_CONTEXT);
	number = 2;
	launch_three(SCRIPT_STREAM(1));
	ck_assert_str_eq(script_log(SCRIPT_STREAM(1)), "KKWKKWKK");
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

START_TEST(an_event_that_could_not_be_recorded_shows_nothing)
{
	CUresult (*record)(CUevent, CUstream) = real.cuEventRecord;

	rig_teach(KERNEL, 600 * US);
	script.is_immediate = false;
	rig_launch(KERNEL);
	real.cuEventRecord = (CUresult(*)(CUevent, CUstream))(void *)real_missing;
	ck_assert_int_eq(cuEventRecord(EVENT, SCRIPT_STREAM(0)), CUDA_ERROR_NOT_FOUND);
	real.cuEventRecord = record;
	ck_assert_int_eq(cuEventQuery(EVENT), CUDA_SUCCESS);
	ck_assert_uint_eq(in_flight(), 600 * US);
}
END_TEST

/* ---- pages ------------------------------------------------------------------------------------------ */

START_TEST(no_marker_goes_astray_when_the_page_changes)
{
	rig_teach(KERNEL, 600 * US);
	script.is_immediate = false;
	fake_grant_changed(rig.session, 0);
	launch_three(SCRIPT_STREAM(1));
	ck_assert_str_eq(script_log(SCRIPT_STREAM(1)), "KKWK");
	fake_arbiter_stop(&rig.fake);
	fake_arbiter_start(&rig.fake);
	rig_await(link_tick(0, sluice_now_ns()) == LINK_UP && rig.fake.sessions == 2);
	/* The marker in the old page has not landed; more are due. */
	launch_three(SCRIPT_STREAM(1));
	ck_assert_uint_eq(script.faults, 0);
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	poll();
	/* From then on in the new one. */
	launch_three(SCRIPT_STREAM(1));
	launch_three(SCRIPT_STREAM(1));
	ck_assert_uint_eq(script.faults, 0);
	rig.session = fake_arbiter_session(&rig.fake, 1, 1);
	ck_assert_uint_gt(atomic_load(&rig.session->channel->device[0].marker_last[0]), 0);
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	cuStreamSynchronize(SCRIPT_STREAM(1));
	ck_assert_uint_eq(in_flight(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_streams");
	TCase *tcase = tcase_create("streams");

	tcase_add_checked_fixture(tcase, rig_start, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, streams_without_end_are_all_gated);
	tcase_add_test(tcase, a_stream_that_was_waited_for_leaves_nothing);
	tcase_add_test(tcase, streams_beyond_the_table_are_gated_and_counted);
	tcase_add_test(tcase, threads_without_end_are_all_gated);
	tcase_add_test(tcase, a_thread_that_is_gone_holds_the_others_once);
	tcase_add_test(tcase, a_capture_elsewhere_does_not_fill_the_pipe);
	tcase_add_test(tcase, a_capture_begins_after_the_marker_that_is_being_placed);
	tcase_add_test(tcase, a_stream_goes_after_the_marker_that_is_being_placed);
	tcase_add_test(tcase, events_of_a_dead_context_are_not_used);
	tcase_add_test(tcase, nor_where_the_next_has_its_handle);
	tcase_add_test(tcase, a_context_s_end_does_not_fault_another_s_markers);
	tcase_add_test(tcase, a_context_that_ends_unseen_takes_its_registration_along);
	tcase_add_test(tcase, an_event_that_could_not_be_recorded_shows_nothing);
	tcase_add_test(tcase, no_marker_goes_astray_when_the_page_changes);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
