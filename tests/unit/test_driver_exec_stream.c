/* SPDX-License-Identifier: Apache-2.0 */

/* Streams, events, default streams, priorities, host functions: what waits for what, and for how
 * long in simulated time. */

#include "exec_fixture.h"

#include <pthread.h>
#include <sys/wait.h>

START_TEST(test_order_in_a_stream)
{
	uint32_t result[4];

	exec_run(w.fill, w.a, 2, 4, 1);
	for (int i = 0; i < 5; i++) {
		exec_run(w.inc, w.a, 1, 4, 1);
		exec_run(w.mul, w.a, 3, 4, 1);
	}
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda(cuMemcpyDtoH_v2(result, w.data, sizeof(result)));
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(result[i], 849); /* x -> 3 (x + 1), five times from 2 */
}
END_TEST

START_TEST(test_event_times_are_the_models)
{
	exec_gate(w.a, NULL);
	exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[1], w.a));
	exec_busy(w.whole, w.a);
	ck_cuda(cuEventRecord(w.event[2], w.a));
	ck_cuda_is(cuEventQuery(w.event[2]), CUDA_ERROR_NOT_READY);
	ck_cuda_is(cuStreamQuery(w.a), CUDA_ERROR_NOT_READY);
	exec_open();
	ck_cuda(cuEventSynchronize(w.event[1]));
	ck_cuda(cuEventQuery(w.event[1]));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda(cuStreamQuery(w.a));
	ck_us(0, 1, SPIN_US + GAP_US);
	ck_us(1, 2, WHOLE_US + GAP_US);
}
END_TEST

START_TEST(test_streams_overlap)
{
	exec_gate(w.c, w.a);
	exec_busy(w.whole, w.c);
	ck_cuda(cuEventRecord(w.event[0], w.c));
	ck_cuda(cuStreamWaitEvent(w.a, w.event[0], 0));
	ck_cuda(cuStreamWaitEvent(w.b, w.event[0], 0));
	exec_busy(w.spin, w.a);
	exec_busy(w.spin, w.b);
	ck_cuda(cuEventRecord(w.event[1], w.a));
	ck_cuda(cuEventRecord(w.event[2], w.b));
	exec_open();
	ck_cuda(cuCtxSynchronize());
	ck_us(0, 1, SPIN_US + GAP_US);
	ck_us(0, 2, SPIN_US + GAP_US);
}
END_TEST

START_TEST(test_wait_for_an_event)
{
	uint32_t result;

	exec_busy(w.spin, w.a);
	exec_run(w.fill, w.a, 5, 1, 1);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamWaitEvent(w.b, w.event[0], 0));
	/* The wait is for the record as it stood, not for this one, which does not come yet. */
	exec_gate(w.a, NULL);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	exec_run(w.mul, w.b, 7, 1, 1);
	ck_cuda(cuMemcpyDtoHAsync_v2(&result, w.data, sizeof(result), w.b));
	ck_assert_uint_eq(result, 35);
	ck_cuda(cuStreamSynchronize(w.b));
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_NOT_READY);
	exec_open();
	ck_cuda(cuStreamSynchronize(w.a));
	/* Never recorded: nobody waits. */
	ck_cuda(cuStreamWaitEvent(w.b, w.event[5], 0));
	ck_cuda(cuEventQuery(w.event[5]));
	ck_cuda(cuEventSynchronize(w.event[5]));
	ck_cuda(cuStreamSynchronize(w.b));
}
END_TEST

START_TEST(test_results_run_ahead_unseen)
{
	/* Long enough that no host is slower. */
	for (int i = 0; i < 10; i++)
		exec_busy(w.spin, w.a);
	exec_run(w.fill, w.a, 9, 1, 1);
	ck_cuda(cuEventRecord(w.event[0], w.a));
	while (exec_peek(0) != 9)
		sched_yield();
	/* Computed at once, over for the program only after the simulated 400 ms. */
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_NOT_READY);
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda(cuEventQuery(w.event[0]));
}
END_TEST

