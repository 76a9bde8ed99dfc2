/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_CAPTURE_H
#define SHIM_CAPTURE_H

/*
 * The origins of open captures: which stream's end, or destruction, or that of its context, closes
 * one. A begin that finds
 * no room is never closed, and every launch goes the long way from then on. Any thread.
 */

#include <stdbool.h>

#include "shim.h"
#include "stream_state.h"

#define CAPTURE_ORIGINS 64

void capture_origin_add(CUstream key);
bool capture_origin_remove(CUstream key);

/* A context has gone, and its captures with it. device >= 0: all those of that device. */
void capture_context_gone(CUcontext context, int device);

/* Does the driver say that the stream captures? Right also for streams that joined a capture by an
 * event. True as well where the driver refuses to say: the legacy stream while a capture forbids
 * its use; the launch will then be refused in the same way. */
bool capture_is_open(CUstream key);

void capture_forked(void);

#endif
