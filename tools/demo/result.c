/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

const char *const column_name[COLUMNS] = {"alone", "shared", "sluice"};
const char *const column_title[COLUMNS] = {"alone", "both, without Sluice", "both, under Sluice"};

static void fill(const struct phase *phase, double train_alone, struct column_figures *ret)
{
	ret->a_p50_ms = phase_quantile(phase->arrival_ms, phase->requests, 500);
	ret->a_p99_ms = phase_quantile(phase->arrival_ms, phase->requests, 990);
	ret->a_p999_ms = phase_quantile(phase->arrival_ms, phase->requests, 999);
	ret->s_p50_ms = phase_quantile(phase->service_ms, phase->requests, 500);
	ret->s_p99_ms = phase_quantile(phase->service_ms, phase->requests, 990);
	ret->train_rel = train_alone > 0 ? phase->steps_per_s / train_alone : 0;
	ret->late_ops_pct = phase->ops ? 100.0 * (double)phase->late_ops / (double)phase->ops : 0;
}

static void find_void(struct result *result)
{
	const struct phase *alone = result->phase[ALONE];

	if (result->simulated && result->late_ops_pct > LATE_OPS_VOID_PCT)
		snprintf(result->void_why, sizeof(result->void_why),
			 "%.2f %% of the simulated operations ended late (limit %.0f %%): this "
			 "machine was too busy; try again when it is idle",
			 result->late_ops_pct, LATE_OPS_VOID_PCT);
	else if (fabs(result->load - LOAD_WANTED) > LOAD_TOLERANCE)
		snprintf(result->void_why, sizeof(result->void_why),
			 "the load was %.3f of capacity alone, not %.2f +- %.2f: this machine was "
			 "busy with something else; try again when it is idle",
			 result->load, LOAD_WANTED, LOAD_TOLERANCE);
	else if (alone->requests != result->phase[SHARED]->requests ||
		 alone->requests != result->phase[SLUICE]->requests)
		snprintf(result->void_why, sizeof(result->void_why),
			 "the phases did not serve the same number of requests");
}

bool goal_is_met(const struct goal *goal)
{
	return goal->at_least ? goal->value >= goal->wanted : goal->value <= goal->wanted;
}

static void set_goals(struct result *result)
{
	const struct column_figures *column = result->column;

	result->goal[0] = (struct goal){.key = "shared_A_p99_of_alone",
					.what = "without Sluice, A p99 over alone",
					.value = column[SHARED].a_p99_ms / column[ALONE].a_p99_ms,
					.wanted = 1.5,
					.at_least = true};
	result->goal[1] = (struct goal){.key = "sluice_A_p99_of_alone",
					.what = "under Sluice, A p99 over alone",
					.value = column[SLUICE].a_p99_ms / column[ALONE].a_p99_ms,
					.wanted = 1.15};
	result->goal[2] = (struct goal){.key = "sluice_train_rel",
					.what = "under Sluice, training over alone",
					.value = column[SLUICE].train_rel,
					.wanted = 0.40,
					.at_least = true};
}

void result_make(const char *device, bool simulated, const struct phase *serve,
		 const struct phase *train, const struct phase *shared, const struct phase *sluice,
		 struct result *ret_result)
{
	const struct phase *const all[] = {serve, train, shared, sluice};
	uint64_t ops = 0, late = 0;

	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->device = device;
	ret_result->simulated = simulated;
	ret_result->load = serve->load;
	ret_result->requests = serve->requests;
	ret_result->seed = serve->seed;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		ops += all[i]->ops;
		late += all[i]->late_ops;
		ret_result->kernels += all[i]->kernels;
		ret_result->wrong_results += all[i]->wrong_results;
	}
	ret_result->late_ops_pct = ops ? 100.0 * (double)late / (double)ops : 0;
	ret_result->phase[ALONE] = serve;
	ret_result->phase[SHARED] = shared;
	ret_result->phase[SLUICE] = sluice;
	for (int i = 0; i < COLUMNS; i++)
		fill(ret_result->phase[i], train->steps_per_s, &ret_result->column[i]);
	ret_result->column[ALONE].train_rel = 1;
	set_goals(ret_result);
	find_void(ret_result);
}

static void set_real(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_real(value));
}

static json_t *column_json(const struct column_figures *column)
{
	json_t *object = json_object();

	set_real(object, "A_p50_ms", column->a_p50_ms);
	set_real(object, "A_p99_ms", column->a_p99_ms);
	set_real(object, "A_p999_ms", column->a_p999_ms);
	set_real(object, "S_p50_ms", column->s_p50_ms);
	set_real(object, "S_p99_ms", column->s_p99_ms);
	set_real(object, "train_rel", column->train_rel);
	set_real(object, "late_ops_pct", column->late_ops_pct);
	return object;
}

static json_t *goals_json(const struct result *result)
{
	json_t *goals = json_object();

	for (int i = 0; i < GOALS; i++) {
		const struct goal *goal = &result->goal[i];
		json_t *object = json_object();

		set_real(object, "value", goal->value);
		set_real(object, goal->at_least ? "at_least" : "at_most", goal->wanted);
		json_object_set_new(object, "met", json_boolean(goal_is_met(goal)));
		json_object_set_new(goals, goal->key, object);
	}
	return goals;
}

int result_write_json(const struct result *result, const char *path)
{
	json_t *root = json_object();
	int r;

	json_object_set_new(root, "device", json_string(result->device));
	json_object_set_new(root, "simulated", json_boolean(result->simulated));
	set_real(root, "load", result->load);
	json_object_set_new(root, "requests", json_integer((json_int_t)result->requests));
	json_object_set_new(root, "seed", json_integer((json_int_t)result->seed));
	set_real(root, "late_ops_pct", result->late_ops_pct);
	json_object_set_new(root, "kernels_run", json_integer((json_int_t)result->kernels));
	json_object_set_new(root, "wrong_results", json_integer((json_int_t)result->wrong_results));
	json_object_set_new(root, "void", json_boolean(result->void_why[0] != 0));
	if (result->void_why[0])
		json_object_set_new(root, "void_why", json_string(result->void_why));
	for (int i = 0; i < COLUMNS; i++)
		json_object_set_new(root, column_name[i], column_json(&result->column[i]));
	json_object_set_new(root, "goals", goals_json(result));
	r = json_dump_file(root, path, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) ? -EIO : 0;
	json_decref(root);
	return r;
}
