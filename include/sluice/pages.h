/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_PAGES_H
#define SLUICE_PAGES_H

/*
 * The pages that a process and the arbiter share. All are memfds made by the arbiter and handed
 * over the socket (wire.h); layouts are append-only and asserted below.
 *
 *   channel   one per process. Tenant's mapping: read-write. The arbiter writes the `grant`
 *             lines and the heartbeat; the shim writes the rest. Each field has one writer.
 *   escrow    one per process. Per device one 64-bit word; see sluice/escrow.h for the steps.
 *   activity  one per latency-critical process. Its own mapping is read-write, every best-effort
 *             process of the GPU maps it read-only (sealed; facts in HACKING.md).
 *
 * Whatever a tenant can write, the arbiter reads as hostile: it keeps its own copy of all that it
 * granted, and clamps what it reads. Times are CLOCK_MONOTONIC nanoseconds, `predicted ns` is
 * estimated GPU time. Atomics: the writer of a group stores its fields relaxed and then bumps the
 * group's `epoch` with release; a reader loads `epoch` with acquire before it reads the group.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/estimate.h"
#include "sluice/hist.h"
#include "sluice/unit.h"

#define SLUICE_PAGES_VERSION 2u
#define SLUICE_CHANNEL_MAGIC 0x68637553u  /* "Such" */
#define SLUICE_ESCROW_MAGIC 0x73657553u	  /* "Sues" */
#define SLUICE_ACTIVITY_MAGIC 0x63617553u /* "Suac" */

#define SLUICE_MAX_DEVICES 8  /* GPUs that one process registers */
#define SLUICE_MAX_SLOTS 32   /* threads with a slot of their own; the last one is shared */
#define SLUICE_MAX_ACTIVITY 8 /* latency-critical processes that one gate watches per GPU */
#define SLUICE_MAX_MARKERS 64 /* streams with a completion marker of their own */
#define SLUICE_TRACE_RECORDS 1024
#define SLUICE_REQUEST_RECORDS 512
#define SLUICE_ARRIVAL_RECORDS 256

/* ---- grant: arbiter -> shim ------------------------------------------------------------- */

#define SLUICE_GRANT_MANAGED (1u << 0) /* this process is under the gate on this device */
#define SLUICE_GRANT_LATENCY (1u << 1) /* latency-critical: never held, marks its activity */
#define SLUICE_GRANT_EXCLUSIVE \
	(1u << 2)		      /* nothing of another process runs while it is open:
					    durations measured now are clean samples */
#define SLUICE_GRANT_PAUSED (1u << 3) /* `sluice pause`: the gate is closed until resumed */
#define SLUICE_GRANT_EXCESS (1u << 4) /* latency-critical, but above gpu.max: gated */
#define SLUICE_GRANT_WAITERS \
	(1u << 5)		     /* (activity owner) best-effort processes may sleep on
					    the activity page: wake one when it clears */
#define SLUICE_GRANT_TRACE (1u << 6) /* each launch is noted in the trace ring */
#define SLUICE_GRANT_COPIES \
	(1u << 7) /* it is closed because it is another's turn: large copies between
		     host and device go all the same */

/* Which activity page counts; generation 0: slot unused or revoked. still_epoch: active in that epoch
 * of its word, and nothing of its owner's had moved between two looks of the arbiter's; 0: no. */
struct sluice_activity_ref {
	_Atomic uint32_t generation;
	_Atomic uint32_t still_epoch;
};

/*
 * Two cache lines. `gate` is a futex word and a counter: odd = closed, even = open; it changes
 * by one each time, so that a sleeper cannot miss close-open-close.
 * `credit_ns` is cumulative: the process may launch while the sum of its slots' launched_ns is
 * below it (UINT64_MAX: no limit).
 */
