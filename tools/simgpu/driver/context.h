/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_CONTEXT_H
#define SIMGPU_CONTEXT_H

/*
 * Contexts and the calling thread's stack of them. A context's memory is never given back to the
 * host, so that a stale handle answers an error instead of crashing. Private to the core half.
 */

#include "driver/state.h"

/* NULL: not a context of ours. */
struct sim_context *context_get(CUcontext handle);
/* NULL handle: the current one. As sim_current, without the sticky error, for calls that only
 * look. */
CUresult context_look(CUcontext handle, struct sim_context **ret_context);

/* An inert context, registered for good. NULL: no memory. State lock held. */
struct sim_context *context_new(struct sim_device *device, bool is_primary);
/* Makes an inert context live. State lock held. */
CUresult context_activate(struct sim_context *context);
/* Makes it inert: drains its work, frees its modules and memory. State lock held. */
void context_deactivate(struct sim_context *context);

/* Takes it off the top of the calling thread's stack, if it is there. */
void context_forget(struct sim_context *context);

bool context_flags_valid(unsigned int flags);

#endif
