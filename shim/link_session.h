/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_LINK_SESSION_H
#define SHIM_LINK_SESSION_H

/*
 * The socket and the pages of the session: link.c's inner half. The descriptor lives among the
 * application's, which may close it or put another in its place: it is kept high, and its identity
 * is looked at before each use. Everything under session.lock unless said otherwise.
 */

#include <stdbool.h>
#include <stdint.h>

#include "fd_info.h"
#include "futex.h"
#include "sluice/pages.h"
#include "sluice/wire_io.h"

struct session_device {
	bool used;
	uint32_t ordinal;
	bool rehome; /* its account must move to the new escrow page */
};

struct session {
	struct futex_lock lock;
	int fd; /* -1: none */
	struct fd_info fd_info;
	uint32_t seq;
	uint64_t id;  /* the arbiter's; sent in the next hello */
	bool greeted; /* hello sent, no answer yet */
	uint32_t fail_mode;
	bool managed;
	uint64_t fail_deadline_ns, mem_deadline_ns;
	uint64_t up_since_ns;
	uint64_t refused_ns; /* when the arbiter last refused something, as the log says ... */
	char refusal[SLUICE_TEXT_MAX];		  /* ... and why */
	_Atomic(struct sluice_channel *) channel; /* any thread; earlier ones stay mapped */
	struct sluice_escrow *escrow;
	struct fd_info channel_info, escrow_info;
	struct session_device device[SLUICE_MAX_DEVICES]; /* by the pages' index */
};

extern struct session session;

/* Should there be an arbiter, although nothing stands where its socket should? */
bool session_is_expected(void);

/* Connects and says hello; does not wait. 0 or -errno. */
int session_greet(void);

/* Takes the answer to the hello: 0, -EAGAIN: not here by the deadline, or another -errno, with the
 * connection closed. New pages are mapped, the old ones stay. */
int session_welcome(uint64_t deadline_ns);

/* Sends the question, whose header this fills in, and takes its answer; the arbiter's own messages
 * in between are served. -ENOTCONN: the connection is gone. */
int session_ask(void *question, uint32_t type, uint32_t size, uint64_t deadline_ns,
		struct sluice_packet *ret_answer);

/* Logs why the arbiter refuses, as it says in a REFUSED. LINK_REFUSED. */
int session_refused(const struct sluice_packet *packet);

/* Serves what has arrived, without waiting. False: hung up. */
bool session_serve(void);

/* Sends without waiting; a full socket loses it. */
void session_tell(void *message, uint32_t type, uint32_t size);

void session_close(void);
void session_forked(void);

#endif
