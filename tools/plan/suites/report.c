/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "plan/suites/orders.h"
#include "plan/suites/scenes.h"
#include "plan/suites/sums.h"

uint32_t suite_find_row(const struct suite *suite, const char *name, enum suite_use use)
{
	for (uint32_t i = 0; i < suite->rows; i++) {
		if (suite->row[i].use == use && !strcmp(suite->row[i].name, name))
			return i;
	}
	return UINT32_MAX;
}

/* Four digits are more than any interval here is worth; equal runs give equal bytes. */
static void put(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_real(round(value * 10000) / 10000));
}

static void put_count(json_t *object, const char *key, uint32_t value)
{
	json_object_set_new(object, key, json_integer(value));
}

static void put_sum(json_t *object, const struct suite_sum *sum, uint32_t seeds)
{
	put(object, "A_mean", sum->a_mean);
	put(object, "A_worst", sum->a_worst);
	if (seeds > 1) /* one says nothing of the spread */
		put(object, "A_half_width", sum->a_half);
	put(object, "A_p50_mean", sum->a_p50_mean);
	put(object, "S_mean", sum->s_mean);
	put(object, "S_worst", sum->s_worst);
	put(object, "S_added_worst_ms", sum->s_added_worst_ns / 1e6);
	put(object, "be_mean", sum->be_mean);
	put(object, "be_least", sum->be_least);
	put(object, "be_of_idle", sum->be_of_idle);
	put(object, "load", sum->load);
	put_count(object, "pairs", sum->pairs);
	put_count(object, "unstable_pairs", sum->unstable);
	if (sum->failed)
		put_count(object, "failed_pairs", sum->failed);
}

/* Each pair by itself. */
static json_t *pair_objects(const struct suite *suite, uint32_t row, enum suite_mode mode)
{
	json_t *all = json_object();

	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		const struct suite_result *result = &suite->result[i];
		char name[96];
		json_t *object;

		if (job->kind != SUITE_PAIR || job->row != row || job->mode != mode ||
		    result->error)
			continue;
		object = json_object();
		put(object, "A", suite_mean(result, result->a));
		put(object, "A_low", result->a_low);
		put(object, "A_high", result->a_high);
		put(object, "S", suite_mean(result, result->s));
		put(object, "S_added_ms", suite_mean(result, result->s_added_ns) / 1e6);
		put(object, "be", suite_mean(result, result->be));
		(void)snprintf(name, sizeof(name), "%s, %s", suite_lc_name[job->lc],
			       suite_be_name[job->be]);
		json_object_set_new(all, name, object);
	}
	return all;
}

static json_t *sum_object(const struct suite *suite, uint32_t row, enum suite_mode mode)
{
	struct suite_sum sum, subset;
	json_t *object, *part;

	suite_sum_row(suite, row, mode, false, &sum);
	if (!sum.pairs && !sum.failed)
		return NULL;
	object = json_object();
	put_sum(object, &sum, suite->row[row].seeds);
	put_count(object, "seeds", suite->row[row].seeds);
	put_count(object, "requests", suite->row[row].requests);
	suite_sum_row(suite, row, mode, true, &subset);
	if (subset.pairs < sum.pairs) {
		part = json_object();
		put_sum(part, &subset, suite->row[row].seeds);
		json_object_set_new(object, "subset", part);
	}
	return object;
}

static void put_settings(json_t *object, const struct suite_row *row)
{
	json_t *settings = json_object();

	for (uint32_t i = 0; i < 4 && row->setting[i].name; i++)
		json_object_set_new(settings, row->setting[i].name,
				    json_integer((json_int_t)row->setting[i].value));
	json_object_set_new(object, "settings", settings);
}

/* The rows of a name: two where a sweep's best setting is another in each mode. So what a row sets,
 * and what is to be said of it, stand with the mode. */
static void put_policy(json_t *all, const struct suite *suite, uint32_t row)
{
	const struct suite_row *at = &suite->row[row];

	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		json_t *of_mode = sum_object(suite, row, mode), *object;

		if (!of_mode)
			continue;
		put_settings(of_mode, at);
		if (at->note)
			json_object_set_new(of_mode, "note", json_string(at->note));
		json_object_set_new(of_mode, "by_pair", pair_objects(suite, row, mode));
		object = json_object_get(all, at->name);
		if (!object) {
			object = json_object();
			json_object_set_new(all, at->name, object);
		}
		json_object_set_new(object, suite_mode_name[mode], of_mode);
		json_object_set_new(object, "policy", json_string(at->policy));
		json_object_set_new(object, "about",
				    json_string(plan_policy_find(at->policy)->about));
		json_object_set_new(object, "credible", json_boolean(!at->not_credible));
	}
}

