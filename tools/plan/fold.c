/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a trace, the steps that they make, and the gaps between. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/fold_impl.h"
#include "plan/metrics.h"

#define STEP_LAUNCHES (1u << 20)
#define LOST 0xffu /* as a kind: records are missing here */

static uint32_t stream_of(const struct sluice_trace_record *record)
{
	return record->what >> 8;
}

/* ---- records ---- */

static int fold_push(struct fold *fold, const struct sluice_trace_record *record)
{
	if (fold->records == fold->room) {
		uint32_t room = fold->room ? fold->room * 2 : 4096;
		void *larger = realloc(fold->record, room * sizeof(*fold->record));

		if (!larger)
			return -ENOMEM;
		fold->record = larger;
		fold->room = room;
	}
	fold->record[fold->records++] = *record;
	return 0;
}

int fold_add(struct fold *fold, uint64_t first, const struct sluice_trace_record *record,
	     uint32_t count)
{
	static const struct sluice_trace_record lost = {.what = LOST};
	int r = 0;

	if (first != fold->next)
		r = fold_push(fold, &lost);
	for (uint32_t i = 0; !r && i < count; i++)
		r = fold_push(fold, &record[i]);
	fold->next = first + count;
	return r;
}

void fold_finish(struct fold *fold)
{
	free(fold->record);
	memset(fold, 0, sizeof(*fold));
}

/* ---- steps ---- */

/* The stream that was given most work, among the first few that there are. */
static uint32_t busiest_stream(const struct fold *fold)
{
	struct {
		uint32_t stream;
		uint64_t work_ns;
	} seen[64] = {0};
	uint32_t streams = 0, best = 0;

	for (uint32_t i = 0; i < fold->records; i++) {
		const struct sluice_trace_record *record = &fold->record[i];
		uint32_t at = 0;

		if (!fold_is_launch(record))
			continue;
		while (at < streams && seen[at].stream != stream_of(record))
			at++;
		if (at == 64)
			continue;
		streams += at == streams;
		seen[at].stream = stream_of(record);
		seen[at].work_ns += record->cost_ns;
		if (seen[at].work_ns > seen[best].work_ns)
			best = at;
	}
	return seen[best].stream;
}

static void step_take(struct step *step, const struct sluice_trace_record *record)
{
	step->launches++;
	step->work_ns += record->cost_ns;
	step->hash = (step->hash ^ record->key ^ fold_kind(record)) * 0x100000001b3ull;
}

/* What was before the first drain, and around lost records, is no whole step. */
int fold_find_steps(const struct fold *fold, struct steps *ret)
{
	uint32_t main_stream = busiest_stream(fold);
	struct step step = {0};
	bool whole = false;

	ret->step = calloc(fold->records ? fold->records : 1, sizeof(*ret->step));
	ret->count = 0;
	if (!ret->step)
		return -ENOMEM;
	for (uint32_t i = 0; i < fold->records; i++) {
		const struct sluice_trace_record *record = &fold->record[i];

		if (fold_is_launch(record)) {
			step_take(&step, record);
			continue;
		}
		if (fold_kind(record) == SLUICE_TRACE_DRAINED && stream_of(record) != main_stream)
			continue;
		step.to = i;
		if (whole && step.launches && step.launches <= STEP_LAUNCHES &&
		    fold_kind(record) == SLUICE_TRACE_DRAINED)
			ret->step[ret->count++] = step;
		whole = fold_kind(record) == SLUICE_TRACE_DRAINED;
		step = (struct step){.from = i + 1};
	}
	return 0;
}

/* ---- gaps ---- */

/* A tenth of them are shorter. 0: there is none. */
static uint64_t low_quantile(uint64_t *value, uint32_t count)
{
	if (!count)
		return 0;
	metrics_sort(value, count);
	return value[count / 10];
}

int fold_find_gaps(const struct fold *fold, const struct steps *steps, struct fold_result *result)
{
	uint64_t *launch = calloc(fold->records, sizeof(*launch));
	uint64_t *turn = calloc(fold->records, sizeof(*turn));
	uint32_t launches = 0, turns = 0;

	for (uint32_t s = 0; launch && turn && s < steps->count; s++) {
		const struct sluice_trace_record *before = NULL;

		for (uint32_t i = steps->step[s].from; i < steps->step[s].to; i++) {
			const struct sluice_trace_record *record = &fold->record[i];

			if (!fold_is_launch(record))
				continue;
			if (before && record->at_ns >= before->at_ns)
				launch[launches++] = record->at_ns - before->at_ns;
			else if (!before && record->at_ns >= record[-1].at_ns)
				turn[turns++] = record->at_ns - record[-1].at_ns;
			before = record;
		}
	}
	if (launch && turn) {
		result->launch_gap_ns = low_quantile(launch, launches);
		result->turn_gap_ns = low_quantile(turn, turns);
	}
	free(launch);
	free(turn);
	return launch && turn ? 0 : -ENOMEM;
}

static uint64_t begin_ns(const struct fold *fold, const struct step *step)
{
	uint32_t i = step->from;

	while (!fold_is_launch(&fold->record[i]))
		i++;
	return fold->record[i].at_ns;
}

int fold_gaps(const struct fold *fold, uint64_t **ret_gaps, uint32_t *ret_count)
{
	struct steps steps;
	uint64_t *gaps;
	int r = fold_find_steps(fold, &steps);

	if (r)
		return r;
	gaps = calloc(steps.count ? steps.count : 1, sizeof(*gaps));
	r = !gaps ? -ENOMEM : steps.count < 2 ? -ENODATA : 0;
	*ret_count = 0;
	for (uint32_t i = 1; !r && i < steps.count; i++) {
		uint64_t from_ns = begin_ns(fold, &steps.step[i - 1]);
		uint64_t to_ns = begin_ns(fold, &steps.step[i]);

		/* Across lost records there is no gap to speak of. */
		if (steps.step[i].from == steps.step[i - 1].to + 1 && to_ns > from_ns)
			gaps[(*ret_count)++] = to_ns - from_ns;
	}
	free(steps.step);
	if (r) {
		free(gaps);
		return r;
	}
	*ret_gaps = gaps;
	return 0;
}
