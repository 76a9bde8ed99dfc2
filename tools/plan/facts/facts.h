/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_FACTS_FACTS_H
#define PLAN_FACTS_FACTS_H

/*
 * The model of the GPU against published facts (tools/plan/suites/facts.cfg): each fact has bounds
 * that were written before the model was compared with it, and holds only where two groups of
 * pairs, one of which nothing was tuned on, are within them. Overheads and shares are fractions.
 *
 * One thread; tables and outcomes are plain data without pointers, owned by the caller.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/suites/suite.h"

#define FACTS_MOST 32
#define FACTS_PLACES 8
#define FACTS_NAME 96
#define FACTS_ROW 32
#define FACTS_SOURCE 160

enum facts_kind {
	FACTS_PAIRS,  /* a figure of a row, mean over pairs */
	FACTS_TWINS,  /* p99 from arrival beside an endless copy of itself, at load 0.2 */
	FACTS_FLIGHT, /* kernels in flight at a request's begin, p99 */
};

enum facts_figure { FACTS_S_P99, FACTS_A_P99, FACTS_BE, FACTS_FIGURES };
enum facts_group { FACTS_TUNED, FACTS_HELD_OUT, FACTS_GROUPS };

struct facts_place {
	char row[FACTS_ROW];
	uint32_t mode; /* enum suite_mode */
};

struct fact {
	char name[FACTS_NAME], source[FACTS_SOURCE];
	enum facts_kind kind;
	struct facts_place place;
	enum facts_figure figure;
	double published, low, high;
	double study; /* of the study's model; negative: it has none */
	bool missed;  /* the file says that the model does not reproduce it */
	uint32_t threshold, batch, kernel_us; /* FACTS_FLIGHT */
};

/* The figure rises from place to place. */
struct facts_order {
	char name[FACTS_NAME];
	enum facts_figure figure;
	struct facts_place place[FACTS_PLACES];
	uint32_t places;
	bool missed;
};

struct facts_table {
	struct fact fact[FACTS_MOST];
	struct facts_order order[FACTS_MOST];
	uint32_t facts, orders;
};

struct facts_error {
	int line; /* 0: not of one line */
	char text[256];
};

/* -errno; -EINVAL with *reterr filled where the file is wrong. */
int facts_table_load(const char *path, struct facts_table *ret_table, struct facts_error *reterr);

/* What came out. Facts without pairs have one group. */
struct facts_values {
	double value[FACTS_GROUPS];
	bool known[FACTS_GROUPS];
};

struct facts_outcome {
	struct facts_values fact[FACTS_MOST];
	struct facts_values order[FACTS_MOST][FACTS_PLACES];
};

/* Holds in every group that is known; false where none is. */
bool facts_holds(const struct fact *fact, const struct facts_values *values);
bool facts_order_holds(const struct facts_order *order, const struct facts_values *values);

struct facts_options {
	const char *device, *folder;
	uint32_t requests, seeds, processes;
	uint32_t servers; /* only so many, each in one pair of a group; 0: all pairs */
};

/* -errno after a complaint. */
int facts_run(const struct facts_options *options, const struct facts_table *table,
	      struct facts_outcome *ret_outcome);
/* The facts that are no pairs'. */
int facts_run_scene(const struct suite_catalog *catalog, const struct fact *fact, uint32_t requests,
		    double *ret_value);

/* Returns how many verdicts are not what the file says. */
uint32_t facts_print(const struct facts_table *table, const struct facts_outcome *outcome,
		     FILE *out);
int facts_write(const struct facts_table *table, const struct facts_outcome *outcome,
		const char *path);

#endif
