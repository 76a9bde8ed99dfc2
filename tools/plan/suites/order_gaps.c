/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communication gaps (CrossoverScheduler): two data-parallel loops; each computes, exchanges its
 * gradients and waits for that. Without: a turn lasts until nothing of its holder is in flight. With:
 * until nothing but the exchange is.
 *
 * The exchange is two copies through the host's memory, or one collective: a kernel of a few SMs that
 * waits for the link. A copy engine works beside any process's slice. Of a collective both may be
 * said: that it stops while another's slice runs, as a kernel that polls does (played as a kernel),
 * or that the link goes on without it (played as a copy).
 */

#include "core/engine.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#define RUN_NS 3000000000ull
#define QUICK_NS 300000000ull

#define KERNELS 100u
#define KERNEL_NS 100000u
#define KERNEL_SPREAD 100u
#define EXCHANGE_NS 6000000u
#define EXCHANGE_BYTES (64u << 20)
#define COLLECTIVE_SMS 4u

enum exchange { COPIES, STOPS, GOES_ON };

/* Each a figure, in this order; then the lesser part of the first. */
static const struct gap_case {
	enum exchange exchange;
	enum suite_mode mode;
	enum pairs_test pairs;
} cases[] = {
	{COPIES, SUITE_TIME, PAIRS_ALWAYS},  {STOPS, SUITE_TIME, PAIRS_ALWAYS},
	{GOES_ON, SUITE_TIME, PAIRS_ALWAYS}, {COPIES, SUITE_MPS, PAIRS_ALWAYS},
	{COPIES, SUITE_MPS, PAIRS_PROGRESS},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static uint32_t exchange_ops(enum exchange exchange, struct workload_op *op)
{
	struct workload_op out = {
		.kind = WORKLOAD_COPY_D2H, .ns = EXCHANGE_NS, .bytes = EXCHANGE_BYTES, .key = 2};

	if (exchange == STOPS) {
		out.kind = WORKLOAD_KERNEL;
		out.sms = COLLECTIVE_SMS;
	}
	op[0] = out;
	if (exchange != COPIES)
		return 1;
	op[0].ns = op[0].ns / 2;
	op[1] = op[0];
	op[1].kind = WORKLOAD_COPY_H2D;
	return 2;
}

static int make_loop(enum exchange exchange, uint32_t sms, struct workload **ret)
{
	struct workload_op op[KERNELS + 2];

	for (uint32_t i = 0; i < KERNELS; i++)
		op[i] = (struct workload_op){.kind = WORKLOAD_KERNEL,
					     .ns = KERNEL_NS,
					     .sms = 2 * sms,
					     .key = 1,
					     .spread_permille = KERNEL_SPREAD};
	return workload_create("data-parallel", "made up", sms, op,
			       KERNELS + exchange_ops(exchange, op + KERNELS), ret);
}

/* Iterations a second of the loops, and the lesser part of both. */
static int rate_of(const struct order_terms *terms, const struct workload *loop,
		   const struct gap_case *gap, uint32_t loops, bool with, double *ret_rate,
		   double *ret_least)
{
	struct order_run run = {
		.policy = "share",
		.setting = {{"copies", with}, {"collectives", with}, {"pairs", gap->pairs}},
		.device = terms->catalog->device[gap->mode],
		.seed = terms->seed,
		.end_ns = terms->quick ? QUICK_NS : RUN_NS,
		.tenants = loops};
	double least = -1;
	int r;

	for (uint32_t i = 0; i < loops; i++)
		run.tenant[i].workload = loop;
	r = order_run_do(&run);
	*ret_rate = 0;
	for (uint32_t i = 0; !r && i < loops; i++) {
		double rate =
			(double)run.record[i].iterations * 1e9 / (double)run.record[i].measured_ns;

		*ret_rate += rate;
		least = least < 0 || rate < least ? rate : least;
	}
	*ret_least = *ret_rate > 0 ? least * loops / *ret_rate : 0;
	order_run_done(&run);
	return r;
}

/* Both together, of one alone: 1 is one after the other. */
static int work_of(const struct order_terms *terms, const struct gap_case *gap, bool with,
		   double *ret_work, double *ret_least)
{
	struct workload *loop = NULL;
	double alone = 0, both = 0;
	int r = make_loop(gap->exchange, terms->catalog->device[gap->mode].sms, &loop);

	if (!r)
		r = rate_of(terms, loop, gap, 1, with, &alone, ret_least);
	if (!r)
		r = rate_of(terms, loop, gap, 2, with, &both, ret_least);
	workload_free(loop);
	*ret_work = alone > 0 ? both / alone : 0;
	return r;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	double least;
	int r = 0;

	for (uint32_t i = 0; !r && i < CASES; i++)
		r = work_of(terms, &cases[i], side == ORDER_WITH, &ret_value[i],
			    i ? &least : &ret_value[CASES]);
	return r;
}

const struct order_scene order_gaps = {
	.name = "gaps",
	.source = "CrossoverScheduler (arXiv 2103.07974)",
	.about =
		"a turn ends where its holder has nothing in flight but large copies, and those go "
		"in others' turns: two data-parallel loops, steps of both over one's alone",
	.is_default = true,
	.why = "SMs work while copy engines do; collectives do not count as copies: where their "
	       "kernels are time-sliced nothing is gained, and their peers wait longer",
	.figure = {{"copies_time_slices", ORDER_GAIN, false, 50},
		   {"collectives_that_stop", ORDER_SHOWN, false, 0},
		   {"collectives_that_go_on", ORDER_SHOWN, false, 0},
		   {"copies_mps", ORDER_GUARD, false, 10},
		   {"copies_mps_pair_test", ORDER_SHOWN, false, 0},
		   {"least_share", ORDER_GUARD, false, 50}},
	.play = play,
};
