/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a latency-critical process: marked, cleared, timed. */
#include "activity.h"
#include "request.h"
#include "shim_rig.h"

#define KERNEL 0x7000
#define EVENT ((CUevent)(uintptr_t)9)

static struct sluice_activity_device *device;

static void setup(void)
{
	rig_start_latency();
	/* The page comes by mail, which is taken at a launch; its request is ended at once. */
	rig_await(atomic_load(&rig.session->activity));
	rig_teach(KERNEL, 10 * US);
	device = &atomic_load(&rig.session->activity)->device[0];
	script.is_immediate = false;
}

static uint32_t active(void)
{
	return sluice_activity_active(atomic_load(&device->word));
}

static uint32_t epoch(void)
{
	return sluice_activity_epoch(atomic_load(&device->word));
}

static uint64_t requests(void)
{
	return atomic_load(&rig.page->counters.requests);
}

START_TEST(a_request_is_from_the_first_launch_to_the_drain)
{
	uint64_t before = requests();
	uint32_t epoch_before = epoch(), wake = atomic_load(&device->wake);

	ck_assert_uint_eq(active(), 0);
	rig_launch(KERNEL);
	ck_assert_uint_eq(active(), 1);
	rig_launch(KERNEL);
	rig_launch(KERNEL);
	ck_assert_uint_eq(epoch(), epoch_before + 1);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
	ck_assert_uint_eq(epoch(), epoch_before + 2);
	ck_assert_uint_eq(atomic_load(&device->wake), wake + 1);
	ck_assert_uint_eq(requests(), before + 1);
	ck_assert_uint_gt(atomic_load(&device->idle_since_ns), 0);
	ck_assert_uint_eq(atomic_load(&rig.page->service.count), requests());
}
END_TEST

START_TEST(a_request_that_ends_is_recorded)
{
	struct sluice_request_ring *ring = &rig.session->channel->request[0];
	uint64_t head = atomic_load(&ring->head), before_ns = sluice_now_ns();
	const struct sluice_request_record *record = &ring->record[head % SLUICE_REQUEST_RECORDS];

	rig_launch(KERNEL);
	rig_launch(KERNEL);
	ck_assert_uint_eq(atomic_load(&ring->head), head);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&ring->head), head + 1);
	ck_assert_uint_ge(record->start_ns, before_ns);
	ck_assert_uint_ge(record->end_ns, record->start_ns);
	ck_assert_uint_le(record->end_ns, sluice_now_ns());
	ck_assert_uint_eq(record->arrival_ns, 0);
	ck_assert_uint_eq(record->kind,
			  predict_kernel_tag((void *)(uintptr_t)KERNEL, 1, 1, 1, 32, 1, 1, 0));
	ck_assert_uint_eq(record->launches, 2);
	ck_assert_uint_eq(record->launched_ns, 20 * US);
	for (uint32_t i = 0; i < SLUICE_REQUEST_RECORDS; i++) {
		rig_launch(KERNEL);
		cuStreamSynchronize(SCRIPT_STREAM(0));
	}
	ck_assert_uint_eq(atomic_load(&ring->head), head + 1 + SLUICE_REQUEST_RECORDS);
	ck_assert_uint_eq(record->launches, 1);
}
END_TEST

/* A thread looked at the clock, then waited for the lock, and another one's request began meanwhile. */
START_TEST(an_end_never_comes_before_the_beginning)
{
	struct sluice_request_ring *ring = &rig.session->channel->request[0];
	uint64_t head = atomic_load(&ring->head), early_ns = sluice_now_ns();
	struct gate *gate = gate_at(0);
	struct stream_state *stream;

	rig_launch(KERNEL);
	stream = stream_peek(SCRIPT_STREAM(0), launch_thread_number());
	ck_assert_ptr_nonnull(stream);
	futex_lock(&gate->lock);
	ck_assert(request_drained(stream, atomic_load(&stream->launched_ns), early_ns));
	futex_unlock(&gate->lock);
	ck_assert_uint_eq(active(), 0);
	ck_assert_uint_eq(atomic_load(&ring->head), head + 1);
	ck_assert_uint_eq(ring->record[head % SLUICE_REQUEST_RECORDS].end_ns,
			  ring->record[head % SLUICE_REQUEST_RECORDS].start_ns);
	ck_assert_uint_lt(atomic_load(&rig.page->service.max_ns), 60 * SLUICE_NS_PER_S);
}
END_TEST

