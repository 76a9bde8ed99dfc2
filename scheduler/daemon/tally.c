/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/tally.h"

#include <string.h>

#include "sluice/clock.h"
#include "sluice/estimate.h"
#include "sluice/wire_io.h"

/* No more than an honest process can have counted since the last reading ... */
#define STEP_NS 1000u
#define STEPS_LEAST 1000u
#define LATE_AHEAD 64u /* ... while it writes */
/* ... and no longer than it can have taken: a request may have begun under an earlier arbiter. */
#define BEGUN_BEFORE_NS (60 * SLUICE_NS_PER_S)
#define UNIT_MAX_NS SLUICE_ESTIMATE_MAX_NS
/* Predicted, of all that is queued: a full queue of long kernels, and more than any honest one. */
#define IN_FLIGHT_MAX_NS (3600 * SLUICE_NS_PER_S)

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

static uint64_t hist_values(const struct sluice_hist *hist)
{
	uint64_t values = 0;

	for (unsigned int i = 0; i < SLUICE_HIST_BINS; i++)
		values += hist->bin[i];
	return values;
}

static bool hist_within(const struct sluice_hist *hist, uint64_t most_ns)
{
	return hist->max_ns <= most_ns && sluice_hist_quantile(hist, 1000) <= most_ns;
}

/* Late ones are read before all of them, which are counted first; one may be between the two. */
static void copy_page(struct tally *tally, struct sluice_channel_device *page)
{
	const struct sluice_counters *counters = &page->counters;

	memset(tally, 0, sizeof(*tally));
	tally->requests_late = load(&counters->requests_late);
	sluice_hist_merge(&tally->service, &page->service);
	sluice_hist_merge(&tally->in_flight, &page->be_in_flight);
	tally->forced = load(&counters->forced);
	tally->unpredicted = load(&counters->unpredicted);
	tally->longest_ns = load(&counters->longest_unit_ns);
	tally_text(tally->longest, sizeof(tally->longest), counters->longest_unit);
	atomic_thread_fence(memory_order_acquire);
	tally->requests = load(&counters->requests);
}

static bool is_step(uint64_t before, uint64_t now, uint64_t most)
{
	return now >= before && now - before <= most;
}

bool tally_page(struct tally *ret_tally, struct sluice_channel_device *page,
		struct tally_seen *seen, bool ranges, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - seen->came_ns, most = (now_ns - seen->at_ns) / STEP_NS;
	struct tally_seen fresh = {.came_ns = seen->came_ns, .at_ns = now_ns};

	most = most > STEPS_LEAST ? most : STEPS_LEAST;
	copy_page(ret_tally, page);
	fresh.requests = ret_tally->requests;
	fresh.requests_late = ret_tally->requests_late;
	fresh.forced = ret_tally->forced;
	fresh.forced_at_ns = fresh.forced == seen->forced ? seen->forced_at_ns : now_ns;
	fresh.unpredicted = ret_tally->unpredicted;
	fresh.service = hist_values(&ret_tally->service);
	fresh.in_flight = hist_values(&ret_tally->in_flight);
	if (!is_step(seen->requests, fresh.requests, most) ||
	    !is_step(seen->requests_late, fresh.requests_late, most) ||
	    !is_step(seen->forced, fresh.forced, most) ||
	    !is_step(seen->unpredicted, fresh.unpredicted, most) ||
	    !is_step(seen->service, fresh.service, most) ||
	    !is_step(seen->in_flight, fresh.in_flight, most) ||
	    (!ranges && fresh.requests_late - seen->requests_late >
				fresh.requests - seen->requests + LATE_AHEAD) ||
	    !hist_within(&ret_tally->service, age_ns + BEGUN_BEFORE_NS) ||
	    !hist_within(&ret_tally->in_flight, IN_FLIGHT_MAX_NS) ||
	    ret_tally->longest_ns > UNIT_MAX_NS)
		return false;
	*seen = fresh;
	/* Ranges that overlap may be more than the requests. */
	if (ret_tally->requests_late > ret_tally->requests)
		ret_tally->requests_late = ret_tally->requests;
	return true;
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
