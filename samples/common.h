/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SAMPLES_COMMON_H
#define SAMPLES_COMMON_H

/*
 * What the samples share: a result hash, a seeded generator, the clock, quantiles, and the end of
 * a program whose CUDA call failed. C and CUDA C++.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S 1000000000ull

/* FNV-1a over bytes. */
#define HASH_START 0xcbf29ce484222325ull

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = (const unsigned char *)data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ull;
	return hash;
}

/* Last line of every sample. */
static inline void print_result(uint64_t hash)
{
	printf("result: %016" PRIx64 "\n", hash);
	fflush(stdout);
}

/* splitmix64: the same numbers on every machine. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* In (0, 1]. */
static inline double random_unit(uint64_t *state)
{
	return (double)((random_next(state) >> 11) + 1) / 9007199254740992.0;
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static inline void sleep_until(uint64_t when_ns)
{
	struct timespec t;

	t.tv_sec = (time_t)(when_ns / NS_PER_S);
	t.tv_nsec = (long)(when_ns % NS_PER_S);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Nearest rank, of sorted values. */
static inline double quantile(const double *sorted, size_t count, double q)
{
	size_t rank = (size_t)(q * (double)count + 0.999999);

	if (count == 0)
		return 0;
	return sorted[rank == 0 ? 0 : rank > count ? count - 1 : rank - 1];
}

/* A number of an option, within bounds, or the end of the program. */
static inline double option_number(const char *name, const char *text, double low, double high)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high)) {
		fprintf(stderr, "--%s: \"%s\" is no number from %g to %g\n", name, text, low, high);
		exit(2);
	}
	return value;
}

#endif
