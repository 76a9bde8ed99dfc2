/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NULLDRIVER_H
#define NULLDRIVER_H

/*
 * A libcuda.so.1 whose calls return at once, to measure and to test what is put in front of it.
 * It runs nothing: launches and copies do nothing, and all work is complete when it is asked for.
 */

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

struct nulldriver {
	bool initialised;
	int devices;
	uint64_t memory_bytes; /* of each device; what is free is not counted */
};

extern struct nulldriver nulldriver;

/* The calling thread's next cuStreamSynchronize returns then (0: at once), and when it did. */
extern _Thread_local uint64_t nulldriver_busy_until_ns;
extern _Thread_local uint64_t nulldriver_drained_ns;

#endif
