/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LINK_H
#define SHIM_LINK_H

/*
 * The session to the arbiter: hello, pages, devices, memory requests, reconnection. Slow paths
 * only; every call keeps errno. Returns are 0 or -errno, never a CUresult.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The arbiter has said no; why, is in the log. */
#define LINK_REFUSED (-EKEYREJECTED)

/*
 * Connects, says hello, maps the pages; under shim.lock. Only the first time it waits for an
 * answer. 0: attached, and shim.mem_deadline_ns is set; -ECANCELED: attached, but the tenant
 * bypasses (managed = false); -EAGAIN: no arbiter answers, but there should be one: it is asked for
 * by the environment, or has a socket or a folder for it; anything else: there is none, or it
 * refuses, and the process stays inert.
 */
int link_attach(void);

/* Under shim.lock. Sends DEVICE, and on DEVICE_OK fills in shim.device[ordinal] (index, channel,
 * escrow) and stores its state with release. -EAGAIN: the arbiter is away or does not answer;
 * other errors are for good. */
int link_device_register(uint32_t ordinal);

/* What an error of the two above means, for the log; NULL: there are no words for it. */
const char *link_why(int error);

/* How long the fail mode holds up whoever needs an arbiter that is away; open: 0. */
uint64_t link_patience_ns(void);

/* True while the session answers; false: away, the pages stand as they were. */
bool link_is_up(void);

/* One MEM_REQUEST and its answer: 0 granted (try again), -ENOMEM refused, -EAGAIN reclaiming
 * (wait, ask again), -ENOTCONN away, -ETIMEDOUT. The deadline is absolute. */
int link_mem_request(uint32_t device_index, uint32_t units, uint64_t deadline_ns);

/* The tenant's limit and use on a device. UINT64_MAX: no limit. */
int link_mem_query(uint32_t device_index, uint64_t *ret_max_bytes, uint64_t *ret_used_bytes);

/* In a child of fork: forgets the session without a word to the arbiter. No lock may be assumed
 * free, no page mapped. */
void link_forked(void);

/* ---- for the launch path ----------------------------------------------------------------------- */

enum link_state {
	LINK_UP,   /* the arbiter governs */
	LINK_OPEN, /* away: run as if there were none */
	LINK_HOLD, /* away: wait for it, up to the deadline that link_hold_ns names */
};

/*
 * Once per slow path and per wait: takes the arbiter's mail, notices that it is gone or hung, and
 * works on a new session, all without blocking. Any thread; not under gate->lock or link's own.
 */
enum link_state link_tick(uint32_t device_index, uint64_t now_ns);

/* Fail mode hold: how long one launch waits; closed: UINT64_MAX. */
uint64_t link_hold_ns(void);

/* Tells the arbiter that a launch is held. Never blocks; false: try again. */
bool link_want(uint32_t device_index, uint64_t cost_ns);

/* The arbiter's target on S, ns; 0: none. */
uint64_t link_target_ns(void);

/* Does the target count NVTX ranges, not the requests that the shim sees? */
bool link_counts_ranges(void);

/* The channel's mapping, for its registration with the driver; false: not attached. */
bool link_channel(void **ret_base, size_t *ret_bytes);

#endif
