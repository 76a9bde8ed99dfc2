/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/pool.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct pool_common {
	_Atomic uint32_t next;
	_Atomic int error; /* the first */
};

void *pool_shared(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

void pool_release(void *memory, size_t size)
{
	if (memory)
		(void)munmap(memory, size);
}

static void pool_work(struct pool_common *common, uint32_t tasks,
		      int (*task)(void *context, uint32_t number), void *context)
{
	uint32_t number;

	while (!common->error && (number = atomic_fetch_add(&common->next, 1)) < tasks) {
		int none = 0, r = task(context, number);

		if (r)
			(void)atomic_compare_exchange_strong(&common->error, &none, r);
	}
}

static int pool_wait(uint32_t workers)
{
	int status, r = 0;

	for (; workers; workers--) {
		pid_t pid;

		do
			pid = wait(&status);
		while (pid < 0 && errno == EINTR);
		if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
			r = -ECHILD;
	}
	return r;
}

static uint32_t pool_size(uint32_t tasks, uint32_t workers)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (!workers)
		workers = processors > 0 ? (uint32_t)processors : 1;
	return workers < tasks ? workers : tasks;
}

int pool_run(uint32_t tasks, uint32_t workers, int (*task)(void *context, uint32_t number),
	     void *context)
{
	struct pool_common *common = pool_shared(sizeof(*common));
	uint32_t started = 0;
	int r;

	if (!common)
		return -ENOMEM;
	workers = pool_size(tasks, workers);
	/* What is in stdio's buffers would be written by every child. */
	(void)fflush(NULL);
	for (; started < workers; started++) {
		pid_t pid = fork();

		if (pid < 0)
			break; /* fewer, then */
		if (!pid) {
			/* Whoever stops the caller stops its tasks. */
			(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
			pool_work(common, tasks, task, context);
			_exit(0);
		}
	}
	if (!started)
		pool_work(common, tasks, task, context);
	r = pool_wait(started);
	if (!r)
		r = common->error;
	pool_release(common, sizeof(*common));
	return r;
}