static json_t *policies(const struct suite *suite)
{
	json_t *all = json_object();

	for (uint32_t row = 0; row < suite->rows; row++) {
		if (suite->row[row].use == SUITE_MAIN)
			put_policy(all, suite, row);
	}
	return all;
}

static json_t *sweeps(const struct suite *suite)
{
	json_t *all = json_object();

	for (uint32_t row = 0; row < suite->rows; row++) {
		const struct suite_row *at = &suite->row[row];

		for (uint32_t mode = 0; at->use == SUITE_SWEEP && mode < SUITE_MODES; mode++) {
			json_t *object = sum_object(suite, row, mode), *list, *of;

			if (!object)
				continue;
			put_settings(object, at);
			if (at->what_if)
				json_object_set_new(object, "what_if", json_true());
			json_object_set_new(
				object, "best",
				json_boolean(suite_best_of(suite, at->name, mode) == row));
			of = json_object_get(all, at->name);
			if (!of) {
				of = json_object();
				json_object_set_new(all, at->name, of);
			}
			list = json_object_get(of, suite_mode_name[mode]);
			if (!list) {
				list = json_array();
				json_object_set_new(of, suite_mode_name[mode], list);
			}
			json_array_append_new(list, object);
		}
	}
	return all;
}

static json_t *targets(const struct suite *suite)
{
	json_t *all = json_object();

	for (uint32_t i = 0; i < SUITE_TARGETS; i++) {
		json_t *of = json_object();

		for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
			struct suite_target_sum sum;
			json_t *object;

			suite_sum_target(suite, i, mode, &sum);
			if (!sum.pairs && !sum.failed)
				continue;
			object = json_object();
			put(object, "reached_A", sum.reached_a);
			put(object, "reached_A_worst", sum.reached_worst);
			json_object_set_new(object, "by_pair",
					    pair_objects(suite,
							 suite_find_row(suite, suite_target_name[i],
									SUITE_TARGET),
							 mode));
			put(object, "be_mean", sum.be_mean);
			put(object, "be_of_best_fixed", sum.be_of_best_fixed);
			put(object, "be_of_best_fixed_worst", sum.be_of_best_fixed_worst);
			put_count(object, "pairs", sum.pairs);
			put_count(object, "pairs_over", sum.pairs_over);
			put_count(object, "pairs_mean_over", sum.pairs_mean_over);
			put_count(object, "pairs_out_of_reach", sum.unreachable);
			json_object_set_new(of, suite_mode_name[mode], object);
		}
		if (json_object_size(of))
			json_object_set_new(all, suite_target_name[i], of);
		else
			json_decref(of);
	}
	return all;
}

/* shares.<mode>.cases.<case> */
static json_t *share_cases(const struct suite *suite, enum suite_mode mode)
{
	json_t *all = json_object();

	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		const struct suite_result *result = &suite->result[i];
		json_t *object;

		if (job->kind != SUITE_SHARES || job->mode != mode || result->error)
			continue;
		object = json_object();
		put(object, "err_1s", result->err_1s);
		put(object, "err_100ms_p95", result->err_100ms_p95);
		put(object, "A", suite_mean(result, result->a));
		put(object, "be_sum", suite_mean(result, result->be));
		json_object_set_new(all, suite_share_case[job->be].name, object);
	}
	return all;
}

/* arrivals.<case>.<mode> */
static json_t *gaps(const struct suite *suite)
{
	json_t *all = json_object();

	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		const struct suite_result *result = &suite->result[i];
		json_t *of, *object;

		if (job->kind != SUITE_GAPS || result->error)
			continue;
		of = json_object_get(all, suite_gap_case[job->be].name);
		if (!of) {
			of = json_object();
			json_object_set_new(all, suite_gap_case[job->be].name, of);
		}
		object = json_object();
		put(object, "A", suite_mean(result, result->a));
		put(object, "S", suite_mean(result, result->s));
		put(object, "be", suite_mean(result, result->be));
		json_object_set_new(of, suite_mode_name[job->mode], object);
	}
	return all;
}

