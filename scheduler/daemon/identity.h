/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_IDENTITY_H
#define DAEMON_IDENTITY_H

/*
 * Who is at the other end of a connection: what the kernel says (SO_PEERCRED), held by a pidfd so
 * that a number used again is not taken for the same process, and its cgroup paths. Nothing here
 * is the peer's own word.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/wire.h"

#define IDENTITY_CGROUPS_MAX 2048

struct identity {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd;
	char program[SLUICE_NAME_MAX];	    /* the executable's name; empty: not readable */
	char cgroups[IDENTITY_CGROUPS_MAX]; /* paths, each NUL-terminated; an empty one ends */
};

/* The peer of a connected socket. 0, or -errno and a sentence for the peer. The caller finishes
 * an identity that was made. */
int identity_of_peer(int fd, struct identity *ret_identity, char *ret_why, size_t room);
void identity_finish(struct identity *identity);

/* Of a process that has no connection. True, or false: it is gone, or not to be seen from here. */
bool identity_of_stranger(pid_t pid, uid_t *ret_uid, size_t room, char *ret_program);

/* Is the process stopped (SIGSTOP, debugger)? */
bool identity_is_stopped(pid_t pid);

/* Start of the process, ns since boot, to 10 ms; 0: there is none, or it cannot be seen. */
uint64_t identity_start_ns(pid_t pid);

/* /proc/PID/cgroup's text to the list of paths in struct identity: for version 1 and 2. */
void identity_parse_cgroups(const char *text, char *ret_paths, size_t room);

#endif
