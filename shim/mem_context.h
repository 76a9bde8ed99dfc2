/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_MEM_CONTEXT_H
#define SHIM_MEM_CONTEXT_H

/*
 * Small numbers for contexts, so that the books know what goes with which. Contexts can appear
 * without a call that we see (the runtime's private tables), hence they are numbered when they
 * first allocate. A handle that comes again after a destroy gets a new number.
 *
 * Number 0: none, or no room; what is booked under it lives until it is freed. Any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "real.h"

#define MEM_CONTEXTS 1024u

/* The current context's number and device; false: no context is current. */
bool mem_context_current(uint32_t *ret_context, CUdevice *ret_ordinal);

/* cuCtxCreate made it: it is not the primary one, nor made from it. */
void mem_context_created(CUcontext context);

bool mem_context_is_created(CUcontext context);

/* Before a destroy: the number, which no look-up finds any more. 0: nothing is booked under it.
 * After a destroy that failed, mem_context_restore. */
uint32_t mem_context_retire(CUcontext context);
void mem_context_restore(uint32_t number, CUcontext context);

/* After mem_context_gone: the number may be given again. */
void mem_context_free(uint32_t number);

/* Calls back for each context of the device that lives and dies with its primary one, and frees
 * the number. */
void mem_context_each_primary(CUdevice ordinal, void (*gone)(uint32_t number));

void mem_context_forked(void);

#endif
