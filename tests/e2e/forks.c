/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA in a program that forks, execs and closes what it does not know, as programs do. Each use of
 * the GPU counts its launches on the device; a wrong count is a failure.
 *
 * forks workers   uses the GPU while it forks children that do not (by fork, with threads, through
 *                 exit and _exit), and children that exec a program which does
 * forks before    forks first; the children use the GPU without exec, the parent too; one becomes
 *                 a daemon
 * forks close     closes all descriptors from 3 on, before and after CUDA starts, and opens files of
 *                 its own in their places, which must stay as they are
 * forks closed    closes all descriptors from 3 on and uses the GPU until SIGTERM, as `worker` does
 * forks use       uses the GPU
 */
#include <cuda.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_kernel.h"

#define CHILDREN 6
#define LAUNCHES 200
#define FILES 700 /* descriptors: beyond where a library may have put its own */

extern char **environ;

static CUfunction kernel;
static CUstream stream;
static CUdeviceptr word;
static unsigned long long launched;

static void fail(const char *what)
{
	printf("%d: %s failed\n", (int)getpid(), what);
	fflush(stdout);
	_exit(1);
}

static void check(CUresult result, const char *call)
{
	if (result == CUDA_SUCCESS)
		return;
	printf("%d: %s: error %d\n", (int)getpid(), call, (int)result);
	fflush(stdout);
	_exit(1);
}

#define CHECK(call) check((call), #call)

static void start(void)
{
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, count_ptx));
	CHECK(cuModuleGetFunction(&kernel, module, "count"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc(&word, sizeof(unsigned long long)));
	CHECK(cuMemsetD8(word, 0, sizeof(unsigned long long)));
}

/* Launches, copies and memory of some size, so that every path of a library in between is taken. */
static void use(void)
{
	void *params[] = {&word};
	unsigned long long counted = 0;
	CUdeviceptr block;

	for (int i = 0; i < LAUNCHES; i++, launched++)
		CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	CHECK(cuMemAlloc(&block, 96u << 20));
	CHECK(cuMemsetD8Async(block, 1, 4096, stream));
	CHECK(cuStreamSynchronize(stream));
	CHECK(cuMemFree(block));
	CHECK(cuMemcpyDtoH(&counted, word, sizeof(counted)));
	if (counted != launched) {
		printf("%d: launched %llu counted %llu\n", (int)getpid(), launched, counted);
		fflush(stdout);
		_exit(1);
	}
}

static pid_t fork_or_fail(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		fail("fork");
	return pid;
}

static void reap(int children)
{
	int status;

	while (children--) {
		if (wait(&status) < 0)
			fail("wait");
		if (status) {
			printf("a child ended with %x\n", status);
			_exit(1);
		}
	}
}

static void *touch_memory(void *unused)
{
	volatile char *block = malloc(1 << 20);

	for (int i = 0; block && i < 1 << 20; i += 4096)
		block[i] = 1;
	free((void *)(uintptr_t)block);
	return unused;
}

/* As a loader of training data does: threads, memory, no CUDA. */
static void work_without_cuda(int number)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, touch_memory, NULL) || pthread_join(thread, NULL))
		_exit(1);
	touch_memory(NULL);
	if (number % 2)
		exit(0);
	_exit(0);
}

static void exec_self(const char *self, int number)
{
	char *argv[] = {(char *)(uintptr_t)self, (char[]){"use"}, NULL};
	pid_t pid;

	if (number % 2) {
		if (posix_spawn(&pid, self, NULL, NULL, argv, environ))
			fail("posix_spawn");
		return;
	}
	if (fork_or_fail())
		return;
	execv(self, argv);
	_exit(127);
}

static void workers(const char *self)
{
	start();
	use();
	for (int i = 0; i < CHILDREN; i++) {
		if (!fork_or_fail())
			work_without_cuda(i);
		use();
		exec_self(self, i);
		use();
	}
	reap(2 * CHILDREN);
	use();
}

static void become_daemon(int done)
{
	if (fork_or_fail())
		_exit(0);
	if (setsid() < 0)
		fail("setsid");
	start();
	use();
	if (write(done, "d", 1) != 1)
		fail("write");
	_exit(0);
}

static void before(void)
{
	char byte;
	int done[2];

	if (pipe(done))
		fail("pipe");
	for (int i = 0; i < CHILDREN; i++) {
		if (fork_or_fail())
			continue;
		start();
		use();
		if (i % 2)
			exit(0);
		_exit(0);
	}
	if (!fork_or_fail())
		become_daemon(done[1]);
	start();
	use();
	reap(CHILDREN + 1);
	close(done[1]);
	if (read(done[0], &byte, 1) != 1)
		fail("the daemon");
	use();
}

static void close_all(void)
{
	for (int fd = 3; fd < FILES + 16; fd++)
		close(fd);
}

/* Files of the program's own, empty, wherever there is room. */
static int open_files(void)
{
	int count = 0, fd;

	while (count < FILES && (fd = open("/tmp", O_TMPFILE | O_RDWR, 0600)) >= 0)
		count++;
	return count;
}

static int count_files(int *ret_written)
{
	int count = 0;

	*ret_written = 0;
	for (int fd = 3; fd < FILES + 16; fd++) {
		off_t size = lseek(fd, 0, SEEK_END);

		count += size >= 0;
		*ret_written += size > 0;
	}
	return count;
}

static void closes(void)
{
	int files, left, written;

	close_all();
	start();
	use();
	close_all();
	use();
	files = open_files();
	use();
	left = count_files(&written);
	if (left < files || written) {
		printf("of %d files %d are left, %d were written to\n", files, left, written);
		_exit(1);
	}
	close_all();
	use();
}

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	stopped = 1;
}

static void closed(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGTERM, &action, NULL);
	/* Nobody is left behind where a script is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	start();
	use();
	close_all();
	while (!stopped) {
		use();
		printf("at %llu\n", launched);
	}
	printf("launched %llu counted %llu\n", launched, launched);
}

int main(int argc, char **argv)
{
	struct rlimit limit = {.rlim_cur = 1024, .rlim_max = 1024};
	const char *mode = argc > 1 ? argv[1] : "";

	(void)setrlimit(RLIMIT_NOFILE, &limit);
	if (!strcmp(mode, "workers")) {
		workers(argv[0]);
	} else if (!strcmp(mode, "before")) {
		before();
	} else if (!strcmp(mode, "close")) {
		closes();
	} else if (!strcmp(mode, "closed")) {
		closed();
	} else if (!strcmp(mode, "use")) {
		start();
		use();
	} else {
		return 2;
	}
	printf("%s: well\n", mode);
	return 0;
}
