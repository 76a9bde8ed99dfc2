/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best fixed setting of a pair for each target: bisection along the ladder of levels, on the
 * very arrivals on which the controller is judged. Best-effort work and A both rise with the level,
 * so the highest level that keeps the target gives most. What one target has tried the next uses.
 */

#include "plan/suites/search.h"

#include <string.h>

#include "plan/suites/report.h"
#include "plan/suites/sums.h"

#define FLOOR (-1000) /* the ladder's own least */
#define STEP 128      /* thousandths: how close the bisection comes */
#define MOST_TRIES 64u

static const int32_t ceiling[SUITE_MODES] = {[SUITE_TIME] = 2000, [SUITE_MPS] = 5000};

struct tried {
	int32_t level;
	double a, be;
};

struct search {
	struct suite *suite;
	const struct suite_job *job;
	struct suite_result *result;
	struct tried tried[MOST_TRIES];
	uint32_t count;
};

static const struct tried *try_level(struct search *search, int32_t level)
{
	struct suite_result result = {0};
	struct tried *tried;

	for (uint32_t i = 0; i < search->count; i++) {
		if (search->tried[i].level == level)
			return &search->tried[i];
	}
	if (search->count == MOST_TRIES)
		return NULL;
	suite_level_set(&search->suite->row[search->job->row], level);
	suite_do_pair(search->suite, search->job, &result);
	search->result->simulated_s += result.simulated_s;
	if (result.error) {
		search->result->error = result.error;
		return NULL;
	}
	tried = &search->tried[search->count++];
	*tried = (struct tried){level, suite_mean(&result, result.a),
				suite_mean(&result, result.be)};
	return tried;
}

/* The highest level that keeps A within `most`. NULL: none does, or a run failed. */
static const struct tried *highest(struct search *search, double most)
{
	int32_t low = FLOOR, high = ceiling[search->job->mode];
	const struct tried *at = try_level(search, high);

	if (!at || at->a <= most)
		return at;
	at = try_level(search, low);
	if (!at || at->a > most)
		return NULL;
	while (high - low > STEP) {
		int32_t middle = (low + high) / 2;

		at = try_level(search, middle);
		if (!at)
			return NULL;
		if (at->a <= most)
			low = middle;
		else
			high = middle;
	}
	return try_level(search, low);
}

/* Other rungs may give more than the highest that fits. */
static double most_work(const struct search *search, double most)
{
	double be = 0;

	for (uint32_t i = 0; i < search->count; i++) {
		if (search->tried[i].a <= most && search->tried[i].be > be)
			be = search->tried[i].be;
	}
	return be;
}

void suite_do_search(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	struct search search = {.suite = suite, .job = job, .result = result};

	for (uint32_t i = 0; i < SUITE_TARGETS; i++) {
		double most = suite_target_permille[i] / 1000.0;
		const struct tried *at = highest(&search, most);

		if (result->error)
			return;
		result->best_level[i] = at ? at->level : FLOOR;
		result->best_be[i] = most_work(&search, most);
	}
	result->tries = search.count;
}
