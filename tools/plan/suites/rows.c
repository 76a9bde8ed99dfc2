/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/suites/catalog.h"

#define TIME (1u << SUITE_TIME)
#define MPS (1u << SUITE_MPS)
#define US 1000ull
#define SECOND 1000000000ull

#define SWEEP(of, modes_, ...) \
	{ \
		.name = of, .policy = of, .use = SUITE_SWEEP, .modes = modes_, .setting = { \
			__VA_ARGS__ \
		} \
	}

/* Costs that the model only assumes, as they might be. */
#define WHAT_IF(of, modes_, ...) \
	{ \
		.name = of, .policy = of, .use = SUITE_SWEEP, .modes = modes_, .what_if = true, \
		.setting = { \
			__VA_ARGS__ \
		} \
	}

/* Sluice along its ladder of levels. */
#define FRONTIER_ON(pairs_, modes_, level_) \
	{ \
		.name = "sluice", .policy = "slo", .use = SUITE_SWEEP, .modes = modes_, \
		.all_pairs = pairs_, .setting = { \
			{"level", LEVEL(level_)}, \
			{"partitions", 1} \
		} \
	}
#define FRONTIER(modes_, level_) FRONTIER_ON(false, modes_, level_)
#define LEVEL(level) ((uint64_t)(int64_t)(level))

static const struct suite_row main_rows[] = {
	{.name = "time_slices",
	 .policy = "native",
	 .modes = TIME,
	 .note = "nothing to sweep: the driver's slice and switch are the device's"},
	{.name = "mps",
	 .policy = "native",
	 .modes = MPS,
	 .no_priority = true,
	 .note = "nothing to sweep; MPS's own cap on a process's SMs is not played"},
	{.name = "mps_priority",
	 .policy = "native",
	 .modes = MPS,
	 .note = "below time slices here, above them where it was published (facts: A100); nothing "
		 "to sweep: of two processes, one is first"},
	{.name = "xsched",
	 .policy = "xsched",
	 .modes = TIME | MPS,
	 .note = "level 1, 16 commands in flight, an event every 8, as published"},
	{.name = "orion",
	 .policy = "orion",
	 .modes = MPS,
	 .note = "one process by design: no row with time slices"},
	{.name = "tally",
	 .policy = "tally",
	 .modes = MPS,
	 .note = "one server process by design; assumed costs: 5 us a launch, 10 % of kernel time"},
	{.name = "tally_whole",
	 .policy = "tally",
	 .modes = MPS,
	 .setting = {{"preempt", 0}},
	 .note = "without rewriting kernels, and so without its cost"},
	{.name = "tgs",
	 .policy = "tgs",
	 .modes = TIME | MPS,
	 .not_credible = true,
	 .warmup_ns = 60 * SECOND,
	 .note = "takes the noise of random arrivals for contention: not a fair picture of it; its "
		 "one setting, the period (5 s), is not swept: shorter reports are noisier still"},
	{.name = "sluice",
	 .policy = "slo",
	 .modes = TIME | MPS,
	 .all_pairs = true,
	 .note = "no target: window 300 us, guard learned"},
	{.name = "sluice_sliced",
	 .policy = "slo",
	 .modes = TIME | MPS,
	 .setting = {{"slice", 100 * US}},
	 .note = "kernels above 100 us in pieces, 1 us each; needs rewritten kernels"},
	{.name = "sluice_early",
	 .policy = "slo",
	 .modes = MPS,
	 .setting = {{"level", 2548}, {"partitions", 1}},
	 .note = "also beside a request, on 0.4 of the SMs, in the first half of a service time of "
		 "a busy period; needs a partition back end"},
};

/* The controller, where launches can be kept to part of the SMs, and a fixed level for the search (the setting is filled in). */
static const struct suite_row slo_rows[] = {
	{.name = "p3",
	 .policy = "slo",
	 .modes = TIME | MPS,
	 .use = SUITE_TARGET,
	 .setting = {{"partitions", 1}},
	 .extra_permille = 30},
	{.name = "p10",
	 .policy = "slo",
	 .modes = TIME | MPS,
	 .use = SUITE_TARGET,
	 .setting = {{"partitions", 1}},
	 .extra_permille = 100},
	{.name = "p20",
	 .policy = "slo",
	 .modes = TIME | MPS,
	 .use = SUITE_TARGET,
	 .setting = {{"partitions", 1}},
	 .extra_permille = 200},
	{.name = "level",
	 .policy = "slo",
	 .modes = TIME | MPS,
	 .use = SUITE_FIXED,
	 .setting = {{"level", 0}, {"partitions", 1}}},
};

