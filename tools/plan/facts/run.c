/* SPDX-License-Identifier: Apache-2.0 */
/* Plays what the facts ask for: rows of the suite on all pairs, some requests each. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/facts/facts.h"
#include "plan/suites/jobs.h"
#include "plan/suites/report.h"

/* Marks a row as wanted in a mode. */
static int want(struct suite *suite, const struct facts_place *place, uint32_t *modes)
{
	uint32_t row = suite_find_row(suite, place->row, SUITE_MAIN);

	if (row == UINT32_MAX || !(suite->row[row].modes & 1u << place->mode)) {
		(void)fprintf(stderr, "the suite has no row %s, %s\n", place->row,
			      suite_mode_name[place->mode]);
		return -ENOENT;
	}
	modes[row] |= 1u << place->mode;
	return 0;
}

static int want_all(struct suite *suite, const struct facts_table *table, uint32_t *modes)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < table->facts; i++)
		if (table->fact[i].kind == FACTS_PAIRS)
			r = want(suite, &table->fact[i].place, modes);
	for (uint32_t i = 0; !r && i < table->orders; i++)
		for (uint32_t p = 0; !r && p < table->order[i].places; p++)
			r = want(suite, &table->order[i].place[p], modes);
	return r;
}

static enum facts_group group_of(const struct suite_job *job)
{
	return suite_in_subset(job->lc, job->be) ? FACTS_TUNED : FACTS_HELD_OUT;
}

/* Jobs of the first `servers` servers stay, of each with one loop in a group. */
static void keep_few(struct suite *suite, uint32_t first, uint32_t servers)
{
	bool kept[SUITE_MODES][SUITE_LC][FACTS_GROUPS] = {0};
	uint32_t to = first;

	for (uint32_t i = first; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];
		bool *seen = &kept[job->mode][job->lc][group_of(job)];

		if (job->lc < servers && !*seen)
			suite->job[to++] = *job;
		*seen = true;
	}
	suite->jobs = to;
}

static int play(struct suite *suite, const struct facts_options *options, const uint32_t *modes)
{
	uint32_t first;
	int r;

	suite_add_alone(suite);
	if (options->servers)
		keep_few(suite, 0, options->servers);
	r = suite_pool(suite, 0, options->processes);
	first = suite->jobs;
	for (uint32_t i = 0; !r && i < suite->rows; i++) {
		uint32_t from = suite->jobs;

		if (!modes[i])
			continue;
		suite->row[i].modes = modes[i];
		suite->row[i].all_pairs = true;
		suite->row[i].seeds = options->seeds;
		suite->row[i].requests = options->requests;
		suite_add_pairs(suite, i);
		if (options->servers)
			keep_few(suite, from, options->servers);
	}
	return r ? r : suite_pool(suite, first, options->processes);
}

/* ---- figures ---- */

static double figure_of(const struct suite_result *result, enum facts_figure figure)
{
	const double *value = figure == FACTS_BE      ? result->be
			      : figure == FACTS_A_P99 ? result->a
						      : result->s;
	double sum = 0;

	for (uint32_t i = 0; i < result->seeds; i++)
		sum += value[i];
	return sum / result->seeds;
}

static void mean_over_pairs(const struct suite *suite, const struct facts_place *place,
			    enum facts_figure figure, struct facts_values *ret_values)
{
	uint32_t row = suite_find_row(suite, place->row, SUITE_MAIN), count[FACTS_GROUPS] = {0};

	*ret_values = (struct facts_values){0};
	for (uint32_t i = 0; i < suite->jobs; i++) {
		const struct suite_job *job = &suite->job[i];

		if (job->kind != SUITE_PAIR || job->row != row || job->mode != place->mode)
			continue;
		ret_values->value[group_of(job)] += figure_of(&suite->result[i], figure);
		count[group_of(job)]++;
	}
	for (int group = 0; group < FACTS_GROUPS; group++) {
		ret_values->known[group] = count[group] > 0;
		if (count[group])
			ret_values->value[group] /= count[group];
	}
}

static int check_results(const struct suite *suite)
{
	for (uint32_t i = 0; i < suite->jobs; i++) {
		if (!suite->result[i].error)
			continue;
		suite_complain(suite, i);
		return suite->result[i].error;
	}
	return 0;
}

static int gather(const struct suite *suite, const struct facts_options *options,
		  const struct facts_table *table, struct facts_outcome *outcome)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < table->facts; i++) {
		const struct fact *fact = &table->fact[i];
		struct facts_values *values = &outcome->fact[i];

		if (fact->kind == FACTS_PAIRS) {
			mean_over_pairs(suite, &fact->place, fact->figure, values);
			continue;
		}
		*values = (struct facts_values){.known = {true}};
		r = facts_run_scene(&suite->catalog, fact, options->requests, &values->value[0]);
	}
	for (uint32_t i = 0; i < table->orders; i++)
		for (uint32_t p = 0; p < table->order[i].places; p++)
			mean_over_pairs(suite, &table->order[i].place[p], table->order[i].figure,
					&outcome->order[i][p]);
	return r;
}

int facts_run(const struct facts_options *options, const struct facts_table *table,
	      struct facts_outcome *ret_outcome)
{
	struct suite *suite = calloc(1, sizeof(*suite));
	uint32_t modes[SUITE_MOST_ROWS] = {0};
	int r;

	if (!suite)
		return -ENOMEM;
	suite->most_pairs = SUITE_PAIRS;
	r = suite_open(suite, options->device, options->folder);
	if (!r)
		r = want_all(suite, table, modes);
	if (!r)
		r = play(suite, options, modes);
	if (!r)
		r = check_results(suite);
	if (!r)
		r = gather(suite, options, table, ret_outcome);
	suite_close(suite);
	free(suite);
	return r;
}
