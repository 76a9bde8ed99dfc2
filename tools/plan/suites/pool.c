/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs in processes of their own, so many at a time. Each takes the next one from a counter in
 * shared memory; which process does what changes nothing in the results.
 */

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plan/suites/suite.h"

static double cpu_seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void do_one(struct suite *suite, uint32_t index)
{
	struct suite_result *result = &suite->result[index];
	double start = cpu_seconds();

	result->error = 0;
	suite_do(suite, &suite->job[index], result);
	result->cpu_s = cpu_seconds() - start;
}

/* To people who wait: about twenty lines in all. */
static void tell(uint32_t begun, uint32_t jobs)
{
	uint32_t step = jobs / 20 + 1;

	if (begun % step == 0 && isatty(STDERR_FILENO))
		(void)fprintf(stderr, "%u of %u jobs\n", begun, jobs);
}

static _Noreturn void work(struct suite *suite, _Atomic uint32_t *next)
{
	/* Whoever stops the suite stops its jobs. */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (;;) {
		uint32_t index = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);

		if (index >= suite->jobs)
			break;
		do_one(suite, index);
		tell(index + 1, suite->jobs);
	}
	_exit(0);
}

static int compare_cost(const void *a, const void *b)
{
	const struct suite_job *left = a, *right = b;

	if (left->cost != right->cost)
		return left->cost > right->cost ? -1 : 1;
	if (left->row != right->row)
		return left->row < right->row ? -1 : 1;
	return left->lc * SUITE_BE + left->be < right->lc * SUITE_BE + right->be ? -1 : 1;
}

int suite_pool(struct suite *suite, uint32_t first, uint32_t processes)
{
	_Atomic uint32_t *next = mmap(NULL, sizeof(*next), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint32_t started = 0;

	if (next == MAP_FAILED)
		return -ENOMEM;
	atomic_init(next, first);
	qsort(suite->job + first, suite->jobs - first, sizeof(*suite->job), compare_cost);
	for (uint32_t i = first; i < suite->jobs; i++)
		suite->result[i] = (struct suite_result){.error = -EINPROGRESS};
	(void)fflush(NULL);
	for (; started < processes; started++) {
		pid_t pid = fork();

		if (!pid)
			work(suite, next);
		if (pid < 0)
			break;
	}
	for (uint32_t i = 0; i < started; i++)
		(void)wait(NULL);
	munmap((void *)next, sizeof(*next));
	return started ? 0 : -EAGAIN;
}
