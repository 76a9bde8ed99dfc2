/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that keeps a GPU at work until SIGTERM, and knows what must have happened: each launch of
 * its kernel adds one to a word of device memory.
 *
 * worker busy [MIB]      a few launches in flight, waits for the oldest
 * worker ahead [MIB]     the same with many: what it was given is never all done
 * worker open [MIB]      launches one after another and never waits: a request that does not end
 * worker request [MIB]   a request of ten launches, a pause of 20 ms, and again
 * worker callback [MIB]  the same, and a callback of the stream tells it of the end
 * worker word [MIB]      the same, and a word that the GPU writes into its memory does
 * worker once [MIB]      ten launches, and never looks at them
 * worker copies [MIB]    copies the memory that it holds to the host, again and again; launches once
 *
 * MIB of device memory are held meanwhile. Says "at N" of completed launches (of launched ones, where
 * it never waits; of copies) about ten times a second, and ends with "launched N counted N".
 */
#include <cuda.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "count_kernel.h"

#define IN_FLIGHT 4u
#define AHEAD 32u /* at most so many */
#define REQUEST 10
#define MIB (1ull << 20)
#define SAY_NS 100000000ull

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = 1;
}

static void check(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%s: error %d\n", call, (int)result);
	exit(1);
}

#define CHECK(call) check((call), #call)

struct worker {
	CUfunction kernel;
	CUstream stream;
	CUevent event[AHEAD];
	CUdeviceptr word, held, told_address;
	_Atomic unsigned int called;
	unsigned int requests;
	volatile unsigned int *told;
	void *copy;
	size_t held_bytes;
	unsigned long long launched, completed, said_ns;
};

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

static void pause_ms(long ms)
{
	struct timespec span = {.tv_nsec = ms * 1000000};

	nanosleep(&span, NULL);
}

static void start(struct worker *w, unsigned long long hold_mib)
{
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, count_ptx));
	CHECK(cuModuleGetFunction(&w->kernel, module, "count"));
	CHECK(cuStreamCreate(&w->stream, CU_STREAM_NON_BLOCKING));
	for (unsigned int i = 0; i < AHEAD; i++)
		CHECK(cuEventCreate(&w->event[i], CU_EVENT_DISABLE_TIMING));
	CHECK(cuMemAlloc(&w->word, sizeof(unsigned long long)));
	CHECK(cuMemsetD8(w->word, 0, sizeof(unsigned long long)));
	CHECK(cuMemHostAlloc((void **)&w->told, sizeof(*w->told), CU_MEMHOSTALLOC_DEVICEMAP));
	*w->told = 0;
	CHECK(cuMemHostGetDevicePointer(&w->told_address, (void *)w->told, 0));
	w->held_bytes = hold_mib * MIB;
	if (hold_mib)
		CHECK(cuMemAlloc(&w->held, w->held_bytes));
}

static void launch(struct worker *w)
{
	void *params[] = {&w->word};

	CHECK(cuLaunchKernel(w->kernel, 1, 1, 1, 1, 1, 1, 0, w->stream, params, NULL));
	w->launched++;
}

static void say(struct worker *w)
{
	unsigned long long at_ns = now_ns();

	if (at_ns - w->said_ns < SAY_NS)
		return;
	w->said_ns = at_ns;
	printf("at %llu\n", w->completed);
}

static void step_depth(struct worker *w, unsigned int depth)
{
	if (w->launched >= depth) {
		CHECK(cuEventSynchronize(w->event[w->launched % depth]));
		w->completed = w->launched - depth + 1;
	}
	launch(w);
	CHECK(cuEventRecord(w->event[(w->launched - 1) % depth], w->stream));
}

static void step_busy(struct worker *w)
{
	step_depth(w, IN_FLIGHT);
}

static void step_ahead(struct worker *w)
{
	step_depth(w, AHEAD);
}

static void step_open(struct worker *w)
{
	launch(w);
	w->completed = w->launched;
	pause_ms(5);
}

static void step_request(struct worker *w)
{
	for (int i = 0; i < REQUEST; i++)
		launch(w);
	CHECK(cuStreamSynchronize(w->stream));
	w->completed = w->launched;
	pause_ms(20);
}

static void CUDA_CB on_end(void *data)
{
	struct worker *w = data;

	w->called++;
}

static void step_callback(struct worker *w)
{
	for (int i = 0; i < REQUEST; i++)
		launch(w);
	CHECK(cuLaunchHostFunc(w->stream, on_end, w));
	w->requests++;
	while (w->called != w->requests)
		pause_ms(1);
	w->completed = w->launched;
	pause_ms(20);
}

static void step_word(struct worker *w)
{
	for (int i = 0; i < REQUEST; i++)
		launch(w);
	CHECK(cuStreamWriteValue32(w->stream, w->told_address, ++w->requests, 0));
	while (*w->told != w->requests)
		pause_ms(1);
	w->completed = w->launched;
	pause_ms(20);
}

static void step_once(struct worker *w)
{
	while (w->launched < REQUEST)
		launch(w);
	w->completed = w->launched;
	pause_ms(5);
}

static void step_copies(struct worker *w)
{
	if (!w->copy)
		w->copy = malloc(w->held_bytes);
	if (!w->copy || !w->held) {
		puts("copies: nothing to copy");
		exit(1);
	}
	if (!w->launched)
		launch(w);
	CHECK(cuMemcpyDtoH(w->copy, w->held, w->held_bytes));
	w->completed++;
}

static int finish(struct worker *w)
{
	unsigned long long counted = 0;

	CHECK(cuStreamSynchronize(w->stream));
	CHECK(cuMemcpyDtoH(&counted, w->word, sizeof(counted)));
	CHECK(cuMemFree(w->word));
	CHECK(cuMemFreeHost((void *)w->told));
	if (w->held)
		CHECK(cuMemFree(w->held));
	free(w->copy);
	CHECK(cuDevicePrimaryCtxRelease(0));
	printf("launched %llu counted %llu\n", w->launched, counted);
	return counted != w->launched;
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct worker w = {0};
	static const struct {
		const char *name;
		void (*step)(struct worker *);
	} modes[] = {
		{"busy", step_busy},	   {"ahead", step_ahead},	{"open", step_open},
		{"request", step_request}, {"callback", step_callback}, {"word", step_word},
		{"once", step_once},	   {"copies", step_copies},
	};
	void (*step)(struct worker *) = NULL;

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(argv[1], modes[i].name))
			step = modes[i].step;
	}
	if (!step)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &action, NULL);
	/* Nobody is left behind where a script is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	start(&w, argc > 2 ? strtoull(argv[2], NULL, 10) : 0);
	while (!stopped) {
		step(&w);
		say(&w);
	}
	return finish(&w);
}
