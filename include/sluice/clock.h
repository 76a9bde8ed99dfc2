/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_CLOCK_H
#define SLUICE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SLUICE_NS_PER_US 1000ull
#define SLUICE_NS_PER_MS 1000000ull
#define SLUICE_NS_PER_S 1000000000ull

/* The project's one time: CLOCK_MONOTONIC, nanoseconds, comparable between processes. */
static inline uint64_t sluice_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SLUICE_NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
