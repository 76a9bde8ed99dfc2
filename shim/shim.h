/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_SHIM_H
#define SHIM_SHIM_H

/*
 * The one state of the shim in a process, and what each hook begins with.
 *
 *   if (!shim_enter())
 *           return real.hook(args);
 *   ... classify, gate or charge, result = real.hook(args), note ...
 *   shim_leave();
 *
 * shim_enter is false when the call must go to the driver untouched: no session (inert), a tenant
 * that bypasses, or a call from inside a hook (the driver's or our own). It is true only with a
 * session behind us, and marks the thread busy until shim_leave. A hook may read shim.flags for
 * the states that only some of them care about.
 *
 * Life: unready -> (first hook after the driver is initialised: an attempt to attach) -> attached
 * or inert. Where there should be an arbiter and none answers, it stays unready and tries again at
 * times (shim.attach). A child of fork starts again at unready and owns nothing: no pages, no
 * charges.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "futex.h"
#include "real.h"
#include "sluice/pages.h"

#define SHIM_UNREADY (1u << 0)	   /* not attached so far; set again in a child of fork */
#define SHIM_PASSTHROUGH (1u << 1) /* there is no arbiter, or the tenant bypasses */
#define SHIM_CAPTURES (1u << 2)	   /* shim.captures_open is not zero */
#define SHIM_AWAY (1u << 3)	   /* the arbiter is gone or hung: the fail mode governs time */
#define SHIM_PROFILING (1u << 4)
#define SHIM_IDLE (1u << 5) /* latency tenants: the next launch begins with activity_raise */
#define SHIM_FOREIGN (SHIM_UNREADY | SHIM_PASSTHROUGH)
#define SHIM_MAX_ORDINALS 64 /* GPUs that a process can see; those beyond are not managed */

enum shim_device_state {
	SHIM_DEVICE_NEW,
	SHIM_DEVICE_MANAGED,
	SHIM_DEVICE_UNMANAGED, /* refused, or more than SLUICE_MAX_DEVICES */
};

/* When an arbiter that did not answer is asked again: at growing intervals. Under shim.lock. */
struct shim_retry {
	_Atomic uint64_t due_ns; /* any thread; 0: now */
	uint64_t interval_ns;	 /* 0: it has not failed yet */
};

/* Written in link_device_register under shim.lock, then `state` with release. */
struct shim_device {
	_Atomic uint32_t state; /* enum shim_device_state */
	uint32_t ordinal;	/* CUdevice */
	uint32_t index;		/* in the pages' device[] */
	uint8_t uuid[16];
	_Atomic(struct sluice_channel_device *) channel;
	_Atomic(_Atomic uint64_t *) escrow; /* the word; escrow_client.h has the steps */
	_Atomic uint32_t waiters;	    /* threads that wait for credit */
	_Atomic uint32_t debt_units;	    /* used beyond `granted` after a change of pages */
	struct shim_retry registration;
};

#define SHIM_PAGE 4096u /* a page of most machines */

struct shim {
	/* Where the own activity page is mapped if that can be (activity.c): right before the flags,
	 * and aligned so that both pages' entries lie in one line of the page table: after the wait
	 * for a request that is as cold as all else. */
	unsigned char near[SHIM_PAGE];
	_Atomic uint32_t flags; /* SHIM_* */
	_Atomic uint32_t captures_open;
	/* With SHIM_IDLE: the own activity, to be raised; never NULL again once it is set. Beside the
	 * flags, since nothing else is at hand that early. */
	_Atomic(struct sluice_activity_device *) idle;
	struct futex_lock lock; /* slow paths: attach, register, fork */
	struct shim_retry attach;
	uint32_t device_count; /* what the driver shows; 0 until ready */
	uint64_t mem_deadline_ns;
	struct shim_device device[SHIM_MAX_ORDINALS];
} __attribute__((aligned(2 * SHIM_PAGE)));

struct shim_thread {
	uint32_t busy;	    /* inside a hook: calls from within go straight to the driver */
	uint32_t is_raised; /* by activity_raise, and not settled yet */
};

extern struct shim shim;
extern _Thread_local struct shim_thread shim_thread __attribute__((tls_model("initial-exec")));

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static inline uint32_t shim_flags(void)
{
	return atomic_load_explicit(&shim.flags, memory_order_relaxed);
}

/* Attaches, if it is time to try; keeps errno. */
bool shim_enter_slow(void);

static inline bool shim_enter(void)
{
	if (unlikely(shim_thread.busy | (shim_flags() & SHIM_FOREIGN)))
		return shim_enter_slow();
	shim_thread.busy = 1;
	return true;
}

static inline void shim_leave(void)
{
	shim_thread.busy = 0;
}

/* The device of that ordinal, registered at first use; NULL: not managed. Inside a hook only. */
struct shim_device *shim_device_slow(CUdevice ordinal);

static inline struct shim_device *shim_device(CUdevice ordinal)
{
	struct shim_device *device = &shim.device[ordinal & (SHIM_MAX_ORDINALS - 1)];

	/* Pairs with the release in link_device_register. */
	if (likely((unsigned int)ordinal < SHIM_MAX_ORDINALS &&
		   atomic_load_explicit(&device->state, memory_order_acquire) ==
			   SHIM_DEVICE_MANAGED))
		return device;
	return shim_device_slow(ordinal);
}
/* Of the calling thread's current context; NULL: none, or not managed. */
struct shim_device *shim_device_current(void);
/* That the stream works on; of the current context for the default ones. */
struct shim_device *shim_device_of_stream(CUstream stream);

void shim_set_flags(uint32_t set, uint32_t clear);

/* captures_open up before the real begin; down if it fails, after an end, or when the origin
 * stream goes. Err upwards. */
void shim_capture_opened(void);
void shim_capture_closed(void);

#endif
