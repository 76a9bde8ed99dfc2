/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_ARBITER_H
#define DAEMON_ARBITER_H

/*
 * The daemon's state around the core, and what its files call of one another. One thread; all is
 * reached from struct arbiter. A *connection* is a socket, a *process* outlives it: a process
 * that lost its connection keeps its pages, turn and memory until it dies or comes back.
 * Whatever lies in a page that a process can write is read as hostile.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "daemon/config.h"
#include "daemon/identity.h"
#include "daemon/ledger.h"
#include "daemon/log.h"
#include "daemon/pages.h"
#include "sluice/pages.h"
#include "sluice/wire_io.h"

struct sd_event;
struct sd_event_source;
struct estimates;
struct nvml;
struct tally;
struct why;

struct options {
	const char *config; /* NULL: the default one, if it is there */
	const char *socket;
	const char *state; /* folder for what is kept; NULL: nothing is */
	bool user;
	struct nvml *nvml; /* taken over; NULL: the system's, if it is there */
};

/* A GPU that some process has registered. The index is the core's. */
struct known_device {
	bool used;
	struct sluice_msg_device record;
	uint32_t processes;
	uid_t uid; /* who brought it */
};

/* A tenant of the configuration, or one removed from it that still has processes. The index is
 * the core's; [0] is the default tenant. */
struct tenant_entry {
	bool used;
	bool leaving;
	struct config_tenant conf;
	uint32_t processes;
	uint32_t holds;			      /* memory counted for it whose holder is not there */
	struct tally *past[CORE_MAX_DEVICES]; /* of processes that have ended; NULL: none has */
	struct lately *lately[CORE_MAX_DEVICES]; /* NULL: no request seen */
	/* Requests over a relative target: what that comes to only the arbiter knows. */
	uint64_t late[CORE_MAX_DEVICES];
};

/* Memory of a dead process that the driver has not freed yet. */
struct reclaim {
	pid_t pid;
	struct tenant_entry *tenant;
	uint32_t device, units;
	uint64_t since_ns;
};
#define MAX_RECLAIMS 256

struct arbiter {
	struct sd_event *loop;
	struct sd_event_source *listen_source, *timer_source, *tick_source;
	int listen_fd;
	const char *config_file; /* in force or to be tried at a reload; NULL: none */
	char socket_path[CONFIG_PATH_MAX];
	bool user_mode, socket_is_ours, ending;
	struct config config;
	struct engine *engine;
	struct nvml *nvml; /* NULL: not there */
	struct known_device device[CORE_MAX_DEVICES];
	struct tenant_entry tenant[CORE_MAX_TENANTS];
	struct process *process[CORE_MAX_PROCESSES];
	uint32_t process_end; /* one past the highest ever in use: walks end there */
	/* Bit i: process i may have a gate that the core watches. Looks come by the thousand. */
	uint64_t watched[CORE_MAX_PROCESSES / 64];
	struct connection *connections; /* owned; doubly linked */
	struct reclaim reclaim[MAX_RECLAIMS];
	uint32_t reclaims;
	struct absent *absent; /* processes of an earlier arbiter; owned */
	struct ledger ledger;
	struct estimates *estimates;
	struct why *why;		       /* NULL: no request has ended */
	struct event answer[CORE_MAX_DEVICES]; /* to what the core asked, not brought yet */
	uint32_t answers;
	uint32_t generation; /* of the latest activity page */
	uint64_t now_ns;     /* of the event being handled */
	uint64_t polled_ns;  /* when the driver was last asked who uses its GPUs */
	struct log_limit log_peers, log_lives; /* of what peers provoke; who comes and goes */
	bool listen_paused;		       /* no descriptor is left: until the next tick */
};

/* ---- arbiter.c: the core's events and actions -------------------------------------------------- */

/* -errno has been logged, in one sentence. */
int arbiter_create(const struct options *options, struct arbiter **ret_arbiter);
void arbiter_destroy(struct arbiter *arbiter);
int arbiter_run(struct arbiter *arbiter);
uint64_t arbiter_now(struct arbiter *arbiter);
/* Brings an event to the core and carries out what it says. 0 or -errno. */
int arbiter_feed(struct arbiter *arbiter, struct event *event);

/* ---- reload.c ------------------------------------------------------------------------------------ */

/* Puts arbiter->config in force: policy, tenants, pages. */
void reload_apply(struct arbiter *arbiter);
/* The tenant's place is free. */
void reload_forget(struct tenant_entry *entry);
/* A process, or a hold, of the tenant less: it ends if it was leaving, and that was the last. */
void reload_unhold(struct arbiter *arbiter, struct tenant_entry *entry);
void reload_release(struct arbiter *arbiter, struct tenant_entry *entry);
/* Parse, check, swap. -EINVAL and *reterr: nothing has changed. */
int reload_file(struct arbiter *arbiter, struct config_error *reterr);
int reload_set(struct arbiter *arbiter, const struct sluice_msg_set *set,
	       struct config_error *reterr);
struct tenant_entry *reload_find(struct arbiter *arbiter, const char *name);

/* ---- status.c, tool.c ------------------------------------------------------------------------------ */

struct connection;
int tool_message(struct connection *connection, const struct sluice_packet *packet);
/* Queues all rows that the peer may see. 0 or -errno. */
int status_send(struct connection *connection, uint32_t seq);

#endif
