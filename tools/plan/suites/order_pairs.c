/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Share or wait (SJF-BSBF): two loops under MPS run side by side, or in turns where that was seen
 * to do less. Loops that clash: memory-bound kernels, each alone most of a device wide, where
 * co-running costs up to half (an assumption: at the study's tenth no pair of the suite loses).
 * Others, on the same device: training loops, and narrow kernels that leave each other room.
 */

#include <errno.h>
#include <stdlib.h>

#include "core/pairs.h"
#include "plan/metrics.h"
#include "plan/suites/order_run.h"
#include "plan/suites/orders.h"

#define SECOND_NS 1000000000ull
#define CORUN_PERMILLE 500u
#define LOOP_OPS 60u
#define SHORT_NS (2 * SECOND_NS) /* enough to see a rate */
#define CLASHES 2u
#define OTHERS 4u
#define MIXES (CLASHES + OTHERS)
#define SERVED_REQUESTS 600u
#define SERVED_WARMUP 50u

enum {
	CLASH_MEAN_S,
	CLASH_WORK,
	OTHER_MEAN_S,
	LEAST_SHARE,
	SERVED_P99_MS,
	SERVED_WORK,
	PAPERS_TEST_MEAN_S,
	ONE_BY_ONE_MEAN_S,
};

/* Loops of one bandwidth class; widths and lengths are drawn in these ranges. */
struct shape {
	const char *name;
	uint8_t bw_class;
	uint32_t least_sms, most_sms;
};

static const struct shape shapes[] = {
	{"memory, wide", WORKLOAD_MEMORY, 54, 66},
	{"memory, narrow", WORKLOAD_MEMORY, 20, 36},
	{"compute, narrow", WORKLOAD_COMPUTE, 20, 40},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
enum { MEMORY_WIDE, MEMORY_NARROW, COMPUTE_NARROW };

struct scene {
	const struct order_terms *terms;
	struct workload *drawn[2 * SHAPES]; /* two of each */
	uint64_t work_ns, end_ns;
};

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = *random * 6364136223846793005ull + 1442695040888963407ull;
	return (*random >> 33) % below;
}

static int draw_loop(const struct shape *shape, uint64_t seed, uint32_t device_sms,
		     struct workload **ret)
{
	struct workload_op op[LOOP_OPS];
	uint64_t random = seed;

	for (uint32_t i = 0; i < LOOP_OPS; i++)
		op[i] = (struct workload_op){
			.kind = WORKLOAD_KERNEL,
			.bw_class = shape->bw_class,
			.key = i + 1,
			.ns = 100000 + draw(&random, 200000),
			.sms = shape->least_sms +
			       (uint32_t)draw(&random, shape->most_sms - shape->least_sms + 1)};
	return workload_create(shape->name, "drawn", device_sms, op, LOOP_OPS, ret);
}

static const struct workload *loop_of(const struct scene *scene, uint32_t mix, uint32_t which)
{
	const struct suite_catalog *catalog = scene->terms->catalog;
	uint32_t first = (uint32_t)scene->terms->seed % SUITE_BE;

	switch (mix) {
	case 0: return scene->drawn[2 * MEMORY_WIDE + which];
	case 1: return scene->drawn[2 * MEMORY_WIDE];
	case 2: return scene->drawn[which ? 2 * MEMORY_NARROW : 2 * COMPUTE_NARROW];
	case 3: return scene->drawn[2 * COMPUTE_NARROW + which];
	case 4: return catalog->be[(first + which) % SUITE_BE];
	default: return catalog->be[(first + 2 + which) % SUITE_BE];
	}
}

/* ---- one mix --------------------------------------------------------------------------------- */

struct mix {
	double done_s[2]; /* when each has done its work */
	double work;	  /* together, nominal ns in a ns */
	double least;	  /* share of the one that did less */
};

/* Progress is sampled; between two samples it is taken as even. */
static int completion_s(const struct world_record *record, uint64_t work_ns, uint64_t every_ns,
			double *ret_s)
{
	for (uint32_t i = 1; i < record->samples; i++) {
		double from = (double)record->progress_ns[i - 1];
		double to = (double)record->progress_ns[i];

		if (to < (double)work_ns)
			continue;
		*ret_s = ((double)(i - 1) + ((double)work_ns - from) / (to - from)) *
			 (double)every_ns / SECOND_NS;
		return 0;
	}
	return -ERANGE;
}

static struct order_run run_of(const struct scene *scene, const char *policy, enum pairs_test test)
{
	struct order_run run = {.policy = policy,
				.setting = {{"pairs", test}},
				.device = scene->terms->catalog->device[SUITE_MPS],
				.seed = scene->terms->seed,
				.warmup_ns = 1,
				.end_ns = scene->end_ns};

	run.device.corun_permille = CORUN_PERMILLE;
	return run;
}

static int mix_play(const struct scene *scene, uint32_t mix, enum pairs_test test,
		    struct mix *ret_mix)
{
	struct order_run run = run_of(scene, "share", test);
	struct world_config config;
	double rate[2];
	int r;

	world_config_preset(&config);
	for (uint32_t i = 0; i < 2; i++)
		run.tenant[run.tenants++].workload = loop_of(scene, mix, i);
	r = order_run_do(&run);
	for (uint32_t i = 0; !r && i < 2; i++) {
		rate[i] = order_run_rate(&run, i, 1);
		r = completion_s(&run.record[i], scene->work_ns, config.share_ns,
				 &ret_mix->done_s[i]);
	}
	if (!r) {
		ret_mix->work = rate[0] + rate[1];
		ret_mix->least = (rate[0] < rate[1] ? rate[0] : rate[1]) / ret_mix->work;
	}
	order_run_done(&run);
	return r;
}

static int alone_s(const struct scene *scene, const struct workload *workload, double *ret_s)
{
	struct order_run run = run_of(scene, "share", PAIRS_ALWAYS);
	int r;

	run.end_ns = SHORT_NS;
	run.tenant[run.tenants++].workload = workload;
	r = order_run_do(&run);
	if (!r)
		*ret_s = (double)scene->work_ns / SECOND_NS / order_run_rate(&run, 0, 1);
	order_run_done(&run);
	return r;
}

/* As the paper waits: where its test, which knows how much is left, says so, the second begins when
 * the first is done. */
static int one_by_one_s(const struct scene *scene, uint32_t mix, double *ret_mean_s)
{
	double alone[2], beside[2];
	struct order_run run = run_of(scene, "share", PAIRS_ALWAYS);
	int r = 0;

	run.end_ns = SHORT_NS;
	for (uint32_t i = 0; !r && i < 2; i++) {
		run.tenant[run.tenants++].workload = loop_of(scene, mix, i);
		r = alone_s(scene, loop_of(scene, mix, i), &alone[i]);
	}
	if (!r)
		r = order_run_do(&run);
	for (uint32_t i = 0; !r && i < 2; i++)
		beside[i] = (double)scene->work_ns / SECOND_NS / order_run_rate(&run, i, 1);
	order_run_done(&run);
	if (r)
		return r;
	if (pairs_completes_sooner((uint32_t)(beside[0] / alone[0] * 1000), scene->work_ns,
				   (uint32_t)(beside[1] / alone[1] * 1000), scene->work_ns))
		*ret_mean_s = (beside[0] + beside[1]) / 2;
	else
		*ret_mean_s = (2 * alone[0] + alone[1]) / 2;
	return 0;
}

static int mixes_play(const struct scene *scene, enum order_side side, double *ret_value)
{
	ret_value[LEAST_SHARE] = 1;
	for (uint32_t m = 0; m < MIXES; m++) {
		bool with = side == ORDER_WITH;
		struct mix mix, papers;
		double one_by_one = 0, mean;
		int r = mix_play(scene, m, with ? PAIRS_PROGRESS : PAIRS_ALWAYS, &mix);

		papers = mix;
		if (!r && with)
			r = mix_play(scene, m, PAIRS_COMPLETION, &papers);
		if (!r && with)
			r = one_by_one_s(scene, m, &one_by_one);
		if (r)
			return r;
		mean = (mix.done_s[0] + mix.done_s[1]) / 2;
		ret_value[m < CLASHES ? CLASH_MEAN_S : OTHER_MEAN_S] +=
			mean / (m < CLASHES ? CLASHES : OTHERS);
		ret_value[CLASH_WORK] += m < CLASHES ? mix.work / CLASHES : 0;
		if (mix.least < ret_value[LEAST_SHARE])
			ret_value[LEAST_SHARE] = mix.least;
		ret_value[PAPERS_TEST_MEAN_S] += (papers.done_s[0] + papers.done_s[1]) / 2 / MIXES;
		ret_value[ONE_BY_ONE_MEAN_S] += (with ? one_by_one : mean) / MIXES;
	}
	return 0;
}

/* ---- beside a server ------------------------------------------------------------------------- */

static int served_play(const struct scene *scene, enum order_side side, double *ret_value)
{
	const struct suite_catalog *catalog = scene->terms->catalog;
	struct order_run run =
		run_of(scene, "slo", side == ORDER_WITH ? PAIRS_PROGRESS : PAIRS_ALWAYS);
	struct metrics_tail tail;
	int r;

	run.warmup_ns = run.end_ns = 0;
	run.warmup = SERVED_WARMUP;
	run.requests = scene->terms->quick ? 100 : SERVED_REQUESTS;
	run.tenant[run.tenants++] = (struct order_tenant){
		.workload = catalog->lc[1],
		.server = true,
		.priority = -1,
		.arrivals = {.kind = ARRIVALS_POISSON, .mean_ns = 4 * catalog->lc_service_ns[1]}};
	for (uint32_t i = 0; i < 2; i++)
		run.tenant[run.tenants++].workload = scene->drawn[2 * MEMORY_WIDE + i];
	r = order_run_do(&run);
	if (!r)
		r = metrics_arrival(&run.record[0], SERVED_WARMUP, &tail);
	if (!r) {
		ret_value[SERVED_P99_MS] = (double)tail.p99_ns / 1e6;
		ret_value[SERVED_WORK] = order_run_rate(&run, 1, 2);
	}
	order_run_done(&run);
	return r;
}

static int play(const struct order_terms *terms, enum order_side side, double *ret_value)
{
	struct scene scene = {.terms = terms,
			      .work_ns = terms->quick ? SECOND_NS / 2 : 12 * SECOND_NS,
			      .end_ns = terms->quick ? 2 * SECOND_NS : 32 * SECOND_NS};
	uint32_t sms = terms->catalog->device[SUITE_MPS].sms;
	int r = 0;

	for (uint32_t i = 0; !r && i < 2 * SHAPES; i++)
		r = draw_loop(&shapes[i / 2], terms->seed * 16 + i, sms, &scene.drawn[i]);
	if (!r)
		r = mixes_play(&scene, side, ret_value);
	if (!r)
		r = served_play(&scene, side, ret_value);
	for (uint32_t i = 0; i < 2 * SHAPES; i++)
		workload_free(scene.drawn[i]);
	return r;
}

const struct order_scene order_pairs = {
	.name = "pairs",
	.source = "SJF-BSBF (2407.13088), pair test; slowdowns learned online",
	.about = "two loops under MPS take turns where side by side they were seen to do less; "
		 "co-running costs up to half here, an assumption",
	.is_default = true,
	.why = "it finds the pairs that clash and leaves the others alone; the paper's own "
	       "threshold is for waiting to the end of finite work, which shares forbid",
	.figure = {[CLASH_MEAN_S] = {"clash_mean_s", ORDER_GAIN, true, 50},
		   [CLASH_WORK] = {"clash_work", ORDER_GAIN, false, 50},
		   [OTHER_MEAN_S] = {"other_mean_s", ORDER_GUARD, true, 10},
		   [LEAST_SHARE] = {"least_share", ORDER_GUARD, false, 50},
		   [SERVED_P99_MS] = {"served_p99_ms", ORDER_GUARD, true, 20},
		   [SERVED_WORK] = {"served_work", ORDER_SHOWN, false, 0},
		   [PAPERS_TEST_MEAN_S] = {"papers_test_mean_s", ORDER_SHOWN, true, 0},
		   [ONE_BY_ONE_MEAN_S] = {"one_by_one_mean_s", ORDER_SHOWN, true, 0}},
	.play = play,
};
