/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_POOL_H
#define PLAN_POOL_H

/*
 * Tasks on several processes. A task is a number; what it makes goes into memory from
 * pool_shared, which all processes see. Whoever is free takes the next number, so that results
 * must not depend on the order. Tasks run in children, so that one that dies takes no other along;
 * they end with the caller. Where no child can be had they run in the caller.
 */

#include <stddef.h>
#include <stdint.h>

/* Zeroed; pool_release it. NULL: no memory. */
void *pool_shared(size_t size);
void pool_release(void *memory, size_t size);

/* Calls task for 0 .. tasks - 1; returns when all are done: 0, or an error that one returned.
 * -ECHILD: a process died. workers 0: as many as there are processors. */
int pool_run(uint32_t tasks, uint32_t workers, int (*task)(void *context, uint32_t number),
	     void *context);

#endif
