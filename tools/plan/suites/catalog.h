/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_SUITES_CATALOG_H
#define PLAN_SUITES_CATALOG_H

/*
 * What the suite is made of: the device in both modes, the workloads, and how fast each is alone.
 * Loaded once, then read-only in every process of the suite. Times in ns.
 */

#include <stdint.h>

#include "device/model.h"
#include "plan/workload.h"

#define SUITE_LC 6
#define SUITE_BE 5
#define SUITE_PAIRS (SUITE_LC * SUITE_BE)

enum suite_mode { SUITE_TIME, SUITE_MPS, SUITE_MODES };

extern const char *const suite_mode_name[SUITE_MODES];
extern const char *const suite_lc_name[SUITE_LC], *const suite_be_name[SUITE_BE];

struct suite_catalog {
	struct model_desc device[SUITE_MODES];
	struct workload *lc[SUITE_LC], *be[SUITE_BE], *decode;
	uint64_t *gaps; /* recorded, as shares of their mean */
	uint32_t n_gaps;
	uint64_t lc_service_ns[SUITE_LC], decode_ns; /* alone, an iteration of each */
	double be_rate[SUITE_BE];		     /* alone, nominal ns in a ns */
};

/* Loads the device's description and the folder's workloads, and calibrates. -errno after a
 * complaint on stderr. */
int suite_catalog_load(struct suite_catalog *catalog, const char *device, const char *folder);
void suite_catalog_free(struct suite_catalog *catalog);

#endif
