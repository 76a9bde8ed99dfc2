/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_WIRE_H
#define SLUICE_WIRE_H

/*
 * Messages between shim or tool and arbiter: one AF_UNIX SOCK_SEQPACKET packet each, fixed-width
 * fields in host byte order, strings NUL-terminated and zero-filled. Append-only: a message may
 * grow at its end, a field never moves, a number is never used again. A receiver checks `size`
 * against the packet before it reads a field, takes a longer message than it knows by its known
 * head, and fills a shorter one of an older peer with zeros. Descriptors travel beside the packet
 * (SCM_RIGHTS), in the order given here. Protocol version N talks to N-1 and N+1.
 *
 * A session: HELLO -> WELCOME (channel, escrow) or REFUSED; DEVICE -> DEVICE_OK for each GPU that
 * the process uses; then as needed. `seq` of an answer is that of its question; the arbiter's own
 * messages have seq 0, and it bumps `mail` in every device's grant after it sends one.
 */

#include <stdint.h>

#include "sluice/pages.h"

#define SLUICE_PROTOCOL_VERSION 1u
#define SLUICE_PROTOCOL_OLDEST 1u
#define SLUICE_NAME_MAX 64
#define SLUICE_TEXT_MAX 512
#define SLUICE_PACKET_MAX 1024

enum sluice_msg_type {
	SLUICE_MSG_HELLO = 1,		/* shim ->: struct sluice_msg_hello */
	SLUICE_MSG_WELCOME = 2,		/* -> shim + 2 descriptors: channel, escrow */
	SLUICE_MSG_REFUSED = 3,		/* -> any: struct sluice_msg_text; closed after HELLO */
	SLUICE_MSG_DEVICE = 4,		/* shim ->: struct sluice_msg_device */
	SLUICE_MSG_DEVICE_OK = 5,	/* -> shim: struct sluice_msg_device_ok */
	SLUICE_MSG_ACTIVITY_OWN = 6,	/* -> latency shim + 1 descriptor (read-write) */
	SLUICE_MSG_ACTIVITY_MAPPED = 7, /* latency shim ->: mapped; the arbiter may seal */
	SLUICE_MSG_ACTIVITY_SEE = 8,	/* -> best-effort shim + 1 descriptor (read-only) */
	SLUICE_MSG_ACTIVITY_SEEN = 9,	/* best-effort shim ->: mapped; the arbiter names it in
					   the grant */
	SLUICE_MSG_ACTIVITY_DROP = 10,	/* -> best-effort shim: unmap that slot */
	SLUICE_MSG_WANT = 11,		/* shim ->: a launch is held: struct sluice_msg_want */
	SLUICE_MSG_MEM_REQUEST = 12,	/* shim ->: struct sluice_msg_mem */
	SLUICE_MSG_MEM_ANSWER = 13,	/* -> shim: struct sluice_msg_mem */
	SLUICE_MSG_MEM_QUERY = 14,	/* shim ->: struct sluice_msg_mem */
	SLUICE_MSG_MEM_STATE = 15,	/* -> shim: struct sluice_msg_mem_state */
	SLUICE_MSG_NOTE = 16,		/* shim ->: something for status: struct sluice_msg_text */
	SLUICE_MSG_KNOWN = 17,		/* -> shim + 1 descriptor (read-only): header alone; what
					   earlier runs measured, a struct sluice_known */

