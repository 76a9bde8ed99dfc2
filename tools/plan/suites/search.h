/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_SEARCH_H
#define PLAN_SUITES_SEARCH_H

/* The best fixed setting of a pair, found by search (a job of its own). */

#include "plan/suites/suite.h"

void suite_do_search(struct suite *suite, const struct suite_job *job, struct suite_result *result);

#endif
