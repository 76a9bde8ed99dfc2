/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/tally.h"

#include <string.h>

#include "sluice/wire_io.h"

void tally_text(char *ret_field, size_t size, const char *hostile)
{
	char text[SLUICE_NAME_MAX];

	memcpy(text, hostile, sizeof(text));
	text[sizeof(text) - 1] = 0;
	sluice_wire_printable(text);
	sluice_wire_text(ret_field, size, text);
}

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

void tally_page(struct tally *tally, struct sluice_channel_device *page)
{
	const struct sluice_counters *counters = &page->counters;
	uint64_t longest_ns = load(&counters->longest_unit_ns);

	sluice_hist_merge(&tally->service, &page->service);
	sluice_hist_merge(&tally->in_flight, &page->be_in_flight);
	tally->requests += load(&counters->requests);
	tally->requests_late += load(&counters->requests_late);
	tally->forced += load(&counters->forced);
	tally->unpredicted += load(&counters->unpredicted);
	if (longest_ns > tally->longest_ns) {
		tally->longest_ns = longest_ns;
		tally_text(tally->longest, sizeof(tally->longest), counters->longest_unit);
	}
}

void tally_merge(struct tally *tally, const struct tally *from)
{
	sluice_hist_merge(&tally->service, &from->service);
	sluice_hist_merge(&tally->in_flight, &from->in_flight);
	tally->requests += from->requests;
	tally->requests_late += from->requests_late;
	tally->forced += from->forced;
	tally->unpredicted += from->unpredicted;
	if (from->longest_ns > tally->longest_ns) {
		tally->longest_ns = from->longest_ns;
		memcpy(tally->longest, from->longest, sizeof(tally->longest));
	}
}