/* Settings around the published ones. */
static const struct suite_row sweep_rows[] = {
	SWEEP("xsched", TIME | MPS, {"threshold", 1}, {"batch", 1}),
	SWEEP("xsched", TIME | MPS, {"threshold", 2}, {"batch", 1}),
	SWEEP("xsched", TIME | MPS, {"threshold", 4}, {"batch", 2}),
	SWEEP("xsched", TIME | MPS, {"threshold", 8}, {"batch", 4}),
	SWEEP("xsched", TIME | MPS, {"threshold", 16}, {"batch", 8}),
	SWEEP("xsched", TIME | MPS, {"threshold", 32}, {"batch", 16}),
	SWEEP("orion", MPS, {"dur_limit", 50 * US}),
	SWEEP("orion", MPS, {"dur_limit", 100 * US}),
	SWEEP("orion", MPS, {"dur_limit", 130 * US}),
	SWEEP("orion", MPS, {"dur_limit", 160 * US}),
	SWEEP("orion", MPS, {"dur_limit", 300 * US}),
	SWEEP("orion", MPS, {"dur_limit", 1000 * US}),
	SWEEP("orion", MPS, {"dur_limit", 3000 * US}),
	SWEEP("tally", MPS, {"idle", 50 * US}),
	SWEEP("tally", MPS, {"idle", 100 * US}),
	SWEEP("tally", MPS, {"idle", 200 * US}),
	SWEEP("tally", MPS, {"bound", 100 * US}),
	WHAT_IF("tally", MPS, {"slowdown", 0}),
	WHAT_IF("tally", MPS, {"slowdown", 0}, {"rpc", 0}),
	/* Of these the note on S_mps speaks, so they are as sure as the main rows. */
	FRONTIER_ON(true, MPS, -500),
	FRONTIER_ON(true, MPS, 0),
	FRONTIER_ON(true, MPS, 500),
	FRONTIER(TIME, 0),
	FRONTIER(TIME, 500),
	FRONTIER(TIME | MPS, 1000),
	FRONTIER(TIME | MPS, 1500),
	FRONTIER(TIME | MPS, 2000),
	FRONTIER(MPS, 2500),
	FRONTIER(MPS, 3000),
	FRONTIER(MPS, 3500),
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void add(struct suite_row *rows, uint32_t *count, const struct suite_row *row,
		uint32_t seeds, uint32_t requests)
{
	struct suite_row *to = &rows[(*count)++];

	*to = *row;
	to->seeds = to->seeds && to->seeds < seeds ? to->seeds : seeds;
	to->requests = requests;
}

uint32_t suite_rows(struct suite_row *ret_rows, bool quick)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < COUNT(main_rows); i++)
		if (!quick || !main_rows[i].warmup_ns)
			add(ret_rows, &count, &main_rows[i], quick ? 1 : SUITE_SEEDS,
			    quick ? 200 : SUITE_REQUESTS);
	for (uint32_t i = 0; i < COUNT(slo_rows); i++)
		add(ret_rows, &count, &slo_rows[i], quick ? 1 : SUITE_SEEDS,
		    quick ? 300 : SUITE_REQUESTS);
	for (uint32_t i = 0; !quick && i < COUNT(sweep_rows); i++) {
		bool sure = sweep_rows[i].all_pairs;

		add(ret_rows, &count, &sweep_rows[i], sure ? SUITE_SEEDS : 1,
		    sure ? SUITE_REQUESTS : SUITE_REQUESTS / 2);
	}
	return count;
}

int suite_row_values(const struct suite_row *row, const struct plan_policy **ret_policy,
		     uint64_t *ret_values)
{
	const struct plan_policy *policy = plan_policy_find(row->policy);

	if (!policy) {
		(void)fprintf(stderr, "row %s: there is no policy \"%s\"\n", row->name,
			      row->policy);
		return -ENOENT;
	}
	for (uint32_t i = 0; i < plan_policy_options(policy); i++)
		ret_values[i] = policy->options[i].preset;
	for (uint32_t i = 0; i < COUNT(row->setting) && row->setting[i].name; i++) {
		int option = plan_policy_option(policy, row->setting[i].name);

		if (option < 0) {
			(void)fprintf(stderr, "row %s: policy %s has no option \"%s\"\n", row->name,
				      row->policy, row->setting[i].name);
			return -ENOENT;
		}
		ret_values[option] = row->setting[i].value;
	}
	*ret_policy = policy;
	return 0;
}

void suite_level_set(struct suite_row *row, int32_t level)
{
	row->setting[0].value = LEVEL(level);
}

/* Each server with two loops, each loop with two or three servers. */
bool suite_in_subset(uint32_t lc, uint32_t be)
{
	return be == lc % SUITE_BE || be == (lc + 2) % SUITE_BE;
}