	SLUICE_MSG_TOOL = 32,		/* tool's hello: struct sluice_msg_tool */
	SLUICE_MSG_TOOL_OK = 33,	/* -> tool: struct sluice_msg_tool_ok */
	SLUICE_MSG_STATUS = 34,		/* tool ->: header alone */
	SLUICE_MSG_STATUS_DEVICE = 35,	/* -> tool: struct sluice_msg_status_device */
	SLUICE_MSG_STATUS_TENANT = 36,	/* -> tool: struct sluice_msg_status_tenant */
	SLUICE_MSG_STATUS_PROCESS = 37, /* -> tool: struct sluice_msg_status_process */
	SLUICE_MSG_STATUS_NOTE = 38,	/* -> tool: struct sluice_msg_text: what is not enforced */
	SLUICE_MSG_STATUS_END = 39,	/* -> tool: header alone */
	SLUICE_MSG_SET = 40,		/* tool ->: struct sluice_msg_set */
	SLUICE_MSG_PAUSE = 41,		/* tool ->: struct sluice_msg_set, tenant only */
	SLUICE_MSG_RESUME = 42,		/* tool ->: struct sluice_msg_set, tenant only */
	SLUICE_MSG_RELOAD = 43,		/* tool ->: header alone */
	SLUICE_MSG_DONE = 44,		/* -> tool: struct sluice_msg_text, empty or a remark */
	/* tool ->: struct sluice_msg_set: would a process of mine be admitted to the tenant? `value`:
	 * its program's name; `key` "shell": it starts others, whose names are not known yet. DONE or
	 * REFUSED */
	SLUICE_MSG_ASK_TENANT = 45,
	SLUICE_MSG_WHY = 46,	     /* tool ->: struct sluice_msg_set, tenant and, in `value`, of
					   how many minutes: why were its requests late? */
	SLUICE_MSG_WHY_REQUEST = 47, /* -> tool: struct sluice_msg_why_request, newest first */
	SLUICE_MSG_WHY_CAUSE = 48,   /* -> tool: struct sluice_msg_why_cause, of the last one */
	SLUICE_MSG_WHY_END = 49,     /* -> tool: struct sluice_msg_why_end */
	SLUICE_MSG_RECORD = 50,	     /* tool ->: struct sluice_msg_record: note its launches for
					   a while, and what has been noted? */
	SLUICE_MSG_TRACE = 51,	     /* -> tool: struct sluice_msg_trace, in order */
	SLUICE_MSG_TRACE_END = 52,   /* -> tool: struct sluice_msg_trace_end */
	SLUICE_MSG_STATUS_PAIR = 53, /* -> tool: struct sluice_msg_status_pair, in a STATUS */
};

enum sluice_class {
	SLUICE_BEST_EFFORT = 0,
	SLUICE_LATENCY_CRITICAL = 1,
};

enum sluice_fail_mode {
	SLUICE_FAIL_OPEN = 0,	/* run as if there were no arbiter */
	SLUICE_FAIL_HOLD = 1,	/* wait for it, up to fail_deadline_ns a launch, then open */
	SLUICE_FAIL_CLOSED = 2, /* wait for it */
};

struct sluice_msg_header {
	uint32_t type;
	uint32_t size; /* of the whole message, this header included */
	uint32_t seq;
	int32_t status; /* answers: 0 or -errno */
};
_Static_assert(sizeof(struct sluice_msg_header) == 16, "header");

struct sluice_msg_text {
	struct sluice_msg_header header;
	char text[SLUICE_TEXT_MAX];
};

struct sluice_msg_hello {
	struct sluice_msg_header header;
	uint32_t version; /* newest that the sender speaks */
	uint32_t oldest;
	uint64_t session;	      /* of a lost connection; 0: new */
	char tenant[SLUICE_NAME_MAX]; /* asked for; empty: by match rules */
	char program[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_hello) == 160, "hello");

struct sluice_msg_welcome {
	struct sluice_msg_header header;
	uint32_t version;      /* the one to speak */
	uint32_t tenant_class; /* enum sluice_class */
	uint64_t session;
	uint32_t fail_mode; /* enum sluice_fail_mode */
	uint32_t managed;   /* 0: the tenant bypasses (managed = false) */
	uint64_t fail_deadline_ns;
	uint64_t mem_deadline_ns; /* wait so long for memory while the arbiter is away */
	char tenant[SLUICE_NAME_MAX];
	char remark[SLUICE_TEXT_MAX]; /* why it is not the tenant asked for; empty: it is */
};
_Static_assert(sizeof(struct sluice_msg_welcome) == 632, "welcome");

