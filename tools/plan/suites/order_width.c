/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrow first when light, least left when heavy (Berg et al.): finite pieces of work arrive at
 * eleven best-effort tenants under MPS, eight with long work on a quarter of the SMs, three with
 * short work on all of them; each kind is half of the load. Without: all at once, as the driver runs
 * them. With: the planner's policy `pick` by load. Its gate in the order of use alone tells what the
 * gate costs; narrow first at a heavy load, what the switch is for.
 */

#include "plan/pick.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#define NARROW 8u
#define WIDE 3u
#define TENANTS (NARROW + WIDE)
#define NARROW_KERNELS 160u
#define WIDE_KERNELS 20u
#define KERNEL_NS 100000u
#define KERNEL_SPREAD 300u
#define WARMUP 20u
#define REQUESTS 200u
#define QUICK_REQUESTS 30u
#define LIGHT_PERMILLE 300u
#define HEAVY_PERMILLE 800u

/* Of the device's SMs: others may want half as many again before one waits. */
#define AHEAD_PERMILLE 1500u
#define DEPTH 4u

enum { LIGHT, HEAVY, HEAVY_NARROW, LIGHT_SAME_GATE, HEAVY_SAME_GATE, HEAVY_NARROW_FIRST };

struct outcome {
	double mean_ms, narrow_ms; /* to completion: of all, of the narrow ones */
};

static int make_work(uint32_t kernels, uint32_t sms, uint32_t device_sms, struct workload **ret)
{
	struct workload_op op[NARROW_KERNELS];

	for (uint32_t i = 0; i < kernels; i++)
		op[i] = (struct workload_op){.kind = WORKLOAD_KERNEL,
					     .ns = KERNEL_NS,
					     .sms = sms,
					     .key = 1,
					     .spread_permille = KERNEL_SPREAD};
	return workload_create("finite", "made up", device_sms, op, kernels, ret);
}

static void add_tenants(struct order_run *run, uint32_t count, const struct workload *work,
			uint64_t mean_ns)
{
	for (uint32_t i = 0; i < count; i++)
		run->tenant[run->tenants++] = (struct order_tenant){
			.workload = work,
			.server = true,
			.arrivals = {.kind = ARRIVALS_POISSON, .mean_ns = mean_ns}};
}

static struct outcome times_of(const struct order_run *run)
{
	double sum_ns[2] = {0};
	uint32_t count[2] = {0};

	for (uint32_t i = 0; i < TENANTS; i++) {
		const struct world_record *record = &run->record[i];

		for (uint32_t k = WARMUP; k < record->requests; k++) {
			sum_ns[i >= NARROW] +=
				(double)(record->request[k].end_ns - record->request[k].arrival_ns);
			count[i >= NARROW]++;
		}
	}
	return (struct outcome){.mean_ms = (sum_ns[0] + sum_ns[1]) / 1e6 / (count[0] + count[1]),
				.narrow_ms = sum_ns[0] / 1e6 / count[0]};
}

/* `order` NULL: no gate. Each kind gets half of the load. */
static int play_load(const struct order_terms *terms, const struct workload *const *work,
		     const enum pick_order *order, uint32_t load_permille, struct outcome *ret)
{
	struct order_run run = {.policy = order ? "pick" : "native",
				.device = terms->catalog->device[SUITE_MPS],
				.seed = terms->seed,
				.warmup = WARMUP,
				.requests = terms->quick ? QUICK_REQUESTS : REQUESTS};
	int r;

	if (order) {
		run.setting[0] = (struct suite_setting){"order", *order};
		run.setting[1] = (struct suite_setting){"ahead", AHEAD_PERMILLE};
		run.setting[2] = (struct suite_setting){"depth", DEPTH};
	}
	add_tenants(&run, NARROW, work[0], work[0]->step_ns / 4 * NARROW * 2000 / load_permille);
	add_tenants(&run, WIDE, work[1], work[1]->step_ns * WIDE * 2000 / load_permille);
	r = order_run_do(&run);
	if (!r)
		*ret = times_of(&run);
	order_run_done(&run);
	return r;
}

static int play_both(const struct order_terms *terms, const struct workload *const *work,
		     enum order_side side, double *ret_value)
{
	static const enum pick_order fair = PICK_FAIR, by_load = PICK_BY_LOAD, narrow = PICK_NARROW;
	const enum pick_order *order = side == ORDER_WITH ? &by_load : NULL;
	struct outcome light, heavy, other[3];
	int r = play_load(terms, work, order, LIGHT_PERMILLE, &light);

	if (!r)
		r = play_load(terms, work, order, HEAVY_PERMILLE, &heavy);
	other[0] = light;
	other[1] = other[2] = heavy;
	if (!r && side == ORDER_WITHOUT)
		r = play_load(terms, work, &fair, LIGHT_PERMILLE, &other[0]);
	if (!r && side == ORDER_WITHOUT)
		r = play_load(terms, work, &fair, HEAVY_PERMILLE, &other[1]);
	if (!r && side == ORDER_WITHOUT)
		r = play_load(terms, work, &narrow, HEAVY_PERMILLE, &other[2]);
	if (r)
		return r;
	ret_value[LIGHT] = light.mean_ms;
	ret_value[HEAVY] = heavy.mean_ms;
	ret_value[HEAVY_NARROW] = heavy.narrow_ms;
	ret_value[LIGHT_SAME_GATE] = other[0].mean_ms;
	ret_value[HEAVY_SAME_GATE] = other[1].mean_ms;
	ret_value[HEAVY_NARROW_FIRST] = other[2].mean_ms;
	return 0;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	uint32_t sms = terms->catalog->device[SUITE_MPS].sms;
	struct workload *work[2] = {NULL, NULL};
	int r = make_work(NARROW_KERNELS, sms / 4, sms, &work[0]);

	if (!r)
		r = make_work(WIDE_KERNELS, sms, sms, &work[1]);
	if (!r)
		r = play_both(terms, (const struct workload *const *)work, side, ret_value);
	workload_free(work[0]);
	workload_free(work[1]);
	return r;
}

const struct order_scene order_width = {
	.name = "width",
	.source = "Berg et al. (arXiv 2404.00346)",
	.about = "narrow kernels first while SMs are idle, else who has least left: finite work of "
		 "two "
		 "widths under MPS, mean time to completion, against all at once",
	.why = "it gains little, at a heavy load alone, and the arbiter sees neither how wide a "
	       "kernel is nor "
	       "what is left of a tenant's work",
	.figure = {{"light_ms", ORDER_GUARD, true, 10},
		   {"heavy_ms", ORDER_GAIN, true, 20},
		   {"heavy_narrow_ms", ORDER_GUARD, true, 100},
		   {"light_same_gate_ms", ORDER_SHOWN, true, 0},
		   {"heavy_same_gate_ms", ORDER_SHOWN, true, 0},
		   {"heavy_narrow_first_ms", ORDER_SHOWN, true, 0}},
	.play = play,
};