static void scenes(const struct suite *suite, json_t *root)
{
	json_t *decode = json_object(), *shares = json_object();

	for (uint32_t mode = 0; mode < SUITE_MODES; mode++) {
		const char *name = suite_mode_name[mode];
		struct suite_scenes sums;

		suite_sum_scenes(suite, mode, &sums);
		if (sums.jobs > sums.failed) {
			json_object_set_new(decode, name,
					    json_pack("{s:f,s:f,s:f}", "step_p99", sums.step_p99,
						      "step_p99_worst", sums.step_p99_worst, "be",
						      sums.be));
			json_object_set_new(shares, name,
					    json_pack("{s:f,s:f,s:f,s:f}", "err_1s", sums.err_1s,
						      "err_100ms_p95", sums.err_100ms_p95,
						      "A_worst", sums.shares_a, "be_sum_mean",
						      sums.shares_be));
		}
		if (sums.jobs > sums.failed)
			json_object_set_new(json_object_get(shares, name), "cases",
					    share_cases(suite, mode));
	}
	json_object_set_new(root, "decode", decode);
	json_object_set_new(root, "shares", shares);
}

/* settle.<mode>.<target>, and the worst of them */
static void settle(const struct suite *suite, json_t *root)
{
	json_t *all = json_object();
	double worst = -1;

	for (uint32_t i = 0; i < SUITE_MODES * SETTLE_TARGETS; i++) {
		uint32_t mode = i / SETTLE_TARGETS, target = i % SETTLE_TARGETS;
		json_t *of = json_object_get(all, suite_mode_name[mode]);
		double settled[2];

		suite_sum_settle(suite, target, mode, settled);
		if (settled[0] < 0)
			continue;
		if (!of) {
			of = json_object();
			json_object_set_new(all, suite_mode_name[mode], of);
		}
		json_object_set_new(
			of, suite_target_name[target],
			json_pack("{s:f,s:f}", "load_up_s", settled[0], "load_down_s", settled[1]));
		worst = fmax(worst, fmax(settled[0], settled[1]));
	}
	json_object_set_new(root, "settle", all);
	if (worst >= 0)
		put(root, "settle_s", worst);
}

static void totals(const struct suite *suite, json_t *root)
{
	double simulated_s = 0;
	uint32_t failed = 0;

	for (uint32_t i = 0; i < suite->jobs; i++) {
		simulated_s += suite->result[i].simulated_s;
		failed += suite->result[i].error != 0;
	}
	json_object_set_new(root, "runs",
			    json_pack("{s:i,s:i,s:f}", "jobs", (int)suite->jobs, "failed",
				      (int)failed, "simulated_s", round(simulated_s)));
}

static int write_root(json_t *root, const char *path)
{
	FILE *out = fopen(path, "we");
	int r = out ? 0 : -errno;

	if (out &&
	    (json_dumpf(root, out, JSON_INDENT(1) | JSON_SORT_KEYS | JSON_REAL_PRECISION(6)) ||
	     fputc('\n', out) == EOF))
		r = -EIO;
	if (out && fclose(out))
		r = -EIO;
	return r;
}

int suite_report_write(const struct suite *suite, const char *path)
{
	json_t *root = json_object(), *summary = json_object(), *notes = json_object();
	int r;

	json_object_set_new(root, "simulated", json_true());
	json_object_set_new(root, "model", json_string(suite->catalog.device[0].name));
	put(root, "load", SUITE_LOAD_PERMILLE / 1000.0);
	json_object_set_new(root, "policies", policies(suite));
	json_object_set_new(root, "sweeps", sweeps(suite));
	json_object_set_new(root, "targets", targets(suite));
	scenes(suite, root);
	settle(suite, root);
	json_object_set_new(root, "arrivals", gaps(suite));
	json_object_set_new(root, "orders", suite_orders_json(suite));
	r = suite_goals(suite, summary, notes);
	json_object_set_new(root, "summary", summary);
	json_object_set_new(root, "summary_notes", notes);
	totals(suite, root);
	if (!r)
		r = write_root(root, path);
	json_decref(root);
	return r;
}
