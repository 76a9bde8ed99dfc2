/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_WHY_IMPL_H
#define DAEMON_WHY_IMPL_H

/* What why.c keeps and why_answer.c reads. Times are CLOCK_MONOTONIC ns, work is predicted ns. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "daemon/tally.h"
#include "daemon/why.h"

#define WHY_GUARD_NS 60000u /* the shim's, where the grant names none */

/* A late request. */
struct why_late {
	char tenant[SLUICE_NAME_MAX];
	uint32_t device;
	uint32_t generation; /* of the activity page that gates saw */
	uint32_t launches;
	uint64_t busy_ns;  /* when the tenant's busy period began that it is in */
	uint64_t since_ns; /* its arrival, or its first launch, as the target counts */
	uint64_t start_ns, end_ns;
	uint64_t limit_ns;
	uint64_t own_ns; /* predicted, of its own launches */
};

/* A best-effort gate met the beginning of a busy period. */
struct why_arrival {
	char tenant[SLUICE_NAME_MAX];
	uint32_t device;
	uint32_t pid, generation;
	uint32_t launches;
	uint64_t busy_ns;
	uint64_t in_flight_ns, unit_ns;
	char unit[SLUICE_NAME_MAX];
};

struct why {
	uint64_t lates, arrivals; /* ever */
	struct why_late late[WHY_LATE];
	struct why_arrival arrival[WHY_ARRIVALS];
};

static inline bool why_is_arrival(const struct config_target *target)
{
	return !strncmp(target->of, "range:", 6);
}

#endif