struct sluice_msg_device {
	struct sluice_msg_header header;
	uint8_t uuid[16];
	uint64_t memory_bytes;
	uint32_t sms;
	uint32_t compute_capability; /* major * 10 + minor */
	uint32_t mps;		     /* processes may overlap */
	uint32_t simulated;
	char name[SLUICE_NAME_MAX];
	/* Device memory that the process holds already: it registers again after the arbiter, or
	 * its own connection, was lost. Counted as granted in the new escrow word, and used. */
	uint64_t held_bytes;
};
_Static_assert(sizeof(struct sluice_msg_device) == 128, "device");

struct sluice_msg_device_ok {
	struct sluice_msg_header header;
	uint32_t index; /* in the pages' device[] */
	uint32_t reserved;
	uint64_t memory_max_bytes; /* UINT64_MAX: no quota */
};
_Static_assert(sizeof(struct sluice_msg_device_ok) == 32, "device_ok");

struct sluice_msg_activity {
	struct sluice_msg_header header;
	uint32_t slot;	       /* in grant.activity[] (ACTIVITY_OWN: 0) */
	uint32_t generation;   /* of the page */
	uint32_t device;       /* index in the pages' device[] of the receiver */
	uint32_t owner_device; /* index in the activity page's device[] */
};
_Static_assert(sizeof(struct sluice_msg_activity) == 32, "activity");

struct sluice_msg_want {
	struct sluice_msg_header header;
	uint32_t device;
	uint32_t reserved;
	uint64_t cost_ns; /* predicted, of the held launch */
};
_Static_assert(sizeof(struct sluice_msg_want) == 32, "want");

/* MEM_REQUEST: units wanted in all by this call. MEM_ANSWER: status 0 (the escrow word has been
 * raised: try again), -ENOMEM (refused) or -EAGAIN (reclaiming: wait and try again). */
struct sluice_msg_mem {
	struct sluice_msg_header header;
	uint32_t device;
	uint32_t units;
};
_Static_assert(sizeof(struct sluice_msg_mem) == 24, "mem");

struct sluice_msg_mem_state {
	struct sluice_msg_header header;
	uint32_t device;
	uint32_t reserved;
	uint64_t max_bytes;  /* UINT64_MAX: no quota */
	uint64_t used_bytes; /* of the whole tenant on that device */
};
_Static_assert(sizeof(struct sluice_msg_mem_state) == 40, "mem_state");

struct sluice_msg_tool {
	struct sluice_msg_header header;
	uint32_t version;
	uint32_t oldest;
};
_Static_assert(sizeof(struct sluice_msg_tool) == 24, "tool");

struct sluice_msg_tool_ok {
	struct sluice_msg_header header;
	uint32_t version;
	uint32_t pid;
	char config[SLUICE_TEXT_MAX]; /* path of the file in force; empty: none */
};

struct sluice_msg_set {
	struct sluice_msg_header header;
	char tenant[SLUICE_NAME_MAX];
	char key[SLUICE_NAME_MAX]; /* dotted, as in the configuration: gpu.weight */
	char value[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_set) == 208, "set");

struct sluice_msg_status_device {
	struct sluice_msg_header header;
	uint32_t index; /* the arbiter's; rows below name it */
	uint32_t simulated;
	uint32_t mps;
	uint32_t sms;
	uint64_t memory_bytes;
	uint64_t memory_granted_bytes; /* may be used without asking; no quota: in use */
	uint64_t reclaiming_bytes;
	uint32_t processes;
	uint32_t turns; /* 1: best-effort processes take turns */
	uint8_t uuid[16];
	char name[SLUICE_NAME_MAX];
	char policy[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_status_device) == 208, "status_device");

