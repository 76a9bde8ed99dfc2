/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_CALLBACK_H
#define SHIM_CALLBACK_H

/*
 * The application's own callbacks of a stream (cuLaunchHostFunc, cuStreamAddCallback), put into ones
 * of ours that note, before they call it, that the stream has drained up to where it was added.
 *
 * A callback runs on a thread of the driver's, in which the driver must not be called, and which
 * may hold what a call of it waits for: so no lock is waited for there that is ever held across
 * one. What finds gate->lock taken is left for callback_settle.
 *
 * One of ours lives in a static table from callback_wrap until it is run, or the driver refuses it,
 * or its context is gone; what finds no room is passed on as it is. Any thread.
 */

#include <stdbool.h>

#include "real.h"

/* What stands for a callback, as the driver's user data. */
typedef void *callback_token;

/* NULL: nothing would be shown by it (or there is no room); pass on what was given. Exactly one of
 * host and stream is set. Between shim_enter and shim_leave. */
callback_token callback_wrap(CUstream key, CUhostFn host, CUstreamCallback stream, void *data);

/* The driver has refused it. */
void callback_unwrap(callback_token token);

/* What the driver is given. */
void CUDA_CB callback_run_host(void *token);
void CUDA_CB callback_run_stream(CUstream stream, CUresult status, void *token);

/* Notes what callbacks left. Not in one, and not with gate->lock. */
void callback_settle(void);

/* A context has gone: what has not been run will not be. device >= 0: those of that device that live
 * and die with its primary context. */
void callback_context_gone(CUcontext context, int device);

void callback_forked(void);

#endif
