/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SLO order with online correction (Sparse-DySta): four servers of different length, whose requests
 * differ in length too, as sequences do. Each must be done in six times what it takes alone. Sluice
 * holds no latency tenant: the scene shows whether holding one for another pays.
 */

#include "plan/order.h"
#include "plan/suites/order_count.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#define SERVERS 4u
#define LOAD_PERMILLE 600u /* all together */
#define TARGET_TIMES 6u
#define SIGMA_PERMILLE 600u
#define WARMUP 20u
#define RUN_NS 30000000000ull
#define QUICK_NS 3000000000ull

enum {
	LATE,
	LATE_FIFO,
	LATE_SHORTEST,
	LATE_EDF,
	LATE_WORST,
	TURNAROUND,
	TURNAROUND_PROFILE,
	LATE_MPS,
};

struct outcome {
	double late, late_worst, turnaround;
};

static struct order_run run_of(const struct order_terms *terms, enum suite_mode mode,
			       const char *policy)
{
	const struct suite_catalog *catalog = terms->catalog;
	struct order_run run = {.policy = policy,
				.device = catalog->device[mode],
				.seed = terms->seed,
				.warmup = WARMUP,
				.end_ns = terms->quick ? QUICK_NS : RUN_NS,
				.tenants = SERVERS};

	for (uint32_t i = 0; i < SERVERS; i++) {
		uint64_t alone_ns = catalog->lc_service_ns[i];

		run.tenant[i] = (struct order_tenant){
			.workload = catalog->lc[i],
			.server = true,
			.arrivals = {.kind = ARRIVALS_POISSON,
				     .mean_ns = alone_ns * SERVERS * 1000 / LOAD_PERMILLE},
			.target = {.p99_ns = TARGET_TIMES * alone_ns, .from_arrival = true},
			.work_sigma_permille = SIGMA_PERMILLE};
	}
	return run;
}

static int outcome_of(const struct order_terms *terms, struct order_run *run,
		      struct outcome *ret_outcome)
{
	struct order_count all = {0};
	int r = order_run_do(run);

	*ret_outcome = (struct outcome){0};
	for (uint32_t i = 0; !r && i < SERVERS; i++) {
		uint64_t alone_ns = terms->catalog->lc_service_ns[i];
		struct order_count one = {0};
		double late;

		order_count_add(&run->record[i], WARMUP, TARGET_TIMES * alone_ns, alone_ns, &one);
		order_count_add(&run->record[i], WARMUP, TARGET_TIMES * alone_ns, alone_ns, &all);
		late = order_count_late(&one);
		if (late > ret_outcome->late_worst)
			ret_outcome->late_worst = late;
	}
	ret_outcome->late = order_count_late(&all);
	ret_outcome->turnaround = order_count_turnaround(&all);
	order_run_done(run);
	return r;
}

static int ordered(const struct order_terms *terms, uint32_t rule, struct suite_setting setting,
		   struct outcome *ret_outcome)
{
	struct order_run run = run_of(terms, SUITE_TIME, "order");

	run.setting[0] = (struct suite_setting){"rule", rule};
	run.setting[1] = setting;
	return outcome_of(terms, &run, ret_outcome);
}

/* Two at once: under MPS one alone leaves SMs free. */
static int under_mps(const struct order_terms *terms, enum order_side side, double *ret_late)
{
	struct order_run run = run_of(terms, SUITE_MPS, side == ORDER_WITH ? "order" : "native");
	struct outcome outcome;
	int r;

	if (side == ORDER_WITH) {
		run.setting[0] = (struct suite_setting){"rule", ORDER_SLO};
		run.setting[1] = (struct suite_setting){"at_once", 2};
	}
	r = outcome_of(terms, &run, &outcome);
	*ret_late = outcome.late;
	return r;
}

static int play_without(const struct order_terms *terms, double *ret_value)
{
	static const uint32_t rule[] = {
		[LATE_FIFO] = ORDER_FIFO, [LATE_SHORTEST] = ORDER_SHORTEST, [LATE_EDF] = ORDER_EDF};
	struct order_run plain = run_of(terms, SUITE_TIME, "native");
	struct outcome outcome;
	int r = outcome_of(terms, &plain, &outcome);

	ret_value[LATE] = outcome.late;
	ret_value[LATE_WORST] = outcome.late_worst;
	ret_value[TURNAROUND] = outcome.turnaround;
	for (uint32_t i = LATE_FIFO; !r && i <= LATE_EDF; i++) {
		r = ordered(terms, rule[i], (struct suite_setting){0}, &outcome);
		ret_value[i] = outcome.late;
	}
	if (!r)
		r = ordered(terms, ORDER_SLO, (struct suite_setting){"correct", 0}, &outcome);
	ret_value[TURNAROUND_PROFILE] = outcome.turnaround;
	return r;
}

static int play_with(const struct order_terms *terms, double *ret_value)
{
	struct outcome outcome;
	int r = ordered(terms, ORDER_SLO, (struct suite_setting){0}, &outcome);

	for (uint32_t i = LATE; i <= LATE_EDF; i++)
		ret_value[i] = outcome.late;
	ret_value[LATE_WORST] = outcome.late_worst;
	ret_value[TURNAROUND] = ret_value[TURNAROUND_PROFILE] = outcome.turnaround;
	return r;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	int r = side == ORDER_WITH ? play_with(terms, ret_value) : play_without(terms, ret_value);

	return r ? r : under_mps(terms, side, &ret_value[LATE_MPS]);
}

const struct order_scene order_slo = {
	.name = "slo_order",
	.source = "Sparse-DySta (arXiv 2310.11096)",
	.about = "the request with the least left goes on, by a profile corrected as it runs: four "
		 "servers of lengths that vary, time slices, load 0.6, against all at once and "
		 "three simpler orders",
	.why = "latency tenants are held for one another only where they agree to it: with time "
	       "slices that pays, under MPS hardly",
	.figure = {[LATE] = {"late", ORDER_GAIN, true, 100},
		   [LATE_FIFO] = {"late_fifo", ORDER_GAIN, true, 100},
		   [LATE_SHORTEST] = {"late_shortest_first", ORDER_GAIN, true, 100},
		   [LATE_EDF] = {"late_earliest_deadline", ORDER_SHOWN, true, 0},
		   [LATE_WORST] = {"late_worst_server", ORDER_GUARD, true, 100},
		   [TURNAROUND] = {"turnaround_over_alone", ORDER_GAIN, true, 100},
		   [TURNAROUND_PROFILE] = {"turnaround_uncorrected", ORDER_SHOWN, true, 0},
		   [LATE_MPS] = {"late_mps_two_at_once", ORDER_SHOWN, true, 0}},
	.play = play,
};