START_TEST(a_query_that_fails_ends_nothing)
{
	rig_launch(KERNEL);
	ck_assert_int_eq(cuStreamQuery(SCRIPT_STREAM(0)), CUDA_ERROR_NOT_READY);
	ck_assert_uint_eq(active(), 1);
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	ck_assert_int_eq(cuStreamQuery(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(an_event_ends_it_only_if_nothing_came_behind)
{
	rig_launch(KERNEL);
	cuEventRecord(EVENT, SCRIPT_STREAM(0));
	rig_launch(KERNEL);
	script_complete(SCRIPT_STREAM(0), 2);
	ck_assert_int_eq(cuEventSynchronize(EVENT), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 1);
	cuEventRecord(EVENT, SCRIPT_STREAM(0));
	script_complete(SCRIPT_STREAM(0), UINT32_MAX);
	ck_assert_int_eq(cuEventQuery(EVENT), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(an_event_on_an_unknown_stream_ends_nothing)
{
	rig_launch(KERNEL);
	cuEventRecord(EVENT, SCRIPT_STREAM(0));
	cuEventRecord(EVENT, SCRIPT_STREAM(5));
	script_complete(SCRIPT_STREAM(5), UINT32_MAX);
	ck_assert_int_eq(cuEventQuery(EVENT), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 1);
}
END_TEST

START_TEST(streams_are_counted_and_all_must_drain)
{
	uint64_t before = requests();

	rig_launch_on(KERNEL, SCRIPT_STREAM(0));
	rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	ck_assert_uint_eq(active(), 2);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(active(), 1);
	ck_assert_uint_eq(requests(), before);
	cuStreamSynchronize(SCRIPT_STREAM(1));
	ck_assert_uint_eq(active(), 0);
	ck_assert_uint_eq(requests(), before + 1);
}
END_TEST

/* A side stream, joined by an event: it is never synchronised itself. */
START_TEST(a_stream_that_was_joined_is_asked)
{
	rig_launch_on(KERNEL, SCRIPT_STREAM(0));
	rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(a_context_synchronisation_ends_all)
{
	rig_launch_on(KERNEL, SCRIPT_STREAM(0));
	rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	rig_launch_on(KERNEL, NULL);
	ck_assert_uint_eq(active(), 3);
	cuCtxSynchronize();
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(a_blocking_copy_out_ends_the_default_stream_s)
{
	char host[16];

	rig_launch_on(KERNEL, NULL);
	ck_assert_uint_eq(active(), 1);
	ck_assert_int_eq(cuMemcpyDtoH_v2(host, 4096, sizeof(host)), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

static void *launch_meanwhile(void *closure)
{
	rig_launch_on(KERNEL, SCRIPT_STREAM(5));
	return NULL;
}

static void other_thread_launches(void)
{
	pthread_t thread;

	ck_assert(!pthread_create(&thread, NULL, launch_meanwhile, NULL));
	pthread_join(thread, NULL);
}

/* What another thread launches while the copy waits comes behind it. */
START_TEST(a_blocking_copy_out_shows_what_came_before_it)
{
	char host[16];

	script.stream_flags = CU_STREAM_DEFAULT;
	script.on_copy_out = other_thread_launches;
	rig_launch_on(KERNEL, NULL);
	ck_assert_int_eq(cuMemcpyDtoH_v2(host, 4096, sizeof(host)), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 1);
	cuStreamSynchronize(SCRIPT_STREAM(5));
	ck_assert_uint_eq(active(), 0);
}
END_TEST

/* The driver waits for those. */
START_TEST(a_copy_out_into_pageable_memory_ends_it)
{
	char host[16];

	rig_launch(KERNEL);
	ck_assert_int_eq(cuMemcpyDtoHAsync_v2(host, 4096, sizeof(host), SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 1);
	script.is_pageable = true;
	ck_assert_int_eq(cuMemcpyDtoHAsync_v2(host, 4096, sizeof(host), SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(work_that_has_failed_is_over)
{
	rig_launch(KERNEL);
	script.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

/* A question would end the capture. */
START_TEST(a_stream_that_captures_is_not_asked)
{
	CUgraph graph;

	rig_launch_on(KERNEL, SCRIPT_STREAM(0));
	rig_launch_on(KERNEL, SCRIPT_STREAM(1));
	script_complete(SCRIPT_STREAM(1), UINT32_MAX);
	ck_assert_int_eq(cuStreamBeginCapture_v2(SCRIPT_STREAM(1), CU_STREAM_CAPTURE_MODE_RELAXED),
			 CUDA_SUCCESS);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(script.faults, 0);
	ck_assert_uint_eq(active(), 1);
	ck_assert_int_eq(cuStreamEndCapture(SCRIPT_STREAM(1), &graph), CUDA_SUCCESS);
	ck_assert_int_eq(cuStreamSynchronize(SCRIPT_STREAM(0)), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(a_destroyed_stream_is_active_no_more)
{
	rig_launch_on(KERNEL, SCRIPT_STREAM(4));
	ck_assert_uint_eq(active(), 1);
	cuStreamDestroy_v2(SCRIPT_STREAM(4));
	ck_assert_uint_eq(active(), 0);
}
END_TEST

START_TEST(a_latency_tenant_is_never_held)
{
	fake_gate_set(rig.session, 0, false);
	atomic_store(&rig.grant->window_ns, 1);
	atomic_store(&rig.grant->credit_ns, 0);
	fake_grant_changed(rig.session, 0);
	for (int i = 0; i < 100; i++)
		rig_launch(KERNEL);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.held), 0);
	fake_gate_set(rig.session, 0, true);
}
END_TEST

START_TEST(in_excess_it_is_held_and_holds_nobody)
{
	struct rig_launcher launcher;

	atomic_fetch_or(&rig.grant->flags, SLUICE_GRANT_EXCESS);
	fake_gate_set(rig.session, 0, false);
	rig_launcher_start(&launcher, KERNEL);
	rig_await(atomic_load(&rig.page->counters.sleeping) == 1);
	ck_assert_uint_eq(active(), 0);
	atomic_fetch_and(&rig.grant->flags, ~SLUICE_GRANT_EXCESS);
	fake_gate_set(rig.session, 0, true);
	rig_launcher_join(&launcher);
	rig_launch(KERNEL);
	ck_assert_uint_eq(active(), 1);
}
END_TEST

START_TEST(late_requests_are_counted_against_the_target)
{
	uint64_t late = atomic_load(&rig.page->counters.requests_late);

	atomic_store(&rig.session->channel->target_ns, 1);
	rig_launch(KERNEL);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&rig.page->counters.requests_late), late + 1);
	atomic_store(&rig.session->channel->target_ns, 3600 * SLUICE_NS_PER_S);
	rig_launch(KERNEL);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(atomic_load(&rig.page->counters.requests_late), late + 1);
}
END_TEST

START_TEST(the_end_is_predicted_once_the_kind_is_known)
{
	for (int i = 0; i < 4; i++) {
		rig_launch(0x8000);
		ck_assert_int_eq(atomic_load(&device->drain_ns) != 0, i >= 3);
		cuStreamSynchronize(SCRIPT_STREAM(0));
		ck_assert_uint_eq(atomic_load(&device->drain_ns), 0);
	}
}
END_TEST

/* The first launch raises before it looks at anything; one that turns out to be nobody's request
 * lowers it again and wakes who was held by it. */
START_TEST(what_is_raised_and_not_marked_is_lowered)
{
	uint32_t wake;

	rig_launch(KERNEL);
	ck_assert_uint_eq(active(), 1);
	ck_assert(!(shim_flags() & SHIM_IDLE));
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert_uint_eq(active(), 0);
	ck_assert(shim_flags() & SHIM_IDLE);
	wake = atomic_load(&device->wake);
	activity_raise();
	ck_assert(shim_thread.is_raised);
	ck_assert_uint_eq(active(), SLUICE_ACTIVITY_RAISED);
	activity_settle();
	ck_assert_uint_eq(active(), 0);
	ck_assert_uint_ne(atomic_load(&device->wake), wake);
	/* Marked meanwhile: it stays, and nothing is left to be settled. */
	activity_raise();
	rig_launch(KERNEL);
	ck_assert(!shim_thread.is_raised);
	activity_settle();
	ck_assert_uint_eq(active(), 1);
	/* What is launched inside a hook is no request: it is taken back at once. */
	cuStreamSynchronize(SCRIPT_STREAM(0));
	ck_assert(shim_flags() & SHIM_IDLE);
	wake = atomic_load(&device->wake);
	shim_thread.busy = 1;
	launch_raise();
	shim_thread.busy = 0;
	ck_assert_uint_eq(active(), 0);
	ck_assert(!shim_thread.is_raised);
	ck_assert_uint_ne(atomic_load(&device->wake), wake);
	rig_launch(KERNEL);
	ck_assert_uint_eq(active(), 1);
	/* Another thread has raised it, or marked it: nothing of this one's. */
	activity_raise();
	ck_assert(!shim_thread.is_raised);
}
END_TEST

START_TEST(busy_since_survives_gaps_shorter_than_the_guard)
{
	uint64_t busy_ns;

	atomic_store(&rig.grant->guard_ns, 3600 * SLUICE_NS_PER_S);
	fake_grant_changed(rig.session, 0);
	rig_launch(KERNEL);
	busy_ns = atomic_load(&device->busy_since_ns);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	rig_launch(KERNEL);
	ck_assert_uint_eq(atomic_load(&device->busy_since_ns), busy_ns);
	cuStreamSynchronize(SCRIPT_STREAM(0));
	atomic_store(&rig.grant->guard_ns, 1);
	fake_grant_changed(rig.session, 0);
	usleep(10);
	rig_launch(KERNEL);
	ck_assert_uint_gt(atomic_load(&device->busy_since_ns), busy_ns);
}
END_TEST

START_TEST(a_graph_opens_a_request_as_well)
{
	ck_assert_int_eq(cuGraphLaunch((CUgraphExec)(uintptr_t)0x5000, SCRIPT_STREAM(0)),
			 CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_request");
	TCase *tcase = tcase_create("request");

	tcase_add_checked_fixture(tcase, setup, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_request_is_from_the_first_launch_to_the_drain);
	tcase_add_test(tcase, a_request_that_ends_is_recorded);
	tcase_add_test(tcase, an_end_never_comes_before_the_beginning);
	tcase_add_test(tcase, a_query_that_fails_ends_nothing);
	tcase_add_test(tcase, an_event_ends_it_only_if_nothing_came_behind);
	tcase_add_test(tcase, an_event_on_an_unknown_stream_ends_nothing);
	tcase_add_test(tcase, streams_are_counted_and_all_must_drain);
	tcase_add_test(tcase, a_stream_that_was_joined_is_asked);
	tcase_add_test(tcase, a_context_synchronisation_ends_all);
	tcase_add_test(tcase, a_blocking_copy_out_ends_the_default_stream_s);
	tcase_add_test(tcase, a_blocking_copy_out_shows_what_came_before_it);
	tcase_add_test(tcase, a_copy_out_into_pageable_memory_ends_it);
	tcase_add_test(tcase, work_that_has_failed_is_over);
	tcase_add_test(tcase, a_stream_that_captures_is_not_asked);
	tcase_add_test(tcase, a_destroyed_stream_is_active_no_more);
	tcase_add_test(tcase, a_latency_tenant_is_never_held);
	tcase_add_test(tcase, in_excess_it_is_held_and_holds_nobody);
	tcase_add_test(tcase, late_requests_are_counted_against_the_target);
	tcase_add_test(tcase, the_end_is_predicted_once_the_kind_is_known);
	tcase_add_test(tcase, what_is_raised_and_not_marked_is_lowered);
	tcase_add_test(tcase, busy_since_survives_gaps_shorter_than_the_guard);
	tcase_add_test(tcase, a_graph_opens_a_request_as_well);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
