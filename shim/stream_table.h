/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_STREAM_TABLE_H
#define SHIM_STREAM_TABLE_H

/*
 * The states of streams, by name. Look-ups take no lock and may miss what is being given another
 * name at that moment; who would then make a state looks again under the lock.
 *
 * Any thread. Zero-filled static memory; set back in a child of fork.
 */

#include <stdbool.h>
#include <stdint.h>

#include "stream_state.h"

/* Which of the states under one key is meant: the default streams are one per context (and
 * thread); all other handles are unique in the process. */
struct stream_name {
	CUstream key;
	CUcontext context; /* NULL: any */
	uint32_t thread;
};

struct stream_state *table_look_up(const struct stream_name *name);

/* Of all that changes names. Before any gate->lock. */
void table_lock(void);
void table_unlock(void);

/* A state that no stream has, found under its new name from table_publish on; NULL: all are in use.
 * With the lock. */
struct stream_state *table_take(void);
void table_publish(struct stream_state *stream, const struct stream_name *name);

/* Those that were ever taken, for walks: 0 to table_count() - 1. */
uint32_t table_count(void);
struct stream_state *table_at(uint32_t index);

void table_forked(void);

#endif
