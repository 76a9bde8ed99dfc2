/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares what real processes reached under the arbiter with what the planner said of them:
 * FOLDER/alone has the trainer alone, FOLDER/TARGET/1 to 5 the runs (as the demo's phases),
 * FOLDER/TARGET/plan.json the plan. Writes live.json and a table. Exit status 1: a figure is
 * further off than twice the spread of the runs; 3: the machine was too busy to say.
 */

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/phase.h"
#include "sluice/table.h"

#define RUNS 5
#define LATE_MOST 0.01

enum { S_P50, S_P99, A_P99, TRAIN_REL, FIGURES };

static const struct {
	const char *key, *title, *plan;
} figure[FIGURES] = {{"S_p50_ms", "S p50, ms", "S_p50_ns"},
		     {"S_p99_ms", "S p99, ms", "S_p99_ns"},
		     {"A_p99_ms", "A p99, ms", "A_p99_ns"},
		     {"train_rel", "training, of alone", "throughput_of_alone"}};

struct comparison {
	const char *target;
	double measured[FIGURES][RUNS], planned[FIGURES];
	uint64_t ops, late_ops, wrong_results;
};

struct judgement {
	double mean, spread, off;
	bool within;
};

static int fail(const char *what)
{
	fprintf(stderr, "live: %s\n", what);
	return 1;
}

static int read_run(const char *folder, unsigned int run, double alone_steps,
		    struct comparison *comparison)
{
	char path[4096], why[512];
	struct phase phase;

	snprintf(path, sizeof(path), "%s/%s/%u", folder, comparison->target, run + 1);
	if (phase_load(path, &phase, sizeof(why), why))
		return fail(why);
	if (!phase.has_serve || !phase.has_train) {
		phase_finish(&phase);
		return fail("a run lacks its server or its trainer");
	}
	comparison->measured[S_P50][run] = phase_quantile(phase.service_ms, phase.requests, 500);
	comparison->measured[S_P99][run] = phase_quantile(phase.service_ms, phase.requests, 990);
	comparison->measured[A_P99][run] = phase_quantile(phase.arrival_ms, phase.requests, 990);
	comparison->measured[TRAIN_REL][run] = phase.steps_per_s / alone_steps;
	comparison->ops += phase.ops;
	comparison->late_ops += phase.late_ops;
	comparison->wrong_results += phase.wrong_results;
	phase_finish(&phase);
	return 0;
}

static int read_plan(const char *folder, struct comparison *comparison)
{
	char path[4096];
	json_error_t error;
	json_t *plan, *tenants;

	snprintf(path, sizeof(path), "%s/%s/plan.json", folder, comparison->target);
	plan = json_load_file(path, 0, &error);
	tenants = json_object_get(json_array_get(json_object_get(plan, "rows"), 0), "tenants");
	for (int i = 0; i < FIGURES; i++) {
		json_t *tenant = json_object_get(tenants, i == TRAIN_REL ? "train" : "chat");
		json_t *mean = json_object_get(json_object_get(tenant, figure[i].plan), "mean");

		if (!json_is_number(mean)) {
			json_decref(plan);
			fprintf(stderr, "live: %s has no %s\n", path, figure[i].plan);
			return 1;
		}
		comparison->planned[i] = json_number_value(mean) / (i == TRAIN_REL ? 1 : 1e6);
	}
	json_decref(plan);
	return 0;
}

/* The spread is from the least to the largest of the runs. */
static struct judgement judge(const struct comparison *comparison, int which)
{
	double least = INFINITY, most = 0, sum = 0;
	struct judgement judgement;

	for (unsigned int i = 0; i < RUNS; i++) {
		double value = comparison->measured[which][i];

		least = fmin(least, value);
		most = fmax(most, value);
		sum += value;
	}
	judgement.mean = sum / RUNS;
	judgement.spread = most - least;
	judgement.off = comparison->planned[which] - judgement.mean;
	judgement.within = fabs(judgement.off) <= 2 * judgement.spread;
	return judgement;
}

static json_t *figure_json(const struct comparison *comparison, int which)
{
	struct judgement judgement = judge(comparison, which);
	json_t *runs = json_array();

	for (unsigned int i = 0; i < RUNS; i++)
		json_array_append_new(runs, json_real(comparison->measured[which][i]));
	return json_pack("{s:o, s:f, s:f, s:f, s:f, s:b}", "runs", runs, "mean", judgement.mean,
			 "spread", judgement.spread, "planned", comparison->planned[which], "off",
			 judgement.off, "within_2_spreads", judgement.within);
}

static void add_row(struct table *table, const struct comparison *comparison, int which)
{
	struct judgement judgement = judge(comparison, which);
	char planned[32], mean[32], spread[32], off[32];

	snprintf(planned, sizeof(planned), "%.3f", comparison->planned[which]);
	snprintf(mean, sizeof(mean), "%.3f", judgement.mean);
	snprintf(spread, sizeof(spread), "%.3f", judgement.spread);
	snprintf(off, sizeof(off), "%+.3f", judgement.off);
	table_row(table,
		  (const char *[]){which ? "" : comparison->target, figure[which].title, planned,
				   mean, spread, off, judgement.within ? "yes" : "no", NULL});
}

static json_t *target_json(const struct comparison *comparison, struct table *table, bool *ret_all)
{
	json_t *target = json_object();

	for (int i = 0; i < FIGURES; i++) {
		add_row(table, comparison, i);
		*ret_all &= judge(comparison, i).within;
		json_object_set_new(target, figure[i].key, figure_json(comparison, i));
	}
	return target;
}

static int compare(const char *folder, char **targets, int count, double alone_steps,
		   const char *out)
{
	struct table table = {.right = 0x3c};
	json_t *all = json_object(), *report;
	uint64_t ops = 0, late_ops = 0, wrong = 0;
	bool within = true, is_void;
	int r = 0;

	table_row(&table, (const char *[]){"TARGET", "", "PLANNED", "REACHED", "SPREAD", "OFF",
					   "WITHIN 2 SPREADS", NULL});
	for (int i = 0; !r && i < count; i++) {
		struct comparison comparison = {.target = targets[i]};

		for (unsigned int run = 0; !r && run < RUNS; run++)
			r = read_run(folder, run, alone_steps, &comparison);
		if (!r)
			r = read_plan(folder, &comparison);
		if (!r)
			json_object_set_new(all, targets[i],
					    target_json(&comparison, &table, &within));
		ops += comparison.ops;
		late_ops += comparison.late_ops;
		wrong += comparison.wrong_results;
	}
	is_void = !ops || (double)late_ops > LATE_MOST * (double)ops;
	report = json_pack("{s:b, s:i, s:f, s:I, s:b, s:b, s:o}", "simulated", 1, "runs", RUNS,
			   "late_ops_pct", ops ? 100.0 * (double)late_ops / (double)ops : 0.0,
			   "wrong_results", (json_int_t)wrong, "void", is_void, "within_2_spreads",
			   within, "targets", all);
	if (!r && (!report || json_dump_file(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(6))))
		r = fail("cannot write the report");
	json_decref(report);
	if (!r)
		table_print(&table, 0, stdout);
	table_finish(&table);
	if (!r && is_void)
		fprintf(stderr,
			"live: %.2f %% of the simulated operations ended late: this machine "
			"was too busy to say anything\n",
			ops ? 100.0 * (double)late_ops / (double)ops : 0.0);
	return r ? r : is_void ? 3 : !within || wrong;
}

int main(int argc, char **argv)
{
	char path[4096], why[512];
	struct phase alone;
	double steps;

	if (argc < 4) {
		fprintf(stderr, "usage: sluice-live REPORT FOLDER TARGET...\n");
		return 2;
	}
	snprintf(path, sizeof(path), "%s/alone", argv[2]);
	if (phase_load(path, &alone, sizeof(why), why))
		return fail(why);
	steps = alone.steps_per_s;
	phase_finish(&alone);
	if (!(steps > 0))
		return fail("the trainer alone made no steps");
	return compare(argv[2], argv + 3, argc - 3, steps, argv[1]);
}
