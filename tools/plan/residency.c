/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/residency.h"

#include <assert.h>

/* What a waiting request of it costs, if it is brought in for them: (swap + n * exec) / n. */
static uint64_t cost_of(const struct residency_model *model)
{
	return model->swap_ns / model->waiting + model->exec_ns;
}

/* Until it is there and has served its queue. */
static uint64_t span_of(const struct residency_model *model)
{
	return model->swap_ns + model->waiting * model->exec_ns;
}

/* Of a model that goes for `span_ns`, in ns of its requests' waiting. */
static unsigned __int128 loss_of(const struct residency_model *model, uint64_t span_ns)
{
	unsigned __int128 loss = (unsigned __int128)model->waiting * (span_ns + model->swap_ns);

	loss += model->waited_ns;
	if (model->gap_ns)
		loss += (unsigned __int128)span_ns * model->swap_ns / model->gap_ns;
	return loss;
}

static uint32_t cheapest(const struct residency_model *model, uint32_t count, uint64_t gone,
			 uint64_t span_ns)
{
	uint32_t best = RESIDENCY_NONE;

	for (uint32_t i = 0; i < count; i++) {
		if (!model[i].resident || model[i].busy || gone & 1ull << i)
			continue;
		if (best == RESIDENCY_NONE ||
		    loss_of(&model[i], span_ns) < loss_of(&model[best], span_ns))
			best = i;
	}
	return best;
}

/* Makes room for `load`: by models that lose least, until it fits. */
static bool make_room(const struct residency_model *model, uint32_t count, uint64_t room_bytes,
		      uint32_t load, uint64_t *ret_evict, unsigned __int128 *ret_loss)
{
	uint64_t span_ns = span_of(&model[load]), used = model[load].bytes, evict = 0;
	unsigned __int128 loss = 0;

	for (uint32_t i = 0; i < count; i++)
		used += model[i].resident ? model[i].bytes : 0;
	while (used > room_bytes) {
		uint32_t next = cheapest(model, count, evict, span_ns);

		if (next == RESIDENCY_NONE)
			return false;
		evict |= 1ull << next;
		used -= model[next].bytes;
		loss += loss_of(&model[next], span_ns);
	}
	*ret_evict = evict;
	*ret_loss = loss;
	return true;
}

/* It is wanted, it fits, and its queue gains more than is lost by those that go. */
static bool is_worth(const struct residency_model *model, uint32_t count, uint64_t room_bytes,
		     uint32_t load, uint64_t *ret_evict)
{
	unsigned __int128 loss;

	if (model[load].resident || !model[load].waiting || model[load].bytes > room_bytes ||
	    !make_room(model, count, room_bytes, load, ret_evict, &loss))
		return false;
	return !*ret_evict || model[load].waited_ns > loss;
}

void residency_choose(const struct residency_model *model, uint32_t count, uint64_t room_bytes,
		      struct residency_choice *ret_choice)
{
	uint64_t evict;

	assert(count <= RESIDENCY_MOST);
	*ret_choice = (struct residency_choice){.load = RESIDENCY_NONE};
	for (uint32_t i = 0; i < count; i++) {
		if (!is_worth(model, count, room_bytes, i, &evict))
			continue;
		if (ret_choice->load != RESIDENCY_NONE &&
		    cost_of(&model[i]) >= cost_of(&model[ret_choice->load]))
			continue;
		ret_choice->load = i;
		ret_choice->evict = evict;
	}
}