#define SLUICE_STATE_PAUSED (1u << 0)
#define SLUICE_STATE_OPEN (1u << 1)	  /* gate open */
#define SLUICE_STATE_HELD (1u << 2)	  /* at least one launch is held */
#define SLUICE_STATE_EXCESS (1u << 3)	  /* above gpu.max */
#define SLUICE_STATE_STALE (1u << 4)	  /* its activity was revoked: hung or stopped */
#define SLUICE_STATE_NO_REQUEST (1u << 5) /* no request boundary seen */
#define SLUICE_STATE_SET (1u << 6)	  /* changed by `sluice set` since the last reload */

/* Where the controller stands with a latency tenant. */
enum sluice_slo_state {
	SLUICE_SLO_NO_TARGET = 0,
	SLUICE_SLO_FIXED = 1, /* the configuration fixes the level */
	SLUICE_SLO_LEARNING = 2,
	SLUICE_SLO_NO_ARRIVALS = 3, /* the target counts from arrival, and none is known */
	SLUICE_SLO_STEERED = 4,
	SLUICE_SLO_UNREACHABLE = 5, /* with nothing beside it too */
	SLUICE_SLO_AT_FLOOR = 6,    /* best-effort work is held as far as it goes */
};

struct sluice_msg_status_tenant {
	struct sluice_msg_header header;
	uint32_t device;
	uint32_t tenant_class;
	uint32_t processes;
	uint32_t state;		/* SLUICE_STATE_* */
	uint32_t used_permille; /* GPU share over the last second */
	uint32_t entitled_permille;
	uint64_t memory_used_bytes;
	uint64_t memory_max_bytes; /* UINT64_MAX: no quota */
	uint64_t service_p50_ns;   /* latency tenants; 0: none seen */
	uint64_t service_p99_ns;
	uint64_t target_ns; /* 0: none */
	uint64_t requests;
	uint64_t requests_late;
	uint64_t be_in_flight_p99_ns;
	uint64_t longest_unit_ns;
	uint64_t forced;
	uint32_t pressure_avg10_permille;
	uint32_t pressure_avg60_permille;
	uint32_t pressure_avg300_permille;
	uint32_t reserved;
	uint64_t pressure_total_ns;
	char longest_unit[SLUICE_NAME_MAX];
	char name[SLUICE_NAME_MAX];
	uint64_t unpredicted; /* launches at a gate with no estimate */
	/* Latency tenants under `slo`; times 0: not known. Of the last thousand requests. */
	uint32_t target_over_permille; /* relative target; 0: none */
	uint32_t target_arrival;       /* 1: from arrival (A), 0: from the first launch (S) */
	uint32_t slo_state;	       /* enum sluice_slo_state */
	int32_t level;		       /* thousandths */
	uint64_t window_ns, guard_ns;
	uint64_t recent_service_p99_ns, alone_service_p99_ns;
	uint64_t recent_arrival_p99_ns, alone_arrival_p99_ns;
	uint64_t alone_median_ns;
	uint64_t reachable_p99_ns; /* the target cannot be met: with nothing beside it */
	uint64_t quiet_from_ns, quiet_until_ns; /* an arrival is expected, from the last one on */
	uint64_t busy_limit_ns;
	uint32_t cap_sms;
	uint32_t steered_requests; /* that these figures are made of */
	/* Of the last minute or two with requests: those above are since the arbiter started. */
	uint64_t lately_requests, lately_late;
	uint64_t lately_p50_ns, lately_p99_ns; /* service */
};
_Static_assert(sizeof(struct sluice_msg_status_tenant) == 424, "status_tenant");

struct sluice_msg_status_process {
	struct sluice_msg_header header;
	uint32_t device; /* UINT32_MAX: no GPU used yet */
	uint32_t pid;
	uint32_t uid;	  /* UINT32_MAX: not known, of one that is not under Sluice */
	uint32_t managed; /* 0: seen on the GPU, not under Sluice */
	uint32_t state;
	uint32_t reserved;
	uint64_t memory_used_bytes;
	uint64_t launched_ns;
	uint64_t completed_ns;
	char tenant[SLUICE_NAME_MAX];
	char program[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_status_process) == 192, "status_process");

