/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_ARBITER_H
#define TESTS_FAKE_ARBITER_H

/*
 * An arbiter that decides nothing: it speaks wire.h, hands out pages, beats, and leaves every word
 * of the grants to the test. Tenants whose name begins with "lc" are latency-critical; each one's
 * activity page is shown to every other session of its device, as the real one does.
 *
 * One thread of its own between start and stop. The test may read and write the pages of a session
 * once fake_arbiter_session has returned it. Asserts on its own failures.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sluice/pages.h"
#include "sluice/wire.h"

#define FAKE_SESSIONS 80

struct fake_session {
	_Atomic int fd; /* -1: closed */
	char tenant[SLUICE_NAME_MAX];
	bool latency;
	uint64_t said_session; /* in its hello */
	int channel_fd, escrow_fd, activity_fd;
	struct sluice_channel *channel;
	size_t channel_bytes;
	struct sluice_escrow *escrow;
	_Atomic(struct sluice_activity *) activity; /* owners: mapped by the fake as well */
	_Atomic uint32_t devices;
	_Atomic uint32_t wants;
	_Atomic uint32_t seen; /* activity pages that it has acknowledged */
};

struct fake_arbiter {
	char path[108];
	char folder[64];
	int listen_fd, wake_fd[2];
	pthread_t thread;
	struct fake_session session[FAKE_SESSIONS];
	_Atomic uint32_t sessions; /* ever, in order of their hellos */
	_Atomic bool is_mute;	   /* neither beats nor answers */
	bool is_old;		   /* makes channels of version 1, which end before the rings */
	uint32_t fail_mode;
	uint64_t fail_deadline_ns, mem_deadline_ns;
	_Atomic uint64_t memory_max_units; /* MEM_REQUEST is granted up to here, in all */
	_Atomic uint64_t memory_granted_units;
	uint64_t window_ns, guard_ns;  /* what new best-effort grants begin with */
	uint32_t grant_flags;	       /* and these, beside MANAGED */
	_Atomic(const char *) refusal; /* of devices, and why; NULL: none */
};

/* Fills in defaults: open, no window, no guard, no limits. */
void fake_arbiter_init(struct fake_arbiter *fake);

/* Listens in a new folder under /tmp (or, restarted, where it did before). */
void fake_arbiter_start(struct fake_arbiter *fake);

/* Hangs up on everybody, as a death does; pages stay mapped. */
void fake_arbiter_stop(struct fake_arbiter *fake);

void fake_arbiter_finish(struct fake_arbiter *fake);

/* The session of that number, once it has `devices` devices; waits at most 5 s, then asserts. */
struct fake_session *fake_arbiter_session(struct fake_arbiter *fake, uint32_t number,
					  uint32_t devices);

/* Changes to a grant: make them, then this. */
void fake_grant_changed(struct fake_session *session, uint32_t device);

/* Opens or closes the gate of a session, with everything that goes with it. */
void fake_gate_set(struct fake_session *session, uint32_t device, bool open);

/* Shows the session an activity page that belongs to no session: the test is its owner. The page
 * stays mapped until the program ends. */
struct sluice_activity *fake_activity_new(struct fake_session *reader, uint32_t slot,
					  uint32_t generation);

/* Waits until the session has acknowledged that many activity pages. */
void fake_arbiter_await_seen(struct fake_session *session, uint32_t count);

#endif
