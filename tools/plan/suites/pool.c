/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in processes of their own, so many at a time; which does what changes nothing in the results. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "plan/pool.h"
#include "plan/suites/suite.h"

struct suite_batch {
	struct suite *suite;
	uint32_t first;
};

static double cpu_seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* To people who wait: about twenty lines in all. */
static void tell(uint32_t begun, uint32_t jobs)
{
	uint32_t step = jobs / 20 + 1;

	if (begun % step == 0 && isatty(STDERR_FILENO))
		(void)fprintf(stderr, "%u of %u jobs\n", begun, jobs);
}

/* A job that fails says so in its result: the others go on. */
static int do_one(void *context, uint32_t number)
{
	const struct suite_batch *batch = context;
	struct suite *suite = batch->suite;
	uint32_t index = batch->first + number;
	struct suite_result *result = &suite->result[index];
	double start = cpu_seconds();

	result->error = 0;
	suite_do(suite, &suite->job[index], result);
	result->cpu_s = cpu_seconds() - start;
	tell(index + 1, suite->jobs);
	return 0;
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
	struct suite_batch batch = {.suite = suite, .first = first};
	int r;

	qsort(suite->job + first, suite->jobs - first, sizeof(*suite->job), compare_cost);
	for (uint32_t i = first; i < suite->jobs; i++)
		suite->result[i] = (struct suite_result){.error = -EINPROGRESS};
	r = pool_run(suite->jobs - first, processes, do_one, &batch);
	/* What a process that died had begun is in progress still, and is told as failed. */
	return r == -ECHILD ? 0 : r;
}
