/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes beside the pairs: a decode loop, a step of the load, several loops by weight. */

#include <errno.h>
#include <stdlib.h>

#include "plan/metrics.h"
#include "plan/suites/report.h"
#include "plan/suites/run.h"
#include "plan/suites/scenes.h"
#include "plan/suites/suite.h"

#define SECOND_NS 1000000000ull

static double be_rate(const struct suite *suite, const struct suite_run *run, uint32_t i,
		      uint32_t be)
{
	const struct world_record *record = &run->be_record[i];

	return (double)record->done_ns / (double)record->measured_ns / suite->catalog.be_rate[be];
}

/* ---- decode loop: p99 of a step ---- */

static int step_p99(const struct suite *suite, struct suite_run *run, uint64_t *ret_ns)
{
	struct metrics_tail tail = {0};
	int r = suite_run_do(&suite->catalog, run);

	if (!r)
		r = metrics_service(&run->lc_record, SUITE_WARMUP, &tail);
	*ret_ns = tail.p99_ns;
	return r;
}

static void decode_seed(struct suite *suite, const struct suite_job *job, uint32_t seed,
			struct suite_result *result)
{
	const struct suite_catalog *catalog = &suite->catalog;
	struct suite_run run = {
		.row = &suite->row[job->row],
		.mode = job->mode,
		.lc = catalog->decode,
		.lc_gap_ns = catalog->decode_ns * 1000 / SUITE_LOAD_PERMILLE,
		.arrivals = ARRIVALS_POISSON,
		.seed = seed + 1,
		.requests = suite->quick ? 5 : DECODE_REQUESTS,
	};
	uint64_t alone_ns = 0, shared_ns = 0;

	result->error = step_p99(suite, &run, &alone_ns);
	suite_run_done(&run);
	run.be[0] = catalog->be[job->be];
	run.n_be = 1;
	if (!result->error)
		result->error = step_p99(suite, &run, &shared_ns);
	if (!result->error) {
		result->s[seed] = metrics_over(shared_ns, alone_ns);
		result->be[seed] = be_rate(suite, &run, 0, job->be);
		result->simulated_s += (double)world_now(run.world) / 1e9;
		result->seeds++;
	}
	suite_run_done(&run);
}

void suite_do_decode(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	for (uint32_t seed = 0; !result->error && seed < suite->row[job->row].seeds; seed++)
		decode_seed(suite, job, seed, result);
}

/* ---- load step: best-effort work by time ---- */

uint32_t suite_settle_phase_s(const struct suite *suite)
{
	return suite->quick ? SETTLE_QUICK_S : SETTLE_PHASE_S;
}

static int settle_run(const struct suite *suite, const struct suite_job *job, uint32_t row,
		      float *ret_bin, struct suite_result *result)
{
	const struct suite_catalog *catalog = &suite->catalog;
	uint64_t phase_ns = suite_settle_phase_s(suite) * SECOND_NS;
	struct suite_run run = {
		.row = &suite->row[row],
		.mode = job->mode,
		.lc = catalog->lc[job->lc],
		.lc_gap_ns = catalog->lc_service_ns[job->lc], /* load 1 at rate 1000 */
		.arrivals = ARRIVALS_POISSON,
		.steps = {{0, SETTLE_LOW}, {phase_ns, SETTLE_HIGH}, {2 * phase_ns, SETTLE_LOW}},
		.n_steps = 3,
		.be = {catalog->be[SETTLE_BE]},
		.n_be = 1,
		.seed = job->be + 1,
		.end_ns = 3 * phase_ns,
		.share_ns = SECOND_NS / SETTLE_BINS_A_SECOND,
	};
	const struct world_record *be = &run.be_record[0];
	int r = suite_run_do(catalog, &run);

	for (uint32_t i = 0; !r && i + 1 < be->samples && i < SUITE_BINS; i++) {
		ret_bin[i] = (float)((double)(be->progress_ns[i + 1] - be->progress_ns[i]) *
				     SETTLE_BINS_A_SECOND / 1e9 / catalog->be_rate[SETTLE_BE]);
		result->bins = i + 1;
	}
	if (!r)
		result->simulated_s += (double)world_now(run.world) / 1e9;
	suite_run_done(&run);
	return r;
}

void suite_do_settle(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	uint32_t fixed = suite_find_row(suite, "sluice", SUITE_MAIN);

	result->error = settle_run(suite, job, fixed, result->fixed_bin, result);
	if (!result->error)
		result->error = settle_run(suite, job, job->row, result->bin, result);
	result->seeds = !result->error;
}

/* ---- several loops ---- */

/* A share is of those who want more than they get. The loops of BERT and Transformer-XL have
 * stretches of kernels so short that their hosts cannot keep the device busy: they have no large part. */
const struct suite_share_case suite_share_case[SHARE_CASES] = {
	{"75/25", 2, {2, 1}, {75, 25}},
	{"4:3:2:1", 4, {2, 3, 1, 0}, {40, 30, 20, 10}},
};