/* The legacy stream waits for blocking streams and they for it; others do not take part. */
START_TEST(test_legacy_stream)
{
	CUstream one, two;

	ck_cuda(cuStreamCreate(&one, CU_STREAM_DEFAULT));
	ck_cuda(cuStreamCreateWithPriority(&two, CU_STREAM_DEFAULT, -1));
	exec_gate(one, two);
	exec_busy(w.whole, one);
	ck_cuda(cuEventRecord(w.event[0], one));
	exec_busy(w.spin, one);
	exec_busy(w.spin, two);
	exec_busy(w.spin, NULL);
	ck_cuda(cuEventRecord(w.event[1], CU_STREAM_LEGACY));
	exec_busy(w.spin, one);
	exec_busy(w.spin, two);
	exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[2], one));
	ck_cuda(cuEventRecord(w.event[3], two));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda_is(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	ck_cuda_is(cuStreamQuery(two), CUDA_ERROR_NOT_READY);
	exec_open();
	ck_cuda(cuCtxSynchronize());
	ck_us(1, 2, SPIN_US + GAP_US);
	ck_us(1, 3, SPIN_US + GAP_US);
	ck_assert_int_ge(exec_us(0, 1), 2 * SPIN_US);
	ck_cuda(cuStreamDestroy_v2(one));
	ck_cuda(cuStreamDestroy_v2(two));
	ck_cuda_is(cuStreamSynchronize(one), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

static void *use_thread_stream(void *arg)
{
	unsigned long long *id = arg;

	ck_cuda(cuCtxSetCurrent(w.context));
	ck_cuda(cuStreamGetId(CU_STREAM_PER_THREAD, id));
	exec_run(w.inc, CU_STREAM_PER_THREAD, 1, 1, 1);
	ck_cuda(cuStreamSynchronize_ptsz(NULL));
	return NULL;
}

START_TEST(test_per_thread_streams)
{
	unsigned long long id[3], own;
	pthread_t thread;

	ck_cuda(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
	ck_cuda(cuStreamGetId_ptsz(NULL, &id[0]));
	ck_assert_uint_eq(own, id[0]);
	ck_cuda(cuStreamGetId(NULL, &id[1]));
	ck_assert_uint_ne(own, id[1]);
	ck_assert_int_eq(pthread_create(&thread, NULL, use_thread_stream, &id[2]), 0);
	pthread_join(thread, NULL);
	ck_assert_uint_ne(own, id[2]);
	/* Its thread is gone and so is the stream; its work is not. */
	ck_cuda(cuCtxSynchronize());
	ck_assert_uint_eq(exec_peek(0), 1);
}
END_TEST

START_TEST(test_priority)
{
	CUstream high, low;
	int priority;

	ck_cuda(cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, -99));
	ck_cuda(cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, 99));
	ck_cuda(cuStreamGetPriority(high, &priority));
	ck_assert_int_eq(priority, -5);
	ck_cuda(cuStreamGetPriority(low, &priority));
	ck_assert_int_eq(priority, 0);
	exec_gate(low, high);
	for (int i = 0; i < 2; i++) {
		exec_busy(w.whole, low);
		exec_busy(w.whole, high);
	}
	ck_cuda(cuEventRecord(w.event[0], low));
	ck_cuda(cuEventRecord(w.event[1], high));
	exec_open();
	ck_cuda(cuCtxSynchronize());
	/* Whichever began first, the second of the high stream goes before the second of the low. */
	ck_assert_int_le(exec_us(0, 1), -WHOLE_US);
}
END_TEST

START_TEST(test_many_launches_in_one_stream)
{
	/* More than the model holds for a stream: the launching thread waits for room. */
	for (int i = 0; i < 2500; i++)
		exec_run(w.inc, w.a, 1, 1, 1);
	ck_cuda(cuStreamSynchronize(w.a));
	ck_assert_uint_eq(exec_peek(0), 2500);
}
END_TEST

static int order[8], ordered;
static CUresult inside[3];

static void CUDA_CB note(void *arg)
{
	order[ordered++] = (int)(intptr_t)arg;
}

static void CUDA_CB note_status(CUstream stream, CUresult status, void *arg)
{
	order[ordered++] = (int)(intptr_t)arg + 100 * (int)status;
}

static void CUDA_CB call_driver(void *arg)
{
	ck_cuda(cuCtxSetCurrent(w.context));
	inside[0] = cuStreamSynchronize(w.a);
	inside[1] = cuCtxSynchronize();
	inside[2] = cuEventSynchronize(w.event[0]);
}

START_TEST(test_host_functions)
{
	ordered = 0;
	exec_busy(w.spin, w.a);
	ck_cuda(cuLaunchHostFunc(w.a, note, (void *)1));
	ck_cuda(cuLaunchHostFunc(w.b, note, (void *)2));
	ck_cuda(cuStreamAddCallback(w.a, note_status, (void *)3, 0));
	exec_run(w.fill, w.a, 4, 1, 1);
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda(cuStreamSynchronize(w.b));
	ck_assert_int_eq(ordered, 3);
	ck_assert_int_eq(order[0], 2);
	ck_assert_int_eq(order[1], 1);
	ck_assert_int_eq(order[2], 3);
	ck_cuda(cuLaunchHostFunc(w.a, call_driver, NULL));
	ck_cuda(cuStreamSynchronize(w.a));
	for (int i = 0; i < 3; i++)
		ck_cuda_is(inside[i], CUDA_ERROR_NOT_PERMITTED);
}
END_TEST

START_TEST(test_events_refuse)
{
	CUevent untimed, other;
	float ms;

	ck_cuda(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC));
	ck_cuda(cuEventRecord(untimed, w.a));
	ck_cuda(cuEventRecord(w.event[0], w.a));
	ck_cuda(cuStreamSynchronize(w.a));
	ck_cuda_is(cuEventElapsedTime(&ms, untimed, w.event[0]), CUDA_ERROR_INVALID_HANDLE);
	ck_cuda_is(cuEventElapsedTime(&ms, w.event[0], w.event[1]), CUDA_ERROR_INVALID_HANDLE);
	exec_busy(w.spin, w.a);
	ck_cuda(cuEventRecord(w.event[1], w.a));
	ck_cuda_is(cuEventElapsedTime_v2(&ms, w.event[0], w.event[1]), CUDA_ERROR_NOT_READY);
	ck_cuda_is(cuEventCreate(&other, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING),
		   CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda_is(cuEventCreate(&other, 64), CUDA_ERROR_INVALID_VALUE);
	ck_cuda_is(cuEventRecordWithFlags(w.event[0], w.a, CU_EVENT_RECORD_EXTERNAL),
		   CUDA_ERROR_INVALID_VALUE);
	/* Destroyed while its record is still to come. */
	ck_cuda(cuEventDestroy_v2(w.event[1]));
	ck_cuda_is(cuEventQuery(w.event[1]), CUDA_ERROR_INVALID_HANDLE);
	ck_cuda_is(cuEventDestroy_v2(w.event[1]), CUDA_ERROR_INVALID_HANDLE);
}
END_TEST

START_TEST(test_a_destroyed_stream_finishes)
{
	CUstream stream;

	ck_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	exec_busy(w.spin, stream);
	exec_run(w.fill, stream, 3, 1, 1);
	ck_cuda(cuEventRecord(w.event[0], stream));
	ck_cuda(cuStreamDestroy_v2(stream));
	ck_cuda(cuEventSynchronize(w.event[0]));
	ck_assert_uint_eq(exec_peek(0), 3);
}
END_TEST

START_TEST(test_a_destroyed_stream_is_waited_for)
{
	CUstream stream;

	ck_cuda(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	exec_busy(w.spin, stream);
	exec_run(w.fill, stream, 3, 1, 1);
	ck_cuda(cuEventRecord(w.event[0], stream));
	ck_cuda(cuStreamDestroy_v2(stream));
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_NOT_READY);
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuEventQuery(w.event[0]));
	ck_assert_uint_eq(exec_peek(0), 3);
}
END_TEST

