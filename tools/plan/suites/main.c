/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `make plan`. ONLY=word,word runs the rows (and `scenes`, `search`, `orders`) with one of the words
 * in their name; PLAN_PAIRS=n runs at most n pairs of each row in each mode.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/suites/jobs.h"
#include "plan/suites/report.h"
#include "plan/suites/scenes.h"
#include "plan/suites/sums.h"

struct options {
	const char *device, *folder, *out, *only;
	uint32_t processes, most_pairs;
	bool quick, orders;
};

static const char usage[] =
	"usage: sluice-suite [--quick] [--orders] [--processes N] [--device FILE] [--folder DIR] "
	"[--out "
	"FILE]\n"
	"Plays all policies over the suite of pairs, on a model of a GPU. Simulated figures.\n"
	"  --quick        few requests, one seed: shows that it works, not how well\n"
	"  --orders       the orders from papers alone\n"
	"  --device FILE  its description (tools/simgpu/presets/v100.conf)\n"
	"  --folder DIR   the workloads (tools/plan/suites/pairs)\n"
	"  --out FILE     the report (build/plan/report.json; orders.json with --orders)\n"
	"Environment: ONLY=words of rows' names, PLAN_PAIRS=pairs of a row.\n";

static int parse_number(const char *text, uint32_t most, uint32_t *ret)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end || !value || value > most)
		return -EINVAL;
	*ret = (uint32_t)value;
	return 0;
}

static int parse_environment(struct options *options)
{
	const char *pairs = secure_getenv("PLAN_PAIRS");

	options->only = secure_getenv("ONLY");
	if (!pairs || !*pairs || !parse_number(pairs, SUITE_PAIRS, &options->most_pairs))
		return 0;
	(void)fprintf(stderr, "PLAN_PAIRS=%s: a number of pairs, 1 to %d, is wanted\n", pairs,
		      SUITE_PAIRS);
	return -EINVAL;
}

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{"quick", no_argument, NULL, 'q'},
		{"orders", no_argument, NULL, 'r'},
		{"processes", required_argument, NULL, 'p'},
		{"device", required_argument, NULL, 'd'},
		{"folder", required_argument, NULL, 'f'},
		{"out", required_argument, NULL, 'o'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'q': options->quick = true; break;
		case 'r': options->orders = true; break;
		case 'd': options->device = optarg; break;
		case 'f': options->folder = optarg; break;
		case 'o': options->out = optarg; break;
		case 'p':
			if (parse_number(optarg, 256, &options->processes))
				return -EINVAL;
			break;
		case 'h': (void)fputs(usage, stdout); exit(0);
		default: return -EINVAL;
		}
	}
	return optind == argc ? parse_environment(options) : -EINVAL;
}

/* ---- what is run ---- */

/* One of ONLY's words, between commas, is part of the name. */
static bool wanted(const struct options *options, const char *name)
{
	const char *word = options->only;

	if (!word || !*word)
		return true;
	while (*word) {
		size_t length = strcspn(word, ",");

		if (length && memmem(name, strlen(name), word, length))
			return true;
		word += length + (word[length] == ',');
	}
	return false;
}

static bool wanted_order(const void *context, const char *name)
{
	const struct options *options = context;

	return wanted(options, "orders") || wanted(options, name);
}

static void add_orders(struct suite *suite, const struct options *options)
{
	suite_add_orders(suite, wanted_order, options);
}

static void add_all(struct suite *suite, const struct options *options)
{
	uint32_t plain = suite_find_row(suite, "sluice", SUITE_MAIN);
	uint32_t fixed = suite_find_row(suite, "level", SUITE_FIXED);

	for (uint32_t i = 0; i < suite->rows; i++) {
		if (suite->row[i].use != SUITE_FIXED && wanted(options, suite->row[i].name))
			suite_add_pairs(suite, i);
	}
	if (wanted(options, "scenes"))
		suite_add_scenes(suite, plain);
	for (uint32_t i = 0; wanted(options, "scenes") && i < SETTLE_TARGETS; i++)
		suite_add_settle(suite, suite_find_row(suite, suite_target_name[i], SUITE_TARGET));
	if (fixed != UINT32_MAX && wanted(options, "search"))
		suite_add_searches(suite, fixed);
	add_orders(suite, options);
}

static void add_alone(struct suite *suite, const struct options *options)
{
	suite_add_alone(suite);
}

static void add_best(struct suite *suite, const struct options *options)
{
	for (uint32_t i = 0, rows = suite->rows; i < rows; i++) {
		for (uint32_t mode = 0; suite->row[i].use == SUITE_MAIN && mode < SUITE_MODES;
		     mode++) {
			uint32_t best = suite_best_of(suite, suite->row[i].name, mode);

			if (best != UINT32_MAX && strcmp(suite->row[i].policy, "slo") &&
			    suite_add_best_row(suite, best, mode))
				suite_add_pairs(suite, suite->rows - 1);
		}
	}
}

/* Servers alone; then all rows; then the best settings of sweeps, with as many seeds as a row. */
static int run_all(struct suite *suite, const struct options *options)
{
	static void (*const add[])(struct suite *, const struct options *) = {add_alone, add_all,
									      add_best};
	uint32_t steps = options->orders ? 1 : sizeof(add) / sizeof(add[0]);
	int r = 0;

	for (uint32_t i = 0; !r && i < steps; i++) {
		uint32_t first = suite->jobs;

		(options->orders ? add_orders : add[i])(suite, options);
		if (suite->jobs > first)
			r = suite_pool(suite, first, options->processes);
	}
	return r;
}

static uint32_t complain(const struct suite *suite)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < suite->jobs; i++) {
		if (!suite->result[i].error)
			continue;
		failed++;
		suite_complain(suite, i);
	}
	return failed;
}

static int run(struct suite *suite, const struct options *options)
{
	int r = run_all(suite, options);
	uint32_t failed = complain(suite);

	if (!r)
		r = suite_report_write(suite, options->out);
	if (!r)
		suite_table_print(suite, stdout);
	return r ? r : failed ? -EIO : 0;
}

int main(int argc, char **argv)
{
	static struct suite suite;
	struct options options = {.device = "tools/simgpu/presets/v100.conf",
				  .folder = "tools/plan/suites/pairs",
				  .processes = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
				  .most_pairs = SUITE_PAIRS};
	int r = parse(argc, argv, &options);

	if (r) {
		(void)fputs(usage, stderr);
		return 2;
	}
	if (!options.out)
		options.out = options.orders ? "build/plan/orders.json" : "build/plan/report.json";
	suite.quick = options.quick;
	suite.most_pairs = options.most_pairs;
	r = suite_open(&suite, options.device, options.folder);
	if (!r)
		r = run(&suite, &options);
	if (r)
		(void)fprintf(stderr, "sluice-suite: %s\n", strerror(-r));
	suite_close(&suite);
	return r ? 1 : 0;
}
