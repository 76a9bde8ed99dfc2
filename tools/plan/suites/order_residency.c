/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residency order: four models of which two fit, requests that come at unequal rates, and at equal
 * ones. A model that is not there is copied in before its request, over the host's link; against
 * copying it in at once, in order of arrival, where the least recently used one goes.
 */

#include "plan/metrics.h"
#include "plan/residency.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#include <errno.h>
#include <stdlib.h>

#define MODELS 4u
#define FIRST_MODEL 1u /* of the catalog's: MobileNetV2 is small enough to stay */
#define ROOM 2u
#define MODEL_BYTES (480ull << 20)
#define LOAD_PERMILLE 400u
#define RUN_NS 40000000000ull
#define QUICK_NS 3000000000ull

enum { MEAN, P99, SWAPS, WORST_MEAN, MEAN_WEIGHT, MEAN_EQUAL, P99_EQUAL, MEAN_MPS };

struct outcome {
	double mean_ms, p99_ms, worst_mean_ms; /* worst: of the model that waits longest */
	double swaps;			       /* for a request */
};

/* Requests of each, of a hundred. */
static const uint32_t unequal[MODELS] = {60, 25, 10, 5}, equal[MODELS] = {25, 25, 25, 25};

static struct order_run run_of(const struct order_terms *terms, enum suite_mode mode,
			       enum residency_rule rule, const uint32_t *part)
{
	const struct suite_catalog *catalog = terms->catalog;
	const struct model_desc *device = &catalog->device[mode];
	struct order_run run = {
		.policy = "residency",
		.setting = {{"rule", rule},
			    {"room", ROOM},
			    {"swap", MODEL_BYTES * 1000 / device->pinned_bytes_per_us}},
		.device = *device,
		.seed = terms->seed,
		.end_ns = terms->quick ? QUICK_NS : RUN_NS,
		.tenants = MODELS};
	uint64_t request_ns = 0; /* mean of a hundred, times a hundred */

	for (uint32_t i = 0; i < MODELS; i++)
		request_ns += part[i] * catalog->lc_service_ns[FIRST_MODEL + i];
	for (uint32_t i = 0; i < MODELS; i++)
		run.tenant[i] = (struct order_tenant){
			.workload = catalog->lc[FIRST_MODEL + i],
			.server = true,
			.arrivals = {.kind = ARRIVALS_POISSON,
				     .mean_ns = request_ns / part[i] * 1000 / LOAD_PERMILLE}};
	return run;
}

/* Latencies of all models' requests, and the mean of the slowest model. */
static uint32_t collect(const struct order_run *run, uint64_t *ret_latency_ns,
			struct outcome *ret_outcome)
{
	uint32_t count = 0;
	double sum_ms = 0;

	for (uint32_t i = 0; i < MODELS; i++) {
		const struct world_record *record = &run->record[i];
		double own_ms = 0;

		for (uint32_t j = 0; j < record->requests; j++) {
			const struct world_request *request = &record->request[j];

			ret_latency_ns[count] = request->end_ns - request->arrival_ns;
			own_ms += (double)ret_latency_ns[count++] / 1e6;
		}
		sum_ms += own_ms;
		ret_outcome->swaps += (double)record->copies_in;
		if (record->requests && own_ms / record->requests > ret_outcome->worst_mean_ms)
			ret_outcome->worst_mean_ms = own_ms / record->requests;
	}
	ret_outcome->mean_ms = sum_ms / count;
	ret_outcome->swaps /= count;
	return count;
}

static int outcome_of(struct order_run *run, struct outcome *ret_outcome)
{
	uint32_t count = 0;
	uint64_t *latency_ns = NULL;
	int r = order_run_do(run);

	*ret_outcome = (struct outcome){0};
	for (uint32_t i = 0; !r && i < MODELS; i++)
		count += run->record[i].requests;
	if (!r)
		latency_ns = calloc(count + 1, sizeof(*latency_ns));
	if (!r && (!latency_ns || !count))
		r = latency_ns ? -ENODATA : -ENOMEM;
	if (!r) {
		count = collect(run, latency_ns, ret_outcome);
		ret_outcome->p99_ms = (double)metrics_quantile(latency_ns, count, 990) / 1e6;
	}
	free(latency_ns);
	order_run_done(run);
	return r;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	enum residency_rule rule = side == ORDER_WITH ? RESIDENCY_GAIN : RESIDENCY_ARRIVAL;
	struct order_run run = run_of(terms, SUITE_TIME, rule, unequal);
	struct outcome outcome;
	int r = outcome_of(&run, &outcome);

	ret_value[MEAN] = outcome.mean_ms;
	ret_value[P99] = outcome.p99_ms;
	ret_value[SWAPS] = outcome.swaps;
	ret_value[WORST_MEAN] = outcome.worst_mean_ms;
	if (side == ORDER_WITHOUT) {
		run = run_of(terms, SUITE_TIME, RESIDENCY_WEIGHT, unequal);
		r = r ? r : outcome_of(&run, &outcome);
	}
	ret_value[MEAN_WEIGHT] = outcome.mean_ms;
	run = run_of(terms, SUITE_TIME, rule, equal);
	if (!r)
		r = outcome_of(&run, &outcome);
	ret_value[MEAN_EQUAL] = outcome.mean_ms;
	ret_value[P99_EQUAL] = outcome.p99_ms;
	run = run_of(terms, SUITE_MPS, rule, unequal);
	if (!r)
		r = outcome_of(&run, &outcome);
	ret_value[MEAN_MPS] = outcome.mean_ms;
	return r;
}

const struct order_scene order_residency = {
	.name = "residency",
	.source = "ESFF (arXiv 2310.16475)",
	.about = "a model comes in only where its queue gains more than those that go lose: four "
		 "of 480 MiB of which two fit, load 0.4 with time slices, against order of arrival "
		 "with the least recently used going, and against ESFF's weights alone",
	.why = "nothing swaps models yet: it is what a back end for swapping should ask first",
	.figure = {[MEAN] = {"mean_ms", ORDER_GAIN, true, 100},
		   [P99] = {"p99_ms", ORDER_GAIN, true, 0},
		   [SWAPS] = {"swaps_per_request", ORDER_GAIN, true, 100},
		   [WORST_MEAN] = {"slowest_model_mean_ms", ORDER_GUARD, true, 50},
		   [MEAN_WEIGHT] = {"mean_ms_weights_alone", ORDER_GAIN, true, 0},
		   [MEAN_EQUAL] = {"equal_rates_mean_ms", ORDER_GAIN, true, 0},
		   [P99_EQUAL] = {"equal_rates_p99_ms", ORDER_SHOWN, true, 0},
		   [MEAN_MPS] = {"mps_mean_ms", ORDER_SHOWN, true, 0}},
	.play = play,
};
