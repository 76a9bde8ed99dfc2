/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs there are. */

#include "plan/suites/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/suites/orders.h"
#include "plan/suites/scenes.h"
#include "plan/suites/search.h"

#define SUITE_MOST_JOBS 8192u
#define SHARES_LC 1

void suite_do(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	switch (job->kind) {
	case SUITE_ALONE: suite_do_alone(suite, job, result); break;
	case SUITE_PAIR: suite_do_pair(suite, job, result); break;
	case SUITE_SEARCH: suite_do_search(suite, job, result); break;
	case SUITE_DECODE: suite_do_decode(suite, job, result); break;
	case SUITE_SETTLE: suite_do_settle(suite, job, result); break;
	case SUITE_SHARES: suite_do_shares(suite, job, result); break;
	case SUITE_GAPS: suite_do_gaps(suite, job, result); break;
	case SUITE_ORDER: suite_do_order(suite, job, result); break;
	}
}

uint32_t suite_jobs_most(void)
{
	return SUITE_MOST_JOBS;
}

static void add_job(struct suite *suite, struct suite_job job)
{
	if (suite->jobs < SUITE_MOST_JOBS)
		suite->job[suite->jobs++] = job;
}

/* Simulated seconds, about. */
static double cost_of(const struct suite *suite, uint32_t lc, uint32_t requests, uint32_t seeds)
{
	return (double)suite->catalog.lc_service_ns[lc] / 1e9 * requests * seeds;
}

void suite_add_alone(struct suite *suite)
{
	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		for (uint32_t lc = 0; lc < SUITE_LC; lc++)
			add_job(suite, (struct suite_job){.kind = SUITE_ALONE,
							  .mode = mode,
							  .lc = lc,
							  .cost = cost_of(suite, lc, SUITE_REQUESTS,
									  SUITE_SEEDS)});
	}
}

static void add_pairs(struct suite *suite, uint32_t index, enum suite_kind kind, double weight)
{
	const struct suite_row *row = &suite->row[index];
	uint32_t pairs = 0;

	for (uint32_t i = 0; i < SUITE_MODES * SUITE_PAIRS; i++) {
		uint32_t mode = i / SUITE_PAIRS, lc = i / SUITE_BE % SUITE_LC, be = i % SUITE_BE;
		double cost = cost_of(suite, lc, row->requests, row->seeds) * weight;

		if (i % SUITE_PAIRS == 0)
			pairs = 0;
		if (!(row->modes & (1u << mode)) || (!row->all_pairs && !suite_in_subset(lc, be)) ||
		    pairs++ >= suite->most_pairs)
			continue;
		add_job(suite, (struct suite_job){.kind = kind,
						  .row = index,
						  .mode = mode,
						  .lc = lc,
						  .be = be,
						  .cost = cost});
	}
}

void suite_add_pairs(struct suite *suite, uint32_t row)
{
	add_pairs(suite, row, SUITE_PAIR, 1);
}

void suite_add_searches(struct suite *suite, uint32_t row)
{
	add_pairs(suite, row, SUITE_SEARCH, 10); /* levels tried, about */
}

void suite_add_scenes(struct suite *suite, uint32_t plain)
{
	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		for (uint32_t be = 0; be < SUITE_BE && be < suite->most_pairs; be++)
			add_job(suite, (struct suite_job){.kind = SUITE_DECODE,
							  .row = plain,
							  .mode = mode,
							  .be = be,
							  .cost = 100});
		for (uint32_t i = 0; i < SHARE_CASES; i++)
			add_job(suite, (struct suite_job){.kind = SUITE_SHARES,
							  .row = plain,
							  .mode = mode,
							  .lc = SHARES_LC,
							  .be = i,
							  .cost = 80});
		for (uint32_t i = 0; i < GAP_CASES; i++)
			add_job(suite, (struct suite_job){.kind = SUITE_GAPS,
							  .row = plain,
							  .mode = mode,
							  .lc = SHARES_LC,
							  .be = i,
							  .cost = 80});
	}
}

void suite_add_settle(struct suite *suite, uint32_t target)
{
	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		for (uint32_t i = 0; i < (suite->quick ? 1 : SETTLE_RUNS); i++)
			add_job(suite, (struct suite_job){.kind = SUITE_SETTLE,
							  .row = target,
							  .mode = mode,
							  .lc = SETTLE_LC,
							  .be = i,
							  .cost = 3 * SETTLE_PHASE_S});
	}
}

void suite_add_orders(struct suite *suite, bool (*wanted)(const void *context, const char *name),
		      const void *context)
{
	for (uint32_t i = 0; order_at(i); i++) {
		for (uint32_t seed = 0; seed < (suite->quick ? 1 : SUITE_SEEDS); seed++) {
			if (wanted(context, order_at(i)->name))
				add_job(suite, (struct suite_job){.kind = SUITE_ORDER,
								  .row = i,
								  .be = seed,
								  .cost = 60});
		}
	}
}
