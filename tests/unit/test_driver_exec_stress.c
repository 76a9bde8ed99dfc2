/* SPDX-License-Identifier: Apache-2.0 */

/* Several threads at once, with random work whose result is known whatever the order of streams. */

#include "exec_fixture.h"

#include <pthread.h>

#define THREADS 4
#define STEPS 300
#define WORDS 64u /* of each thread, in device memory */

struct actor {
	unsigned int number;
	uint32_t random;
	CUstream stream[2];
	CUevent event;
	uint32_t expected;
	uint32_t *pinned;
	uint32_t host_calls, hosted;
};

static uint32_t draw(struct actor *actor, uint32_t below)
{
	actor->random = actor->random * 1664525u + 1013904223u;
	return (actor->random >> 8) % below;
}

static void CUDA_CB count_host(void *arg)
{
	((struct actor *)arg)->hosted++;
}

/* From one of the thread's streams to the other: all its work stays in one order. */
static void hop(struct actor *actor)
{
	CUstream old = actor->stream[0];

	ck_cuda(cuEventRecord(actor->event, old));
	actor->stream[0] = actor->stream[1];
	actor->stream[1] = old;
	ck_cuda(cuStreamWaitEvent(actor->stream[0], actor->event, 0));
}

static void step(struct actor *actor)
{
	CUdeviceptr place = w.data + actor->number * WORDS * 4;
	CUstream stream = actor->stream[0];
	uint32_t value = draw(actor, 9) + 2;

	switch (draw(actor, 10)) {
	case 0:
	case 1:
	case 2:
		ck_cuda(exec_try(w.inc, stream, place, value, WORDS / 4, 4));
		actor->expected += value;
		break;
	case 3:
		ck_cuda(exec_try(w.mul, stream, place, value, WORDS / 4, 4));
		actor->expected *= value;
		break;
	case 4:
		ck_cuda(cuMemsetD32Async(place, value, WORDS, stream));
		actor->expected = value;
		break;
	case 5:
		ck_cuda(cuMemcpyDtoHAsync_v2(actor->pinned, place, WORDS * 4, stream));
		ck_cuda(cuMemcpyHtoDAsync_v2(place, actor->pinned, WORDS * 4, stream));
		break;
	case 6: hop(actor); break;
	case 7:
		ck_cuda(cuLaunchHostFunc(stream, count_host, actor));
		actor->host_calls++;
		break;
	case 8:
		ck_cuda(cuStreamWriteValue32(stream, place, actor->expected, 0));
		ck_cuda(cuStreamWaitValue32(stream, place, actor->expected,
					    CU_STREAM_WAIT_VALUE_EQ));
		break;
	default:
		if (draw(actor, 2))
			ck_cuda(cuStreamSynchronize(stream));
		else
			(void)cuStreamQuery(stream);
		break;
	}
}

static void *act(void *arg)
{
	struct actor *actor = arg;

	ck_cuda(cuCtxSetCurrent(w.context));
	ck_cuda(cuMemHostAlloc((void **)&actor->pinned, WORDS * 4, 0));
	ck_cuda(cuEventCreate(&actor->event, CU_EVENT_DISABLE_TIMING));
	for (unsigned int i = 0; i < 2; i++)
		ck_cuda(cuStreamCreateWithPriority(
			&actor->stream[i],
			actor->number % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT, -(int)i));
	for (int i = 0; i < STEPS; i++)
		step(actor);
	ck_cuda(cuStreamSynchronize(actor->stream[0]));
	ck_assert_uint_eq(actor->hosted, actor->host_calls);
	for (unsigned int i = 0; i < 2; i++)
		ck_cuda(cuStreamDestroy_v2(actor->stream[i]));
	ck_cuda(cuEventDestroy_v2(actor->event));
	ck_cuda(cuMemFreeHost(actor->pinned));
	return NULL;
}

START_TEST(test_threads)
{
	struct actor actor[THREADS];
	pthread_t thread[THREADS];

	memset(actor, 0, sizeof(actor));
	for (unsigned int i = 0; i < THREADS; i++) {
		actor[i].number = i;
		actor[i].random = i * 77 + 5;
		ck_assert_int_eq(pthread_create(&thread[i], NULL, act, &actor[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	ck_cuda(cuCtxSynchronize());
	for (unsigned int i = 0; i < THREADS; i++)
		for (unsigned int j = 0; j < WORDS; j++)
			ck_assert_uint_eq(exec_peek(i * WORDS + j), actor[i].expected);
}
END_TEST

static void *come_and_go(void *arg)
{
	CUcontext context;
	CUdeviceptr place;
	CUmodule module;
	CUfunction inc;
	uint64_t value = 1, count = 4, none = 0;

	for (int i = 0; i < 5; i++) {
		void *params[] = {&place, &value, &count, &none};

		ck_cuda(cuCtxCreate_v4(&context, NULL, 0, 0));
		ck_cuda(cuModuleLoadData(&module, exec_ptx));
		ck_cuda(cuModuleGetFunction(&inc, module, "inc"));
		ck_cuda(cuMemAlloc_v2(&place, 4096));
		for (int j = 0; j < 20; j++)
			ck_cuda(cuLaunchKernel(inc, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD,
					       params, NULL));
		ck_cuda(cuCtxDestroy_v2(context));
	}
	return NULL;
}

START_TEST(test_contexts_come_and_go)
{
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, come_and_go, NULL), 0);
	for (int i = 0; i < 50; i++) {
		exec_run(w.inc, w.a, 1, 1, 1);
		ck_cuda(cuStreamSynchronize(w.a));
	}
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	ck_assert_uint_eq(exec_peek(0), 50);
}
END_TEST

/* More kernels wait for another one than there are threads that compute. */
START_TEST(test_kernels_that_wait_for_a_kernel)
{
	unsigned int count = sim_options_get()->threads + 1;
	CUstream stream[8];

	if (count > 8)
		count = 8;
	for (unsigned int i = 0; i < count; i++) {
		ck_cuda(cuStreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
		exec_run(w.await, stream[i], 3, 1, 1);
	}
	exec_run(w.fill, w.a, 3, 1, 1);
	for (unsigned int i = 0; i < count; i++) {
		ck_cuda(cuStreamSynchronize(stream[i]));
		ck_cuda(cuStreamDestroy_v2(stream[i]));
	}
}
END_TEST

static TCase *make(void)
{
	TCase *tcase = tcase_create("threads");

	tcase_add_test(tcase, test_threads);
	tcase_add_test(tcase, test_contexts_come_and_go);
	tcase_add_test(tcase, test_kernels_that_wait_for_a_kernel);
	return tcase;
}

int main(void)
{
	return exec_world_run("exec-stress", make);
}
