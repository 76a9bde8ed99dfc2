/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_SUITE_H
#define PLAN_SUITES_SUITE_H

/*
 * `make plan`: every policy on pairs of an inference server and a training loop, in the planner's
 * world. All figures are simulated.
 *
 * A job is one row on one pair, or one scene, with its seeds; jobs run in processes of their own
 * (pool.c), results come back through shared memory. Overheads and shares are fractions over the
 * same arrivals alone, times ns.
 */

#include <stdbool.h>
#include <stdint.h>

#include "plan/suites/catalog.h"
#include "plan/suites/rows.h"

struct suite_alone {
	uint32_t requests;						 /* after warm-up */
	uint64_t arrival_ns[SUITE_REQUESTS], service_ns[SUITE_REQUESTS]; /* latencies A and S */
};

enum suite_kind {
	SUITE_ALONE,
	SUITE_PAIR,
	SUITE_SEARCH,
	SUITE_DECODE,
	SUITE_SETTLE,
	SUITE_SHARES,
	SUITE_GAPS,
	SUITE_ORDER,
};

struct suite_job {
	enum suite_kind kind;
	uint32_t row; /* ORDER: of the scene */
	enum suite_mode mode;
	uint32_t lc, be; /* SHARES, GAPS: be is the case; SETTLE, ORDER: be is the seed's number */
	double cost;	 /* guessed; the longest first */
};

#define SUITE_LOAD_PERMILLE 500
#define SUITE_BINS 512
#define ORDER_SIDES 2 /* without the rule, with it */
#define ORDER_MOST_FIGURES 8

/* Of one seed. */
struct order_values {
	double of[ORDER_SIDES][ORDER_MOST_FIGURES];
};

struct suite_result {
	int error; /* -errno; -EINPROGRESS: not run, or its process died */
	uint32_t seeds;
	double a[SUITE_SEEDS], s[SUITE_SEEDS], a_p50[SUITE_SEEDS], be[SUITE_SEEDS],
		load[SUITE_SEEDS];
	double s_added_ns[SUITE_SEEDS]; /* p99 of S - alone */
	double a_low, a_high; /* 95 % bounds of the paired overhead of all seeds together */
	bool unstable;	      /* the server does not keep up: A hangs on the length of the run */
	double err_1s, err_100ms_p95; /* SHARES */
	/* SEARCH: the most best-effort work within each target, the level, levels tried. */
	double best_be[SUITE_TARGETS];
	int32_t best_level[SUITE_TARGETS];
	uint32_t tries;
	/* SETTLE: best-effort share by time, and at a fixed level on the same arrivals. */
	uint32_t bins;
	float bin[SUITE_BINS], fixed_bin[SUITE_BINS];
	struct order_values order; /* ORDER */
	double cpu_s, simulated_s;
};

struct suite {
	struct suite_catalog catalog;
	struct suite_row row[SUITE_MOST_ROWS];
	uint32_t rows;
	struct suite_alone (*alone)[SUITE_LC][SUITE_SEEDS]; /* [mode], shared memory */
	struct suite_job *job;
	struct suite_result *result; /* of each job, shared memory */
	uint32_t jobs;
	uint32_t most_pairs; /* of a row, in a mode */
	bool quick;
};

/* suite.c: loads the catalog, and makes rows and memory; `quick` and `most_pairs` are set. -errno. */
int suite_open(struct suite *suite, const char *device, const char *folder);
void suite_close(struct suite *suite); /* also where suite_open failed */
/* Says on stderr which job failed. */
void suite_complain(const struct suite *suite, uint32_t job);

void suite_do(struct suite *suite, const struct suite_job *job, struct suite_result *result);
void suite_do_alone(struct suite *suite, const struct suite_job *job, struct suite_result *result);
void suite_do_pair(struct suite *suite, const struct suite_job *job, struct suite_result *result);
void suite_do_decode(struct suite *suite, const struct suite_job *job, struct suite_result *result);
void suite_do_settle(struct suite *suite, const struct suite_job *job, struct suite_result *result);
void suite_do_shares(struct suite *suite, const struct suite_job *job, struct suite_result *result);
void suite_do_gaps(struct suite *suite, const struct suite_job *job, struct suite_result *result);

/* pool.c: jobs [first, suite->jobs), `processes` at a time. */
int suite_pool(struct suite *suite, uint32_t first, uint32_t processes);

#endif