struct sluice_grant {
	_Atomic uint32_t epoch; /* bumped last, with release, at every change of this struct */
	_Atomic uint32_t gate;
	_Atomic uint32_t flags; /* SLUICE_GRANT_* */
	_Atomic uint32_t mail;	/* bumped when a message waits on the socket */
	_Atomic uint64_t credit_ns;
	_Atomic uint64_t window_ns;   /* predicted work in flight at most (W) */
	_Atomic uint64_t guard_ns;    /* nothing so soon after a latency tenant went idle */
	_Atomic uint64_t progress_ns; /* held this long with nothing moving: admit one launch (P) */
	/* Since version 2; all 0: never. Counted from the beginning of a latency tenant's last busy
	 * period: so long a launch may go beside it, on so many SMs; and its next arrival is
	 * expected in this stretch, which nothing may run into. */
	_Atomic uint32_t cap_sms;
	_Atomic uint32_t busy_limit_us;
	_Atomic uint32_t quiet_from_us;
	_Atomic uint32_t quiet_until_us;
	struct sluice_activity_ref activity[SLUICE_MAX_ACTIVITY];
};
_Static_assert(sizeof(struct sluice_grant) == 128, "two cache lines");

/* ---- slots and streams: shim -> arbiter --------------------------------------------------- */

/* One per thread, single writer (plain load, relaxed store); the last slot is shared by all the
 * threads that found none and is changed by atomic adds. 128 bytes apart: no shared lines. */
struct sluice_slot {
	_Atomic uint64_t launched_ns; /* predicted ns, cumulative */
	_Atomic uint64_t launches;    /* kernels, graphs, copies, memsets */
	uint64_t reserved[14];
};
_Static_assert(sizeof(struct sluice_slot) == 128, "one slot, two lines");

/* What the shim knows of itself; written in slow paths. */
struct sluice_counters {
	_Atomic uint64_t completed_ns;	  /* predicted ns seen complete, cumulative */
	_Atomic uint64_t held_ns;	  /* time in which at least one launch was held */
	_Atomic uint64_t held_since_ns;	  /* 0: none held now */
	_Atomic uint64_t held;		  /* launches that were held */
	_Atomic uint64_t mem_held_ns;	  /* time in which an allocation waited for the arbiter */
	_Atomic uint64_t forced;	  /* launches admitted by forward progress */
	_Atomic uint64_t unpredicted;	  /* launches with no estimate yet */
	_Atomic uint64_t last_launch_ns;  /* of a slow-path launch; 0: never */
	_Atomic uint64_t longest_unit_ns; /* longest launch unit's estimate ... */
	char longest_unit[64];		  /* ... and its name, NUL-terminated */
	_Atomic uint64_t requests;	  /* requests finished (latency tenants) */
	_Atomic uint64_t requests_late;	  /* of them: over target_ns */
	_Atomic uint64_t requests_alone;  /* of them: met no best-effort work */
	_Atomic uint64_t sleeping;	  /* threads in a gate now */
	_Atomic uint64_t drained;	  /* 1: every launch was seen complete */
	_Atomic uint64_t completed_at_ns; /* when completed_ns last moved; stored before it */
	/* The latest run of launches that were all large copies between host and device: what the
	 * sum of the slots' launched_ns was before the first and after the last of them. Stored in
	 * this order. Anything launched since is seen by the sum. */
	_Atomic uint64_t copies_from_ns, copies_until_ns;
	_Atomic uint64_t reserved[7];
};
_Static_assert(sizeof(struct sluice_counters) == 256, "counters");

/* For `sluice plan --record`: a launch about to be made, or a stream that was seen drained. Written
 * only while the grant has SLUICE_GRANT_TRACE, under gate->lock; read as the rings below. */
enum sluice_trace_kind {
	SLUICE_TRACE_KERNEL = 1,
	SLUICE_TRACE_GRAPH = 2,
	SLUICE_TRACE_COPY_TO_DEVICE = 3,
	SLUICE_TRACE_COPY_TO_HOST = 4,
	SLUICE_TRACE_COPY_DEVICE = 5, /* and memset, and where the direction is not known */
	SLUICE_TRACE_DRAINED = 6,
};