enum sluice_pair_verdict {
	SLUICE_PAIR_UNKNOWN = 0,
	SLUICE_PAIR_SHARE = 1,
	SLUICE_PAIR_WAIT = 2,
};

/* A tenant beside another one, where both have been seen at work together. */
struct sluice_msg_status_pair {
	struct sluice_msg_header header;
	uint32_t device;
	uint32_t slowdown_permille; /* slowdown against alone; 0: not known */
	uint32_t samples;	    /* of 10 ms; latency tenants: requests */
	uint32_t verdict;	    /* enum sluice_pair_verdict */
	uint32_t turns;		    /* 1: the two take turns now */
	uint32_t reserved;
	char tenant[SLUICE_NAME_MAX];
	char partner[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_status_pair) == 168, "status_pair");

struct sluice_msg_why_request {
	struct sluice_msg_header header;
	uint32_t device;
	uint32_t launches;
	uint64_t ago_ns;    /* since its end */
	uint64_t took_ns;   /* as the target counts */
	uint64_t queued_ns; /* of that, before its first launch; 0: none, or not known */
	uint64_t limit_ns;  /* what the target allowed */
	uint64_t own_ns;    /* predicted, of its own launches */
};
_Static_assert(sizeof(struct sluice_msg_why_request) == 64, "why_request");

/* A best-effort process had work in flight. tenant empty: not for the peer to see. */
struct sluice_msg_why_cause {
	struct sluice_msg_header header;
	uint32_t request; /* number of its row, from 0 */
	uint32_t before;  /* 1: met by an earlier request that this one waited behind */
	uint32_t pid;
	uint32_t launches;
	uint64_t in_flight_ns;	    /* predicted: the delay at most */
	uint64_t unit_ns;	    /* of that, the longest launch unit ... */
	char unit[SLUICE_NAME_MAX]; /* ... and its name; empty: not known */
	char tenant[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_why_cause) == 176, "why_cause");

struct sluice_msg_why_end {
	struct sluice_msg_header header;
	uint32_t requests; /* rows before this */
	uint32_t minutes;
	uint64_t target_ns; /* 0: relative */
	uint32_t target_over_permille;
	uint32_t reserved;
	char of[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_why_end) == 104, "why_end");

/* Also the sign that somebody still wants to know: the process notes its launches for two seconds. */
struct sluice_msg_record {
	struct sluice_msg_header header;
	char tenant[SLUICE_NAME_MAX];
	uint32_t pid;	   /* 0: the tenant's process that has launched most */
	uint32_t from_now; /* 1: `seen` is not known yet */
	uint64_t seen;	   /* of TRACE_END */
};
_Static_assert(sizeof(struct sluice_msg_record) == 96, "record");

#define SLUICE_TRACE_PACKET 30

struct sluice_msg_trace {
	struct sluice_msg_header header;
	uint32_t count;
	uint32_t reserved;
	uint64_t first; /* number of record[0] */
	struct sluice_trace_record record[SLUICE_TRACE_PACKET];
};
_Static_assert(sizeof(struct sluice_msg_trace) == 992, "trace");

struct sluice_msg_trace_end {
	struct sluice_msg_header header;
	uint32_t pid;
	uint32_t tenant_class; /* enum sluice_class */
	uint32_t sms;
	uint32_t simulated;
	uint32_t processes; /* of the tenant */
	uint32_t reserved;
	uint64_t seen; /* to ask from next */
	uint64_t lost; /* written over before they were asked for */
	char device[SLUICE_NAME_MAX];
	char program[SLUICE_NAME_MAX];
};
_Static_assert(sizeof(struct sluice_msg_trace_end) == 184, "trace_end");

#endif
