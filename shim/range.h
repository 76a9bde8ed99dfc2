/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_RANGE_H
#define SHIM_RANGE_H

/*
 * Ranges that the program opens when a request arrives and closes when it is answered, from any
 * thread: those whose name is the tenant's target (`of = "range:NAME"`) become requests with a known
 * arrival. Others cost a comparison. Threads: any. Times are CLOCK_MONOTONIC ns.
 */

#include <stdbool.h>
#include <stdint.h>

/* Is this the name of the range that the tenant's target counts? */
bool range_is_counted(const char *name);

/* A counted range opens under that id, which is not in use. */
void range_open(uint64_t id);

/* Nothing happens where no counted range has that id. */
void range_close(uint64_t id);

void range_forked(void);

#endif
