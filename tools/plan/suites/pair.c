/* SPDX-License-Identifier: Apache-2.0 */
/* A server and a loop: the main figures. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/metrics.h"
#include "plan/suites/paired.h"
#include "plan/suites/run.h"
#include "plan/suites/suite.h"

#define QUICK_REQUESTS 400u
/* A server that does not keep up is not waited for: so much longer than its requests arrive. */
#define PATIENCE 2u

/* The first request that counts: after so many, and so long. */
static uint32_t first_of(const struct world_record *record, uint64_t warmup_ns)
{
	uint32_t first = SUITE_WARMUP;

	while (first < record->requests && record->request[first].arrival_ns < warmup_ns)
		first++;
	return first;
}

/* Latencies of the requests that count, in order; at most SUITE_REQUESTS. */
static uint32_t latencies(const struct world_record *record, uint64_t warmup_ns, uint64_t *ret_a,
			  uint64_t *ret_s)
{
	uint32_t first = first_of(record, warmup_ns), count = 0, services = 0;

	for (uint32_t i = first; i < record->requests && count < SUITE_REQUESTS; i++) {
		const struct world_request *request = &record->request[i];

		ret_a[count++] = request->end_ns - request->arrival_ns;
	}
	for (uint32_t i = 0; i < record->services && services < count; i++) {
		const struct world_service *service = &record->service[i];

		if (service->request >= first)
			ret_s[services++] = service->end_ns - service->start_ns;
	}
	return services;
}

static void make_run(const struct suite *suite, const struct suite_job *job, uint32_t seed,
		     struct suite_run *ret_run)
{
	const struct suite_catalog *catalog = &suite->catalog;
	const struct suite_row *row = &suite->row[job->row];
	uint64_t gap_ns = catalog->lc_service_ns[job->lc] * 1000 / SUITE_LOAD_PERMILLE;

	*ret_run = (struct suite_run){
		.row = row,
		.mode = job->mode,
		.lc = catalog->lc[job->lc],
		.lc_gap_ns = gap_ns,
		.arrivals = ARRIVALS_POISSON,
		.seed = seed + 1,
		.requests = row->requests + (uint32_t)(row->warmup_ns / gap_ns),
		.warmup_ns = row->warmup_ns,
	};
	ret_run->end_ns = PATIENCE * gap_ns * (ret_run->requests + SUITE_WARMUP);
}

static int run_alone(struct suite *suite, struct suite_run *run, struct suite_alone *ret_alone)
{
	int r;

	run->n_be = 0;
	r = suite_run_do(&suite->catalog, run);
	if (!r)
		ret_alone->requests = latencies(&run->lc_record, run->warmup_ns,
						ret_alone->arrival_ns, ret_alone->service_ns);
	suite_run_done(run);
	return r;
}

/* The server alone, for all rows; the job's row is `native`. */
void suite_do_alone(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	for (uint32_t seed = 0; !result->error && seed < SUITE_SEEDS; seed++) {
		struct suite_run run;

		make_run(suite, job, seed, &run);
		run.requests = suite->quick ? QUICK_REQUESTS : SUITE_REQUESTS;
		run.end_ns = 0;
		result->error = run_alone(suite, &run, &suite->alone[job->mode][job->lc][seed]);
	}
}

static uint64_t p99_of(const uint64_t *value, uint32_t count, uint32_t permille, uint64_t *scratch)
{
	memcpy(scratch, value, count * sizeof(*value));
	return metrics_quantile(scratch, count, permille);
}

/* What a pair's seeds leave, one after the other, for the paired interval. */
struct pooled {
	uint64_t shared[SUITE_SEEDS * SUITE_REQUESTS], alone[SUITE_SEEDS * SUITE_REQUESTS];
	uint64_t service[SUITE_REQUESTS], scratch[SUITE_REQUESTS];
	uint32_t count;
	struct suite_alone own; /* of rows whose warm-up is their own */
};

static void note_seed(const struct suite_run *run, const struct suite_alone *alone,
		      double be_alone_rate, struct pooled *pooled, uint32_t seed,
		      struct suite_result *result)
{
	uint64_t *shared = pooled->shared + pooled->count, *scratch = pooled->scratch;
	uint32_t n = latencies(&run->lc_record, run->warmup_ns, shared, pooled->service);
	const struct world_record *be = &run->be_record[0];
	double busy_ns = 0;
	uint64_t s_alone_ns;

	n = n < alone->requests ? n : alone->requests;
	if (!n || !be->measured_ns) {
		result->error = -ETIME;
		return;
	}
	memcpy(pooled->alone + pooled->count, alone->arrival_ns, n * sizeof(*shared));
	for (uint32_t i = 0; i < n; i++)
		busy_ns += (double)alone->service_ns[i];
	s_alone_ns = p99_of(alone->service_ns, n, 990, scratch);
	result->a[seed] = metrics_over(p99_of(shared, n, 990, scratch),
				       p99_of(alone->arrival_ns, n, 990, scratch));
	result->a_p50[seed] = metrics_over(p99_of(shared, n, 500, scratch),
					   p99_of(alone->arrival_ns, n, 500, scratch));
	result->s_added_ns[seed] =
		(double)p99_of(pooled->service, n, 990, scratch) - (double)s_alone_ns;
	result->s[seed] = result->s_added_ns[seed] / (double)s_alone_ns;
	result->be[seed] = (double)be->done_ns / (double)be->measured_ns / be_alone_rate;
	result->load[seed] = busy_ns / (double)be->measured_ns;
	result->unstable |= p99_of(shared, n, 500, scratch) > 10 * s_alone_ns;
	pooled->count += n;
}

static const struct suite_alone *alone_of(struct suite *suite, const struct suite_job *job,
					  uint32_t seed, struct pooled *pooled,
					  struct suite_result *result)
{
	struct suite_run run;

	if (!suite->row[job->row].warmup_ns)
		return &suite->alone[job->mode][job->lc][seed];
	make_run(suite, job, seed, &run);
	result->error = run_alone(suite, &run, &pooled->own);
	return &pooled->own;
}

static void pair_seed(struct suite *suite, const struct suite_job *job, uint32_t seed,
		      struct pooled *pooled, struct suite_result *result)
{
	const struct suite_alone *alone = alone_of(suite, job, seed, pooled, result);
	struct suite_run run;

	if (result->error)
		return;
	make_run(suite, job, seed, &run);
	run.be[0] = suite->catalog.be[job->be];
	run.n_be = 1;
	result->error = suite_run_do(&suite->catalog, &run);
	if (!result->error) {
		note_seed(&run, alone, suite->catalog.be_rate[job->be], pooled, seed, result);
		result->simulated_s += (double)world_now(run.world) / 1e9;
		result->seeds++;
	}
	suite_run_done(&run);
}

void suite_do_pair(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	struct pooled *pooled = calloc(1, sizeof(*pooled));
	struct suite_paired paired;

	if (!pooled) {
		result->error = -ENOMEM;
		return;
	}
	for (uint32_t seed = 0; !result->error && seed < suite->row[job->row].seeds; seed++)
		pair_seed(suite, job, seed, pooled, result);
	if (!result->error)
		result->error =
			suite_paired_p99(pooled->shared, pooled->alone, pooled->count, 1, &paired);
	if (!result->error) {
		result->a_low = paired.low;
		result->a_high = paired.high;
	}
	free(pooled);
}
