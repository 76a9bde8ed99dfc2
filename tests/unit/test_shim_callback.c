/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of streams: what they show, and that they are the application's own. */
#include <errno.h>
#include <sys/wait.h>

#include "callback.h"
#include "link.h"
#include "shim_rig.h"

#define KERNEL 0x7000
#define MANY 1024u /* callbacks that there is room for */
#define S0 SCRIPT_STREAM(0)
#define S1 SCRIPT_STREAM(1)

static struct sluice_activity_device *device;

static struct {
	_Atomic uint32_t calls;
	void *data;
	CUstream stream;
	CUresult status;
	uint32_t active;
} seen;

static void setup(void)
{
	rig_start_latency();
	rig_await(atomic_load(&rig.session->activity));
	rig_teach(KERNEL, 10 * US);
	device = &atomic_load(&rig.session->activity)->device[0];
	script.is_immediate = false;
	memset(&seen, 0, sizeof(seen));
}

static uint32_t active(void)
{
	return sluice_activity_active(atomic_load(&device->word));
}

static void CUDA_CB on_host(void *data)
{
	seen.data = data;
	seen.active = active();
	atomic_fetch_add(&seen.calls, 1);
}

static void CUDA_CB on_stream(CUstream stream, CUresult status, void *data)
{
	seen.stream = stream;
	seen.status = status;
	on_host(data);
}

static void CUDA_CB spoil_errno(void *data)
{
	ck_assert_int_eq(errno, 1234);
	errno = 77;
}

START_TEST(a_callback_ends_the_request_before_it_is_called)
{
	uint64_t requests = atomic_load(&rig.page->counters.requests);

	rig_launch(KERNEL);
	ck_assert_int_eq(cuLaunchHostFunc(S0, on_host, &seen), CUDA_SUCCESS);
	ck_assert_ptr_ne((void *)script.host, (void *)on_host);
	ck_assert_uint_eq(active(), 1);
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.data, &seen);
	ck_assert_uint_eq(seen.active, 0);
	ck_assert_uint_eq(atomic_load(&rig.page->counters.requests), requests + 1);
	/* Nobody had to look for it. */
	ck_assert_uint_eq(atomic_load(&rig.session->channel->assisted), 0);
}
END_TEST

START_TEST(a_callback_of_the_older_kind_is_told_what_the_driver_says)
{
	rig_launch(KERNEL);
	ck_assert_int_eq(cuStreamAddCallback(S0, on_stream, &seen, 0), CUDA_SUCCESS);
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, 1);
	ck_assert_ptr_eq(seen.stream, S0);
	ck_assert_int_eq(seen.status, CUDA_SUCCESS);
	ck_assert_ptr_eq(seen.data, &seen);
	ck_assert_uint_eq(seen.active, 0);
}
END_TEST

/* That its work is over, only the driver can say. */
START_TEST(a_callback_that_is_told_of_an_error_has_it_looked_at)
{
	rig_launch(KERNEL);
	ck_assert_int_eq(cuStreamAddCallback(S0, on_stream, &seen, 0), CUDA_SUCCESS);
	script.host_status = script.failure = CUDA_ERROR_ILLEGAL_ADDRESS;
	script_complete(S0, UINT32_MAX);
	ck_assert_int_eq(seen.status, CUDA_ERROR_ILLEGAL_ADDRESS);
	rig_await(active() == 0);
}
END_TEST

START_TEST(what_came_behind_it_keeps_the_request_open)
{
	rig_launch(KERNEL);
	cuLaunchHostFunc(S0, on_host, NULL);
	rig_launch(KERNEL);
	script_complete(S0, 2);
	ck_assert_uint_eq(seen.calls, 1);
	ck_assert_uint_eq(seen.active, 1);
	cuLaunchHostFunc(S0, on_host, NULL);
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, 2);
	ck_assert_uint_eq(seen.active, 0);
}
END_TEST

