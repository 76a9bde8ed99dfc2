/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compute beside memory (DynaFlow, HSV): no two kernels of one bandwidth class together while
 * another is ready. Four loops under MPS. Without: all four at once, as the driver runs them. With:
 * two processes in flight, chosen by class. The same gate in the order of use alone tells what the
 * gate costs and what the rule gains. Once in the rule's favour (kernels of three quarters of the
 * SMs, stretches of one class after stretches of the other), once with the suite's training loops.
 */

#include "plan/pick.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#define LOOPS 4u
#define RUN_NS 2000000000ull
#define QUICK_NS 200000000ull

#define STRETCHES 40u
#define STRETCH 10u /* kernels */
#define KERNEL_NS 50000u
#define KERNEL_SPREAD 300u

enum { STRETCHES_WORK, STRETCHES_SAME_GATE, STRETCHES_LEAST, TRAINING_WORK, TRAINING_SAME_GATE };

struct outcome {
	double work, least; /* nominal ns in a ns; of that, the least loop's part times LOOPS */
};

static int make_stretches(uint32_t sms, struct workload **ret)
{
	struct workload_op op[STRETCHES * STRETCH];

	for (uint32_t i = 0; i < STRETCHES * STRETCH; i++) {
		uint8_t bw_class = i / STRETCH % 2 ? WORKLOAD_MEMORY : WORKLOAD_COMPUTE;

		op[i] = (struct workload_op){.kind = WORKLOAD_KERNEL,
					     .ns = KERNEL_NS,
					     .sms = sms * 3 / 4,
					     .key = bw_class,
					     .bw_class = bw_class,
					     .spread_permille = KERNEL_SPREAD};
	}
	return workload_create("stretches", "made up", sms, op, STRETCHES * STRETCH, ret);
}

/* `order` PICK_BY_LOAD: no gate. */
static int play_one(const struct order_terms *terms, const struct workload *stretches,
		    enum pick_order order, struct outcome *ret)
{
	struct order_run run = {.policy = order == PICK_BY_LOAD ? "native" : "pick",
				.device = terms->catalog->device[SUITE_MPS],
				.seed = terms->seed,
				.end_ns = terms->quick ? QUICK_NS : RUN_NS,
				.tenants = LOOPS};
	int r;

	if (order != PICK_BY_LOAD) {
		run.setting[0] = (struct suite_setting){"order", order};
		run.setting[1] = (struct suite_setting){"together", 2};
		run.setting[2] = (struct suite_setting){"ahead", 16000};
	}
	/* Another four of the five with each seed: training loops have no other chance in them. */
	for (uint32_t i = 0; i < LOOPS; i++)
		run.tenant[i].workload =
			stretches ? stretches : terms->catalog->be[(i + terms->seed) % SUITE_BE];
	r = order_run_do(&run);
	ret->work = r ? 0 : order_run_rate(&run, 0, LOOPS);
	ret->least = 1;
	for (uint32_t i = 0; !r && i < LOOPS; i++) {
		double part = order_run_rate(&run, i, 1) * LOOPS / ret->work;

		ret->least = part < ret->least ? part : ret->least;
	}
	order_run_done(&run);
	return r;
}

static int play_loops(const struct order_terms *terms, const struct workload *stretches,
		      enum order_side side, struct outcome *ret, double *ret_same_gate)
{
	struct outcome gate;
	int r = play_one(terms, stretches, side == ORDER_WITH ? PICK_CLASS : PICK_BY_LOAD, ret);

	*ret_same_gate = ret->work;
	if (!r && side == ORDER_WITHOUT) {
		r = play_one(terms, stretches, PICK_FAIR, &gate);
		*ret_same_gate = gate.work;
	}
	return r;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	struct workload *stretches = NULL;
	struct outcome outcome;
	int r = make_stretches(terms->catalog->device[SUITE_MPS].sms, &stretches);

	if (!r)
		r = play_loops(terms, stretches, side, &outcome, &ret_value[STRETCHES_SAME_GATE]);
	workload_free(stretches);
	if (r)
		return r;
	ret_value[STRETCHES_WORK] = outcome.work;
	ret_value[STRETCHES_LEAST] = outcome.least;
	r = play_loops(terms, NULL, side, &outcome, &ret_value[TRAINING_SAME_GATE]);
	ret_value[TRAINING_WORK] = outcome.work;
	return r;
}

const struct order_scene order_classes = {
	.name = "classes",
	.source = "DynaFlow (arXiv 2605.21603), HSV (2206.03060)",
	.about = "no two kernels of one bandwidth class at once while another is ready: four loops "
		 "under MPS, against all at once and against the same gate in order of use",
	.why = "it gains only where kernels leave SMs free and stay of one class for a while; with "
	       "training loops its gate loses more, and the arbiter does not see classes",
	.figure = {{"stretches_work", ORDER_GAIN, false, 20},
		   {"stretches_work_same_gate", ORDER_SHOWN, false, 0},
		   {"stretches_least_share", ORDER_GUARD, false, 100},
		   {"training_work", ORDER_GUARD, false, 10},
		   {"training_work_same_gate", ORDER_SHOWN, false, 0}},
	.play = play,
};
