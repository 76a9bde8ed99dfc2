/* SPDX-License-Identifier: Apache-2.0 */
#include "range.h"

#include <string.h>

#include "futex.h"
#include "link.h"
#include "request.h"
#include "sluice/clock.h"
#include "sluice/pages.h"

#define OPEN_MAX 1024u /* ranges open at a time; those beyond are not counted */

struct open_range {
	uint64_t id; /* 0: free */
	uint64_t arrival_ns;
};

static struct {
	struct futex_lock lock;
	struct open_range open[OPEN_MAX];
	_Atomic uint32_t count;
	uint32_t end; /* one past the highest in use */
} ranges;

bool range_is_counted(const char *name)
{
	const struct sluice_channel *channel;
	size_t bytes;

	if (!name || !link_channel((void **)&channel, &bytes) || !channel->range[0])
		return false;
	return !strncmp(name, channel->range, sizeof(channel->range));
}

void range_open(uint64_t id)
{
	uint64_t now_ns = sluice_now_ns();
	uint32_t at = 0;

	futex_lock(&ranges.lock);
	while (at < OPEN_MAX && ranges.open[at].id)
		at++;
	if (at < OPEN_MAX) {
		ranges.open[at] = (struct open_range){.id = id, .arrival_ns = now_ns};
		ranges.end = at >= ranges.end ? at + 1 : ranges.end;
		atomic_fetch_add_explicit(&ranges.count, 1, memory_order_relaxed);
	}
	futex_unlock(&ranges.lock);
}

/* 0: no such range. */
static uint64_t take(uint64_t id)
{
	uint64_t arrival_ns = 0;

	futex_lock(&ranges.lock);
	for (uint32_t at = 0; at < ranges.end; at++) {
		if (ranges.open[at].id != id)
			continue;
		arrival_ns = ranges.open[at].arrival_ns;
		ranges.open[at].id = 0;
		atomic_fetch_sub_explicit(&ranges.count, 1, memory_order_relaxed);
		break;
	}
	while (ranges.end && !ranges.open[ranges.end - 1].id)
		ranges.end--;
	futex_unlock(&ranges.lock);
	return arrival_ns;
}

void range_close(uint64_t id)
{
	uint64_t now_ns, arrival_ns;

	if (!id || !atomic_load_explicit(&ranges.count, memory_order_relaxed))
		return;
	now_ns = sluice_now_ns();
	arrival_ns = take(id);
	if (arrival_ns)
		request_range(arrival_ns, now_ns);
}

void range_forked(void)
{
	memset(&ranges, 0, sizeof(ranges));
}