struct sluice_trace_record {
	uint64_t at_ns;
	uint64_t key;	  /* what is launched, within the process */
	uint32_t cost_ns; /* predicted */
	uint32_t blocks;  /* kernels: of the grid, 0 not known; copies: KiB */
	uint32_t per_sm;  /* kernels: so many fit one SM; 0 not known */
	uint32_t what;	  /* {stream:24, enum sluice_trace_kind:8} */
};
_Static_assert(sizeof(struct sluice_trace_record) == 32, "trace record");

struct sluice_channel_device {
	_Alignas(128) struct sluice_grant grant;
	struct sluice_slot slot[SLUICE_MAX_SLOTS];
	struct sluice_counters counters;
	/* Written by the GPU (stream write-value) with the sequence of the last marker passed. */
	_Atomic uint32_t marker[SLUICE_MAX_MARKERS];
	/* Written by the shim before it places a marker: what the GPU will write last. */
	_Atomic uint32_t marker_last[SLUICE_MAX_MARKERS];
	struct sluice_hist service;	 /* latency tenants: S, ns */
	struct sluice_hist be_in_flight; /* best-effort predicted ns in flight at arrival, ns */
	_Atomic uint64_t trace_head;
	struct sluice_trace_record trace[SLUICE_TRACE_RECORDS];
};
_Static_assert(sizeof(struct sluice_channel_device) % 128 == 0, "devices keep their alignment");

/*
 * Since version 2: requests that have ended, for the arbiter's controller and `sluice why`. The
 * shim writes under its request lock: the record, then `head` (release), the count of all ever
 * written. A reader takes what is between its own count and `head` (acquire), reads `head` again
 * after copying, and drops what may have been written over meanwhile: records with a number not
 * above head - RECORDS.
 */
#define SLUICE_REQUEST_ALONE (1u << 0) /* nothing of another process ran, all the time */
#define SLUICE_REQUEST_RANGE (1u << 1) /* an NVTX range: arrival_ns is known */

struct sluice_request_record {
	uint64_t arrival_ns;  /* 0: not known */
	uint64_t start_ns;    /* first launch */
	uint64_t end_ns;      /* seen drained */
	uint64_t kind;	      /* prediction key of the first launch, or hash of the range's name */
	uint64_t launched_ns; /* predicted, of its own launches */
	uint32_t launches;
	uint32_t flags; /* SLUICE_REQUEST_* */
	uint64_t reserved[2];
};
_Static_assert(sizeof(struct sluice_request_record) == 64, "request record");

struct sluice_request_ring {
	_Atomic uint64_t head;
	uint64_t reserved[7];
	struct sluice_request_record record[SLUICE_REQUEST_RECORDS];
};

/*
 * Since version 2, best-effort processes: what was in flight when a launch first met a latency
 * tenant's request. Written under gate->lock, read as above.
 */
struct sluice_arrival_record {
	uint64_t busy_since_ns; /* of the activity page: names the request that was met */
	uint64_t seen_ns;
	uint64_t in_flight_ns; /* predicted */
	uint64_t key;	       /* the longest unit of them (estimate.h, unit.h); 0: not known */
	uint32_t generation;   /* of the activity page */
	uint32_t launches;     /* in flight, that the launching thread knows of */
	uint64_t unit_ns;      /* what is believed of the longest */
	uint64_t reserved1[2];
};
_Static_assert(sizeof(struct sluice_arrival_record) == 64, "arrival record");

struct sluice_arrival_ring {
	_Atomic uint64_t head;
	uint64_t reserved[7];
	struct sluice_arrival_record record[SLUICE_ARRIVAL_RECORDS];
};

