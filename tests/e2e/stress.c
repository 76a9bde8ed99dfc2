/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do everything at once, each at random and each checking what it did: streams made and
 * destroyed all the time, with work outstanding or not; captures, good and broken, and graphs;
 * every kind of allocation; default streams of both kinds; short-lived threads; contexts.
 *
 * stress THREADS ROUNDS [SEED [stay]]
 *
 * The same line at the end whatever runs beside it: "launched N wrong 0". With "stay" it then waits
 * for SIGTERM, so that somebody can look at what is charged to it (a word).
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "stress_memory.h"
#include "stress_streams.h"

/* A context of its own, that goes with work and memory in it. */
static void do_context(struct worker *w)
{
	CUcontext mine, popped;
	CUdeviceptr word;
	CUfunction f;
	CUstream stream;
	CUmodule code;
	CUresult result = cuCtxCreate(&mine, NULL, 0, 0);
	void *params[] = {&word};

	if (!is_there(w, result, "cuCtxCreate", __LINE__))
		return;
	CHECK(cuModuleLoadData(&code, count_ptx));
	CHECK(cuModuleGetFunction(&f, code, "count"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	if (ALLOC(cuMemAlloc(&word, 1 << 16))) {
		for (unsigned int i = 1 + roll(w, 4); i; i--)
			CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, i & 1 ? stream : NULL, params,
					     NULL));
	}
	if (roll(w, 2))
		CHECK(cuCtxPopCurrent(&popped));
	CHECK(cuCtxDestroy(mine));
	CHECK(cuCtxSetCurrent(context));
}

static void do_child(struct worker *w)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		return;
	if (!child) {
		CUdeviceptr address;

		/* Whatever other threads held at the fork: the driver refuses, nothing hangs. */
		if (cuMemAlloc(&address, 4096) == CUDA_SUCCESS ||
		    cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS)
			_exit(3);
		execl("/bin/true", "true", (char *)NULL);
		_exit(4);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
		printf("line %d: a child ended with status %x\n", __LINE__, status);
		w->wrong++;
	}
}

static void step(struct worker *w)
{
	static void (*const what[])(struct worker *) = {
		do_stream, do_stream,	      do_abandoned,    do_default,
		do_graph,  do_broken_capture, do_plain_memory, do_stream_memory,
		do_pool,   do_mapped_memory,  do_short_life,   do_graph,
	};
	unsigned int chosen = roll(w, 100);

	if (chosen == 0)
		do_child(w);
	else if (chosen < 12)
		do_context(w);
	else
		what[chosen % (sizeof(what) / sizeof(what[0]))](w);
}

static void *work(void *closure)
{
	struct worker *w = closure;
	unsigned long long zero = 0;

	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc(&w->word, sizeof(zero)));
	CHECK(cuMemcpyHtoD(w->word, &zero, sizeof(zero)));
	/* That has been staged; streams that do not block do not wait for it. */
	CHECK(cuCtxSynchronize());
	for (unsigned int i = 0; i < w->rounds; i++)
		step(w);
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH(&zero, w->word, sizeof(zero)));
	expect(w, zero, __LINE__);
	CHECK(cuMemFree(w->word));
	return NULL;
}

/* An arbiter that has come anew hears of us once there is more to launch. */
static void stay(const sigset_t *term)
{
	struct timespec span = {.tv_nsec = 100000000};
	CUdeviceptr word;
	void *params[] = {&word};

	CHECK(cuMemAlloc(&word, sizeof(unsigned long long)));
	while (sigtimedwait(term, NULL, &span) != SIGTERM) {
		for (int i = 0; i < 64; i++)
			CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		CHECK(cuCtxSynchronize());
	}
	CHECK(cuMemFree(word));
}

static unsigned int argument(int argc, char **argv, int i, unsigned int otherwise)
{
	return argc > i ? (unsigned int)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	unsigned int count = argument(argc, argv, 1, 16), seed = argument(argc, argv, 3, 1);
	struct worker *workers = calloc(count, sizeof(*workers));
	unsigned long long launched = 0, wrong = 0, refused = 0;
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, count_ptx));
	CHECK(cuModuleGetFunction(&kernel, module, "count"));
	for (unsigned int i = 0; i < count; i++) {
		workers[i].number = i;
		workers[i].rounds = argument(argc, argv, 2, 100);
		workers[i].state = (seed * 1000003ull + i) * 0x9e3779b97f4a7c15ull | 1;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 2;
	}
	for (unsigned int i = 0; i < count; i++) {
		pthread_join(workers[i].thread, NULL);
		launched += workers[i].launched;
		wrong += workers[i].wrong;
		refused += workers[i].refused;
	}
	printf("refused %llu\n", refused);
	printf("launched %llu wrong %llu\n", launched, wrong);
	free(workers);
	if (argc > 4)
		stay(&term);
	CHECK(cuModuleUnload(module));
	CHECK(cuDevicePrimaryCtxRelease(0));
	return wrong != 0;
}
