/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_ORDERS_H
#define PLAN_SUITES_ORDERS_H

/*
 * Orders from papers: each a rule with a scene in which it should matter, played without the rule
 * and with it on the same seeds. order_NAME.c holds one scene and orders.c lists it; a job is one
 * scene with one seed. Figures are means over the seeds, in the unit that their name ends with.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "plan/suites/suite.h"

enum order_side { ORDER_WITHOUT, ORDER_WITH };

/* What a figure is for. */
enum order_use {
	ORDER_GAIN,  /* what the paper promises: must be better by `permille`, in each seed */
	ORDER_GUARD, /* must not be worse by more than `permille`, in the mean */
	ORDER_SHOWN, /* judged by nobody */
};

struct order_figure {
	const char *name; /* NULL ends the list */
	enum order_use use;
	bool less_is_better;
	/* GAIN: so much better at least. GUARD: so much worse at most. Of the value without. */
	uint32_t permille;
};

struct order_terms {
	const struct suite_catalog *catalog;
	uint64_t seed; /* from 1 */
	bool quick;    /* shows that it works, not how well */
};

struct order_scene {
	const char *name;
	const char *source; /* paper, and where in it */
	const char *about;  /* what the rule does, and in what scene; one sentence */
	bool is_default;    /* Sluice does this unless told otherwise */
	const char *why;    /* why it is the default, or not; one sentence that the figures bear */
	/* One more than can be used: the list ends with an empty one. */
	struct order_figure figure[ORDER_MOST_FIGURES + 1];
	/* One side of one seed: a value for each figure. 0 or -errno. */
	int (*play)(const struct order_terms *terms, enum order_side side, double *ret_value);
};

extern const struct order_scene order_classes, order_gaps, order_width, order_pairs;
extern const struct order_scene order_slo, order_shed, order_residency;

const struct order_scene *order_at(uint32_t index); /* NULL past the end */

/* What the seeds say together. */
struct order_verdict {
	uint32_t seeds;	 /* played on both sides */
	uint32_t failed; /* that were not */
	double value[ORDER_SIDES][ORDER_MOST_FIGURES];
	bool wins; /* every gain, and no guard broken; of at least one seed, none failed */
};
/* `value[seed]` of `seeds` seeds; `failed` more did not come to values. */
void order_judge(const struct order_scene *scene, const struct order_values *value, uint32_t seeds,
		 uint32_t failed, struct order_verdict *ret_verdict);

/* Jobs, and what is made of their results: for jobs.c, report.c and table.c. */
void suite_do_order(struct suite *suite, const struct suite_job *job, struct suite_result *result);
json_t *suite_orders_json(const struct suite *suite);
void suite_orders_print(const struct suite *suite, FILE *out);

#endif
