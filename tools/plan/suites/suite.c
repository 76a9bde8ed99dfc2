/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan/pool.h"
#include "plan/suites/jobs.h"
#include "plan/suites/orders.h"

static size_t alone_bytes(const struct suite *suite)
{
	return SUITE_MODES * sizeof(*suite->alone);
}

static size_t result_bytes(const struct suite *suite)
{
	return suite_jobs_most() * sizeof(*suite->result);
}

int suite_open(struct suite *suite, const char *device, const char *folder)
{
	int r = suite_catalog_load(&suite->catalog, device, folder);

	if (r)
		return r;
	suite->rows = suite_rows(suite->row, suite->quick);
	suite->alone = pool_shared(alone_bytes(suite));
	suite->result = pool_shared(result_bytes(suite));
	suite->job = calloc(suite_jobs_most(), sizeof(*suite->job));
	return suite->alone && suite->result && suite->job ? 0 : -ENOMEM;
}

void suite_close(struct suite *suite)
{
	free(suite->job);
	pool_release(suite->alone, alone_bytes(suite));
	pool_release(suite->result, result_bytes(suite));
	suite_catalog_free(&suite->catalog);
}

void suite_complain(const struct suite *suite, uint32_t job)
{
	const struct suite_job *failed = &suite->job[job];

	if (failed->kind == SUITE_ORDER) {
		(void)fprintf(stderr, "order %s, seed %u: failed, error %d\n",
			      order_at(failed->row)->name, failed->be + 1,
			      -suite->result[job].error);
		return;
	}
	(void)fprintf(stderr, "%s, %s, pair %u/%u: failed, error %d\n",
		      suite->row[failed->row].name, suite_mode_name[failed->mode], failed->lc,
		      failed->be, -suite->result[job].error);
}
