/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/shed.h"

#include <assert.h>

#define WEIGHTS (SHED_MOST * SHED_WEIGHT_MOST)
#define NEVER UINT64_MAX

/* Indices by deadline, earliest first; of equal ones the first. */
static void sort_by_deadline(const struct shed_request *request, uint32_t count,
			     uint32_t *ret_order)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i;

		for (; at && request[ret_order[at - 1]].deadline_ns > request[i].deadline_ns; at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = i;
	}
}

static bool is_weighted(const struct shed_request *request, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		if (request[i].weight != request[0].weight)
			return true;
	}
	return false;
}

/* Takes them by deadline; when one would be late, gives up the longest taken so far. */
static void choose_most(struct shed_request *request, const uint32_t *order, uint32_t count,
			uint64_t now_ns)
{
	uint64_t end_ns = now_ns;

	for (uint32_t i = 0; i < count; i++) {
		struct shed_request *last = &request[order[i]], *longest = last;

		last->late = false;
		end_ns += last->left_ns;
		if (end_ns <= last->deadline_ns)
			continue;
		for (uint32_t j = 0; j < i; j++) {
			struct shed_request *other = &request[order[j]];

			if (!other->late && other->left_ns > longest->left_ns)
				longest = other;
		}
		longest->late = true;
		end_ns -= longest->left_ns;
	}
}

/* For each sum of weights on time, the set that ends first: by deadline, each request in turn joins
 * the sets that it can end in time with. */
static void choose_heaviest(struct shed_request *request, const uint32_t *order, uint32_t count,
			    uint64_t now_ns)
{
	uint64_t end_ns[WEIGHTS + 1];
	uint32_t set[WEIGHTS + 1] = {0}, sum = 0, best = 0;

	end_ns[0] = now_ns;
	for (uint32_t i = 0; i < count; i++) {
		const struct shed_request *next = &request[order[i]];

		for (uint32_t w = 1; w <= next->weight; w++)
			end_ns[sum + w] = NEVER;
		sum += next->weight;
		for (uint32_t w = sum; w >= next->weight; w--) {
			uint64_t before_ns = end_ns[w - next->weight];

			if (before_ns == NEVER || before_ns + next->left_ns > next->deadline_ns ||
			    before_ns + next->left_ns >= end_ns[w])
				continue;
			end_ns[w] = before_ns + next->left_ns;
			set[w] = set[w - next->weight] | 1u << order[i];
		}
	}
	for (uint32_t w = 0; w <= sum; w++) {
		if (end_ns[w] != NEVER)
			best = w;
	}
	for (uint32_t i = 0; i < count; i++)
		request[i].late = !(set[best] & 1u << i);
}

uint32_t shed_choose(struct shed_request *request, uint32_t count, uint64_t now_ns)
{
	uint32_t order[SHED_MOST], late = 0;

	assert(count <= SHED_MOST);
	for (uint32_t i = 0; i < count; i++)
		assert(request[i].weight && request[i].weight <= SHED_WEIGHT_MOST);
	sort_by_deadline(request, count, order);
	if (is_weighted(request, count))
		choose_heaviest(request, order, count, now_ns);
	else
		choose_most(request, order, count, now_ns);
	for (uint32_t i = 0; i < count; i++)
		late += request[i].late;
	return late;
}

/* Does a run before b? */
static bool is_sooner(const struct shed_request *a, const struct shed_request *b)
{
	if (a->late != b->late)
		return b->late;
	if (!a->late)
		return a->deadline_ns < b->deadline_ns;
	return a->left_ns * b->weight < b->left_ns * a->weight;
}

uint32_t shed_first(const struct shed_request *request, uint32_t count)
{
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		if (first == UINT32_MAX || is_sooner(&request[i], &request[first]))
			first = i;
	}
	return first;
}