/* The worst second of all seeds; the p95 is summed. */
static int share_errors(const struct suite_run *run, double *ret_1s, double *ret_100ms_p95)
{
	struct metrics_shares second, tenth;
	int r = metrics_share_error(run->be_record, run->weight, run->n_be, SECOND_NS / 10,
				    SECOND_NS, run->be_record[0].start_ns, &second);

	if (!r)
		r = metrics_share_error(run->be_record, run->weight, run->n_be, SECOND_NS / 10,
					SECOND_NS / 10, run->be_record[0].start_ns, &tenth);
	if (r)
		return r;
	*ret_1s = second.worst > *ret_1s ? second.worst : *ret_1s;
	*ret_100ms_p95 += tenth.p95;
	return 0;
}

static void shares_seed(struct suite *suite, const struct suite_job *job, uint32_t seed,
			struct suite_result *result)
{
	const struct suite_catalog *catalog = &suite->catalog;
	const struct suite_share_case *shares = &suite_share_case[job->be];
	struct metrics_tail tail;
	struct suite_run run = {
		.row = &suite->row[job->row],
		.mode = job->mode,
		.lc = catalog->lc[job->lc],
		.lc_gap_ns = catalog->lc_service_ns[job->lc] * 1000 / SUITE_LOAD_PERMILLE,
		.arrivals = ARRIVALS_POISSON,
		.n_be = shares->loops,
		.seed = seed + 1,
		.requests = suite->quick ? 200 : SCENE_REQUESTS,
	};
	uint64_t alone_ns[SUITE_REQUESTS];

	for (uint32_t i = 0; i < shares->loops; i++) {
		run.be[i] = catalog->be[shares->be[i]];
		run.weight[i] = shares->weight[i];
	}
	result->error = suite_run_do(catalog, &run);
	if (!result->error)
		result->error = metrics_arrival(&run.lc_record, SUITE_WARMUP, &tail);
	if (!result->error)
		result->error = share_errors(&run, &result->err_1s, &result->err_100ms_p95);
	for (uint32_t i = 0; !result->error && i < shares->loops; i++)
		result->be[seed] += be_rate(suite, &run, i, shares->be[i]);
	if (!result->error) {
		const struct suite_alone *alone = &suite->alone[job->mode][job->lc][seed];

		for (uint32_t i = 0; i < tail.count && i < alone->requests; i++)
			alone_ns[i] = alone->arrival_ns[i];
		result->a[seed] =
			metrics_over(tail.p99_ns, metrics_quantile(alone_ns, tail.count, 990));
		result->simulated_s += (double)world_now(run.world) / 1e9;
		result->seeds++;
	}
	suite_run_done(&run);
}

void suite_do_shares(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	for (uint32_t seed = 0; !result->error && seed < suite->row[job->row].seeds; seed++)
		shares_seed(suite, job, seed, result);
	if (result->seeds)
		result->err_100ms_p95 /= result->seeds;
}

/* ---- other arrivals ---- */

const struct suite_gap_case suite_gap_case[GAP_CASES] = {
	{"periodic", ARRIVALS_PERIODIC, 25, 0},
	{"lognormal", ARRIVALS_LOGNORMAL, 0, 1500},
	{"recorded", ARRIVALS_RECORDED, 0, 0},
};

static int tails_of(const struct suite *suite, struct suite_run *run, struct metrics_tail *ret_a,
		    struct metrics_tail *ret_s)
{
	int r = suite_run_do(&suite->catalog, run);

	if (!r)
		r = metrics_arrival(&run->lc_record, SUITE_WARMUP, ret_a);
	return r ? r : metrics_service(&run->lc_record, SUITE_WARMUP, ret_s);
}

static void gaps_seed(struct suite *suite, const struct suite_job *job, uint32_t seed,
		      struct suite_result *result)
{
	const struct suite_catalog *catalog = &suite->catalog;
	const struct suite_gap_case *gaps = &suite_gap_case[job->be];
	struct metrics_tail a, s, a_alone, s_alone;
	struct suite_run run = {
		.row = &suite->row[job->row],
		.mode = job->mode,
		.lc = catalog->lc[job->lc],
		.lc_gap_ns = catalog->lc_service_ns[job->lc] * 1000 / SUITE_LOAD_PERMILLE,
		.arrivals = gaps->kind,
		.jitter_permille = gaps->jitter_permille,
		.sigma_permille = gaps->sigma_permille,
		.seed = seed + 1,
		.requests = suite->quick ? 200 : SCENE_REQUESTS,
	};

	result->error = tails_of(suite, &run, &a_alone, &s_alone);
	suite_run_done(&run);
	run.be[0] = catalog->be[GAPS_BE];
	run.n_be = 1;
	if (!result->error)
		result->error = tails_of(suite, &run, &a, &s);
	if (!result->error) {
		result->a[seed] = metrics_over(a.p99_ns, a_alone.p99_ns);
		result->s[seed] = metrics_over(s.p99_ns, s_alone.p99_ns);
		result->be[seed] = be_rate(suite, &run, 0, GAPS_BE);
		result->simulated_s += (double)world_now(run.world) / 1e9;
		result->seeds++;
	}
	suite_run_done(&run);
}

void suite_do_gaps(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	for (uint32_t seed = 0; !result->error && seed < suite->row[job->row].seeds; seed++)
		gaps_seed(suite, job, seed, result);
}