START_TEST(test_the_legacy_stream_waits_for_a_destroyed_one)
{
	CUstream stream;

	ck_cuda(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	exec_busy(w.spin, stream);
	ck_cuda(cuEventRecord(w.event[0], stream));
	ck_cuda(cuStreamDestroy_v2(stream));
	exec_run(w.fill, NULL, 4, 1, 1);
	ck_cuda(cuEventRecord(w.event[1], NULL));
	ck_cuda(cuStreamSynchronize(NULL));
	ck_cuda(cuEventQuery(w.event[0]));
	ck_assert_int_ge(exec_us(0, 1), 1);
}
END_TEST

static void *leave_work(void *arg)
{
	(void)arg;
	ck_cuda(cuCtxSetCurrent(w.context));
	exec_busy(w.spin, CU_STREAM_PER_THREAD);
	exec_run(w.inc, CU_STREAM_PER_THREAD, 1, 1, 1);
	ck_cuda(cuEventRecord(w.event[0], CU_STREAM_PER_THREAD));
	return NULL;
}

START_TEST(test_work_of_a_thread_that_ended_is_waited_for)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, leave_work, NULL), 0);
	pthread_join(thread, NULL);
	ck_cuda_is(cuEventQuery(w.event[0]), CUDA_ERROR_NOT_READY);
	ck_cuda(cuCtxSynchronize());
	ck_cuda(cuEventQuery(w.event[0]));
	ck_assert_uint_eq(exec_peek(0), 1);
}
END_TEST

