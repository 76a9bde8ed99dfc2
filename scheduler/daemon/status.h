/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_STATUS_H
#define DAEMON_STATUS_H

/*
 * Notes of status: each says one thing that is configured or expected and not enforced, and why.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

/* Walks the notes: *at starts at 0. `all`: of every tenant. */
bool status_next_note(struct connection *connection, bool all, uint32_t *at, char *ret_note,
		      size_t room);

#endif
