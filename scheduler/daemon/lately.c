/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/lately.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/arbiter.h"
#include "daemon/status.h"
#include "sluice/clock.h"

#define SPAN_NS (60 * SLUICE_NS_PER_S)

struct counts {
	struct sluice_hist service;
	uint64_t requests, late;
};

/* What had been counted one to two spans ago, and up to one span ago. */
struct lately {
	uint64_t at_ns; /* of `old` */
	struct counts older, old;
};

static void set(struct counts *counts, const struct tally *sums)
{
	memset(counts, 0, sizeof(*counts));
	sluice_hist_merge(&counts->service, &sums->service);
	counts->requests = sums->requests;
	counts->late = sums->requests_late;
}

/* A page that lied counts no more, with all that it had said. */
static bool is_less(const struct tally *sums, const struct counts *than)
{
	return sums->requests < than->requests || sums->requests_late < than->late;
}

static void look(struct arbiter *arbiter, struct tenant_entry *entry, uint32_t device)
{
	struct lately **place = &entry->lately[device];
	struct tally sums;

	if (*place && arbiter->now_ns - (*place)->at_ns < SPAN_NS)
		return;
	memset(&sums, 0, sizeof(sums));
	status_sums(arbiter, (uint32_t)(entry - arbiter->tenant), device, &sums);
	if (!*place && sums.requests)
		*place = calloc(1, sizeof(**place));
	if (!*place)
		return;
	if (is_less(&sums, &(*place)->old)) {
		memset(*place, 0, sizeof(**place));
	} else if (sums.requests > (*place)->old.requests) {
		(*place)->older = (*place)->old;
		set(&(*place)->old, &sums);
	}
	(*place)->at_ns = arbiter->now_ns;
}

void lately_tick(struct arbiter *arbiter)
{
	for (uint32_t t = 0; t < CORE_MAX_TENANTS; t++) {
		struct tenant_entry *entry = &arbiter->tenant[t];

		if (!entry->used || !entry->processes ||
		    entry->conf.tenant_class != SLUICE_LATENCY_CRITICAL)
			continue;
		for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
			if (arbiter->device[d].used)
				look(arbiter, entry, d);
		}
	}
}

static void subtract(struct tally *sums, const struct counts *older)
{
	if (is_less(sums, older))
		return;
	for (uint32_t i = 0; i < SLUICE_HIST_BINS; i++) {
		uint32_t now = sums->service.bin[i], then = older->service.bin[i];

		sums->service.bin[i] = now > then ? now - then : 0;
	}
	sums->requests -= older->requests;
	sums->requests_late -= older->late;
}

void lately_take(const struct tenant_entry *entry, uint32_t device, struct tally *sums)
{
	for (uint32_t d = 0; d < CORE_MAX_DEVICES; d++) {
		if ((device == d || device == UINT32_MAX) && entry->lately[d])
			subtract(sums, &entry->lately[d]->older);
	}
}

void lately_forget(struct tenant_entry *entry, uint32_t device)
{
	free(entry->lately[device]);
	entry->lately[device] = NULL;
}
