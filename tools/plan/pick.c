/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/pick.h"

#include <stdbool.h>

#include "plan/workload.h"

static const struct pick_ready *least_used(const struct pick_ready *ready, uint32_t count)
{
	const struct pick_ready *best = ready;

	for (uint32_t i = 1; i < count; i++) {
		if (ready[i].virtual_ns < best->virtual_ns)
			best = &ready[i];
	}
	return best;
}

/* Who knows nothing of a kernel's class has no reason to hold it. */
static bool meets_its_class(const struct pick_ready *ready)
{
	return ready->bw_class != WORKLOAD_UNKNOWN && ready->beside.of_class[ready->bw_class];
}

static const struct pick_ready *by_class(const struct pick_ready *ready, uint32_t count,
					 uint64_t slack_ns)
{
	const struct pick_ready *least = least_used(ready, count), *best = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (meets_its_class(&ready[i]) ||
		    ready[i].virtual_ns - least->virtual_ns > slack_ns)
			continue;
		if (!best || ready[i].virtual_ns < best->virtual_ns)
			best = &ready[i];
	}
	return best ? best : least;
}

/* Of equals, who has least left, then who has used least. */
static bool is_before(enum pick_order order, const struct pick_ready *a, const struct pick_ready *b)
{
	if (order == PICK_NARROW && a->sms != b->sms)
		return a->sms < b->sms;
	if (a->left_ns != b->left_ns)
		return a->left_ns < b->left_ns;
	return a->virtual_ns < b->virtual_ns;
}

enum pick_order pick_now(enum pick_order order, uint32_t load_permille, uint32_t light_permille)
{
	if (order != PICK_BY_LOAD)
		return order;
	return load_permille < light_permille ? PICK_NARROW : PICK_SHORTEST;
}

uint32_t pick_next(enum pick_order order, const struct pick_ready *ready, uint32_t count,
		   uint64_t slack_ns)
{
	const struct pick_ready *best = ready;

	if (order == PICK_FAIR)
		return (uint32_t)(least_used(ready, count) - ready);
	if (order == PICK_CLASS)
		return (uint32_t)(by_class(ready, count, slack_ns) - ready);
	for (uint32_t i = 1; i < count; i++) {
		if (is_before(order, &ready[i], best))
			best = &ready[i];
	}
	return (uint32_t)(best - ready);
}

void pick_load_note(struct pick_load *load, uint32_t busy_sms, uint32_t sms, uint64_t window_ns,
		    uint64_t now_ns)
{
	uint32_t permille;

	load->sum += load->busy_sms * (now_ns - load->since_ns);
	load->since_ns = now_ns;
	load->busy_sms = busy_sms < sms ? busy_sms : sms;
	if (now_ns - load->window_start_ns < window_ns)
		return;
	permille = (uint32_t)(load->sum * 1000 / (sms * (now_ns - load->window_start_ns)));
	load->permille = load->permille ? (load->permille * 3 + permille) / 4 : permille;
	load->sum = 0;
	load->window_start_ns = now_ns;
}
