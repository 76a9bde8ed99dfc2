/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int compare_ns(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static int compare_real(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

void metrics_sort(uint64_t *value, uint32_t count)
{
	qsort(value, count, sizeof(*value), compare_ns);
}

void metrics_sort_real(double *value, uint32_t count)
{
	qsort(value, count, sizeof(*value), compare_real);
}

/* The smallest value that so many of a thousand do not exceed. */
static uint64_t at_rank(const uint64_t *sorted, uint32_t count, uint32_t permille)
{
	uint64_t rank = ((uint64_t)count * permille + 999) / 1000;

	return count ? sorted[rank ? rank - 1 : 0] : 0;
}

uint64_t metrics_quantile(uint64_t *value, uint32_t count, uint32_t permille)
{
	metrics_sort(value, count);
	return at_rank(value, count, permille);
}

static void tail_of(uint64_t *value, uint32_t count, struct metrics_tail *ret_tail)
{
	metrics_sort(value, count);
	*ret_tail = (struct metrics_tail){.count = count,
					  .p50_ns = at_rank(value, count, 500),
					  .p99_ns = at_rank(value, count, 990),
					  .p999_ns = at_rank(value, count, 999)};
}

int metrics_arrival(const struct world_record *record, uint32_t warmup,
		    struct metrics_tail *ret_tail)
{
	uint32_t count = record->requests > warmup ? record->requests - warmup : 0;
	uint64_t *value = calloc(count ? count : 1, sizeof(*value));

	if (!value)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct world_request *request = &record->request[warmup + i];

		value[i] = request->end_ns - request->arrival_ns;
	}
	tail_of(value, count, ret_tail);
	free(value);
	return 0;
}

int metrics_service(const struct world_record *record, uint32_t warmup,
		    struct metrics_tail *ret_tail)
{
	uint64_t *value = calloc(record->services ? record->services : 1, sizeof(*value));
	uint32_t count = 0;

	if (!value)
		return -ENOMEM;
	for (uint32_t i = 0; i < record->services; i++) {
		const struct world_service *service = &record->service[i];

		if (service->request >= warmup && service->request < record->requests)
			value[count++] = service->end_ns - service->start_ns;
	}
	tail_of(value, count, ret_tail);
	free(value);
	return 0;
}

double metrics_over(uint64_t p99_ns, uint64_t alone_ns)
{
	return alone_ns ? (double)p99_ns / (double)alone_ns - 1 : 0;
}

double metrics_throughput(const struct world_record *record, const struct world_record *alone)
{
	if (!record->measured_ns || !alone->measured_ns || !alone->done_ns)
		return 0;
	return (double)record->done_ns / (double)record->measured_ns /
	       ((double)alone->done_ns / (double)alone->measured_ns);
}

/* ---- shares ---- */

/* Largest deviation in the window of samples [from, to]; negative: nobody did anything. */
static double window_error(const struct world_record *record, const uint32_t *weight,
			   uint32_t count, uint64_t from, uint64_t to)
{
	double total = 0, weights = 0, worst = 0;

	for (uint32_t i = 0; i < count; i++) {
		total += (double)(record[i].progress_ns[to] - record[i].progress_ns[from]);
		weights += weight[i];
	}
	for (uint32_t i = 0; total > 0 && i < count; i++) {
		double own = (double)(record[i].progress_ns[to] - record[i].progress_ns[from]);
		double error = fabs(own / total - weight[i] / weights);

		worst = error > worst ? error : worst;
	}
	return total > 0 ? worst : -1;
}

static void summarize(double *error, uint32_t windows, struct metrics_shares *ret_shares)
{
	double sum = 0;

	*ret_shares = (struct metrics_shares){.windows = windows};
	if (!windows)
		return;
	metrics_sort_real(error, windows);
	for (uint32_t i = 0; i < windows; i++)
		sum += error[i];
	ret_shares->mean = sum / windows;
	ret_shares->p95 = error[((uint64_t)windows * 95 + 99) / 100 - 1];
	ret_shares->worst = error[windows - 1];
}

int metrics_share_error(const struct world_record *record, const uint32_t *weight, uint32_t count,
			uint64_t sample_ns, uint64_t window_ns, uint64_t warmup_ns,
			struct metrics_shares *ret_shares)
{
	uint64_t step = window_ns / sample_ns, at = (warmup_ns + sample_ns - 1) / sample_ns;
	uint32_t samples = UINT32_MAX, windows = 0;
	double *error;

	for (uint32_t i = 0; i < count; i++)
		samples = record[i].samples < samples ? record[i].samples : samples;
	if (!count || !step || window_ns % sample_ns)
		return -EINVAL;
	error = calloc(samples / step + 1, sizeof(*error));
	if (!error)
		return -ENOMEM;
	for (; at + step < samples; at += step) {
		double worst = window_error(record, weight, count, at, at + step);

		if (worst >= 0)
			error[windows++] = worst;
	}
	summarize(error, windows, ret_shares);
	free(error);
	return 0;
}

/* ---- the same arrivals, alone ---- */

void metrics_replay(const uint64_t *arrival_ns, uint32_t count, uint64_t service_ns,
		    uint64_t turnaround_ns, uint64_t *ret_latency_ns)
{
	uint64_t free_ns = 0; /* when the server can take the next queued one */

	for (uint32_t i = 0; i < count; i++) {
		uint64_t start_ns = arrival_ns[i];

		/* An idle server starts at once; a queued request waits for the turnaround too. */
		if (i && start_ns <= free_ns)
			start_ns = free_ns + turnaround_ns;
		free_ns = start_ns + service_ns;
		ret_latency_ns[i] = free_ns - arrival_ns[i];
	}
}

/* ---- seeds ---- */

/* Student's t, two-sided 95 %, by degrees of freedom. */
static double student_t(uint32_t freedom)
{
	static const double t[] = {0,	  12.706, 4.303, 3.182, 2.776, 2.571, 2.447,
				   2.365, 2.306,  2.262, 2.228, 2.201, 2.179, 2.160,
				   2.145, 2.131,  2.120, 2.110, 2.101, 2.093, 2.086};

	return freedom < sizeof(t) / sizeof(t[0]) ? t[freedom] : 1.96 + 2.4 / freedom;
}

void metrics_over_seeds(const double *value, uint32_t count, struct metrics_interval *ret_interval)
{
	double sum = 0, square = 0;

	*ret_interval = (struct metrics_interval){.count = count};
	if (!count)
		return;
	ret_interval->least = ret_interval->most = value[0];
	for (uint32_t i = 0; i < count; i++) {
		sum += value[i];
		ret_interval->least = fmin(ret_interval->least, value[i]);
		ret_interval->most = fmax(ret_interval->most, value[i]);
	}
	ret_interval->mean = sum / count;
	for (uint32_t i = 0; i < count; i++)
		square += (value[i] - ret_interval->mean) * (value[i] - ret_interval->mean);
	if (count > 1)
		ret_interval->half = student_t(count - 1) * sqrt(square / (count - 1) / count);
}
