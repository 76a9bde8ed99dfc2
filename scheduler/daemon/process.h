/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_PROCESS_H
#define DAEMON_PROCESS_H

/*
 * A process under the arbiter: its pages, its gates, and the arbiter's own copies of all that it
 * granted. Created by HELLO, ended by its pidfd (or by an exec, seen as a new HELLO).
 */

#include "daemon/arbiter.h"
#include "daemon/connection.h"
#include "daemon/tally.h"

/* A latency process that this best-effort gate watches. */
struct watch_slot {
	struct process *owner; /* NULL: free */
	uint32_t owner_local;
	bool sent;    /* and named in its grant */
	bool refused; /* it could not map the page */
};

/* One GPU of the process; the index is that of the pages' device[]. */
struct local_device {
	bool used;
	uint32_t device; /* the arbiter's and the core's */
	bool watched;	 /* by the core: read before every decision */
	bool wants;	 /* has said so, and was not seen otherwise: no need to say it again */
	struct grant grant;
	uint32_t gate, epoch, mail; /* what the page says, if nobody tampered */
	uint32_t slots_seen;	    /* bit i: slot i has been launching */
	struct watch_slot slot[SLUICE_MAX_ACTIVITY];
	/* Latency processes: */
	bool counts; /* the core lets its activity count */
	bool stale;  /* hung or stopped: it does not */
	uint32_t seen_epoch;
	bool seen_active;
	uint64_t seen_launched_ns, alive_ns; /* last sign of life while active */
	uint64_t seen_completed_ns;
	uint32_t still_epoch; /* nothing of it moved between the last two looks; 0: it did */
	uint64_t seen_requests, request_ns; /* last request that ended, or idle */
	bool no_request;
	uint64_t why_busy_ns, why_end_ns; /* of its busy period, and its last request */
	uint64_t arrivals_seen;		  /* (best-effort) of its ring, ever */
	uint64_t requests_seen;		  /* of its ring, ever */
	struct tally_seen told;
	bool trace;		 /* it notes its launches ... */
	uint64_t trace_until_ns; /* ... for so long, if nobody asks again */
	/* Best-effort processes: */
	uint64_t rest_launched_ns; /* at the last slow tick */
};

struct process {
	struct arbiter *arbiter;
	uint32_t index;
	uint64_t session;
	struct identity identity; /* owns the pidfd */
	struct sd_event_source *death_source;
	struct connection *connection; /* NULL: lost */
	struct tenant_entry *tenant;
	struct ledger_entry *record; /* NULL: none was free */
	bool latency;
	char program[SLUICE_NAME_MAX];
	char note[SLUICE_TEXT_MAX]; /* what the shim has to say for status */
	struct page channel, escrow, activity;
	uint32_t generation; /* of the activity page; 0: there is none */
	bool mapped;	     /* its owner has mapped it, and it is sealed */
	struct local_device local[SLUICE_MAX_DEVICES];
	/* A memory request being answered. */
	bool asking;
	uint32_t ask_seq, ask_local, ask_units;
	uint64_t estimates_seen; /* of the ring in its channel */
	bool lies;		 /* counted what cannot be: none of its figures is believed */
};

static inline struct sluice_channel *process_channel(const struct process *process)
{
	return (struct sluice_channel *)process->channel.base;
}

/* From which number on a ring of a process's page is read, of those up to `head` that it claims, when
 * it was read to `seen`: backwards is a lie; of more than `most` the earlier are lost. */
static inline uint64_t process_ring_from(uint64_t head, uint64_t seen, uint64_t most)
{
	if (head < seen)
		return head;
	return head - seen > most ? head - most : seen;
}

static inline struct sluice_channel_device *process_page(const struct process *process,
							 uint32_t local)
{
	return &process_channel(process)->device[local];
}

static inline _Atomic uint64_t *process_escrow(const struct process *process, uint32_t local)
{
	return &((struct sluice_escrow *)process->escrow.base)->device[local].word;
}

/* ---- process.c ------------------------------------------------------------------------------- */

int process_create(struct connection *connection, const struct sluice_msg_hello *hello,
		   uint32_t tenant, struct process **ret_process);
/* Dead, or another program by now: frees gates, turn and memory. */
void process_destroy(struct process *process, const char *why);
/* Registers a device; *ret_local is its index in the pages. 1: it has come up now, 0: it was there
 * (a process that lost its connection registers again); -errno, and why. */
int process_attach(struct process *process, const struct sluice_msg_device *message,
		   uint32_t *ret_local, const char **ret_why);
/* Writes the target into its page. */
void process_show_target(struct process *process);
/* Keeps what it has measured. */
void process_take_estimates(struct process *process);
/* The index in the pages; -1: it has not registered the device. */
int process_local(const struct process *process, uint32_t device);

/* ---- grants.c: writing the channel ------------------------------------------------------------ */

void grant_write(struct process *process, uint32_t local, const struct grant *grant);
/* Wakes one sleeper at a closed gate: it looks at what has completed, and says so. */
void grant_nudge(struct process *process, uint32_t local);
/* Something waits on the socket. */
void grant_bump_mail(struct process *process);
/* Which activity counts: sets the slot's generation, 0: none; and its epoch at which the owner stands
 * still, 0: it does not. */
void grant_set_activity(struct process *process, uint32_t local, uint32_t slot, uint32_t generation,
			uint32_t still_epoch);

/* Whether the process notes its launches. */
void grant_set_trace(struct process *process, uint32_t local, bool on);

/* ---- reading.c -------------------------------------------------------------------------------- */

struct event_usage reading_take(struct process *process, uint32_t local, bool thorough,
				uint64_t now_ns);
uint64_t reading_launched_ns(struct process *process, uint32_t local);
/* What it has counted; false, for good, once that cannot be true. *ret_tally holds nothing then. */
bool reading_tally(struct process *process, uint32_t local, struct tally *ret_tally);
/* Slow tick: looks at what it counts, asked or not. */
void reading_check(struct process *process);

/* ---- activity.c ------------------------------------------------------------------------------- */

int activity_create(struct process *process);
/* A gate has come up: hands out what pages there are. */
void activity_attached(struct process *process, uint32_t local);
/* The connection is back: what was not handed out is now. */
void activity_resumed(struct process *process);
int activity_mapped(struct process *process, int32_t status);
int activity_seen(struct process *process, const struct sluice_msg_activity *message);
/* Into a reading: whether it holds the others, as far as its page is shown to them. */
/* Does the latest busy period that its owner tells of reach into that time? */
bool activity_overlaps(const struct process *process, uint32_t local, uint64_t start_ns,
		       uint64_t end_ns);
void activity_reading(const struct process *process, uint32_t local, struct event_usage *usage);
/* The core's word. */
void activity_count(struct process *owner, uint32_t local, bool counts);
/* Slow tick: revokes what is hung or stopped, takes back what moves again, sends what could not
 * be sent. */
void activity_tick(struct process *process, uint64_t now_ns);
void activity_forget(struct process *process);

/* ---- memory.c --------------------------------------------------------------------------------- */

int memory_request(struct process *process, const struct sluice_msg_mem *message);
int memory_query(struct process *process, const struct sluice_msg_mem *message);
void memory_granted(struct process *process, uint32_t local, uint32_t units);
void memory_refused(struct process *process, uint32_t local, int32_t status);
uint32_t memory_take_back(struct process *process, uint32_t local, uint32_t units);
uint64_t memory_used_bytes(const struct process *process, uint32_t local);
uint64_t memory_tenant_used_bytes(const struct arbiter *arbiter, uint32_t tenant, uint32_t device);

#endif
