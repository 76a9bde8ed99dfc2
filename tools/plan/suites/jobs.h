/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_JOBS_H
#define PLAN_SUITES_JOBS_H

/* Adds jobs to a suite; suite_pool then does them. */

#include "plan/suites/suite.h"

uint32_t suite_jobs_most(void);
void suite_add_alone(struct suite *suite);
void suite_add_pairs(struct suite *suite, uint32_t row);
/* The best fixed setting of each pair of the subset; the row is a fixed level. */
void suite_add_searches(struct suite *suite, uint32_t row);
/* Decode loop, shares and other arrivals with row `plain`. */
void suite_add_scenes(struct suite *suite, uint32_t plain);
void suite_add_settle(struct suite *suite, uint32_t target); /* the load step, with that row */
/* The orders whose name is wanted. */
void suite_add_orders(struct suite *suite, bool (*wanted)(const void *context, const char *name),
		      const void *context);

#endif