/* Streams that were joined by events have drained, too. */
START_TEST(other_streams_are_asked_by_the_watch_thread)
{
	rig_launch_on(KERNEL, S0);
	rig_launch_on(KERNEL, S1);
	script_complete(S1, UINT32_MAX);
	cuLaunchHostFunc(S0, on_host, NULL);
	script_complete(S0, UINT32_MAX);
	rig_await(active() == 0);
	ck_assert_uint_eq(atomic_load(&rig.session->channel->assisted), 0);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

/* A node of a graph runs as often as the graph. */
START_TEST(a_capture_gets_the_callback_as_it_is)
{
	CUgraph graph;

	rig_launch(KERNEL);
	cuStreamBeginCapture_v2(S0, CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_assert_int_eq(cuLaunchHostFunc(S0, on_host, &seen), CUDA_SUCCESS);
	ck_assert_ptr_eq((void *)script.host, (void *)on_host);
	/* Another stream that does not capture. */
	rig_launch_on(KERNEL, S1);
	ck_assert_int_eq(cuLaunchHostFunc(S1, on_host, &seen), CUDA_SUCCESS);
	ck_assert_ptr_ne((void *)script.host, (void *)on_host);
	cuStreamEndCapture(S0, &graph);
	ck_assert_uint_eq(script.faults, 0);
}
END_TEST

START_TEST(a_callback_that_shows_nothing_is_passed_on)
{
	ck_assert_int_eq(cuLaunchHostFunc(S0, on_host, &seen), CUDA_SUCCESS);
	ck_assert_ptr_eq((void *)script.host, (void *)on_host);
	ck_assert_int_eq(cuLaunchHostFunc(SCRIPT_STREAM(6), on_host, &seen), CUDA_SUCCESS);
	ck_assert_ptr_eq((void *)script.host, (void *)on_host);
	rig_launch(KERNEL);
	ck_assert_int_eq(cuLaunchHostFunc(S0, NULL, &seen), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuStreamAddCallback(S0, NULL, &seen, 0), CUDA_ERROR_INVALID_VALUE);
	ck_assert_int_eq(cuStreamAddCallback(S0, on_stream, &seen, 1), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(a_refused_callback_leaves_nothing_behind)
{
	rig_launch(KERNEL);
	script.launch_result = CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < 2 * MANY; i++) {
		ck_assert_int_eq(cuLaunchHostFunc(S0, on_host, &seen), CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert_ptr_ne((void *)script.host, (void *)on_host);
	}
	ck_assert_int_eq(cuStreamAddCallback(S0, on_stream, &seen, 1), CUDA_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(seen.calls, 0);
}
END_TEST

static void fill(void)
{
	rig_launch(KERNEL);
	for (uint32_t i = 0; i < MANY; i++) {
		cuLaunchHostFunc(S0, on_host, &seen);
		ck_assert_ptr_ne((void *)script.host, (void *)on_host);
	}
	cuLaunchHostFunc(S0, on_host, &seen);
	ck_assert_ptr_eq((void *)script.host, (void *)on_host);
}

START_TEST(more_than_there_is_room_for_are_passed_on)
{
	fill();
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, MANY + 1);
	ck_assert_uint_eq(active(), 0);
	rig_launch(KERNEL);
	cuLaunchHostFunc(S0, on_host, &seen);
	ck_assert_ptr_ne((void *)script.host, (void *)on_host);
}
END_TEST

START_TEST(what_a_context_takes_with_it_is_free_and_never_run)
{
	fill();
	ck_assert_int_eq(cuCtxDestroy_v2(SCRIPT_CONTEXT), CUDA_SUCCESS);
	ck_assert_uint_eq(active(), 0);
	script_change_context((CUcontext)(uintptr_t)0x20);
	rig_launch_on(KERNEL, S1);
	cuLaunchHostFunc(S1, on_host, &seen);
	ck_assert_ptr_ne((void *)script.host, (void *)on_host);
	/* A real driver runs none of them any more: only the last, which was not wrapped, is called. */
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, 1);
	script_complete(S1, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, 2);
	ck_assert_uint_eq(active(), 0);
}
END_TEST

static void *complete(void *unused)
{
	script_complete(S0, UINT32_MAX);
	return NULL;
}

/* It must wait for nothing that another thread holds in a call of the driver. */
START_TEST(a_callback_never_waits_for_the_gate)
{
	struct gate *gate = gate_at(0);
	pthread_t thread;

	rig_launch(KERNEL);
	cuLaunchHostFunc(S0, on_host, &seen);
	futex_lock(&gate->lock);
	ck_assert(!pthread_create(&thread, NULL, complete, NULL));
	pthread_join(thread, NULL);
	ck_assert_uint_eq(seen.calls, 1);
	ck_assert_uint_eq(active(), 1);
	futex_unlock(&gate->lock);
	rig_await(active() == 0);
	/* What was left for later has its place back. */
	fill();
}
END_TEST

START_TEST(the_application_s_errno_is_its_own)
{
	rig_launch(KERNEL);
	cuLaunchHostFunc(S0, spoil_errno, NULL);
	errno = 1234;
	script_complete(S0, UINT32_MAX);
	ck_assert_int_eq(errno, 77);
}
END_TEST

START_TEST(a_child_of_fork_has_none)
{
	int status;
	pid_t pid;

	fill();
	pid = fork();
	if (!pid) {
		gate_forked();
		link_forked();
		_exit(seen.calls ? 1 : 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	script_complete(S0, UINT32_MAX);
	ck_assert_uint_eq(seen.calls, MANY + 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim_callback");
	TCase *tcase = tcase_create("callback");

	tcase_add_checked_fixture(tcase, setup, rig_finish);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_callback_ends_the_request_before_it_is_called);
	tcase_add_test(tcase, a_callback_of_the_older_kind_is_told_what_the_driver_says);
	tcase_add_test(tcase, a_callback_that_is_told_of_an_error_has_it_looked_at);
	tcase_add_test(tcase, what_came_behind_it_keeps_the_request_open);
	tcase_add_test(tcase, other_streams_are_asked_by_the_watch_thread);
	tcase_add_test(tcase, a_capture_gets_the_callback_as_it_is);
	tcase_add_test(tcase, a_callback_that_shows_nothing_is_passed_on);
	tcase_add_test(tcase, a_refused_callback_leaves_nothing_behind);
	tcase_add_test(tcase, more_than_there_is_room_for_are_passed_on);
	tcase_add_test(tcase, what_a_context_takes_with_it_is_free_and_never_run);
	tcase_add_test(tcase, a_callback_never_waits_for_the_gate);
	tcase_add_test(tcase, the_application_s_errno_is_its_own);
	tcase_add_test(tcase, a_child_of_fork_has_none);
	suite_add_tcase(suite, tcase);
	return rig_run(suite);
}
