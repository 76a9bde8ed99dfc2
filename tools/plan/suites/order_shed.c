/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shedding on overload: of the requests that wait, the largest set that still meets its deadlines
 * goes, the rest is held until nothing else wants to run. Sixteen servers, four of each length, with
 * time slices at load 1.2: a fifth more than the device can serve.
 */

#include "plan/order.h"
#include "plan/suites/order_count.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#define SERVERS WORLD_MAX_PROCS
#define LENGTHS 4u
#define LOAD_PERMILLE 1200u
#define LOAD_MPS_PERMILLE 1700u /* requests overlap: that is more than MPS can serve */
#define TARGET_TIMES 6u
#define SIGMA_PERMILLE 600u
#define RUN_NS 20000000000ull
#define QUICK_NS 2000000000ull
#define HEAVY 3u /* of the lengths: the longest, which shedding by number gives up first */
#define HEAVY_WEIGHT 800u
#define WEIGHT 100u

enum { ON_TIME, ON_TIME_EDF, ON_TIME_SLO, ON_TIME_WORST, WEIGHT_ON_TIME, ON_TIME_MPS };

struct outcome {
	double on_time, on_time_worst, weight_on_time;
};

static struct order_run run_of(const struct order_terms *terms, enum suite_mode mode,
			       const char *policy, uint32_t rule)
{
	const struct suite_catalog *catalog = terms->catalog;
	uint64_t load = mode == SUITE_MPS ? LOAD_MPS_PERMILLE : LOAD_PERMILLE;
	struct order_run run = {.policy = policy,
				.device = catalog->device[mode],
				.seed = terms->seed,
				.end_ns = terms->quick ? QUICK_NS : RUN_NS,
				.tenants = SERVERS};

	if (rule)
		run.setting[0] = (struct suite_setting){"rule", rule};
	if (rule && mode == SUITE_MPS)
		run.setting[1] = (struct suite_setting){"at_once", 2};
	for (uint32_t i = 0; i < SERVERS; i++) {
		uint64_t alone_ns = catalog->lc_service_ns[i % LENGTHS];

		run.tenant[i] = (struct order_tenant){
			.workload = catalog->lc[i % LENGTHS],
			.server = true,
			.arrivals = {.kind = ARRIVALS_POISSON,
				     .mean_ns = alone_ns * SERVERS * 1000 / load},
			.weight = WEIGHT,
			.target = {.p99_ns = TARGET_TIMES * alone_ns, .from_arrival = true},
			.work_sigma_permille = SIGMA_PERMILLE};
	}
	return run;
}

static void weigh(struct order_run *run)
{
	for (uint32_t i = HEAVY; i < SERVERS; i += LENGTHS)
		run->tenant[i].weight = HEAVY_WEIGHT;
}

static void sum_up(const struct order_count *count, struct outcome *ret_outcome)
{
	double arrived = 0, on_time = 0, weight = 0, weight_on_time = 0;

	ret_outcome->on_time_worst = 1;
	for (uint32_t i = 0; i < LENGTHS; i++) {
		double part = 1 - order_count_late(&count[i]);
		double heavy = i == HEAVY ? HEAVY_WEIGHT : WEIGHT;

		if (part < ret_outcome->on_time_worst)
			ret_outcome->on_time_worst = part;
		arrived += count[i].arrived;
		on_time += count[i].on_time;
		weight += heavy * count[i].arrived;
		weight_on_time += heavy * count[i].on_time;
	}
	ret_outcome->on_time = on_time / arrived;
	ret_outcome->weight_on_time = weight_on_time / weight;
}

static int outcome_of(const struct order_terms *terms, struct order_run *run,
		      struct outcome *ret_outcome)
{
	struct order_count count[LENGTHS] = {0};
	int r = order_run_do(run);

	*ret_outcome = (struct outcome){0};
	for (uint32_t i = 0; !r && i < SERVERS; i++) {
		uint64_t alone_ns = terms->catalog->lc_service_ns[i % LENGTHS];

		order_count_add(&run->record[i], 0, TARGET_TIMES * alone_ns, alone_ns,
				&count[i % LENGTHS]);
	}
	if (!r)
		sum_up(count, ret_outcome);
	order_run_done(run);
	return r;
}

static int play_without(const struct order_terms *terms, double *ret_value)
{
	struct order_run run = run_of(terms, SUITE_TIME, "native", 0);
	struct outcome outcome;
	int r = outcome_of(terms, &run, &outcome);

	ret_value[ON_TIME] = outcome.on_time;
	ret_value[ON_TIME_WORST] = outcome.on_time_worst;
	for (uint32_t rule = ORDER_SLO; !r && rule <= ORDER_SHED; rule++) {
		run = run_of(terms, SUITE_TIME, "order", rule);
		r = outcome_of(terms, &run, &outcome);
		if (rule == ORDER_SHED)
			ret_value[WEIGHT_ON_TIME] = outcome.weight_on_time;
		else
			ret_value[rule == ORDER_SLO ? ON_TIME_SLO : ON_TIME_EDF] = outcome.on_time;
	}
	run = run_of(terms, SUITE_MPS, "native", 0);
	if (!r)
		r = outcome_of(terms, &run, &outcome);
	ret_value[ON_TIME_MPS] = outcome.on_time;
	return r;
}

static int play_with(const struct order_terms *terms, double *ret_value)
{
	struct order_run run = run_of(terms, SUITE_TIME, "order", ORDER_SHED);
	struct outcome outcome;
	int r = outcome_of(terms, &run, &outcome);

	ret_value[ON_TIME] = ret_value[ON_TIME_EDF] = ret_value[ON_TIME_SLO] = outcome.on_time;
	ret_value[ON_TIME_WORST] = outcome.on_time_worst;
	run = run_of(terms, SUITE_TIME, "order", ORDER_SHED);
	weigh(&run);
	if (!r)
		r = outcome_of(terms, &run, &outcome);
	ret_value[WEIGHT_ON_TIME] = outcome.weight_on_time;
	run = run_of(terms, SUITE_MPS, "order", ORDER_SHED);
	if (!r)
		r = outcome_of(terms, &run, &outcome);
	ret_value[ON_TIME_MPS] = outcome.on_time;
	return r;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	return side == ORDER_WITH ? play_with(terms, ret_value) : play_without(terms, ret_value);
}

const struct order_scene order_shed = {
	.name = "shedding",
	.source = "weighted tardy (arXiv 2508.13703), Moore-Hodgson 1968, Lawler-Moore 1969",
	.about = "the largest set of requests that meets its deadlines goes, the rest is held: "
		 "sixteen servers, time slices, load 1.2, against all at once, the earliest "
		 "deadline and slo_order",
	.why = "latency tenants are held for one another only where they agree to it, and what is "
	       "given up is held, not dropped: its server falls behind for good",
	.figure = {[ON_TIME] = {"on_time", ORDER_GAIN, false, 100},
		   [ON_TIME_EDF] = {"on_time_earliest_deadline", ORDER_GAIN, false, 100},
		   [ON_TIME_SLO] = {"on_time_slo_order", ORDER_SHOWN, false, 0},
		   [ON_TIME_WORST] = {"on_time_worst_length", ORDER_GUARD, false, 0},
		   [WEIGHT_ON_TIME] = {"weight_on_time_weights", ORDER_GAIN, false, 100},
		   [ON_TIME_MPS] = {"on_time_mps_two_at_once", ORDER_SHOWN, false, 0}},
	.play = play,
};
