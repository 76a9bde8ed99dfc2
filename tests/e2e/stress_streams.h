/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STRESS_STREAMS_H
#define TESTS_STRESS_STREAMS_H

/*
 * Steps of the stress program: streams of every kind, waited for in every way, captures, graphs.
 * Included once.
 */

#include "stress_worker.h"

static void do_stream(struct worker *w)
{
	CUstream stream = stream_new(w);
	unsigned int count = 1 + roll(w, 6);

	while (count--)
		launch_on(w, stream);
	look(w, stream);
	CHECK(cuStreamDestroy(stream));
}

/* Destroyed with work outstanding, which is done all the same. */
static void do_abandoned(struct worker *w)
{
	CUstream stream = stream_new(w), after = stream_new(w);
	CUevent event;

	launch_on(w, stream);
	launch_on(w, stream);
	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	CHECK(cuEventRecord(event, stream));
	CHECK(cuStreamWaitEvent(after, event, 0));
	CHECK(cuStreamDestroy(stream));
	CHECK(cuEventDestroy(event));
	launch_on(w, after);
	look(w, after);
	CHECK(cuStreamDestroy(after));
}

static void do_default(struct worker *w)
{
	unsigned long long seen;
	void *params[] = {&w->word};

	if (roll(w, 2)) {
		launch_on(w, NULL);
		CHECK(cuMemcpyDtoH(&seen, w->word, sizeof(seen)));
		expect(w, seen, __LINE__);
		return;
	}
	CHECK(cuLaunchKernel_ptsz(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	w->launched++;
	w->expected++;
	if (roll(w, 2))
		CHECK(cuStreamSynchronize_ptsz(NULL));
	else
		CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH(&seen, w->word, sizeof(seen)));
	expect(w, seen, __LINE__);
}

/* A thread that launches on its own default stream and ends without looking. */
static void *short_life(void *closure)
{
	struct worker *w = closure;
	void *params[] = {&w->word};

	CHECK(cuCtxSetCurrent(context));
	CHECK(cuLaunchKernel_ptsz(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	return NULL;
}

static void do_short_life(struct worker *w)
{
	unsigned long long seen;
	pthread_t thread;

	if (pthread_create(&thread, NULL, short_life, w))
		return;
	pthread_join(thread, NULL);
	w->launched++;
	w->expected++;
	/* Its stream has gone with it: nobody else can wait for that. */
	for (int tries = 0; tries < 20000; tries++) {
		CHECK(cuMemcpyDtoH(&seen, w->word, sizeof(seen)));
		if (seen == w->expected)
			return;
		usleep(500);
	}
	expect(w, seen, __LINE__);
}

static CUstreamCaptureMode some_mode(struct worker *w)
{
	/* GLOBAL would forbid the other threads to allocate. */
	return roll(w, 2) ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_RELAXED;
}

static void do_graph(struct worker *w)
{
	CUstream stream = stream_to_capture(), side = stream_to_capture();
	unsigned int replays = 1 + roll(w, 3);
	bool is_joined = roll(w, 2);
	CUgraphExec exec;
	CUevent event;
	CUgraph graph;

	CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	/* Work before the capture is none of it. */
	launch_on(w, stream);
	CHECK(cuStreamBeginCapture(stream, some_mode(w)));
	launch_on(w, stream);
	if (is_joined) {
		CHECK(cuEventRecord(event, stream));
		CHECK(cuStreamWaitEvent(side, event, 0));
		launch_on(w, side);
		CHECK(cuEventRecord(event, side));
		CHECK(cuStreamWaitEvent(stream, event, 0));
	}
	launch_on(w, stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	w->expected -= 2 + is_joined;
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	CHECK(cuGraphDestroy(graph));
	for (unsigned int i = 0; i < replays; i++) {
		CHECK(cuGraphLaunch(exec, stream));
		w->expected += 2 + is_joined;
	}
	look(w, stream);
	CHECK(cuGraphExecDestroy(exec));
	CHECK(cuEventDestroy(event));
	CHECK(cuStreamDestroy(side));
	CHECK(cuStreamDestroy(stream));
}

/* A capture that its own thread breaks, or leaves, or whose stream goes. */
static void do_broken_capture(struct worker *w)
{
	CUstream stream = stream_to_capture();
	unsigned long long before = w->expected;
	CUgraph graph = NULL;

	CHECK(cuStreamBeginCapture(stream, some_mode(w)));
	launch_on(w, stream);
	w->expected = before;
	switch (roll(w, 3)) {
	case 0:
		if (cuStreamSynchronize(stream) == CUDA_SUCCESS)
			w->wrong++;
		if (cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS)
			w->wrong++;
		break;
	case 1:
		CHECK(cuStreamEndCapture(stream, &graph));
		CHECK(cuGraphDestroy(graph));
		break;
	default: break; /* destroyed as it is */
	}
	CHECK(cuStreamDestroy(stream));
}

#endif