struct sluice_channel {
	uint32_t magic;
	uint32_t version;
	uint64_t session;	       /* the arbiter's number for this connection */
	_Atomic uint64_t heartbeat_ns; /* the arbiter is alive; every 100 ms */
	_Atomic uint64_t target_ns;    /* latency tenants: absolute target on S; 0: none */
	char range[64]; /* the arbiter's: the NVTX range that the target counts; empty: none */
	/* Latency tenants: the process's watch thread sleeps on `look`, which moves at every wake.
	 * `ask`, bit i: the arbiter wants to know whether what device[i] was given has drained; taken
	 * back by the thread. `assisted`, bit i: there, ends of requests are seen only by asking the
	 * GPU. Both sides of a page may be older, and leave them 0. */
	_Atomic uint32_t look, ask, assisted;
	uint8_t pad[20];
	struct sluice_channel_device device[SLUICE_MAX_DEVICES];
	/* An arbiter of version 1 makes a file that ends here: SLUICE_CHANNEL_LEAST_BYTES. */
	struct sluice_request_ring request[SLUICE_MAX_DEVICES];
	struct sluice_arrival_ring arrival[SLUICE_MAX_DEVICES];
	struct sluice_estimate_ring estimates;
	struct sluice_unit units[SLUICE_UNITS];
};
#define SLUICE_CHANNEL_LEAST_BYTES offsetof(struct sluice_channel, request)

/* The channel that device[index] is part of. */
static inline struct sluice_channel *sluice_channel_of(struct sluice_channel_device *device,
						       uint32_t index)
{
	return (struct sluice_channel *)((unsigned char *)(device - index) -
					 offsetof(struct sluice_channel, device));
}

/* ---- escrow ------------------------------------------------------------------------------- */

/* {granted:32 high, credit:32 low} in units of 512 bytes (2 TiB); used = granted - credit.
 * One atomic a step: sluice/escrow.h. */
#define SLUICE_ESCROW_UNIT 512u

struct sluice_escrow_device {
	_Atomic uint64_t word;
	uint64_t reserved[7];
};
_Static_assert(sizeof(struct sluice_escrow_device) == 64, "one line");

struct sluice_escrow {
	uint32_t magic;
	uint32_t version;
	uint64_t session;
	uint64_t reserved[6];
	struct sluice_escrow_device device[SLUICE_MAX_DEVICES];
};

/* ---- activity ----------------------------------------------------------------------------- */

/*
 * `word` = {epoch:32 high, active:32 low}: active counts the streams with work of a request.
 * Both change in one compare-and-swap (acq_rel); epoch moves at every change. A clear is made
 * only if the epoch is still the one read before the drain was seen.
 * SLUICE_ACTIVITY_RAISED in place of the count: a request has begun, the rest of the line and the
 * count will say more at once.
 * `wake` is the futex that best-effort gates sleep on: bumped, with release, after every change
 * of `word` to active 0, and then at most one waiter is woken, which wakes the next.
 */
#define SLUICE_ACTIVITY_RAISED UINT32_MAX

struct sluice_activity_device {
	_Atomic uint64_t word;
	_Atomic uint32_t wake;
	uint32_t reserved0;
	_Atomic uint64_t idle_since_ns; /* when active last became 0 */
	_Atomic uint64_t busy_since_ns; /* survives gaps shorter than the guard */
	_Atomic uint64_t drain_ns;	/* predicted end of the present request; 0: unknown */
	_Atomic uint64_t requests;
	uint64_t reserved[10];
};
_Static_assert(sizeof(struct sluice_activity_device) == 128, "two lines");

struct sluice_activity {
	uint32_t magic;
	uint32_t version;
	uint32_t generation; /* of this page; a reader counts it only if its grant names the same */
	uint32_t reserved;
	uint8_t pad[112];
	struct sluice_activity_device device[SLUICE_MAX_DEVICES];
};

static inline uint32_t sluice_activity_active(uint64_t word)
{
	return (uint32_t)word;
}

static inline uint32_t sluice_activity_epoch(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

#endif
