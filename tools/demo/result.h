/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEMO_RESULT_H
#define DEMO_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "phase.h"

/* The demo's figures, and the ways in which they are shown. Units in names; *_rel and *_pct of
 * what the same program does alone. */

enum column { ALONE, SHARED, SLUICE, COLUMNS };

#define LATE_OPS_VOID_PCT 1.0
#define LOAD_WANTED 0.5
#define LOAD_TOLERANCE 0.05

struct column_figures {
	double a_p50_ms, a_p99_ms, a_p999_ms, s_p50_ms, s_p99_ms;
	double train_rel, late_ops_pct;
};

/* What the demo is to show on an idle machine of two processors. */
struct goal {
	const char *key, *what;
	double value, wanted;
	bool at_least; /* else at most */
};

#define GOALS 3

struct result {
	const char *device;
	bool simulated;
	double load, late_ops_pct;
	uint64_t requests, seed, kernels, wrong_results;
	struct column_figures column[COLUMNS];
	const struct phase *phase[COLUMNS]; /* with a server in them; borrowed */
	struct goal goal[GOALS];
	char void_why[256]; /* empty: the measurement stands */
};

extern const char *const column_name[COLUMNS];	/* keys of the report */
extern const char *const column_title[COLUMNS]; /* for people */

/* serve alone, train alone, both without Sluice, both under it. */
void result_make(const char *device, bool simulated, const struct phase *serve,
		 const struct phase *train, const struct phase *shared, const struct phase *sluice,
		 struct result *ret_result);

bool goal_is_met(const struct goal *goal);

void result_print(const struct result *result, FILE *out); /* table and plot */
int result_write_json(const struct result *result, const char *path);
int result_write_svg(const struct result *result, const char *path);

#endif