START_TEST(test_attributes)
{
	CUlaunchAttributeValue value, back;
	unsigned int flags;
	CUcontext context;
	CUdevice device;

	memset(&value, 0, sizeof(value));
	value.syncPolicy = CU_SYNC_POLICY_YIELD;
	ck_cuda(cuStreamSetAttribute(w.a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
	ck_cuda(cuStreamCopyAttributes(w.b, w.a));
	ck_cuda(cuStreamGetAttribute(w.b, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &back));
	ck_assert_int_eq(back.syncPolicy, CU_SYNC_POLICY_YIELD);
	ck_cuda_is(cuStreamSetAttribute(w.a, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value),
		   CUDA_ERROR_NOT_SUPPORTED);
	ck_cuda(cuStreamGetFlags(w.a, &flags));
	ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
	ck_cuda(cuStreamGetCtx(w.a, &context));
	ck_assert_ptr_eq(context, w.context);
	ck_cuda(cuStreamGetDevice(w.a, &device));
	ck_assert_int_eq(device, 0);
}
END_TEST

START_TEST(test_a_forked_child_has_no_gpu)
{
	pid_t pid;
	int status;

	exec_busy(w.spin, w.a);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		_exit(cuStreamSynchronize(w.a) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_cuda(cuStreamSynchronize(w.a));
}
END_TEST

static TCase *make(void)
{
	TCase *tcase = tcase_create("streams");

	tcase_add_test(tcase, test_order_in_a_stream);
	tcase_add_test(tcase, test_event_times_are_the_models);
	tcase_add_test(tcase, test_streams_overlap);
	tcase_add_test(tcase, test_wait_for_an_event);
	tcase_add_test(tcase, test_results_run_ahead_unseen);
	tcase_add_test(tcase, test_legacy_stream);
	tcase_add_test(tcase, test_per_thread_streams);
	tcase_add_test(tcase, test_priority);
	tcase_add_test(tcase, test_many_launches_in_one_stream);
	tcase_add_test(tcase, test_host_functions);
	tcase_add_test(tcase, test_events_refuse);
	tcase_add_test(tcase, test_a_destroyed_stream_finishes);
	tcase_add_test(tcase, test_a_destroyed_stream_is_waited_for);
	tcase_add_test(tcase, test_the_legacy_stream_waits_for_a_destroyed_one);
	tcase_add_test(tcase, test_work_of_a_thread_that_ended_is_waited_for);
	tcase_add_test(tcase, test_attributes);
	tcase_add_test(tcase, test_a_forked_child_has_no_gpu);
	return tcase;
}

int main(void)
{
	return exec_world_run("exec-stream", make);
}
