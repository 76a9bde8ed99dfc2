/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of their own scenes: two alike beside one another, and a queue bounded by a count. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/facts/facts.h"
#include "plan/metrics.h"
#include "plan/suites/run.h"

#define TWIN 2 /* resnet101-infer */
#define TWIN_LOAD_PERMILLE 200
#define FLIGHT_LC 0
#define FLIGHT_LOAD_PERMILLE 100
#define FLIGHT_KERNELS 64
#define US 1000ull

static void start(const struct suite_catalog *catalog, const struct suite_row *row, uint32_t lc,
		  uint32_t load_permille, uint32_t requests, struct suite_run *ret_run)
{
	*ret_run =
		(struct suite_run){.row = row,
				   .mode = SUITE_TIME,
				   .lc = catalog->lc[lc],
				   .lc_gap_ns = catalog->lc_service_ns[lc] * 1000 / load_permille,
				   .arrivals = ARRIVALS_POISSON,
				   .seed = 1,
				   .requests = requests};
}

static int p99_from_arrival(const struct suite_catalog *catalog, struct suite_run *run,
			    uint64_t *ret_ns)
{
	struct metrics_tail tail;
	int r = suite_run_do(catalog, run);

	if (!r)
		r = metrics_arrival(&run->lc_record, SUITE_WARMUP, &tail);
	if (!r)
		*ret_ns = tail.p99_ns;
	suite_run_done(run);
	return r;
}

static int run_twins(const struct suite_catalog *catalog, const struct fact *fact,
		     const struct suite_row *row, uint32_t requests, double *ret_value)
{
	struct suite_run run;
	uint64_t alone_ns, shared_ns;
	int r;

	start(catalog, row, TWIN, TWIN_LOAD_PERMILLE, requests, &run);
	r = p99_from_arrival(catalog, &run, &alone_ns);
	if (r)
		return r;
	start(catalog, row, TWIN, TWIN_LOAD_PERMILLE, requests, &run);
	run.be[0] = catalog->lc[TWIN];
	run.n_be = 1;
	r = p99_from_arrival(catalog, &run, &shared_ns);
	if (!r)
		*ret_value = metrics_over(shared_ns, alone_ns);
	return r;
}

/* Kernels that fill the device, all of one length. */
static int make_loop(const struct suite_catalog *catalog, const struct fact *fact,
		     struct workload **ret)
{
	uint32_t sms = catalog->device[SUITE_TIME].sms;
	struct workload_op ops[FLIGHT_KERNELS];

	for (uint32_t i = 0; i < FLIGHT_KERNELS; i++)
		ops[i] = (struct workload_op){.ns = fact->kernel_us * US,
					      .key = 1,
					      .sms = sms,
					      .kind = WORKLOAD_KERNEL,
					      .bw_class = WORKLOAD_COMPUTE};
	return workload_create("equal kernels", "made up", sms, ops, FLIGHT_KERNELS, ret);
}

static int p99_in_flight(const struct world_record *record, double *ret_ns)
{
	uint64_t *met_ns = calloc(record->services + 1, sizeof(*met_ns));
	uint32_t count = 0;

	if (!met_ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < record->services; i++)
		if (record->service[i].request >= SUITE_WARMUP)
			met_ns[count++] = record->service[i].met_ns;
	*ret_ns = (double)metrics_quantile(met_ns, count, 990);
	free(met_ns);
	return 0;
}

static int run_flight(const struct suite_catalog *catalog, const struct fact *fact,
		      const struct suite_row *row, uint32_t requests, double *ret_value)
{
	struct suite_row bounded = *row;
	struct workload *loop;
	struct suite_run run;
	int r = make_loop(catalog, fact, &loop);

	if (r)
		return r;
	bounded.setting[0] = (struct suite_setting){"threshold", fact->threshold};
	bounded.setting[1] = (struct suite_setting){"batch", fact->batch};
	start(catalog, &bounded, FLIGHT_LC, FLIGHT_LOAD_PERMILLE, requests, &run);
	run.be[0] = loop;
	run.n_be = 1;
	r = suite_run_do(catalog, &run);
	if (!r)
		r = p99_in_flight(&run.lc_record, ret_value);
	*ret_value /= (double)(fact->kernel_us * US);
	suite_run_done(&run);
	workload_free(loop);
	return r;
}

int facts_run_scene(const struct suite_catalog *catalog, const struct fact *fact, uint32_t requests,
		    double *ret_value)
{
	struct suite_row rows[SUITE_MOST_ROWS];
	uint32_t count = suite_rows(rows, false), i = 0;

	while (i < count && (rows[i].use != SUITE_MAIN || strcmp(rows[i].name, fact->place.row)))
		i++;
	if (i == count) {
		(void)fprintf(stderr, "the suite has no row %s\n", fact->place.row);
		return -ENOENT;
	}
	*ret_value = 0;
	if (fact->kind == FACTS_TWINS)
		return run_twins(catalog, fact, &rows[i], requests, ret_value);
	return run_flight(catalog, fact, &rows[i], requests, ret_value);
}
