/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUOTA_H
#define CORE_QUOTA_H

/*
 * Memory admission, in units of 512 bytes. A tenant's pool on a device is its limit less all that
 * is granted to its processes and all that dead ones have not given back; a grant also leaves the
 * device what other tenants are promised (memory.min). What is short is first taken back from
 * processes that hold unused credit: the tenant's own, or anyone's when the device is short.
 * Credit is given ahead of use: a quarter of what is free, and no more than a chunk to each of
 * several.
 *
 * A round (one request, or one limit lowered) asks one process at a time and goes on at its
 * answer; per device one round at a time.
 */

#include "state.h"

/* The process attaches; it holds `held_units` already. */
void quota_attach(struct engine *engine, struct gate *gate, uint32_t held_units);
/* -EINVAL: a round is going on. */
int quota_request(struct engine *engine, struct gate *gate, uint32_t units);
int quota_taken(struct engine *engine, struct gate *gate, uint32_t units);
/* Its limit may have been lowered: takes back unused credit above it. */
void quota_limit_changed(struct engine *engine, struct device *device, struct tenant *tenant);
/* What a tenant over its limit has freed since is not its to use again: slow tick. */
void quota_tick(struct engine *engine, struct device *device);
void quota_leave(struct gate *gate, bool reclaim);
/* Of processes that are not there: neither free nor anybody's. */
void quota_held(struct share *share, uint32_t units);
void quota_reclaimed(struct share *share, uint32_t units);

#endif
